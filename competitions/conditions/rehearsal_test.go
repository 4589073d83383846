package conditions

import (
	"errors"
	"strings"
	"testing"
)

// TestCheckData puts results of rehearsals beside others, and alone.
func TestCheckData(t *testing.T) {
	rehearsed, real := []string{"data=rehearsal", "isolation=sandbox", "task=own"}, []string{"isolation=sandbox", "task=own"}
	for _, sets := range [][][]string{nil, {real, real}, {rehearsed}, {rehearsed, rehearsed}} {
		if err := CheckData(sets...); err != nil {
			t.Errorf("%v: %v", sets, err)
		}
	}
	for _, sets := range [][][]string{{real, rehearsed}, {rehearsed, real, real}, {nil, rehearsed}} {
		if err := CheckData(sets...); !errors.Is(err, ErrMixedData) || !strings.Contains(err.Error(), "1 of") {
			t.Errorf("%v: %v", sets, err)
		}
	}
	if got := Told(rehearsed); got != "own (rehearsal)" {
		t.Errorf("task %q", got)
	}
	if got := Described(rehearsed); got != "sandbox, rehearsal" {
		t.Errorf("described as %q", got)
	}
}
