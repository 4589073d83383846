package step

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/cache/leaf/progress"
)

// The end of each part is told, however short it was.
func TestFollow(t *testing.T) {
	var told []Progress
	env := &Env{Progress: func(p Progress) { told = append(told, p) }}
	w := &progress.Work{}
	stop := env.Follow(w)
	w.Begin("reading", 0, 5)
	w.Add(0, 5)
	w.Begin("writing", 2, 10)
	w.Add(2, 10)
	stop()
	want := []Progress{{What: "reading", Done: 5, Total: 5, Unit: "bytes"}, {What: "writing", Done: 2, Total: 2, Unit: "files", Bytes: 10, TotalBytes: 10}}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}
