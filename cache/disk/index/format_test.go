package index

import (
	"crypto/sha256"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
)

// testdata/index-1.log was made by testdata/make_index.py (Python 3.11), which
// follows FORMAT.md and shares no code with this package.
func TestIndexFormat(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	log, err := os.ReadFile("testdata/index-1.log")
	must(t, err)
	must(t, os.WriteFile(path, log, 0o644))
	ix := openTest(t, path)
	id := func(text string) [32]byte { return sha256.Sum256([]byte(text)) }
	want := &cache.Record{
		Action: id("action 1"), Address: `step.prepare.data["a/0"]`, Kind: "prepare", Run: "run-1",
		StartedUnixMilli: 1700000000123, DurationMillis: -1,
		Fields: []digest.Field{{Label: "kind", Value: "prepare"}, {Label: "raw", Value: "line\nfeed"}},
		Outputs: cache.Outputs{
			"data": {Ref: cache.Ref{Kind: cache.Tree, ID: id("tree"), Size: 12345678901, Files: 200}},
			"log":  {Ref: cache.Ref{Kind: cache.Blob, ID: id("blob"), Size: 300}},
			"rows": {JSON: []byte(`{"n":1}`)},
		},
	}
	got, e, err := ix.Get(want.Action)
	must(t, err)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
	tomb, err := ix.Tombstone(id("action 2"))
	if err != nil || tomb != (cache.Tombstone{Action: id("action 2"), EvictedUnixMilli: 1700000003000, Reason: "quota"}) {
		t.Errorf("tombstone %+v, %v", tomb, err)
	}
	if e.Used != 1700000004000 {
		t.Errorf("used at %d", e.Used)
	}
	// What is written is what the script writes.
	line, err := Encode(want, 1700000001000)
	must(t, err)
	if diff := cmp.Diff(string(log[len(logHeader):][:len(line)]), string(line)); diff != "" {
		t.Errorf("frame (-script +ours):\n%s", diff)
	}
}
