package results

import "testing"

// TestUncounted leaves out what other classes are set aside for.
func TestUncounted(t *testing.T) {
	var list []*Attempt
	for i, set := range [][]string{{"task=own"}, {"task=own", "time=1h"}, {"task=own", "data=rehearsal"}, {"task=own", "forked=aaa@1m"}, {"task=own", "provisional=provider_failed"}} {
		a := &Attempt{Graded: i != 1, AttemptAction: string(rune('a' + i))}
		a.Report.Conditions = set
		list = append(list, a)
	}
	if got, want := Uncounted(list).String(), "3 attempts are not compared: 1 fork, 1 not final, 1 not graded"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := Uncounted(list[:1]).String(); got != "" {
		t.Errorf("of one that counts: %q", got)
	}
}
