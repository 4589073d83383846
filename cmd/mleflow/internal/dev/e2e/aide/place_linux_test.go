package aide

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/disk"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/containerd"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/containerd/containerdtest"
)

// mleflow is the program under test, built once.
var mleflow string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "mleflow-aide-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	mleflow = filepath.Join(dir, "mleflow")
	build := exec.Command("go", "build", "-o", mleflow, "github.com/mleflow/mleflow/cmd/mleflow")
	build.Stderr = os.Stderr
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "build mleflow:", err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// place is a containerd, a cache and a pipeline.
type place struct {
	t      *testing.T
	daemon *containerdtest.Daemon
	cache  string
	file   string
	env    []string
}

// newPlace starts a containerd and writes the pipeline. The cache is in the
// folder that the variable names, so that an image need not be made again, else
// in one of the test's.
func newPlace(t *testing.T, pipeline, cacheVariable string, env ...string) *place {
	t.Helper()
	d := containerdtest.Start(t)
	d.Options.Namespace, d.Options.StateDir, d.Options.Self = containerd.Namespace, filepath.Join(d.Dir, "containerd"), mleflow
	dir := t.TempDir()
	t.Cleanup(func() { _ = exec.Command("chmod", "-R", "u+w", dir).Run() })
	p := &place{t: t, daemon: d, cache: filepath.Join(dir, "cache"), file: filepath.Join(dir, "pipeline.hcl")}
	if kept := os.Getenv(cacheVariable); filepath.IsAbs(kept) {
		p.cache = kept
	}
	if err := os.WriteFile(p.file, []byte(pipeline), 0o600); err != nil {
		t.Fatal(err)
	}
	p.env = append(append(os.Environ(), "CONTAINERD_ADDRESS="+d.Options.Socket, "MLEFLOW_STATE_DIR="+d.Dir, "MLEFLOW_CACHE_DIR=", "TERM=dumb"), env...)
	return p
}

// apply applies the pipeline and returns its outputs, how many steps ran, and
// all that was printed.
func (p *place) apply(args ...string) (outputs map[string]string, ran int, printed string) {
	p.t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.Command(mleflow, append([]string{"apply", p.file, "--json", "--cache-dir", p.cache}, args...)...)
	cmd.Env, cmd.Stdout, cmd.Stderr = p.env, &out, &errs
	if err := cmd.Run(); err != nil {
		p.t.Fatalf("apply: %v\n%s\n%s", err, tail(out.String()), tail(errs.String()))
	}
	outputs = map[string]string{}
	for line := range bytes.Lines(out.Bytes()) {
		var e struct {
			Type, Name, Value string
			Ran               int
		}
		if err := json.Unmarshal(line, &e); err != nil {
			p.t.Fatalf("event %q: %v", line, err)
		}
		switch e.Type {
		case "output":
			outputs[e.Name] = e.Value
		case "run_finished":
			ran = e.Ran
		}
	}
	return outputs, ran, out.String() + errs.String()
}

func tail(s string) string { return s[max(0, len(s)-8000):] }

// text is the content of a blob that an output names.
func (p *place) text(output string) string {
	p.t.Helper()
	id, err := digest.ParseContentID(strings.TrimPrefix(output, "blob:"))
	if err != nil {
		p.t.Fatalf("output %q: %v", output, err)
	}
	store, err := disk.Open(p.cache, disk.Options{})
	if err != nil {
		p.t.Fatal(err)
	}
	defer store.Close()
	r, err := store.Open(p.t.Context(), id)
	if err != nil {
		p.t.Fatal(err)
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(data)
}

// connections are the distinct ends of the connections in a network log, with
// their verdicts.
func (p *place) connections(output string) (all []string, n int) {
	seen := map[string]bool{}
	for line := range strings.Lines(p.text(output)) {
		var c struct {
			Host, Verdict string
			Port          int
		}
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			p.t.Fatalf("connection %q: %v", line, err)
		}
		n++
		if what := fmt.Sprintf("%s %s:%d", c.Verdict, c.Host, c.Port); !seen[what] {
			seen[what] = true
			all = append(all, what)
		}
	}
	return all, n
}

// search looks for a text in every file below the folders.
func search(t *testing.T, text string, dirs ...string) (found []string, files int) {
	t.Helper()
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return nil //nolint:nilerr // what is gone holds nothing
			}
			f, err := os.Open(path)
			if err != nil {
				return nil //nolint:nilerr // the same
			}
			defer f.Close()
			files++
			if holds(f, text) {
				found = append(found, path)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return found, files
}

// holds reads in pieces that overlap.
func holds(r io.Reader, text string) bool {
	buf, kept := make([]byte, 1<<20), 0
	for {
		n, err := io.ReadFull(r, buf[kept:])
		if bytes.Contains(buf[:kept+n], []byte(text)) {
			return true
		}
		if err != nil {
			return false
		}
		kept = copy(buf, buf[len(buf)-len(text):])
	}
}
