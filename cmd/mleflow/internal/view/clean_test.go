package view

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/engine/event"
)

func TestText(t *testing.T) {
	tests := []struct{ name, in, text, oneLine string }{
		{"plain", "a é 界", "a é 界", "a é 界"},
		{"lines", " a\n\tb\r\n", " a\n\tb\n", "a  b"},
		{"colour", "\x1b[31mred\x1b[0m", "red", "red"},
		{"title", "a\x1b]0;owned\ab", "ab", "ab"},
		{"link", "\x1b]8;;http://x\x1b\\y\x1b]8;;\x1b\\", "y", "y"},
		{"nested", "\x1b\x1b[2J[2Jx", "[2Jx", "[2Jx"},
		{"overwriting", "bad\rgood\b\b", "bad good  ", "bad good"},
		{"C1", "a\u009b31mb", "a 31mb", "a 31mb"},
		{"not UTF-8", "a\x9b31mb", "ab", "ab"},
		{"direction", "a\u202eb\u2066c\u2028d", "a b c d", "a b c d"},
	}
	for _, tt := range tests {
		if got := Text(tt.in); got != tt.text {
			t.Errorf("%s: Text gives %q, want %q", tt.name, got, tt.text)
		}
		if got := OneLine(tt.in); strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(tt.oneLine), " ") || strings.ContainsAny(got, "\n\t") {
			t.Errorf("%s: OneLine gives %q, want %q", tt.name, got, tt.oneLine)
		}
	}
}

const hostile = "x\x1b[2J\x1b]0;owned\a\r\x00\u009b1my\u202e"

// spoil puts a hostile text into every text of an event.
func spoil(e event.Event) event.Event {
	v := reflect.New(reflect.TypeOf(e)).Elem()
	v.Set(reflect.ValueOf(e))
	for i := range v.NumField() {
		switch f := v.Field(i); {
		case f.Type() == reflect.TypeFor[event.Status]():
		case f.Kind() == reflect.String:
			f.SetString(f.String() + hostile)
		case f.Type() == reflect.TypeFor[[]string]():
			f.Set(reflect.ValueOf([]string{"gpu0" + hostile}))
		}
	}
	return v.Interface().(event.Event)
}

// TestHostileTexts sees that no view passes on control characters, whichever
// text of an event they are in.
func TestHostileTexts(t *testing.T) {
	shown := map[string]*bytes.Buffer{}
	buffer := func(name string) *bytes.Buffer {
		shown[name] = &bytes.Buffer{}
		return shown[name]
	}
	plain := NewPlain(buffer("plain"), Style{}, true)
	live := &Live{state: NewState()}
	screens, notices := buffer("screen"), buffer("notices")
	for _, e := range storyEvents() {
		e = spoil(e)
		plain.Emit(e)
		live.Emit(e)
		screens.WriteString(screen(live.state, Style{}, 200, 50, after(80_000).Time))
		notices.WriteString(strings.Join(live.notices(), "\n"))
	}
	Summary(buffer("summary"), live.state, Style{})
	Outputs(buffer("outputs"), []event.OutputValue{{Name: hostile, Value: hostile}, {Name: hostile, Value: "1\n" + hostile}}, Style{})
	past := &State{Failures: []Failure{{StepFinished: event.StepFinished{Address: hostile, Error: hostile}, Tail: []string{hostile}}}}
	Summary(buffer("summary of a past run"), past, Style{})
	table := NewTable("Name")
	table.Row(hostile)
	if err := table.Write(buffer("table"), Style{}); err != nil {
		t.Fatal(err)
	}
	for name, out := range shown {
		if !strings.Contains(out.String(), "x") || !strings.Contains(out.String(), "y") {
			t.Errorf("%s does not show the text: %q", name, out)
		}
		for line := range strings.Lines(out.String()) {
			if strings.ContainsFunc(strings.TrimSuffix(line, "\n"), isControl) {
				t.Errorf("%s passes on control characters: %q", name, line)
			}
		}
	}
}
