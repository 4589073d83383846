package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/garbage"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/config"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/pipelines"
)

// InputFlags are -var and -var-file in the order they were written.
type InputFlags struct{ Assignments []config.Assignment }

// Register adds the flags.
func (f *InputFlags) Register(cmd *cobra.Command) {
	cmd.Flags().Var(assignmentFlag{&f.Assignments, false}, "var", "set a variable, `NAME=VALUE`; repeatable")
	cmd.Flags().Var(assignmentFlag{&f.Assignments, true}, "var-file", "read variables from an HCL `FILE`; repeatable")
}

// assignmentFlag appends to the common list, so that the order of the two
// flags is kept.
type assignmentFlag struct {
	list *[]config.Assignment
	file bool
}

func (assignmentFlag) String() string { return "" }
func (assignmentFlag) Type() string   { return "string" }

// Set implements pflag.Value.
func (f assignmentFlag) Set(text string) error {
	a := config.Assignment{Text: text}
	if f.file {
		a = config.Assignment{File: text}
	}
	*f.list = append(*f.list, a)
	return nil
}

// SelectFlags are -target, -force, -retry and -attempt.
type SelectFlags struct {
	targets, forced, retried []string
	attempt                  string
}

// Register adds the flags.
func (f *SelectFlags) Register(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.targets, "target", nil, "only the step or instance `ADDRESS` and what it needs; repeatable")
	cmd.Flags().StringArrayVar(&f.forced, "force", nil, "run the step or instance `ADDRESS` even if cached; repeatable")
	cmd.Flags().StringArrayVar(&f.retried, "retry", nil, "run cached attempts again: `WHICH` is failed, invalid, no-submission, another outcome such as timed-out, or an address; repeatable. Boards say how often each was tried")
	cmd.Flags().StringVar(&f.attempt, "attempt", "", "run one attempt again, grade it, and do nothing else: `AGENT/COMPETITION/SEED` or its address")
}

// Options are what the flags say of a pipeline.
func (f *SelectFlags) Options(p *engine.Program) (engine.PlanOptions, error) {
	targets, err := Addresses("target", f.targets)
	if err != nil {
		return engine.PlanOptions{}, err
	}
	forced, err := Addresses("force", f.forced)
	if err != nil {
		return engine.PlanOptions{}, err
	}
	if f.attempt == "" {
		retry, err := retryOf(f.retried)
		return engine.PlanOptions{Targets: targets, Force: forced, Retry: retry}, err
	}
	if len(f.targets)+len(f.retried) > 0 {
		return engine.PlanOptions{}, Usagef("--attempt says what runs; leave --target and --retry out")
	}
	again, targets, err := namedAttempt(p, f.attempt)
	return engine.PlanOptions{Targets: targets, Force: forced, Retry: &engine.Retry{Named: []addr.Instance{again}, Choose: chooser(nil).choose}}, err
}

// Addresses reads the addresses that a flag was given.
func Addresses(flag string, texts []string) ([]addr.Instance, error) {
	var out []addr.Instance
	for _, text := range texts {
		a, err := addr.Parse(text)
		if err != nil {
			return nil, Usagef("--%s: %w", flag, err)
		}
		out = append(out, a)
	}
	return out, nil
}

// Load reads the pipeline and shows what is only a warning.
func (t *Terminal) Load(e *engine.Engine, path string, in InputFlags) (p *engine.Program, err error) {
	var diags diag.List
	t.Interrupts.Reading(func() { p, diags = e.Load(path, config.Inputs{Environ: t.Environ, Assignments: in.Assignments}) })
	return p, t.Settle(diags, p)
}

// Settle returns diagnostics as an error if one of them is, and shows the
// warnings otherwise.
func (t *Terminal) Settle(diags diag.List, p *engine.Program) error {
	var files diag.Sources
	if p != nil && p.Pipeline != nil {
		files = p.Pipeline.Files
	}
	if err := Checked(diags, files); err != nil {
		return err
	}
	t.ShowDiagnostics(diags, files)
	return nil
}

// WithProgram opens the backend, loads the pipeline that the arguments name and
// calls run. on says where steps run besides this machine; nil is nowhere.
func (a *App) WithProgram(ctx context.Context, args []string, in InputFlags, on *ClusterFlags, run func(*Backend, *engine.Program) error) (err error) {
	path, err := a.NamedPipeline(args)
	if err != nil {
		return err
	}
	a.UsePipeline(path)
	b, err := a.OpenBackend()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	restore := FewCollections()
	p, err := a.Load(b.Engine, path, in)
	restore()
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("load pipeline: %w", err)
	}
	if err := a.attachRemote(b, p.Pipeline.RemoteCache); err != nil {
		return err
	}
	if on != nil {
		if err := a.AttachFleet(ctx, b, on, p.Pipeline.RemoteCache); err != nil {
			return err
		}
	}
	return errors.Join(run(b, p), finishRemote(ctx, a.Terminal, b))
}

// FewCollections makes garbage collections rarer until the function it returns
// is called, unless GOGC says how often: expanding and planning a large
// pipeline makes little else than garbage, and is over soon.
func FewCollections() (restore func()) { return garbage.Grow(400) }

// OneFile checks that a command got at most one pipeline file.
func OneFile(_ *cobra.Command, args []string) error {
	if len(args) > 1 {
		return fmt.Errorf("one pipeline file is expected, got %d arguments: %q", len(args), args)
	}
	return nil
}

// defaultPipeline is the file that is meant where none is named.
const defaultPipeline = "pipeline.hcl"

// NamedPipeline is pipelineFile, and says so if the file is a shipped one.
func (a *App) NamedPipeline(args []string) (string, error) {
	path, err := PipelineFile(args)
	if err == nil && isShipped(path) {
		fmt.Fprintf(a.Stderr, "There is no %s here: using the one that is part of mleflow (mleflow init --from %s writes it here).\n", path, strings.TrimSuffix(path, ".hcl"))
	}
	return path, err
}

// isShipped reports whether the pipeline file is one that is part of the program
// and the working folder has none of the name.
func isShipped(path string) bool {
	_, err := fs.Stat(pipelines.Shipped, path)
	return err == nil && filepath.Base(path) == path && strings.HasSuffix(path, ".hcl") && !exists(path)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// PipelineFile returns the pipeline that the arguments name first: without any
// pipeline.hcl of the working directory, or the only HCL file there. Lock files
// do not count.
func PipelineFile(args []string) (string, error) {
	if len(args) > 0 {
		if name := strings.TrimPrefix(args[0], "pipelines/"); name != args[0] && !exists(args[0]) && isShipped(name) {
			return name, nil
		}
		return args[0], nil
	}
	if exists(defaultPipeline) {
		return defaultPipeline, nil
	}
	found, err := filepath.Glob("*.hcl")
	if err != nil {
		return "", fmt.Errorf("look for a pipeline: %w", err)
	}
	found = slices.DeleteFunc(found, func(name string) bool { return strings.HasSuffix(name, ".lock.hcl") })
	switch len(found) {
	case 0:
		return "", Usagef("name the pipeline file, such as demo.hcl, which is part of mleflow: there is no %s here, nor another HCL file; mleflow init writes one", defaultPipeline)
	case 1:
		return found[0], nil
	}
	return "", Usagef("name the pipeline file: there is no %s here, and several others: %s", defaultPipeline, strings.Join(found, ", "))
}

// UsePipeline notes the competitions that a pipeline names.
func (a *App) UsePipeline(path string) {
	a.Interrupts.Reading(func() { a.Library.UsePipeline(path) })
}
