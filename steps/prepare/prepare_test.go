package prepare_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/steps/prepare"
	"github.com/mleflow/mleflow/steps/steptest"
)

func newBench(t *testing.T, definition string) *steptest.Bench {
	t.Helper()
	cat, err := competitions.Load(fstest.MapFS{"toy/competition.hcl": {Data: []byte(`competition "toy" {
	  title       = "Toy"
	  complexity  = "demo"
	  description = "A toy."
	  answers     = "private/test.csv"
	  sample      = "public/sample_submission.csv"
	  ` + definition + `
	  grade { metric = "accuracy" }
	  medals { scores = [1, 0.5] }
	}`)}})
	if err != nil {
		t.Fatal(err)
	}
	return steptest.New(prepare.Kind(prepare.Deps{Catalog: cat}))
}

const toyDefinition = `
	param "test_size" {
	  default = 2
	}
	prepare {
	  extract = ["pictures.zip"]
	  locals {
	    parts = train_test_split(csv("all.csv"), { test_size = param.test_size, random_state = 0 })
	  }
	  public {
	    table "train.csv" { rows = parts.train }
	    table "test.csv" { rows = drop(parts.test, "y") }
	    copy "LICENCE.txt" { from = "LICENCE.txt" }
	    copy "deep/picture.png" { from = "1.png" }
	  }
	  private {
	    table "test.csv" { rows = select(parts.test, "id", "y") }
	  }
	}`

func rawFiles() map[string]string {
	var pictures bytes.Buffer
	w := zip.NewWriter(&pictures)
	f, _ := w.Create("1.png")
	f.Write([]byte("png"))
	w.Close()
	return map[string]string{"all.csv": "id,y\n1,a\n2,b\n3,c\n4,d\n5,e\n", "LICENCE.txt": "free\n", "pictures.zip": pictures.String()}
}

func values(t *testing.T, b *steptest.Bench, params map[string]cty.Value) map[string]cty.Value {
	out := map[string]cty.Value{"competition": cty.StringVal("toy"), "raw": b.Tree(t, rawFiles())}
	if params != nil {
		out["params"] = cty.MapVal(params)
	}
	return out
}

func TestRun(t *testing.T) {
	b := newBench(t, toyDefinition)
	out, err := b.Run(t, values(t, b, nil))
	if err != nil {
		t.Fatal(err)
	}
	// numpy.random.RandomState(0).permutation(5) is 2 0 1 3 4; scikit-learn's
	// train_test_split tests the first two of these rows and trains the rest.
	wantPublic := map[string]string{
		"train.csv": "id,y\n2,b\n4,d\n5,e\n", "test.csv": "id\n3\n1\n", "LICENCE.txt": "free\n", "deep/picture.png": "png",
	}
	if diff := cmp.Diff(wantPublic, b.Files(t, out["public"].Ref)); diff != "" {
		t.Errorf("public (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"test.csv": "id,y\n3,c\n1,a\n"}, b.Files(t, out["private"].Ref)); diff != "" {
		t.Errorf("private (-want +got):\n%s", diff)
	}
}

// TestProgress tells what is read and written: all of the raw table, and each output
// once.
func TestProgress(t *testing.T) {
	b := newBench(t, toyDefinition)
	out, err := b.Run(t, values(t, b, nil))
	if err != nil {
		t.Fatal(err)
	}
	public, private := out["public"].Ref, out["private"].Ref
	read := int64(len(rawFiles()["all.csv"]))
	want := []step.Progress{
		{What: "reading", Done: read, Total: read, Unit: "bytes"},
		{What: "writing", Done: 5, Total: 5, Unit: "files", Bytes: public.Size + private.Size},
	}
	if got := public.Files + private.Files; got != 5 {
		t.Errorf("%d files", got)
	}
	if diff := cmp.Diff(want, b.Ends(t)); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
}

// TestRunWhole copies all that there is to a side.
func TestRunWhole(t *testing.T) {
	b := newBench(t, `
	prepare {
	  public {
	    copy "." {
	      from   = "."
	      except = ["*.zip"]
	    }
	  }
	  private {
	    table "test.csv" { rows = csv("all.csv") }
	  }
	}`)
	out, err := b.Run(t, values(t, b, nil))
	if err != nil {
		t.Fatal(err)
	}
	raw := rawFiles()
	want := map[string]string{"all.csv": raw["all.csv"], "LICENCE.txt": raw["LICENCE.txt"]}
	if diff := cmp.Diff(want, b.Files(t, out["public"].Ref)); diff != "" {
		t.Errorf("public (-want +got):\n%s", diff)
	}
	if ends := b.Ends(t); ends[len(ends)-1].Total != 3 {
		t.Errorf("progress %+v", ends)
	}
}

func TestParams(t *testing.T) {
	b := newBench(t, toyDefinition)
	small := b.Key(t, values(t, b, nil))
	params := map[string]cty.Value{"test_size": cty.NumberIntVal(3)}
	if cmp.Equal(small, b.Key(t, values(t, b, params))) {
		t.Error("a parameter changes the result and not the key")
	}
	out, err := b.Run(t, values(t, b, params))
	if err != nil {
		t.Fatal(err)
	}
	if rows := strings.Count(b.Files(t, out["private"].Ref)["test.csv"], "\n"); rows != 4 {
		t.Errorf("%d lines of answers, want 4", rows)
	}
}

// TestKey sees that the key follows what preparation can see, and no more.
func TestKey(t *testing.T) {
	key := func(definition string) map[string]string {
		b := newBench(t, definition)
		return b.Key(t, values(t, b, nil))
	}
	first := key(toyDefinition)
	if diff := cmp.Diff(first, key("# a comment\n"+toyDefinition)); diff != "" {
		t.Errorf("a comment changes the key:\n%s", diff)
	}
	if cmp.Equal(first, key(strings.Replace(toyDefinition, "random_state = 0", "random_state = 1", 1))) {
		t.Error("another seed has the same key")
	}
}

func TestFailures(t *testing.T) {
	tests := []struct {
		name, definition string
		params           map[string]cty.Value
		want             string
	}{
		{"missing file", strings.Replace(toyDefinition, "all.csv", "none.csv", 1), nil, "none.csv"},
		{"unknown column", strings.Replace(toyDefinition, `drop(parts.test, "y")`, `drop(parts.test, "z")`, 1), nil, "z"},
		{"unknown parameter", toyDefinition, map[string]cty.Value{"tset_size": cty.StringVal("1")}, "tset_size"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, tt.definition)
			_, err := b.Run(t, values(t, b, tt.params))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
		})
	}
	b := newBench(t, toyDefinition)
	args := values(t, b, nil)
	args["version"] = cty.StringVal("v9")
	if _, err := b.Run(t, args); err == nil || !strings.Contains(err.Error(), `no version "v9"`) {
		t.Errorf("got %v, want an error that names the version", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("stop")
	cancel(cause)
	if _, err := b.RunIn(t, ctx, steptest.WorkDir(t), values(t, b, nil)); !errors.Is(err, cause) && !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the interruption", err)
	}
}

