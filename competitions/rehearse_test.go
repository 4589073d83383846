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
	if err := def.Rehearsed().Mark(filepath.Join(data, "demo-digits")); err != nil {
		t.Fatal(err)
	}
	if got, err := def.In(data); err != nil || got != def {
		t.Errorf("the mark of another competition counts: %v", err)
	}
	if err := def.Rehearsed().Mark(filepath.Join(data, def.ID)); err != nil {
		t.Fatal(err)
	}
	if got, err := def.In(data); err != nil || !got.Rehearsal || len(got.Medals.Scores) > 0 || def.Rehearsal {
		t.Errorf("rehearsal %v with %d teams, and %v of the definition itself", got.Rehearsal, len(got.Medals.Scores), def.Rehearsal)
	}
}

// TestPlace: data of a version that prepares otherwise are in a folder of its name, and
// are taken for no other version.
func TestPlace(t *testing.T) {
	cat, err := Shipped()
	if err != nil {
		t.Fatal(err)
	}
	data := t.TempDir()
	get := func(id string) *Definition {
		def, err := cat.Get(id)
		if err != nil {
			t.Fatal(err)
		}
		return def
	}
	alike, other := get("jigsaw-toxic-comment-classification-challenge"), get("random-acts-of-pizza")
	v2, err := other.At("v2")
	if err != nil {
		t.Fatal(err)
	}
	below := filepath.Join(data, "v2")
	if _, _, err := other.Place(data, "v2"); err == nil {
		t.Error("data of v1 are taken for v2")
	}
	if err := v2.Mark(filepath.Join(below, other.ID)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		def                          *Definition
		data, version, wantAt, where string
	}{
		{alike, data, "", "v1", data},
		{alike, data, "v1", "v1", data},
		{alike, data, "v2", "v2", data},
		{other, data, "", "v1", data},
		{other, data, "v2", "v2", below},
		{other, below, "", "v2", below},
		{other, below, "v2", "v2", below},
		{other, below, "v1", "", ""},
		{other, data, "v2m", "", ""},
		{other, data, "v7", "", ""},
	} {
		at, where, err := c.def.Place(c.data, c.version)
		if (err == nil) != (c.wantAt != "") || err == nil && (at.Version != c.wantAt || where != c.where) {
			t.Errorf("%s in %s as %q: %v, %s, %v", c.def.ID, c.data, c.version, at, where, err)
		}
	}
	for version, want := range map[string]string{"": "", "v1": "v1", "v2": "v1", "v1m": "v1m"} {
		if got := get("demo-digits").Amended(version); got != want {
			t.Errorf("amended %q is %q, want %q", version, got, want)
		}
	}
}
