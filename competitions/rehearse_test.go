package competitions

import (
	"path/filepath"
	"testing"
)

// TestIn: only marked data make a definition that of a rehearsal, which has no teams.
func TestIn(t *testing.T) {
	cat, err := Shipped()
	if err != nil {
		t.Fatal(err)
	}
	def, err := cat.Get("leaf-classification")
	if err != nil {
		t.Fatal(err)
	}
	data := t.TempDir()
	if err := MarkRehearsal(filepath.Join(data, "demo-digits")); err != nil {
		t.Fatal(err)
	}
	if def.In(data) != def {
		t.Error("the mark of another competition counts")
	}
	if err := MarkRehearsal(filepath.Join(data, def.ID)); err != nil {
		t.Fatal(err)
	}
	if got := def.In(data); !got.Rehearsal || len(got.Medals.Scores) > 0 || def.Rehearsal {
		t.Errorf("rehearsal %v with %d teams, and %v of the definition itself", got.Rehearsal, len(got.Medals.Scores), def.Rehearsal)
	}
}
