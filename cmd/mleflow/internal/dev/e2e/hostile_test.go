package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mleflow/mleflow/competitions/outcome"
)

// hostileFiles writes the files of plugins/data/table/testdata/hostile.jsonl to a
// folder and returns their paths.
func hostileFiles(t *testing.T, dir string) []string {
	t.Helper()
	data, err := os.ReadFile("../../../../../plugins/data/table/testdata/hostile.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for i, line := range bytes.Split(bytes.TrimSpace(data), []byte{'\n'})[1:] {
		var c struct {
			In [][]json.RawMessage `json:"in"`
		}
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		var file bytes.Buffer
		for _, piece := range c.In {
			var text []byte
			var times int
			if err := json.Unmarshal(piece[0], &text); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(piece[1], &times); err != nil {
				t.Fatal(err)
			}
			// The name of the column that is asked for lets more of them get as far as their values.
			file.Write(bytes.Repeat(bytes.ReplaceAll(text, []byte("label"), []byte("digit")), times))
		}
		paths = append(paths, filepath.Join(dir, fmt.Sprintf("%03d.csv", i)))
		if err := os.WriteFile(paths[i], file.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return paths
}

// demoData prepares the demonstration competitions.
func demoData(t *testing.T) (p *place, data string) {
	t.Helper()
	p = &place{t: t, cache: filepath.Join(t.TempDir(), "cache")}
	data = filepath.Join(t.TempDir(), "data")
	if _, errs, code := p.run("prepare", "--split", "demo", "--data-dir", data); code != 0 {
		t.Fatalf("exit status %d: %s", code, errs)
	}
	return p, data
}

// TestHostileBatch grades every hostile file in one batch, with a good one at
// the end: each is refused with a reason, and none stops the batch.
func TestHostileBatch(t *testing.T) {
	p, data := demoData(t)
	dir := t.TempDir()
	paths := append(hostileFiles(t, dir), filepath.Join(data, "demo-digits/prepared/private/test.csv"))
	var list bytes.Buffer
	for _, path := range paths {
		fmt.Fprintf(&list, `{"competition_id": "demo-digits", "submission_path": %q}`+"\n", path)
	}
	file := filepath.Join(dir, "list.jsonl")
	if err := os.WriteFile(file, list.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := p.command("grade", "--submission", file, "--output-dir", dir, "--data-dir", data, "--json")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var report struct {
		Runs    int `json:"total_runs"`
		Valid   int `json:"total_valid_submissions"`
		Reports []struct {
			Path    string             `json:"submission_path"`
			Outcome outcome.Submission `json:"outcome"`
			Reason  string             `json:"reason"`
		} `json:"competition_reports"`
	}
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatal(err)
	}
	if report.Runs != len(paths) || report.Valid != 1 {
		t.Errorf("%d graded, %d valid; want %d and 1", report.Runs, report.Valid, len(paths))
	}
	for _, r := range report.Reports {
		if r.Path != paths[len(paths)-1] && (r.Outcome != outcome.Invalid || r.Reason == "" || len(r.Reason) > 1000 || strings.Contains(r.Reason, "panic")) {
			t.Errorf("%s: %s: %.1000q", r.Path, r.Outcome, r.Reason)
		}
	}
	if used := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss; used > 1<<20 {
		t.Errorf("the batch took %d KiB", used)
	}
}

// TestHostilePaths grades what is not a readable file: an answer at once, exit
// status 4, and the path in it.
func TestHostilePaths(t *testing.T) {
	p, data := demoData(t)
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	good := filepath.Join(data, "demo-digits/prepared/private/test.csv")
	for _, err := range []error{
		os.Mkdir(at("folder.csv"), 0o755), syscall.Mkfifo(at("fifo.csv"), 0o644), os.Symlink("loop.csv", at("loop.csv")),
		os.Symlink("none.csv", at("broken.csv")), os.Symlink("/dev/zero", at("zero.csv")), os.Symlink(good, at("link.csv")),
		os.WriteFile(at("text.txt"), []byte("id,digit\n"), 0o644), os.WriteFile(at("new\nline.csv"), nil, 0o644),
		os.WriteFile(at("closed.csv"), []byte("id\n"), 0),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		path string
		code int
	}{
		{at("link.csv"), 0}, {at("folder.csv"), 4}, {at("fifo.csv"), 4}, {at("loop.csv"), 4}, {at("broken.csv"), 4}, {at("zero.csv"), 4},
		{at("none.csv"), 4}, {at("text.txt"), 4}, {at("new\nline.csv"), 4}, {at("closed.csv"), 4}, {strings.Repeat("x", 5000) + ".csv", 4},
	} {
		start := time.Now()
		out, errs, code := p.run("grade-sample", tt.path, "demo-digits", "--data-dir", data, "--json")
		var report struct {
			Path   string `json:"submission_path"`
			Reason string `json:"reason"`
		}
		if err := json.Unmarshal([]byte(out), &report); err != nil {
			t.Fatalf("%.40q: %v\n%s", tt.path, err, errs)
		}
		if code != tt.code || report.Path != tt.path || (report.Reason == "") != (code == 0) || strings.Contains(errs, "goroutine") {
			t.Errorf("%.40q: exit status %d, want %d; reason %q\n%s", tt.path, code, tt.code, report.Reason, errs)
		}
		if took := time.Since(start); took > 2*time.Minute {
			t.Errorf("%.40q took %v", tt.path, took)
		}
	}
}
