package confined

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/outcome"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == Command {
		os.Exit(Serve(catalog, metric.All()))
	}
	os.Exit(m.Run())
}

const competition = `competition %q {
  title       = "Toy"
  complexity  = "demo"
  description = "A toy."
  answers     = "private/test.csv"
  sample      = "public/sample_submission.csv"
  prepare {}
  param "most" {
    default     = 9
    description = "A parameter."
  }
  grade {
    metric  = %q
    id      = "id"
    targets = ["y"]
    %s
    require {
      columns = ["id", "y"]
      %s
    }
  }
  medals { scores = [1, 0.9, 0.8, 0.75, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2] }
}`

func catalog() (*competitions.Catalog, error) {
	folder := fstest.MapFS{}
	for _, c := range [][4]string{
		{"toy", "rmse", "", "same_rows = true"},
		{"joined", "rmse", `align = "join"`, ""},
		{"long", "levenshtein", "", ""},
		{"cuboids", "cuboid_ap", "", ""},
		{"slices", "dice_hausdorff", "params = { height = \"h\", width = \"w\" }\n    cells = \"filled_text\"", ""},
	} {
		folder[c[0]+"/competition.hcl"] = &fstest.MapFile{Data: fmt.Appendf(nil, competition, c[0], c[1], c[2], c[3])}
	}
	cat, err := competitions.Load(folder)
	if err != nil {
		return nil, err
	}
	return cat, nil
}

// bench is a grader that has a child read everything, and local its measure.
type bench struct {
	*Grader
	local grading.Local
	cat   *competitions.Catalog
	dir   string
}

func newBench(t *testing.T, l limits) *bench {
	t.Helper()
	cat, err := catalog()
	if err != nil {
		t.Fatal(err)
	}
	j := New(metric.All(), nil, "", Machine{})
	j.small, j.limits = -1, func(int64) limits { return l }
	return &bench{j, grading.Local{Metrics: metric.All()}, cat, t.TempDir()}
}

func (b *bench) def(t *testing.T, id string) *competitions.Definition {
	t.Helper()
	def, err := b.cat.Get(id)
	if err != nil {
		t.Fatal(err)
	}
	return def
}

