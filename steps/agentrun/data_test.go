//go:build linux

package agentrun_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/cachetest"
	"github.com/mleflow/mleflow/cache/disk"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/steps/steptest"
)

// sharing is a bench on a cache that shares folders.
func sharing(t *testing.T) (*steptest.Bench, *disk.Cache) {
	t.Helper()
	b := newBench(t)
	dir := t.TempDir()
	store := openStore(t, dir)
	cachetest.Removable(t, dir)
	b.Store = store
	return b, store
}

// copiedIn returns what the attempts of a bench said they copied.
func copiedIn(t *testing.T, log string) (list []string) {
	t.Helper()
	for _, m := range regexp.MustCompile(`(?m)^mleflow: data: .* after .* s; copied: (.* files) with .*$`).FindAllStringSubmatch(log, -1) {
		list = append(list, m[1])
	}
	return list
}

func wantCopied(t *testing.T, log string, want ...string) {
	t.Helper()
	if got := copiedIn(t, log); strings.Join(got, "; ") != strings.Join(want, "; ") {
		t.Errorf("copied %q, want %q\n%s", got, want, log)
	}
}

const (
	none = "0 files"
	// toyCopied is toyData and a description.
	toyCopied = "5 files"
)

// Two attempts with the same data read one folder, which is copied once; where
// they look for it by its usual place, it is too.
func TestDataShared(t *testing.T) {
	b, store := sharing(t)
	args := values(b, t, shell(`cp -r "$DATA_DIR/." $CODE_DIR/; chmod -R u+w $CODE_DIR; cmp $HOME/../data/train.csv "$DATA_DIR/train.csv" && find "$DATA_DIR" -type f | wc -l; echo $DATA_DIR`))
	first, second := run(t, b, args), run(t, b, args)
	wantCopied(t, b.Log(), toyCopied, none)
	for name, text := range toyData {
		if second.Code[name] != text {
			t.Errorf("%s holds %q", name, second.Code[name])
		}
	}
	if first.Logs["output.log"] != second.Logs["output.log"] || !strings.HasPrefix(second.Logs["output.log"], "5\n") {
		t.Errorf("the agents printed %q and %q", first.Logs, second.Logs)
	}
	if len(b.Warnings()) != 0 {
		t.Errorf("a small copy is warned of: %q", b.Warnings())
	}
	res, err := store.GC(t.Context(), disk.GCOptions{})
	if err != nil || res.Copies != 1 {
		t.Errorf("a collection removed %+v, %v", res, err)
	}
}

// An agent cannot write to its data by mistake, and what it can do on purpose
// reaches neither the cache nor another attempt.
func TestDataReadOnly(t *testing.T) {
	b, store := sharing(t)
	attack := shell(`cp $MLEFLOW_SAMPLE $SUBMISSION_DIR/submission.csv
		for f in "$DATA_DIR/new" "$DATA_DIR/train.csv" "$DATA_DIR/deep/er/file.txt"; do (echo spoilt > "$f") 2>/dev/null && echo wrote $f; done
		chmod -R u+w "$DATA_DIR" 2>/dev/null && echo spoilt > "$DATA_DIR/train.csv" && echo changed; true`)
	hit := run(t, b, values(b, t, attack))
	printed := hit.Logs["output.log"]
	switch {
	case os.Geteuid() == 0 && mayMount():
		if printed != "" || hit.Outcome != "finished" {
			t.Errorf("%s; the agent wrote: %q", hit.Outcome, printed)
		}
	case os.Geteuid() == 0:
		if hit.Outcome != "data_changed" {
			t.Errorf("outcome %s: %q", hit.Outcome, printed)
		}
	default:
		if printed != "changed\n" || hit.Outcome != "data_changed" {
			t.Errorf("%s; the agent wrote: %q", hit.Outcome, printed)
		}
	}
	if hit.Submission["submission.csv"] != toyData["sample_submission.csv"] {
		t.Errorf("what was submitted is not kept: %q", hit.Submission)
	}
	next := run(t, b, values(b, t, shell(`cp "$DATA_DIR/train.csv" "$DATA_DIR/deep/er/file.txt" $CODE_DIR; ls "$DATA_DIR" | wc -l`)))
	if next.Code["train.csv"] != toyData["train.csv"] || next.Code["file.txt"] != "content" || next.Logs["output.log"] != "5\n" {
		t.Errorf("the next attempt read %q; %s", next.Code, next.Logs["output.log"])
	}
	wantUndamaged(t, store)
}

