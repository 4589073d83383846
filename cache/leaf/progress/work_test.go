package progress_test

import (
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/cache/leaf/progress"
)

func TestWork(t *testing.T) {
	var ended []progress.State
	w := &progress.Work{Ended: func(p progress.State) { ended = append(ended, p) }}
	w.Add(1, 1) // before it begins
	w.Begin("reading", 0, 5)
	if n, err := io.Copy(w.Writer(io.Discard), w.Reader(strings.NewReader("abcde"))); n != 5 || err != nil {
		t.Fatal(n, err)
	}
	w.Begin("writing", 2, 0)
	w.Add(2, 7)
	if got, want := w.Now(), (progress.State{What: "writing", Files: 2, TotalFiles: 2, Bytes: 7}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	w.Begin("", 0, 0)
	w.Begin("", 0, 0)
	want := []progress.State{{What: "reading", Bytes: 10, TotalBytes: 5}, {What: "writing", Files: 2, TotalFiles: 2, Bytes: 7}}
	if diff := cmp.Diff(want, ended); diff != "" {
		t.Errorf("ended (-want +got):\n%s", diff)
	}
	var none *progress.Work
	none.Begin("nothing", 1, 1)
	if none.Add(1, 1); none.Now() != (progress.State{}) {
		t.Errorf("nothing is at %+v", none.Now())
	}
	if data, err := io.ReadAll(none.Reader(strings.NewReader("a"))); string(data) != "a" || err != nil {
		t.Errorf("%q, %v", data, err)
	}
}