func (b *bench) file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(b.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

var usual = limits{Memory: 4 << 30, CPU: time.Minute}

const truth = "id,y\n1,0.5\n2,1\n3,0\n"

// TestAsLocal: a child says what this process says.
func TestAsLocal(t *testing.T) {
	b := newBench(t, usual)
	answers := b.file(t, "answers.csv", truth)
	sample := b.file(t, "sample.csv", "id,y\n1,0\n2,0\n3,0\n")
	for name, text := range map[string]string{
		"perfect": truth, "good": "id,y\n3,0.1\n1,0.25\n2,0.875\n", "rows": "id,y\n1,0\n", "columns": "id,z\n1,0\n2,0\n3,0\n", "empty": "",
		"inf": "id,y\n1,inf\n2,1\n3,0\n", "text": "id,y\n1,a\n2,b\n3,c\n", "bytes": "id,y\n\xff\n", "quote": "id,y\n\"1,2\n", "commas": strings.Repeat(",", 1<<20),
	} {
		t.Run(name, func(t *testing.T) {
			path := b.file(t, name+".csv", text)
			for _, def := range []*competitions.Definition{b.def(t, "toy"), b.def(t, "joined"), b.def(t, "toy").Rehearsed()} {
				q := grading.Request{
					Submission: path, Name: "s.csv", Answers: answers, Created: time.Date(2024, 5, 6, 7, 8, 9, 123456000, time.FixedZone("", 3600)),
					Params: map[string]cty.Value{"most": cty.StringVal("7")},
				}
				want, err := b.local.Grade(t.Context(), def, q)
				got, err2 := b.Grade(t.Context(), def, q)
				if err := errors.Join(err, err2); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(asJSON(t, want), asJSON(t, got)); diff != "" {
					t.Error(diff)
				}
				for _, sample := range []string{sample, ""} {
					want := b.local.Form(def, sample, "")(t.Context(), path)
					got := b.Form(def, sample, "")(t.Context(), path)
					if diff := cmp.Diff(fmt.Sprintf("%T %v", want, want), fmt.Sprintf("%T %v", got, got)); diff != "" {
						t.Error(diff)
					}
				}
			}
		})
	}
}

// TestOwn: a child takes the definition of a folder of somebody's own from
// there, and none that changed meanwhile.
func TestOwn(t *testing.T) {
	b := newBench(t, usual)
	write := func(text string) string {
		dir := filepath.Join(b.dir, "mine")
		if err := os.MkdirAll(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		return b.file(t, "mine/"+competitions.FileName, text)
	}
	text := fmt.Sprintf(competition, "mine", "rmse", "", "same_rows = true")
	text = strings.Replace(text, "scores = [1, 0.9, 0.8, 0.75, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2]", `leaderboard = "board.txt"`, 1)
	write(text)
	board := filepath.Join(b.dir, "mine", "board.txt")
	if err := os.WriteFile(board, []byte("1\n0.9\n0.5\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cat, err := competitions.LoadFolder(competitions.Folder{Path: filepath.Join(b.dir, "mine")})
	if err != nil {
		t.Fatal(err)
	}
	def, err := cat.Get("mine")
	if err != nil {
		t.Fatal(err)
	}
	q := grading.Request{Submission: b.file(t, "s.csv", truth), Answers: b.file(t, "a.csv", truth)}
	want, err := b.local.Grade(t.Context(), def, q)
	if err != nil {
		t.Fatal(err)
	}
	write("competition {}") // the text that was read counts
	got, err := b.Grade(t.Context(), def, q)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(asJSON(t, want), asJSON(t, got)); diff != "" {
		t.Error(diff)
	}
	if err := os.WriteFile(board, []byte("1\n0.9\n0.6\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r, err := b.Grade(t.Context(), def, q); err == nil || !strings.Contains(err.Error(), "changed in the meantime") {
		t.Errorf("got %v, %v", r.Outcome, err)
	}
}

// printer is an executor that prints a verdict instead of running anything.
type printer string

func (p printer) Run(_ context.Context, spec executor.Spec, _ io.Writer) (executor.Exit, error) {
	_, err := io.WriteString(spec.Stdout, string(p))
	return executor.Exit{Reason: executor.Exited}, err
}

// TestProgram: where the metric is a program, the child checks the
// requirements, and the program is run outside it.
func TestProgram(t *testing.T) {
	b := newBench(t, usual)
	b.Grader.local.Executor = printer(`{"score": 0.875}`)
	text := fmt.Sprintf(competition, "mine", "rmse", "", "same_rows = true")
	text = strings.Replace(text, `"rmse"`, `command({ command = ["true"], better = "higher" })`, 1)
	if err := os.MkdirAll(filepath.Join(b.dir, "mine"), 0o777); err != nil {
		t.Fatal(err)
	}
	b.file(t, "mine/"+competitions.FileName, text)
	cat, err := competitions.LoadFolder(competitions.Folder{Path: b.dir})
	if err != nil {
		t.Fatal(err)
	}
	def, err := cat.Get("mine")
	if err != nil {
		t.Fatal(err)
	}
	answers := b.file(t, "a.csv", truth)
	r, err := b.Grade(t.Context(), def, grading.Request{Submission: b.file(t, "s.csv", truth), Answers: answers})
	if err != nil || r.Outcome != outcome.Scored || float64(*r.Score) != 0.875 || !r.MetricExternal {
		t.Errorf("got %s, %v", asJSON(t, r), err)
	}
	r, err = b.Grade(t.Context(), def, grading.Request{Submission: b.file(t, "short.csv", "id,y\n1,1\n"), Answers: answers})
	if err != nil || r.Outcome != outcome.Invalid || r.Rule != "same_rows" {
		t.Errorf("got %s, %v", asJSON(t, r), err)
	}
	b.Grader.local.Executor = nil
	if _, err = b.Grade(t.Context(), def, grading.Request{Submission: b.file(t, "t.csv", truth), Answers: answers}); !errors.Is(err, grading.ErrProgram) {
		t.Errorf("got %v", err)
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// masks of pictures whose Hausdorff distance takes hours.
func slowMasks() (answers, submission string) {
	a, s := "id,y,h,w\n", "id,y\n"
	for i := range 4 {
		a += fmt.Sprintf("x_slice_%d,1 %d,3000,3000\n", i, 2_000_000)
		s += fmt.Sprintf("x_slice_%d,5000001 %d\n", i, 4_000_000)
	}
	return a, s
}

// TestLimits: what takes too much is an invalid submission with a reason, and
// costs this process nothing.
func TestLimits(t *testing.T) {
	slow, slowest := slowMasks()
	for _, tt := range []struct {
		name, id, answers, submission, want string
		limits                              limits
	}{
		{"memory", "joined", truth, "id,y\n" + strings.Repeat("1,2\n", 4<<20), "more than 256 MiB of memory", limits{256 << 20, time.Minute}},
		{"memory for columns", "joined", truth, strings.Repeat(",", 200_000) + "\n", "more than 64 MiB of memory", limits{64 << 20, time.Minute}},
		{"memory for one field", "joined", truth, "id,y\n1," + strings.Repeat("x", 150<<20), "more than 256 MiB of memory", limits{256 << 20, time.Minute}},
		{"memory of the filled", "joined", truth, strings.Repeat("a,", 4000) + "b\n" + strings.Repeat("1"+strings.Repeat(",", 400)+"\n", 20_000), "more than 256 MiB of memory", limits{256 << 20, time.Minute}},
		{"time", "slices", slow, slowest, "more than 2s of CPU time", limits{4 << 30, 2 * time.Second}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, tt.limits)
			b.small = smallBytes // and what is costly is not small
			answers, path := b.file(t, "answers.csv", tt.answers), b.file(t, "s.csv", tt.submission)
			before := peak(t)
			r, err := b.Grade(t.Context(), b.def(t, tt.id), grading.Request{Submission: path, Answers: answers})
			if err != nil {
				t.Fatal(err)
			}
			if r.Outcome != outcome.Invalid || r.Rule != "limit" || !r.SubmissionExists || r.SubmissionPath != path || !strings.Contains(r.Reason, tt.want) {
				t.Errorf("got %s", asJSON(t, r))
			}
			if grown := peak(t) - before; grown > 32<<10 {
				t.Errorf("this process grew by %d KiB", grown)
			}
			err = b.Form(b.def(t, tt.id), b.file(t, "sample.csv", tt.answers), "")(t.Context(), path)
			var bad *grading.Invalid
			if !errors.As(err, &bad) || !strings.Contains(bad.Reason, tt.want) {
				t.Errorf("the form says %v", err)
			}
		})
	}
}

// TestCostly: few bytes that take long are no small submission.
func TestCostly(t *testing.T) {
	list := func(piece string, n int) string {
		return "id,y\n1," + strings.Repeat(piece, n-1) + strings.TrimSpace(piece) + "\n"
	}
	for id, texts := range map[string][2]string{
		"long":    {list("ab", 800_000), list("ba", 100_000)},
		"cuboids": {list("1 0 0 0 9 9 9 0.5 car ", 5000), list("1 0 0 0 9 9 9 1 car ", 12_000)},
	} {
		t.Run(id, func(t *testing.T) {
			b := newBench(t, limits{4 << 30, time.Second})
			b.small = smallBytes
			r, err := b.Grade(t.Context(), b.def(t, id), grading.Request{Submission: b.file(t, "s.csv", texts[1]), Answers: b.file(t, "a.csv", texts[0])})
			if err != nil || r.Rule != "limit" || !strings.Contains(r.Reason, "more than 1s of CPU time") {
				t.Errorf("got %v, %s", err, asJSON(t, r))
			}
		})
	}
}

// TestSlots starts children that look how many there are.
func TestSlots(t *testing.T) {
	for _, tt := range []struct {
		name    string
		machine Machine
		most    int
	}{
		{"processors", Machine{CPUs: 2.5, Memory: 1 << 40}, 2},
		{"unknown memory", Machine{CPUs: 2}, 2},
		{"memory", Machine{CPUs: 64, Memory: 3 * usual.Memory}, 3},
		{"less memory than one may have", Machine{CPUs: 64, Memory: usual.Memory / 2}, 1},
		{"none is known", Machine{}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, usual)
			b.slots = newSlots(tt.machine)
			running := t.TempDir()
			b.self = b.file(t, "program", fmt.Sprintf("#!/bin/sh\ncd %q; : > $$; ls | wc -l >> ../seen; sleep 0.1; rm $$; echo '{}'\n", running))
			if err := os.Chmod(b.self, 0o700); err != nil {
				t.Fatal(err)
			}
			check, path := b.Form(b.def(t, "toy"), "", ""), b.file(t, "s.csv", truth)
			var wg sync.WaitGroup
			for range 3 * tt.most {
				wg.Go(func() {
					if err := check(t.Context(), path); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			text, err := os.ReadFile(filepath.Join(running, "../seen"))
			seen := strings.Fields(string(text))
			if err != nil || len(seen) != 3*tt.most {
				t.Fatalf("%d children ran (%v)", len(seen), err)
			}
			if !slices.ContainsFunc(seen, func(n string) bool { return n == fmt.Sprint(tt.most) }) {
				t.Logf("there were never %d at once", tt.most)
			}
			for _, n := range seen {
				if k, err := strconv.Atoi(n); err != nil || k > tt.most {
					t.Errorf("%s at once, want at most %d", n, tt.most)
				}
			}
		})
	}
}

// TestSlotsAreLeft: a child that waits for a place gets it when another leaves.
func TestSlotsAreLeft(t *testing.T) {
	r := newSlots(Machine{CPUs: 1})
	leave, err := r.enter(t.Context(), r.memory)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.enter(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	leave()
	if _, err := r.enter(t.Context(), 1); err != nil {
		t.Error(err)
	}
}

// peak is the most memory that this process had, in KiB.
func peak(t *testing.T) int64 {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return u.Maxrss
}

// TestCancel ends a child that would go on for hours.
func TestCancel(t *testing.T) {
	b := newBench(t, usual)
	answers, submission := slowMasks()
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(500*time.Millisecond, cancel)
	_, err := b.Grade(ctx, b.def(t, "slices"), grading.Request{Submission: b.file(t, "s.csv", submission), Answers: b.file(t, "a.csv", answers)})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestNotTheSubmission: what is not a fault of the submission is an error.
func TestNotTheSubmission(t *testing.T) {
	for _, tt := range []struct{ name, script, want string }{
		{"killed", "echo x >> $0.started; kill -9 $$", "was killed"},
		{"failed", "echo no such sub-command >&2; exit 2", "no such sub-command"},
		{"silent", "exit 0", "process of its own"},
		{"panic", "echo 'panic: runtime error' >&2; exit 2", "panic: runtime error"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, usual)
			b.self = b.file(t, "program", "#!/bin/sh\n"+tt.script+"\n")
			if err := os.Chmod(b.self, 0o700); err != nil {
				t.Fatal(err)
			}
			_, err := b.Grade(t.Context(), b.def(t, "toy"), grading.Request{Submission: b.file(t, "s.csv", truth), Answers: b.file(t, "a.csv", truth)})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			if started, _ := os.ReadFile(b.self + ".started"); tt.name == "killed" && string(started) != "x\nx\n" {
				t.Errorf("it was started %d times, want twice", len(started)/2)
			}
		})
	}
}

// TestOrphan: a child ends when nobody waits for it any more.
func TestOrphan(t *testing.T) {
	b := newBench(t, usual)
	answers, submission := slowMasks()
	def := b.def(t, "slices")
	sum, _ := def.GradeDigest(nil)
	text, err := json.Marshal(question{
		Competition: def.ID, Version: def.Version, Definition: sum, Limits: usual,
		Submission: b.file(t, "s.csv", submission), Answers: b.file(t, "a.csv", answers),
	})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", Command)
	cmd.Env = []string{variable + "=1"}
	cmd.Stdin = strings.NewReader(string(text) + "\n") // and then its end
	if err := cmd.Run(); cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("got %v", err)
	}
	if cmd := exec.Command("/proc/self/exe", Command); cmd.Run() == nil || cmd.ProcessState.ExitCode() != 2 {
		t.Error("a child can be started by hand")
	}
}