// countingStore counts how often each object is opened.
type countingStore struct {
	cache.Cache
	mu     sync.Mutex
	opened map[digest.ContentID]int
}

func (s *countingStore) Open(ctx context.Context, id digest.ContentID) (io.ReadCloser, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened[id]++
	return s.Cache.Open(ctx, id)
}

// TestCopyReadsNothing sees that a copied raw file is not read.
func TestCopyReadsNothing(t *testing.T) {
	b := newBench(t, toyDefinition)
	args := values(t, b, nil)
	store := &countingStore{Cache: b.Store, opened: map[digest.ContentID]int{}}
	b.Store = store
	if _, err := b.Run(t, args); err != nil {
		t.Fatal(err)
	}
	if n := store.opened[digest.Of([]byte("free\n"))]; n != 0 {
		t.Errorf("the copied file was opened %d times", n)
	}
	if n := store.opened[digest.Of([]byte(rawFiles()["all.csv"]))]; n == 0 {
		t.Error("the table was never opened; the test shows nothing")
	}
}

// TestAdopt takes what the reference prepared as it is, but for the
// description that the reference adds afterwards.
func TestAdopt(t *testing.T) {
	b := newBench(t, toyDefinition)
	args := values(t, b, nil)
	args["raw"] = b.Tree(t, map[string]string{
		"prepared/public/train.csv": "id,y\n", "prepared/public/description.md": "text", "prepared/private/test.csv": "id,y\n1,a\n",
	})
	out, err := b.Run(t, args)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"train.csv": "id,y\n"}, b.Files(t, out["public"].Ref)); diff != "" {
		t.Errorf("public (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"test.csv": "id,y\n1,a\n"}, b.Files(t, out["private"].Ref)); diff != "" {
		t.Errorf("private (-want +got):\n%s", diff)
	}
	if w := b.Warnings(); len(w) != 1 || !strings.Contains(w[0], "0 of 2 files have a pin") {
		t.Errorf("warnings: %q", w)
	}
	args["params"] = cty.MapVal(map[string]cty.Value{"test_size": cty.NumberIntVal(3)})
	if _, err := b.Run(t, args); err == nil || !strings.Contains(err.Error(), "prepared elsewhere") {
		t.Errorf("got %v, want a refusal of params", err)
	}
	// One entry more makes it raw data.
	args["raw"] = b.Tree(t, map[string]string{"prepared/public/a": "1", "prepared/private/b": "2", "all.csv": "x"})
	if _, err := b.Run(t, args); err == nil || strings.Contains(err.Error(), "prepared elsewhere") {
		t.Errorf("got %v, want raw data to be prepared", err)
	}
}
