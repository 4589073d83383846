package program

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/pyenv"
)

// Machine is what programs need of this machine.
type Machine struct {
	// Executor runs them; nil runs none.
	Executor executor.Executor
	// Packages provides what they need of Python; nil refuses those that need any.
	Packages Packages
}

// Call is one run of a program.
type Call struct {
	Machine
	// What names it in the ID of its run, such as "metric".
	What string
	// Dir is a new folder without links in its path, in which the call works below "work".
	Dir     string
	Command []string
	Env     map[string]string
	// Python are the packages that it needs; nil without any.
	Python *Python
	// Mounts are shown besides Dir.
	Mounts []executor.Mount
	Limits executor.Limits
	// Stdout gets the standard output; nil adds it to the log. Log may be nil.
	Stdout, Log io.Writer
}

// Work is the working folder of the call, which Prepare makes.
func (c Call) Work() string { return filepath.Join(c.Dir, "work") }

func (c Call) home() string { return filepath.Join(c.Dir, "tmp") }

// Make makes the folders of the call.
func (c Call) Make() error {
	return errors.Join(os.Mkdir(c.Work(), 0o700), os.Mkdir(c.home(), 0o700))
}

// Run runs the program. An end other than exit status 0 is an error with the end of the log.
func (c Call) Run(ctx context.Context, def *competitions.Definition) (err error) {
	env := map[string]string{"PATH": cmp.Or(os.Getenv("PATH"), executor.DefaultPath), "HOME": c.home(), "TMPDIR": c.home(), "LANG": "C.UTF-8"}
	maps.Copy(env, c.Env)
	spec := executor.Spec{
		ID: c.What + "-" + digest.Of([]byte(c.Dir)).String()[:16], Command: c.Command, Env: env, Dir: c.Work(),
		Mounts: append([]executor.Mount{{Host: c.Dir, Guest: c.Dir}}, c.Mounts...), Limits: c.Limits, Stdout: c.Stdout,
	}
	spec.Limits.Grace, spec.Limits.LogBytes = time.Second, 1<<20
	if c.Python != nil {
		venv, release, err := c.Python.Install(ctx, def, c.Packages, filepath.Join(c.Dir, "python"))
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, release()) }()
		spec.Env, spec.Mounts = pyenv.Activate(spec.Env, venv), append(spec.Mounts, pyenv.Mounts(venv)...)
	}
	last := &tail{}
	log := io.Writer(last)
	if c.Log != nil {
		log = io.MultiWriter(last, c.Log)
	}
	exit, err := c.Executor.Run(ctx, spec, log)
	if err == nil && !exit.OK() {
		err = fmt.Errorf("%q %s with status %d: %s", strings.Join(c.Command, " "), exit.Reason, exit.Code, last)
	}
	return err
}

// tail keeps the last bytes that are written to it.
type tail struct{ text []byte }

// tailBytes is how many an error shows.
const tailBytes = 4 << 10

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
	t.text = t.text[max(0, len(t.text)-tailBytes):]
	return len(p), nil
}

func (t *tail) String() string {
	return strings.TrimSpace(strings.ToValidUTF8(string(t.text), "\uFFFD"))
}
