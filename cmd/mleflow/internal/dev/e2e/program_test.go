package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/mleflow/mleflow/cache/cachetest"
)

// binary is the program under test, built once, unless binaryVariable names it: that
// of a cluster's image, which controllers must have, too.
var binary string

const binaryVariable = "MLEFLOW_BINARY"

func TestMain(m *testing.M) {
	agents := map[string]func() error{"upload": upload, "converse": converse, "planted": plantedAgent}
	if len(os.Args) == 2 && agents[os.Args[1]] != nil {
		if err := agents[os.Args[1]](); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	dir, err := os.MkdirTemp("", "mleflow-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	peak = filepath.Join(dir, "peak")
	if binary = os.Getenv(binaryVariable); binary == "" {
		binary = filepath.Join(dir, "mleflow")
		if err := build(binary, "github.com/mleflow/mleflow/cmd/mleflow"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// build builds a program.
func build(path, from string) error {
	build := exec.Command("go", "build", "-o", path, from)
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("build %s: %w", from, err)
	}
	return nil
}

// place is a cache folder and the pipeline that is applied on it.
type place struct {
	t     *testing.T
	cache string
	file  string
	// env is added to the environment.
	env []string
}

func newPlace(t *testing.T, dir string) *place {
	t.Helper()
	src, err := os.ReadFile("testdata/all_kinds.hcl")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "all_kinds.hcl")
	if err := os.WriteFile(file, src, 0o644); err != nil {
		t.Fatal(err)
	}
	return &place{t: t, cache: filepath.Join(dir, "cache"), file: file}
}

func (p *place) command(args ...string) *exec.Cmd {
	if p.t != nil { // a benchmark has none
		cachetest.Removable(p.t, p.cache)
	}
	cmd := exec.Command(binary, append(args, "--cache-dir", p.cache)...)
	cmd.Env = append(append(os.Environ(), "MLEFLOW_CACHE_DIR=", "MLEFLOW_AUTO_RUNTIME=process", "TERM=dumb"), p.env...)
	return cmd
}

// run runs the program to its end and returns what it printed.
func (p *place) run(args ...string) (stdout, stderr string, code int) {
	p.t.Helper()
	var out, errs bytes.Buffer
	cmd := p.command(args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		p.t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// line is the fields of a JSON event that the tests look at.
type line struct {
	Type    string `json:"type"`
	Address string `json:"address"`
	Kind    string `json:"kind"`
	Status  string `json:"status"`
	Name    string `json:"name"`
	Value   string `json:"value"`
	Ran     int    `json:"ran"`
	What    string `json:"what"`
	Error   string `json:"error"`
	// Outputs are a step's digests and values by name.
	Outputs map[string]string `json:"outputs"`
}

func decode(t *testing.T, text []byte) line {
	t.Helper()
	var l line
	if err := json.Unmarshal(text, &l); err != nil {
		t.Fatalf("event %q: %v", text, err)
	}
	return l
}

// finish applies to the end and returns the outputs and how many steps ran.
func (p *place) finish() (outputs map[string]string, ran int) {
	p.t.Helper()
	stdout, stderr, code := p.run("apply", p.file, "--json")
	if code != 0 {
		p.t.Fatalf("apply: exit %d\n%s%s", code, stdout, stderr)
	}
	outputs = map[string]string{}
	for text := range bytes.Lines([]byte(stdout)) {
		switch l := decode(p.t, text); l.Type {
		case "output":
			outputs[l.Name] = l.Value
		case "run_finished":
			ran = l.Ran
		}
	}
	return outputs, ran
}

// verify checks every byte of the cache.
func (p *place) verify() {
	p.t.Helper()
	if stdout, stderr, code := p.run("cache", "verify"); code != 0 {
		p.t.Fatalf("cache verify: exit %d\n%s%s", code, stdout, stderr)
	}
}
