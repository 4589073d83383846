package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/cache/cachetest"
)

// fullDeterminism asks for the whole of the determinism tests: every setting by
// itself, and a second binary that is compiled for newer processors, which takes
// minutes the first time.
//
//	MLEFLOW_DETERMINISM=full go test ./cmd/mleflow/internal/dev/e2e -run Determinism
var fullDeterminism = os.Getenv("MLEFLOW_DETERMINISM") == "full"

// setting is what must not change a result.
type setting struct {
	name string
	// env is added to the environment.
	env   []string
	umask string
	// cpus are the processors to run on, as taskset reads them; "" for all.
	cpus string
	// deep is a folder below the test's own to work in.
	deep string
	// modified is the time of all input files.
	modified time.Time
	// binary is the program; "" for the one under test.
	binary string
}

var plain = setting{name: "plain", env: []string{"TZ=UTC", "LC_ALL=C", "LANG=C"}, umask: "022", modified: time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)}

// settings returns those of a run of the test: a few that change everything at
// once, or each thing by itself next to them.
func settings(t *testing.T) []setting {
	out := []setting{
		{name: "everything older", env: []string{"TZ=Pacific/Kiritimati", "LC_ALL=tr_TR.UTF-8", "LANG=tr_TR.UTF-8", "GOMAXPROCS=1"}, umask: "077",
			cpus: "0", deep: "a folder/with ünusual/names", modified: time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)},
		{name: "everything newer", env: []string{"TZ=America/St_Johns", "LC_ALL=de_DE.UTF-8", "LANG=de_DE.UTF-8", "GOMAXPROCS=2"}, umask: "000",
			deep: strings.Repeat("long/", 20), modified: time.Date(2099, 12, 31, 23, 59, 59, 0, time.UTC)},
	}
	if !fullDeterminism {
		return out
	}
	change := func(name string, edit func(s *setting)) {
		s := plain
		s.name = name
		edit(&s)
		out = append(out, s)
	}
	change("again", func(*setting) {})
	change("time zone", func(s *setting) { s.env = append(s.env[1:2:2], "TZ=Asia/Kathmandu") })
	change("locale", func(s *setting) { s.env = []string{"LC_ALL=tr_TR.UTF-8", "LANG=ar_EG.UTF-8", "LC_NUMERIC=de_DE.UTF-8"} })
	change("umask 000", func(s *setting) { s.umask = "000" })
	change("umask 077", func(s *setting) { s.umask = "077" })
	change("one goroutine at a time", func(s *setting) { s.env = append(s.env[:3:3], "GOMAXPROCS=1") })
	change("one processor", func(s *setting) { s.cpus = "0" })
	change("eight threads and little memory", func(s *setting) { s.env = append(s.env[:3:3], "GOMAXPROCS=8", "GOGC=5") })
	change("old files", func(s *setting) { s.modified = time.Date(1970, 1, 1, 0, 0, 1, 0, time.UTC) })
	change("another path", func(s *setting) { s.deep = "x/y z" })
	if v3 := binaryV3(t); v3 != "" {
		change("GOAMD64=v3", func(s *setting) { s.binary = v3 })
		change("GOAMD64=v3 and everything else", func(s *setting) { n := s.name; *s = out[0]; s.name, s.binary = n, v3 })
	}
	return out
}

// binaryV3 builds the program for processors with fused multiply-add, which the
// compiler then uses; "" where this machine has none.
func binaryV3(t *testing.T) string {
	t.Helper()
	about, err := os.ReadFile("/proc/cpuinfo")
	for _, need := range []string{" avx2 ", " bmi2 ", " fma ", " movbe "} {
		if err != nil || !bytes.Contains(about, []byte(need)) {
			t.Logf("this processor cannot run GOAMD64=v3 (%s): left out", need)
			return ""
		}
	}
	out := filepath.Join(t.TempDir(), "mleflow-v3")
	build := exec.Command("go", "build", "-o", out, "github.com/mleflow/mleflow/cmd/mleflow")
	build.Env = append(os.Environ(), "GOAMD64=v3", "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build for v3: %v\n%s", err, text)
	}
	return out
}

// result is what a pipeline gave: by step and output, and the lock file.
type result struct {
	Steps map[string]string
	Lock  string
}

// applyIn applies the pipeline in a setting, in a folder of its own with an
// empty cache and its own copy of the raw data.
func applyIn(t *testing.T, s setting, raw string) result {
	t.Helper()
	dir := filepath.Join(t.TempDir(), s.deep)
	own := filepath.Join(dir, "raw")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"denoising-dirty-documents", "leaf-classification"} {
		if err := os.CopyFS(filepath.Join(own, id), os.DirFS(filepath.Join(raw, id))); err != nil {
			t.Fatal(err)
		}
	}
	age(t, own, s.modified)
	src, err := os.ReadFile("testdata/determinism.hcl")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "determinism.hcl")
	if err := os.WriteFile(file, src, 0o644); err != nil {
		t.Fatal(err)
	}
	cache := filepath.Join(dir, "cache")
	cachetest.Removable(t, cache)
	events := runIn(t, s, "apply", file, "-var", "raw="+own, "--cache-dir", cache, "--json")
	lock := filepath.Join(dir, "lock.hcl")
	runIn(t, s, "lock", file, "-var", "raw="+own, "--cache-dir", cache, "-o", lock)
	text, err := os.ReadFile(lock)
	if err != nil {
		t.Fatal(err)
	}
	return result{Steps: outputsOf(t, events), Lock: string(text)}
}

