package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/disk"
	"github.com/mleflow/mleflow/cache/tree"
)

// forger is a publisher who makes up results, and the stranger who checks them
// with prepared data of his own and an empty cache.
type forger struct {
	*place
	stranger *place
	data     string
	bundle   string
}

// honest is a pipeline with one attempt at one competition.
const honest = `
agent "dummy" { command = ["mleflow", "agent", "dummy"] }
step "download" "raw" { competition = "demo-digits" }
step "prepare" "data" {
  competition = "demo-digits"
  raw         = step.download.raw.tree
}
step "checksum" "data" {
  competition = "demo-digits"
  prepared    = step.prepare.data
}
step "agent-run" "solve" {
  agent       = agent.dummy
  competition = "demo-digits"
  data        = step.checksum.data.public
}
step "grade" "score" {
  competition = "demo-digits"
  submission  = step.agent-run.solve.submission
  answers     = step.checksum.data.private
  labels      = { agent = "dummy", seed = 0 }
}
step "aggregate" "board" { reports = [step.grade.score.report] }
`

func newForger(t *testing.T, pipeline string) *forger {
	t.Helper()
	dir := t.TempDir()
	f := &forger{place: newPlace(t, dir), stranger: newPlace(t, t.TempDir()), data: t.TempDir(), bundle: filepath.Join(dir, "run.bundle")}
	if err := os.WriteFile(f.file, []byte(pipeline), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code := newPlace(t, t.TempDir()).run("prepare", "-c", "demo-digits", "--data-dir", f.data); code != 0 {
		t.Fatalf("prepare: exit %d\n%s", code, stderr)
	}
	return f
}

// publish bundles the latest run.
func (f *forger) publish() {
	f.t.Helper()
	if stdout, stderr, code := f.run("bundle", "-o", f.bundle); code != 0 {
		f.t.Fatalf("bundle: exit %d\n%s%s", code, stdout, stderr)
	}
}

// checked has the stranger check the bundle, without data and with, and wants
// these statuses and this in both complaints.
func (f *forger) checked(plain, regraded int, says ...string) {
	f.t.Helper()
	for code, args := range map[*int][]string{
		&plain: {"verify", f.bundle}, &regraded: {"verify", f.bundle, "--regrade", "--data-dir", f.data},
	} {
		stdout, stderr, got := f.stranger.run(args...)
		if got != *code {
			f.t.Errorf("%v: exit %d, want %d\n%s%s", args[2:], got, *code, stdout, stderr)
		}
		for _, want := range says {
			if got == 3 && !strings.Contains(stdout+stderr, want) {
				f.t.Errorf("%v does not say %q:\n%s%s", args[2:], want, stdout, stderr)
			}
		}
		if *code != 0 && strings.Contains(stdout, "graded again with the answers") {
			f.t.Errorf("%v says that scores were graded again:\n%s", args[2:], stdout)
		}
	}
}

// TestHonestBundle is what forgeries are told from.
func TestHonestBundle(t *testing.T) {
	f := newForger(t, honest)
	f.finish()
	f.publish()
	f.checked(5, 0)
	// A cache in which nothing was prepared does not help.
	if stdout, stderr, code := f.stranger.run("verify", f.bundle, "--regrade"); code != 5 || strings.Contains(stdout, "graded again with") {
		t.Errorf("an empty cache: exit %d\n%s%s", code, stdout, stderr)
	}
	// One in which it was does, unless it was not the stranger who did it.
	f.stranger.file = f.file
	f.stranger.finish()
	if stdout, stderr, code := f.stranger.run("verify", f.bundle, "--regrade"); code != 0 {
		t.Errorf("an own cache: exit %d\n%s%s", code, stdout, stderr)
	}
	if err := os.RemoveAll(filepath.Join(f.stranger.cache, "runs")); err != nil {
		t.Fatal(err)
	}
	if stdout, stderr, code := f.stranger.run("verify", f.bundle, "--regrade"); code != 5 || !strings.Contains(stdout, "were made elsewhere") {
		t.Errorf("a cache that others filled: exit %d\n%s%s", code, stdout, stderr)
	}
	// Data that are not the pinned ones are no answers.
	path := filepath.Join(f.data, "demo-digits", "prepared", "private", "test.csv")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(text, "x"...), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code := f.stranger.run("verify", f.bundle, "--regrade", "--data-dir", f.data); code != 3 || !strings.Contains(stderr, "do not match the pins of its definition") {
		t.Errorf("other data: exit %d\n%s", code, stderr)
	}
}

// TestForgedAnswers has an agent bring its own answers, which the pipeline takes.
func TestForgedAnswers(t *testing.T) {
	text := strings.Replace(honest, `["mleflow", "agent", "dummy"]`,
		`["sh", "-c", "cp $DATA_DIR/sample_submission.csv $SUBMISSION_DIR/submission.csv; cp $DATA_DIR/sample_submission.csv $SUBMISSION_DIR/test.csv"]`, 1)
	f := newForger(t, strings.Replace(text, "answers     = step.checksum.data.private", "answers     = step.agent-run.solve.submission", 1))
	f.finish()
	f.publish()
	f.checked(3, 3, `the answers are output "submission" of step.agent-run.solve`)
}

// TestForgedReport feeds a board with a report that a command prints.
func TestForgedReport(t *testing.T) {
	f := newForger(t, honest)
	f.finish()
	var report string
	f.withCache(func(c *disk.Cache) {
		report = string(f.content(c, f.record(c, "step.grade.score").Outputs["report"].Ref))
	})
	forged := forgeReport(f.t, []byte(report))
	text := honest[:strings.Index(honest, "step \"grade\"")] + "step \"aggregate\" \"board\" { reports = [step.exec.fake.stdout] }\n"
	text += fmt.Sprintf("step \"exec\" \"fake\" { command = [\"printf\", \"%%s\", %q] }\n", forged)
	if err := os.WriteFile(f.file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	f.finish()
	f.publish()
	f.checked(3, 3, "its reports are output \"stdout\" of step.exec.fake, a step of kind exec")
}

// forgeReport makes a report one of a gold medal.
func forgeReport(t *testing.T, report []byte) []byte {
	t.Helper()
	var r map[string]any
	if err := json.Unmarshal(report, &r); err != nil {
		t.Fatal(err)
	}
	maps.Copy(r, map[string]any{"score": 1.0, "exact_score": 1.0, "any_medal": true, "gold_medal": true, "above_median": true, "rank": 1})
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func (f *forger) withCache(fn func(*disk.Cache)) {
	f.t.Helper()
	c, err := disk.Open(f.cache, disk.Options{})
	if err != nil {
		f.t.Fatal(err)
	}
	fn(c)
	if err := c.Close(); err != nil {
		f.t.Fatal(err)
	}
}

func (f *forger) content(c *disk.Cache, ref cache.Ref) []byte {
	f.t.Helper()
	text, err := cache.Get(f.t.Context(), c, ref.ID, 1<<24)
	if err != nil {
		f.t.Fatal(err)
	}
	return text
}

// record is the record of a step of the latest run.
func (f *forger) record(c *disk.Cache, address string) *cache.Record {
	f.t.Helper()
	stdout, _, _ := f.run("show", "latest", "--json")
	var run struct {
		Steps []struct{ Address, Action string } `json:"steps"`
	}
	if err := json.Unmarshal([]byte(stdout), &run); err != nil {
		f.t.Fatalf("%v in %s", err, stdout)
	}
	for _, s := range run.Steps {
		if s.Address == address {
			id, err := digest.ParseActionID(s.Action)
			if err != nil {
				f.t.Fatal(err)
			}
			rec, err := c.Lookup(f.t.Context(), id)
			if err != nil {
				f.t.Fatal(err)
			}
			return rec
		}
	}
	f.t.Fatalf("no step %s in %s", address, stdout)
	return nil
}

// forge replaces outputs of a step, as a patched binary gives them.
func (f *forger) forge(address string, outputs func(*disk.Cache, cache.Outputs)) {
	f.t.Helper()
	f.withCache(func(c *disk.Cache) {
		rec := *f.record(c, address)
		was := rec.Outputs
		rec.Outputs = cache.Outputs{}
		maps.Copy(rec.Outputs, was)
		outputs(c, rec.Outputs)
		if err := c.Record(f.t.Context(), &rec); err != nil {
			f.t.Fatal(err)
		}
	})
}

// TestPatchedGrader has a binary that gives gold to everyone run an honest
// pipeline.
func TestPatchedGrader(t *testing.T) {
	f := newForger(t, honest)
	f.finish()
	f.forge("step.grade.score", func(c *disk.Cache, out cache.Outputs) {
		ref, err := cache.PutBytes(t.Context(), c, forgeReport(t, f.content(c, out["report"].Ref)))
		if err != nil {
			t.Fatal(err)
		}
		out["report"], out["medal"], out["score"] = cache.Value{Ref: ref}, cache.Value{JSON: []byte(`"gold"`)}, cache.Value{JSON: []byte(`1`)}
	})
	if outputs, ran := f.finish(); ran != 1 {
		t.Fatalf("%d steps ran, want the board alone: %v", ran, outputs)
	}
	f.publish()
	f.checked(5, 3, "grading it again gives a different report")
	// So does anyone who applies the pipeline with the bundle's lock.
	f.lockOut()
	f.stranger.file = f.file
	stdout, stderr, code := f.stranger.run("apply", f.file, "--locked")
	if code != 3 || !strings.Contains(stdout+stderr, "output report is") {
		t.Errorf("apply --locked: exit %d\n%s%s", code, stdout, stderr)
	}
}

// TestPatchedBoard has a binary that changes a figure of the board, and one that words the
// class in another way, as an older mleflow does.
func TestPatchedBoard(t *testing.T) {
	for _, tt := range []struct {
		name, was, is, says string
		code                int
	}{
		{"figure", `"above_median": 0`, `"above_median": 1`, "gives a different board", 3},
		{"words", `"class": "isolation`, `"class": "in isolation`, "the words of step.aggregate.board", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newForger(t, honest)
			f.finish()
			f.forge("step.aggregate.board", func(c *disk.Cache, out cache.Outputs) {
				text := string(f.content(c, out["board"].Ref))
				if !strings.Contains(text, tt.was) {
					t.Fatalf("no %s in %s", tt.was, text)
				}
				ref, err := cache.PutBytes(t.Context(), c, []byte(strings.Replace(text, tt.was, tt.is, 1)))
				if err != nil {
					t.Fatal(err)
				}
				out["board"] = cache.Value{Ref: ref}
			})
			f.finish()
			f.publish()
			stdout, stderr, code := f.stranger.run("verify", f.bundle, "--regrade", "--data-dir", f.data)
			if code != tt.code || !strings.Contains(stdout+stderr, tt.says) {
				t.Errorf("exit %d, want %d and %q\n%s%s", code, tt.code, tt.says, stdout, stderr)
			}
		})
	}
}

// TestPatchedPreparation has a binary that takes the sample submission for the
// answers.
func TestPatchedPreparation(t *testing.T) {
	text := strings.ReplaceAll(strings.Replace(honest, "step \"checksum\" \"data\" {\n  competition = \"demo-digits\"\n  prepared    = step.prepare.data\n}\n", "", 1), "step.checksum.", "step.prepare.")
	f := newForger(t, text)
	f.finish()
	f.forge("step.prepare.data", func(c *disk.Cache, out cache.Outputs) {
		e, err := tree.Find(t.Context(), c, out["public"].Ref, "sample_submission.csv")
		if err != nil {
			t.Fatal(err)
		}
		var b tree.Builder
		if err := b.Add("test.csv", e.Ref(), false); err != nil {
			t.Fatal(err)
		}
		private, err := b.Build(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		out["private"] = cache.Value{Ref: private}
	})
	f.finish()
	f.publish()
	f.checked(3, 3, "its data do not match the pins of demo-digits v1")
}

// rekey changes fields of the key of a step of the latest run, in the cache and the
// run history.
func (f *forger) rekey(address string, fields map[string]string) {
	f.t.Helper()
	f.withCache(func(c *disk.Cache) {
		rec := *f.record(c, address)
		was := rec.Action.String()
		h := digest.NewHasher(rec.Fields[0].Value, rec.Fields[1].Value)
		for _, field := range rec.Fields[2:] {
			value, changed := fields[field.Label]
			if !changed {
				value = field.Value
			}
			h.String(field.Label, value)
		}
		rec.Action, rec.Fields = h.Sum(), h.Fields()
		if err := c.Record(f.t.Context(), &rec); err != nil {
			f.t.Fatal(err)
		}
		f.inHistory("events.jsonl", was, rec.Action.String())
	})
}

// inHistory replaces text in files of the latest run.
func (f *forger) inHistory(pattern string, oldnew ...string) {
	f.t.Helper()
	files, err := filepath.Glob(filepath.Join(f.cache, "runs", "*", pattern))
	if err != nil || len(files) == 0 {
		f.t.Fatal(files, err)
	}
	path := files[len(files)-1]
	text, err := os.ReadFile(path)
	if err != nil {
		f.t.Fatal(err)
	}
	forged := []byte(strings.NewReplacer(oldnew...).Replace(string(text)))
	if err := errors.Join(os.Chmod(path, 0o644), os.WriteFile(path, forged, 0o644)); err != nil {
		f.t.Fatal(err)
	}
}

// unchain removes the chain of attempts, which would give a forger away.
func (f *forger) unchain() {
	f.t.Helper()
	if err := os.Remove(filepath.Join(f.cache, "chain.jsonl")); err != nil {
		f.t.Fatal(err)
	}
}

// TestForgedInputs has records of attempts with an image that the stranger does not
// have, so that he cannot compute their keys, and with inputs that the pipeline does
// not give them.
func TestForgedInputs(t *testing.T) {
	f := newForger(t, strings.Replace(honest, "  data        = step.checksum.data.public\n", "  data        = step.checksum.data.public\n  runtime     = \"process\"\n", 1))
	f.finish()
	f.inHistory("pipeline/*.hcl", `agent "dummy" { command = ["mleflow", "agent", "dummy"] }`, "agent \"dummy\" {\n  command = [\"sh\"]\n  image = \"gone.tar\"\n}", `"process"`, `"sandbox"`)
	other := digest.Of([]byte("other")).String()
	f.rekey("step.agent-run.solve", map[string]string{
		"agent.image": `"gone.tar"`, "agent.command": `["sh"]`, "runtime": "sandbox", "data": other, "description": other, "instructions": other, "seed": "7", "competition": "demo-cancer",
	})
	if _, stderr, code := f.run("bundle", "-o", f.bundle); code != 3 || !strings.Contains(stderr, "it declares another pipeline") {
		t.Errorf("with the chain: exit %d\n%s", code, stderr)
	}
	f.unchain()
	f.publish()
	stdout, stderr, code := f.stranger.run("verify", f.bundle)
	for _, field := range []string{"data", "description", "instructions", "seed", "competition"} {
		if want := "step.agent-run.solve: " + field + " was "; !strings.Contains(stderr, want) {
			t.Errorf("exit %d, without %q:\n%s%s", code, want, stdout, stderr)
		}
	}
}

// lockOut puts the lock of the bundle next to the pipeline.
func (f *forger) lockOut() {
	f.t.Helper()
	b, err := os.ReadFile(f.bundle)
	if err != nil {
		f.t.Fatal(err)
	}
	const head = "# Written by mleflow lock."
	_, text, _ := strings.Cut(string(b), head)
	text, _, _ = strings.Cut(text, "\x00")
	if err := os.WriteFile(strings.TrimSuffix(f.file, ".hcl")+".lock.hcl", []byte(head+text), 0o644); err != nil {
		f.t.Fatal(err)
	}
}

// TestLockOfBundle applies an honest pipeline with the lock out of its bundle:
// where it was made, where only the data are, and where nothing is.
func TestLockOfBundle(t *testing.T) {
	f := newForger(t, honest+"step \"exec\" \"spy\" {\n  command = [\"sh\", \"-c\", \"wc -l < inputs/answers/test.csv; true '${path.pipeline}'\"]\n  inputs  = { answers = step.prepare.data.private }\n}\n")
	f.finish()
	f.publish()
	f.lockOut()
	f.stranger.file = f.file
	for _, p := range []*place{f.place, f.stranger} {
		if stdout, stderr, code := p.run("apply", f.file, "--locked"); code != 0 {
			t.Errorf("apply --locked: exit %d\n%s%s", code, stdout, stderr)
		}
	}
}

// TestFlags has agents submit the answers, and a perfect score that no team has.
func TestFlags(t *testing.T) {
	f := newForger(t, "")
	private := filepath.Join(f.data, "demo-digits", "prepared", "private", "test.csv")
	for name, tt := range map[string]struct{ command, want string }{
		"the answers":  {"cp " + private + " $SUBMISSION_DIR/submission.csv", "the submission is the answers, byte for byte"},
		"their values": {"{ cat " + private + "; echo; } > $SUBMISSION_DIR/submission.csv", "the score is perfect, which no team on the human leaderboard reached"},
		"the sample":   {"cp $DATA_DIR/sample_submission.csv $SUBMISSION_DIR/submission.csv", ""},
	} {
		text := strings.Replace(honest, `["mleflow", "agent", "dummy"]`, fmt.Sprintf(`["sh", "-c", %q]`, tt.command), 1)
		if err := os.WriteFile(f.file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		f.finish()
		f.publish()
		stdout, stderr, code := f.stranger.run("verify", f.bundle, "--regrade", "--data-dir", f.data)
		if code != 0 || tt.want != "" && !strings.Contains(stdout, tt.want) || tt.want == "" && (strings.Contains(stdout, "byte for byte") || strings.Contains(stdout, "is perfect")) {
			t.Errorf("%s: exit %d\n%s%s", name, code, stdout, stderr)
		}
	}
}
