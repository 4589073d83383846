package prep_test

import (
	"reflect"
	"testing"

	"github.com/mleflow/mleflow/plugins/data/transform"
)

// TestVerbsAreWellFormed checks what the binder relies on.
func TestVerbsAreWellFormed(t *testing.T) {
	seen := map[string]bool{}
	for _, v := range transform.Verbs() {
		f := reflect.TypeOf(v.Func)
		written := f.NumIn()
		if f.NumIn() > 0 && f.In(0) == reflect.TypeFor[*transform.Input]() {
			written--
		}
		switch {
		case seen[v.Name]:
			t.Errorf("%s: declared twice", v.Name)
		case v.Summary == "":
			t.Errorf("%s: no summary", v.Name)
		case written != len(v.Params):
			t.Errorf("%s: %d parameters, %d names", v.Name, written, len(v.Params))
		case f.NumOut() < 1 || f.NumOut() > 2 || f.NumOut() == 2 && f.Out(1) != reflect.TypeFor[error]():
			t.Errorf("%s: wrong results", v.Name)
		}
		seen[v.Name] = true
	}
}