// age sets the times of all files and folders.
func age(t *testing.T, dir string, at time.Time) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chtimes(path, at, at)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// runIn runs the program in a setting and returns its standard output.
func runIn(t *testing.T, s setting, args ...string) string {
	t.Helper()
	program := s.binary
	if program == "" {
		program = binary
	}
	args = append([]string{program}, args...)
	if _, err := exec.LookPath("taskset"); err == nil && s.cpus != "" {
		args = append([]string{"taskset", "-c", s.cpus}, args...)
	}
	cmd := exec.Command("sh", append([]string{"-c", `umask "$0" && exec "$@"`, s.umask}, args...)...)
	cmd.Env = append(append(os.Environ(), "MLEFLOW_CACHE_DIR=", "MLEFLOW_AUTO_RUNTIME=process", "TERM=dumb"), s.env...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v: %v\n%s%s", s.name, args, err, out.String(), errs.String())
	}
	return out.String()
}

// outputsOf returns the key and the outputs of every step that ran, by address
// and name. Of an agent only what it submitted is asked for: its log and its
// figures hold times.
func outputsOf(t *testing.T, events string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for text := range strings.Lines(events) {
		var l struct {
			line
			Action string `json:"action"`
		}
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatal(err)
		}
		switch {
		case l.Type == "output":
			out["output "+l.Name] = l.Value
		case l.Type != "step_finished":
			continue
		case l.Kind == "agent-run":
			l.Outputs = map[string]string{"submission": l.Outputs["submission"], "code": l.Outputs["code"]}
		}
		if l.Type == "step_finished" {
			out[l.Address] = l.Action
			for name, value := range l.Outputs {
				out[l.Address+" "+name] = value
			}
		}
	}
	return out
}

// TestDeterminism applies one pipeline in several settings: other paths, time
// zones, locales, umasks, file times, numbers of processors and instruction
// sets. Keys, prepared trees, reports, the board and the lock file are the same,
// byte for byte.
func TestDeterminism(t *testing.T) {
	raw := goldenRaw(t, "denoising-dirty-documents", "leaf-classification")
	want := applyIn(t, plain, raw)
	if len(want.Steps) < 60 || !strings.Contains(want.Lock, "leaf-classification") {
		t.Fatalf("only %d outputs:\n%s", len(want.Steps), want.Lock)
	}
	for _, s := range settings(t) {
		t.Run(s.name, func(t *testing.T) {
			if diff := cmp.Diff(want, applyIn(t, s, raw)); diff != "" {
				t.Errorf("differs from the plain run (-plain +%s):\n%s", s.name, diff)
			}
		})
	}
}

// TestDeterminismOfScores grades the submissions of all golden cases with the
// binary under test and with the one for newer processors: every exact score has
// the same bits.
func TestDeterminismOfScores(t *testing.T) {
	if !fullDeterminism {
		t.Skip("needs a second binary; asked for by MLEFLOW_DETERMINISM=full")
	}
	v3 := binaryV3(t)
	if v3 == "" {
		t.Skip("the processor cannot run it")
	}
	dir := t.TempDir()
	list := prepareGolden(t, dir)
	was, is := gradeAll(t, plain, dir, list), gradeAll(t, setting{name: "v3", umask: "022", binary: v3}, dir, list)
	if len(was) < 300 {
		t.Fatalf("%d submissions", len(was))
	}
	if diff := cmp.Diff(was, is); diff != "" {
		t.Errorf("reports (-v1 +v3):\n%s", diff)
	}
	t.Logf("%d submissions graded twice", len(was))
}

// prepareGolden prepares all golden cases below dir/data and returns a list of
// their submissions for grade.
func prepareGolden(t *testing.T, dir string) string {
	t.Helper()
	cases := goldenCases(t, dir)
	var lines strings.Builder
	for _, id := range cases {
		args := []string{"prepare", "-c", id, "--raw", filepath.Join(dir, id, "raw"), "--data-dir", filepath.Join(dir, "data"),
			"--skip-verification", "--cache-dir", filepath.Join(dir, "cache")}
		if id == "tabular-playground-series-may-2022" {
			args = append(args, "--param", "test_size=67")
		}
		runIn(t, plain, args...)
		submissions, err := filepath.Glob(filepath.Join(dir, id, "submissions", "*.csv"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range submissions {
			line, err := json.Marshal(map[string]string{"competition_id": id, "submission_path": path})
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&lines, "%s\n", line)
		}
	}
	list := filepath.Join(dir, "submissions.jsonl")
	if err := os.WriteFile(list, []byte(lines.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	return list
}

// gradeAll grades a list and returns each report's text, without its time, by
// submission.
func gradeAll(t *testing.T, s setting, dir, list string) map[string]string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "reports")
	runIn(t, s, "grade", "--submission", list, "--output-dir", out, "--data-dir", filepath.Join(dir, "data"), "--cache-dir", filepath.Join(dir, "cache"))
	files, err := filepath.Glob(filepath.Join(out, "*_grading_report.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("reports: %v, %v", files, err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	var report struct {
		Reports []map[string]json.RawMessage `json:"competition_reports"`
	}
	if err := json.Unmarshal(data, &report); err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, r := range report.Reports {
		r = maps.Clone(r)
		delete(r, "created_at")
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		texts[string(r["submission_path"])] = string(text)
	}
	return texts
}
