package exec

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/guest"
	"github.com/mleflow/mleflow/plugins/sandbox/pyenv"
)

// logBytes is the maximum size of a command's output in the log.
const logBytes = 64 << 20

// Kind returns the step kind "exec", whose commands ex runs.
func Kind(ex executor.Executor) step.Kind {
	return step.Kind{
		Name:    "exec",
		Version: "1",
		Doc:     "Runs a command in a folder with its files and, below inputs/, its inputs, and keeps its declared outputs. It is not isolated from the machine.",
		Args:    step.Attrs(arguments{Outputs: []string{}}, nil),
		Outputs: []step.Output{
			{Name: "stdout", Type: step.ArtifactType, Doc: "The standard output, a blob."},
			{Name: "tree", Type: step.ArtifactType, Doc: "The declared outputs by path."},
		},
		New: func(args step.Args) (step.Step, error) { return newCommand(args, ex) },
	}
}

// arguments are the block's arguments.
type arguments struct {
	Command        []string                  `cty:"command" is:"required command" doc:"The program and its arguments. For a shell write [\"sh\", \"-c\", \"…\"]."`
	Files          map[string]*step.Artifact `cty:"files" is:"files" doc:"Files and folders by their path where the command runs: a path in the pipeline's folder, file(…), dir(…) or a step's output; or a single dir(…)."`
	Inputs         map[string]*step.Artifact `cty:"inputs" doc:"Outputs of steps, or content of the pipeline's folder, by their name below inputs/."`
	WritableInputs bool                      `cty:"writable_inputs" doc:"Writable copies of the inputs instead of read-only links."`
	Stdin          *step.Artifact            `cty:"stdin" doc:"A blob for the standard input."`
	Env            map[string]string         `cty:"env" doc:"Environment variables besides PATH, HOME and TMPDIR."`
	Python         *step.Artifact            `cty:"python" is:"block" doc:"The command's Python packages, installed once and read-only: requirements = \"requirements.txt\" (or a pyproject.toml), and version, such as \"3.11\"; or venv, a virtual environment of this machine; or environment, the output of a step of kind python. Its python is the first in PATH."`
	Venv           *string                   `cty:"venv" is:"cosmetic block" doc:"Where the environment is, if it is one of this machine."`
	Outputs        []string                  `cty:"outputs" doc:"Paths of the files and folders that the command makes, where it runs."`
}

type command struct {
	args arguments
	ex   executor.Executor
}

func newCommand(args step.Args, ex executor.Executor) (step.Step, error) {
	c := &command{ex: ex}
	if err := args.Decode(&c.args); err != nil {
		return nil, err
	}
	return c, errors.Join(
		step.WrongArg("command", c.args.checkCommand()),
		step.WrongArg("files", step.CheckFiles(c.args.Files, "inputs")),
		step.WrongArg("inputs", c.args.checkInputs()),
		step.WrongArg("outputs", c.args.checkOutputs()),
		step.WrongArg("env", step.CheckEnv(c.args.Env, func(string) bool { return false })))
}

// Conditions implements step.Conditioned.
func (c *command) Conditions() []string {
	if c.args.Venv == nil {
		return nil
	}
	return []string{conditions.Environment + "=" + conditions.HostVenv}
}

func (a *arguments) checkCommand() error {
	if len(a.Command) == 0 || a.Command[0] == "" {
		return fmt.Errorf("command is empty; give the program and its arguments, such as [\"sort\", \"inputs/words\"]")
	}
	return nil
}

func (a *arguments) checkInputs() error {
	for _, name := range slices.Sorted(maps.Keys(a.Inputs)) {
		if err := tree.CheckName(name); err != nil {
			return fmt.Errorf("%q cannot be the name of a file: it must not be empty, \".\" or \"..\", or contain a slash", name)
		}
	}
	return nil
}

func (a *arguments) checkOutputs() error {
	for i, path := range a.Outputs {
		if !filepath.IsLocal(path) || filepath.Clean(path) != path || path == "." {
			return fmt.Errorf("%q must be a clean relative path below the folder that the command runs in", path)
		}
		if path == "inputs" || strings.HasPrefix(path, "inputs/") {
			return fmt.Errorf("%q is below inputs/; choose a path outside it for the output", path)
		}
		for _, other := range a.Outputs[:i] {
			if path == other || strings.HasPrefix(path, other+"/") || strings.HasPrefix(other, path+"/") {
				return fmt.Errorf("%q and %q overlap; name one of them", other, path)
			}
		}
	}
	return nil
}

