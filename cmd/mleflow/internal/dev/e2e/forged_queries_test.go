package e2e

import (
	"errors"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/disk"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/plugins/sandbox/validity"
)

// queried is honest with an attempt that asks for three validation scores: of all zeros,
// ones and twos.
var queried = strings.NewReplacer(
	`["mleflow", "agent", "dummy"]`, `["sh", "-c", "cp $DATA_DIR/sample_submission.csv $SUBMISSION_DIR/submission.csv; for n in 0 1 2; do sed s/,0\\$/,$n/ $VALIDATION_DIR/sample_submission.csv >v.csv; curl -s -F file=@v.csv $MLEFLOW_GATEWAY/score; done"]`,
	"  data        = step.checksum.data.public\n", "  data        = step.checksum.data.public\n  runtime     = \"process\"\n  feedback    = \"validation\"\n  queries     = 4\n",
).Replace(honest)

// forgeQueries replaces the queries of the attempt by a tree with a changed log, and without
// the kept files that the new log does not name.
func (f *forger) forgeQueries(honest cache.Ref, change func(lines []string) []string) {
	f.t.Helper()
	f.forge("step.agent-run.solve", func(c *disk.Cache, out cache.Outputs) {
		var b tree.Builder
		var text string
		err := tree.Walk(f.t.Context(), c, honest, func(path string, e tree.Entry) error {
			if path == validity.QueriesFile {
				text = string(f.content(c, e.Ref()))
				text = strings.Join(change(strings.SplitAfter(text, "\n")), "")
				ref, err := cache.PutBytes(f.t.Context(), c, []byte(text))
				return errors.Join(err, b.Add(path, ref, false))
			}
			return nil
		})
		if err == nil {
			err = tree.Walk(f.t.Context(), c, honest, func(path string, e tree.Entry) error {
				if sum, kept := strings.CutSuffix(path, ".csv"); !kept || !strings.Contains(text, sum) {
					return nil
				}
				return b.Add(path, e.Ref(), false)
			})
		}
		if err != nil {
			f.t.Fatal(err)
		}
		ref, err := b.Build(f.t.Context(), c)
		if err != nil {
			f.t.Fatal(err)
		}
		out["queries"] = cache.Value{Ref: ref}
	})
	f.finish()
	f.unchain()
	f.publish()
}

// TestForgedQueries has a publisher change what an attempt asked, and the labels that it
// was scored with.
func TestForgedQueries(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip(err)
	}
	f := newForger(t, queried)
	f.finish()
	f.publish()
	f.checked(5, 0)
	if stdout, _, _ := f.stranger.run("verify", f.bundle, "--regrade", "--data-dir", f.data); !strings.Contains(stdout, "3 of 3 validation scores") {
		t.Errorf("an honest bundle:\n%s", stdout)
	}
	var honest cache.Ref
	f.withCache(func(c *disk.Cache) { honest = f.record(c, "step.agent-run.solve").Outputs["queries"].Ref })
	score := regexp.MustCompile(`"score":[0-9.]+`)
	for _, tt := range []struct {
		name   string
		change func(lines []string) []string
		plain  int
		says   string
	}{
		{"the best score", func(l []string) []string {
			for i := range l {
				if strings.Contains(l[i], `"rank":1`) { // the last of these is the best
					l[i] = score.ReplaceAllStringFunc(l[i], func(was string) string { return was + "1" })
				}
			}
			return l
		}, 5, "with the labels that were held out here"},
		{"a dropped query", func(l []string) []string { return append(l[:2:2], l[3:]...) }, 3, "the attempt's log of requests has a query at"},
		{"the first query", func(l []string) []string { return l[1:] }, 3, "query 1 is missing"},
	} {
		f.forgeQueries(honest, tt.change)
		t.Log(tt.name)
		f.checked(tt.plain, 3, tt.says)
	}
	f.forge("step.holdout.solve[\"demo-digits\"]", func(c *disk.Cache, out cache.Outputs) {
		inputs, err := tree.Find(t.Context(), c, out["inputs"].Ref, "sample_submission.csv")
		var b tree.Builder
		if err == nil {
			err = b.Add("test.csv", inputs.Ref(), false)
		}
		if err != nil {
			t.Fatal(err)
		}
		private, err := b.Build(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		out["private"] = cache.Value{Ref: private}
	})
	if stdout, stderr, code := f.run("apply", f.file, "--rerun"); code != 0 { // the attempt, with other labels
		t.Fatalf("apply: exit %d\n%s%s", code, stdout, stderr)
	}
	f.publish()
	t.Log("another split")
	f.checked(5, 3, "again gives another split than")
}