func wantUndamaged(t *testing.T, store *disk.Cache) {
	t.Helper()
	res, err := store.Verify(t.Context(), disk.VerifyOptions{Full: true})
	if err != nil || len(res.Damages) > 0 {
		t.Errorf("the cache is damaged: %+v, %v", res.Damages, err)
	}
}

// While two read the same folder nobody can tell who changed it: both attempts are
// void, and then each has its own.
func TestDataChangedByOneOfTwo(t *testing.T) {
	b, store := sharing(t)
	flag := filepath.Join(t.TempDir(), "go")
	wait := fmt.Sprintf(`while [ ! -e %s ]; do sleep 0.05; done`, flag)
	args := values(b, t, shell(`echo ready > $LOGS_DIR/ready; `+wait+`; cat "$DATA_DIR/train.csv" > $CODE_DIR/seen`))
	var both sync.WaitGroup
	errs := make([]error, 2)
	for i := range errs {
		both.Go(func() { _, errs[i] = b.Run(t, args) })
	}
	dir := awaitShared(t, store)
	// The test is the agent that writes, since root's cannot where it may mount.
	spoil(t, filepath.Join(dir, "train.csv"))
	if err := os.WriteFile(flag, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	both.Wait()
	for _, err := range errs {
		if _, retried := step.IsRetryable(err); err == nil || !retried || !strings.Contains(err.Error(), "the attempt is void") {
			t.Errorf("the attempt ended with %v", err)
		}
	}
	r := run(t, b, args)
	if r.Code["seen"] != toyData["train.csv"] {
		t.Errorf("the next attempt read %q", r.Code["seen"])
	}
	if got := copiedIn(t, b.Log()); got[len(got)-1] != toyCopied {
		t.Errorf("copied %q", got)
	}
	wantUndamaged(t, store)
}

func spoil(t *testing.T, path string) {
	t.Helper()
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("spoilt"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// awaitShared waits until two attempts have the one shared folder.
func awaitShared(t *testing.T, store *disk.Cache) string {
	t.Helper()
	for range 600 {
		if marks, _ := filepath.Glob(filepath.Join(store.Dir(), "shared", "*", "shared")); len(marks) == 1 {
			return filepath.Join(filepath.Dir(marks[0]), "tree")
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("no folder is shared")
	return ""
}

// Without space for a shared copy an attempt has one of its own, as before.
func TestDataBeyondQuota(t *testing.T) {
	b := newBench(t)
	store, err := disk.Open(t.TempDir(), disk.Options{Quota: 4 << 10})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	b.Store = store
	big := map[string]string{"sample_submission.csv": "id,y\n11,a\n12,a\n", "train.csv": strings.Repeat("x", 2<<10)}
	args := values(b, t, shell(`ls "$DATA_DIR" | wc -l; cp $MLEFLOW_SAMPLE $SUBMISSION_DIR/submission.csv`))
	args["data"] = b.Tree(t, big)
	if err := store.Record(t.Context(), &cache.Record{Outputs: cache.Outputs{"data": {Ref: refOf(args["data"])}}}); err != nil {
		t.Fatal(err)
	}
	if r := run(t, b, args); r.Outcome != "finished" || r.Logs["output.log"] != "3\n" {
		t.Errorf("%s: %q", r.Outcome, r.Logs)
	}
	wantCopied(t, b.Log(), "3 files")
}

func refOf(v cty.Value) cache.Ref { return v.EncapsulatedValue().(*step.Artifact).Ref }

// What a plan says will be copied is what is copied then.
func TestCopies(t *testing.T) {
	b, store := sharing(t)
	args := values(b, t, shell("true"))
	cost := func() string {
		s, err := b.Kind.New(b.Args(t, args))
		if err != nil {
			t.Fatal(err)
		}
		list := s.(step.Copier).Copies(t.Context(), b.Store)
		if len(list) != 1 || !list[0].Shared || list[0].Why == "" {
			t.Fatalf("copies %+v", list)
		}
		files, bytes := store.ShareCost(list[0].Ref)
		if files == 0 && bytes != 0 {
			t.Errorf("%d bytes in no files", bytes)
		}
		return fmt.Sprintf("%d files", files)
	}
	before := cost()
	run(t, b, args)
	wantCopied(t, b.Log(), before)
	if after := cost(); after != none {
		t.Errorf("another attempt would copy %s", after)
	}
}
