package conditions

import (
	"strings"
	"testing"
)

// TestStalled: what a stall did to attempts is in their class and notes, and is nobody's act
// by hand.
func TestStalled(t *testing.T) {
	stopped, back, byHand := []string{"steered=stalled@31m0s"}, []string{"steered=requeued_stalled"}, []string{"steered=stopped@1h0m0s"}
	for _, c := range []struct {
		set  []string
		want string
	}{{stopped, "stopped early: stalled"}, {back, "requeued: stalled"}, {byHand, "stopped by hand"}} {
		if got := Class(c.set); !strings.HasSuffix(got, ", "+c.want) {
			t.Errorf("the class of %q is %q", c.set, got)
		}
	}
	r := RepeatsOf(stopped, back, byHand)
	if r.Stalled != 2 || r.Steered != 1 {
		t.Errorf("%+v", r)
	}
	notes := strings.Join(r.notes(Attempts{Agent: "a", Sets: [][]string{stopped, back, byHand}}), "\n")
	for _, want := range []string{"Steered by hand: 1 of 3 attempts of a (stopped@1h0m0s).", "Stalled: 2 of 3 attempts of a were stopped or put back because they stood still (requeued_stalled, stalled@31m0s)."} {
		if !strings.Contains(notes, want) {
			t.Errorf("no %q in\n%s", want, notes)
		}
	}
}
