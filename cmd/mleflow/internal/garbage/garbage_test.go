package garbage

import (
	"runtime/debug"
	"testing"
)

func TestGrowOutlastsFirstCollection(t *testing.T) {
	if limitSet() {
		t.Skip("GOGC is set")
	}
	Start()
	now := func() int {
		old := debug.SetGCPercent(usual)
		debug.SetGCPercent(old)
		return old
	}
	want := func(when string, percent int) {
		t.Helper()
		if got := now(); got != percent {
			t.Errorf("%s: the heap grows by %d %%, want %d", when, got, percent)
		}
	}
	late := 100 * first / (4 << 20)
	want("at the start", late)
	restore := Grow(25)
	want("before the first collection", late)
	Usual() // as the first collection does
	want("after it", 25)
	Usual()
	want("after another", 25)
	inner := Grow(400)
	want("where collections are rarer", 400)
	inner()
	want("afterwards", 25)
	restore()
	want("at the end", usual)
}
