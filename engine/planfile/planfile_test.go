package planfile

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/engine/plan"
)

var saved = File{
	Version: "0.2.0", Pipeline: "lab/p.hcl", Variables: map[string]string{"n": "<3>"}, Sensitive: []string{"token"},
	Options: Options{Targets: []string{"step.a.b"}}, Files: map[string]string{"p.hcl": "1"},
	Steps: []Step{{Address: "step.a.b", Action: plan.Run, ActionID: "01"}},
}

func TestRoundTrip(t *testing.T) {
	text, err := saved.Encode()
	if err != nil {
		t.Fatal(err)
	}
	f, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	want := saved
	want.Format, want.Digest = f.Format, f.Digest
	if diff := cmp.Diff(want, *f); diff != "" || f.Format != 1 || !Is(text) {
		t.Error(diff)
	}
}

// What is no saved plan, or no longer one, is refused with what to do.
func TestParseMistakes(t *testing.T) {
	text, err := saved.Encode()
	if err != nil {
		t.Fatal(err)
	}
	outside := saved
	outside.Pipeline = "../other/p.hcl"
	escaping, err := outside.Encode()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, text, want string }{
		{"half of it", string(text[:len(text)/2]), "nor a whole plan"},
		{"other JSON", `{"steps": []}`, "is JSON, and neither"},
		{"another format", `{"mleflow_plan": 2, "future": true}`, "its format is 2, and this program reads 1"},
		{"no object", `{} {}`, "nor a whole plan"},
		{"an edited action", strings.Replace(string(text), `"run"`, `"cached"`, 1), "was edited or damaged"},
		{"an edited variable", strings.Replace(string(text), "<3>", "4", 1), "was edited or damaged"},
		{"an unknown field", strings.Replace(string(text), `"files"`, `"run": ["rm"], "files"`, 1), "unknown field"},
		{"a pipeline elsewhere", string(escaping), "not a path below the working directory"},
	} {
		if _, err := Parse([]byte(tt.text)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

// What may be a pipeline is left to be read as one.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	hcl, fifo, whole := filepath.Join(dir, "p.plan"), filepath.Join(dir, "fifo"), filepath.Join(dir, "p.hcl")
	text, err := saved.Encode()
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string][]byte{hcl: []byte("step \"a\" \"b\" {}\n"), whole: append([]byte("\n "), text...)} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{hcl, fifo, dir, filepath.Join(dir, "none")} {
		if f, err := Read(path); f != nil || err != nil {
			t.Errorf("%s: %v, %v", path, f, err)
		}
	}
	if f, err := Read(whole); f == nil || err != nil {
		t.Errorf("by content: %v", err)
	}
}

// A plan holds as long as nothing changed but what its own applies did.
func TestDifferences(t *testing.T) {
	own := func(run string) bool { return run == "own" }
	was := File{Files: map[string]string{"p.hcl": "1", "gone.py": "2"}, Steps: []Step{
		{Address: "a", Action: plan.Run, ActionID: "01"},
		{Address: "b", Action: plan.Deferred, Settled: "s"},
		{Address: "c", Action: plan.Cached, ActionID: "03"},
		{Address: "d", Action: plan.Deferred, Settled: "s"},
	}}
	steps := func(change func(s []plan.Step)) *plan.Plan {
		s := []plan.Step{
			{Name: "a", Action: plan.Run, ActionID: "01"}, {Name: "b", Action: plan.Deferred, Settled: "s", After: []int{0}},
			{Name: "c", Action: plan.Cached, ActionID: "03", Made: "x"}, {Name: "d", Action: plan.Deferred, Settled: "s", After: []int{1}},
		}
		change(s)
		return &plan.Plan{Steps: s}
	}
	set := func(s *plan.Step, action plan.Action, made string) { s.Action, s.Made = action, made }
	files := map[string]string{"p.hcl": "1", "gone.py": "2"}
	for _, tt := range []struct {
		name   string
		files  map[string]string
		change func(s []plan.Step)
		want   []string
	}{
		{"nothing", files, func([]plan.Step) {}, nil},
		{"files", map[string]string{"p.hcl": "2", "new.py": "3"}, func([]plan.Step) {}, []string{"gone.py is no longer read", "p.hcl changed", "new.py was not read"}},
		{"its own apply did a part", files, func(s []plan.Step) {
			set(&s[0], plan.Cached, "own")
			set(&s[1], plan.Run, "")
			s[1].ActionID, s[3].Settled = "02", "t"
		}, nil},
		{"its own apply did all", files, func(s []plan.Step) {
			set(&s[0], plan.Cached, "own")
			set(&s[1], plan.Cached, "own")
			set(&s[3], plan.Unneeded, "")
		}, nil},
		{"another run did a part", files, func(s []plan.Step) { set(&s[0], plan.Cached, "other"); set(&s[1], plan.Cached, "other") },
			[]string{"a was to run, and is cached now: run other made its result"}},
		{"a result is gone", files, func(s []plan.Step) {
			s[2] = plan.Step{Name: "c", Action: plan.Run, ActionID: "03", Reasons: []plan.Reason{{Text: "evicted"}}}
		},
			[]string{"c was cached, and is to run now: evicted"}},
		{"another key", files, func(s []plan.Step) { s[2].ActionID = "04" }, []string{"c has other inputs: its key was 03, and is 04 now"}},
		{"another image of a deferred step", files, func(s []plan.Step) { s[3].Settled = "t" }, []string{"d has other inputs: its competition, image, or what the program gives to it changed"}},
		{"other steps", files, func(s []plan.Step) { s[3].Name = "e" }, []string{"d is in the plan and not in the pipeline", "e is in the pipeline and not in the plan"}},
		{"decided without its apply", files, func(s []plan.Step) { set(&s[1], plan.Run, "") }, []string{"b was deferred, and is to run now"}},
	} {
		got := was.Differences(Now{Files: tt.files, Plan: steps(tt.change), Own: own})
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}