// Run implements step.Step.
func (c *command) Run(ctx context.Context, env *step.Env) (cache.Outputs, error) {
	dirs, err := makeDirs(env.WorkDir)
	if err != nil {
		return nil, err
	}
	if err := c.placeFiles(ctx, env, dirs.work); err != nil {
		return nil, err
	}
	watch, err := c.placeInputs(ctx, env, filepath.Join(dirs.work, "inputs"))
	if err != nil {
		return nil, err
	}
	release, err := c.placePython(ctx, env, &dirs)
	if err != nil {
		return nil, err
	}
	stdout, runErr := c.execute(ctx, env, dirs)
	runErr = errors.Join(runErr, release())
	if err := watch.verify(context.WithoutCancel(ctx), env.Store); err != nil {
		return nil, err
	}
	if runErr != nil {
		return nil, runErr
	}
	out, err := collect(ctx, env, dirs.work, c.args.Outputs)
	if err != nil {
		return nil, err
	}
	return cache.Outputs{"stdout": {Ref: stdout}, "tree": {Ref: out}}, nil
}

// placePython creates the command's virtual environment, if it has one.
func (c *command) placePython(ctx context.Context, env *step.Env, dirs *folders) (release func() error, err error) {
	release = func() error { return nil }
	switch {
	case c.args.Venv != nil:
		dirs.venv = *c.args.Venv
	case c.args.Python != nil:
		dirs.venv, release, err = pyenv.Place(ctx, env.Store, c.args.Python.Ref, filepath.Join(env.WorkDir, "python"))
	}
	return release, err
}

// folders are the folders of one attempt, and the virtual environment if it has one.
type folders struct{ work, home, tmp, venv string }

func makeDirs(root string) (folders, error) {
	d := folders{work: filepath.Join(root, "work"), home: filepath.Join(root, "home"), tmp: filepath.Join(root, "tmp")}
	for _, dir := range []string{d.work, d.home, d.tmp} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return d, fmt.Errorf("prepare work folder: %w", err)
		}
	}
	return d, nil
}

// execute runs the command and returns its standard output.
func (c *command) execute(ctx context.Context, env *step.Env, dirs folders) (cache.Ref, error) {
	stdout, err := env.Store.Ingest(ctx, "")
	if err != nil {
		return cache.Ref{}, fmt.Errorf("keep standard output: %w", err)
	}
	defer stdout.Close()
	log := guest.NewOutput(0).Writer(env.Log) // of several goroutines
	limit := guest.NewOutput(shownBytes)
	printed := &shown{log: log, limit: limit, lines: limit.Writer(log)}
	defer printed.end()
	spec := executor.Spec{
		ID: env.RunID + " " + env.Address, Command: c.args.Command, Dir: dirs.work, Stdout: io.MultiWriter(stdout, printed),
		Env: map[string]string{"PATH": os.Getenv("PATH"), "HOME": dirs.home, "TMPDIR": dirs.tmp},
		Limits: executor.Limits{
			MemoryBytes: env.Limits.MemoryBytes, CPUs: env.Limits.CPUs, DiskBytes: env.Limits.DiskBytes, LogBytes: logBytes,
		},
		Devices: env.Devices,
		Network: executor.Network{Open: true},
	}
	maps.Copy(spec.Env, c.args.Env)
	if dirs.venv != "" {
		spec.Env = pyenv.Activate(spec.Env, dirs.venv)
	}
	if c.args.Stdin != nil {
		if c.args.Stdin.Ref.Kind != cache.Blob {
			return cache.Ref{}, fmt.Errorf("open standard input: %s is a tree, but standard input must be one file; use inputs", c.args.Stdin.Name())
		}
		stdin, err := env.Store.Open(ctx, c.args.Stdin.Ref.ID)
		if err != nil {
			return cache.Ref{}, fmt.Errorf("open standard input: %w", err)
		}
		defer stdin.Close()
		spec.Stdin = stdin
	}
	exit, err := c.ex.Run(ctx, spec, log)
	if err != nil {
		return cache.Ref{}, fmt.Errorf("run %s: %w", c.args.Command[0], err)
	}
	if err := explain(exit, c.args.Command[0]); err != nil {
		return cache.Ref{}, err
	}
	return stdout.Commit(ctx, cache.Ref{})
}

// explain describes the failure of a command. Whether it is temporary is for the author
// of the step to declare, with a retry block.
func explain(exit executor.Exit, program string) error {
	switch {
	case exit.OK():
		return nil
	case exit.Reason == executor.OutOfMemory:
		return fmt.Errorf("run %s: killed at its memory limit; raise memory in the resources block", program)
	case exit.Reason == executor.Signalled:
		return step.Retryable(fmt.Errorf("run %s: ended by signal %d", program, exit.Signal), 0)
	default:
		return step.Retryable(fmt.Errorf("run %s: exit status %d", program, exit.Code), 0)
	}
}
