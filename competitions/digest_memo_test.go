package competitions

import "testing"

// TestGradeDigestOnce compares the digests that are kept with computed ones, of
// every shipped version and its rehearsal.
func TestGradeDigestOnce(t *testing.T) {
	cat, err := Shipped()
	if err != nil {
		t.Fatal(err)
	}
	defs, err := cat.List(Filter{})
	if err != nil {
		t.Fatal(err)
	}
	for _, def := range defs {
		for _, version := range def.Versions() {
			at, err := def.At(version)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range []*Definition{at, at.Rehearsed(), at} {
				want, diags := d.gradeDigest(nil)
				got, more := d.GradeDigest(nil)
				if diags.HasErrors() || more.HasErrors() || got != want {
					t.Errorf("%s %s, rehearsal %v: digest %s, want %s (%v)", d.ID, version, d.Rehearsal, got, want, append(diags, more...))
				}
			}
		}
	}
}
