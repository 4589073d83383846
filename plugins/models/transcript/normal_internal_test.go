package transcript

import "testing"

// Patterns are compiled when they are first needed, so here.
func TestPatterns(t *testing.T) {
	for _, r := range rules {
		if r.pattern.Regexp().MatchString("") {
			t.Errorf("a pattern of %q matches nothing at all", r.name)
		}
	}
	for _, p := range []interface{ NumSubexp() int }{monthName.Regexp(), dayNumber.Regexp(), yearShown.Regexp()} {
		if p.NumSubexp() > 1 {
			t.Error("more groups than are read")
		}
	}
}
