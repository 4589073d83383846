package event

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

// TestEventsAreDocumented looks for every type of event and every field in the
// page on events.
func TestEventsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/events.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range members {
		if !strings.Contains(string(page), "`"+TypeOf(e)+"`") {
			t.Errorf("docs/events.md has no %s", TypeOf(e))
		}
		for _, name := range fieldsOf(reflect.TypeOf(e)) {
			if !strings.Contains(string(page), "`"+name+"`") {
				t.Errorf("docs/events.md does not tell of %s of %s", name, TypeOf(e))
			}
		}
	}
}

func fieldsOf(t reflect.Type) (names []string) {
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous {
			names = append(names, fieldsOf(f.Type)...)
		} else {
			names = append(names, name)
		}
	}
	return names
}
