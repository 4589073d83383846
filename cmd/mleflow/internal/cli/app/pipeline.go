package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/attempts"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/garbage"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/service"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/outcome"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/config"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/planfile"
	"github.com/mleflow/mleflow/pipelines"
)

// InputFlags are -var and -var-file in the order they were written.
type InputFlags struct{ Assignments []config.Assignment }

// Register adds the flags.
func (f *InputFlags) Register(cmd *cobra.Command) {
	add := func(a config.Assignment) error { // to one list, so that the order of the two flags is kept
		f.Assignments = append(f.Assignments, a)
		return nil
	}
	cmd.Flags().Func("var", "set a variable, `NAME=VALUE`; repeatable", func(text string) error { return add(config.Assignment{Text: text}) })
	cmd.Flags().Func("var-file", "read variables from an HCL `FILE`; repeatable", func(path string) error { return add(config.Assignment{File: path}) })
}

// SelectFlags are -target, -force, -retry, -attempt and -rerun.
type SelectFlags struct {
	targets, forced, retried []string
	// rerun is nil for a command without the flag, which repeats what it has to.
	rerun   func() engine.Repeats
	attempt string
}

// Register adds the flags.
func (f *SelectFlags) Register(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.targets, "target", nil, "only the step or instance `ADDRESS` and what it needs; repeatable")
	cmd.Flags().StringArrayVar(&f.forced, "force", nil, "run the step or instance `ADDRESS` even if cached; repeatable")
	cmd.Flags().StringArrayVar(&f.retried, "retry", nil, "run cached attempts again: `WHICH` is failed, invalid, no-submission, another outcome such as timed-out, or attempts as AGENT/COMPETITION/SEED, with * for anything, or an address; repeatable. Boards say how often each was tried")
	rerun := cmd.Flags().Bool("rerun", false, "repeat attempts that have results although nothing that you wrote differs; --rerun=false uses these results")
	f.rerun = func() engine.Repeats {
		switch {
		case *rerun:
			return engine.RunRepeats
		case cmd.Flags().Changed("rerun"):
			return engine.KeepRepeats
		}
		return engine.AskRepeats
	}
	cmd.Flags().StringVar(&f.attempt, "attempt", "", "run one attempt again, grade it, and do nothing else: `KEY` is AGENT/COMPETITION/SEED or an address")
}

// Options are what the flags say of a pipeline.
func (f *SelectFlags) Options(p *engine.Program) (opts engine.PlanOptions, err error) {
	if opts.Repeats = engine.RunRepeats; f.rerun != nil {
		opts.Repeats = f.rerun()
	}
	var errTargets, errRetry error
	opts.Targets, errTargets = Addresses("target", f.targets)
	opts.Retry, errRetry = retryOf(p, f.retried)
	if opts.Force, err = Addresses("force", f.forced); f.attempt == "" || cmp.Or(errTargets, err) != nil {
		return opts, cmp.Or(errTargets, err, errRetry)
	}
	if len(f.targets)+len(f.retried) > 0 {
		return opts, Usagef("--attempt says what runs; leave --target and --retry out")
	}
	at, err := attemptIn(p, f.attempt)
	if err != nil {
		return opts, Usagef("--attempt: %w", err)
	}
	again := p.Instances[at].Addr
	opts.Targets, opts.Retry = []addr.Instance{again}, &engine.Retry{Named: []addr.Instance{again}, Choose: chooser(nil).choose}
	for _, inst := range p.Instances {
		if inst.Step.Kind.Name == conditions.GradeKind && slices.Contains(inst.Deps, at) {
			opts.Targets = append(opts.Targets, inst.Addr)
		}
	}
	return opts, nil
}

// Submit enters the flags into those of a submission.
func (f *SelectFlags) Submit(to *service.Flags) {
	to.Targets, to.Force, to.Retry, to.Attempt = f.targets, f.forced, f.retried, f.attempt
	if again := f.rerun(); again != engine.AskRepeats {
		run := again == engine.RunRepeats
		to.Rerun = &run
	}
}

// Saved are the flags in a saved plan, and Restore takes them from one.
func (f *SelectFlags) Saved() (o planfile.Options) {
	var flags service.Flags
	f.Submit(&flags)
	return planfile.Options{Targets: flags.Targets, Force: flags.Force, Retry: flags.Retry, Attempt: flags.Attempt, Rerun: flags.Rerun}
}

// Restore takes the flags from a saved plan.
func (f *SelectFlags) Restore(o planfile.Options) {
	f.targets, f.forced, f.retried, f.attempt = o.Targets, o.Force, o.Retry, o.Attempt
	again := engine.AskRepeats
	if o.Rerun != nil && *o.Rerun {
		again = engine.RunRepeats
	} else if o.Rerun != nil {
		again = engine.KeepRepeats
	}
	f.rerun = func() engine.Repeats { return again }
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
func (a *App) WithProgram(ctx context.Context, args []string, in InputFlags, on *ClusterFlags, run func(*Backend, *engine.Program) error) error {
	path, err := a.NamedPipeline(args)
	if err != nil {
		return err
	}
	a.UsePipeline(path)
	if a.Submitted != nil {
		for _, f := range a.Named {
			if err := a.Submitted.Path(f.Path); err != nil {
				return Usagef("%s: competitions: %w", f.From, err)
			}
		}
	}
	return a.WithBackend(func(b *Backend) error {
		restore := FewCollections()
		p, err := a.Load(b.Engine, path, in)
		restore()
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("load pipeline: %w", err)
		}
		if a.Submitted != nil {
			if err := Checked(a.Submitted.Pipeline(p.Graph), p.Pipeline.Files); err != nil {
				return err
			}
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
	})
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
func (a *App) UsePipeline(path string) { a.Interrupts.Reading(func() { a.Library.UsePipeline(path) }) }

// retryOf reads the values of -retry; nil without any.
func retryOf(p *engine.Program, texts []string) (*engine.Retry, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	var c chooser
	var named []string
	for _, text := range texts {
		list := outcome.Retried(text)
		switch {
		case strings.HasPrefix(text, "step.") && !strings.Contains(text, "*"):
			named = append(named, text)
		case list == nil && !strings.ContainsAny(text, "/*"):
			return nil, Usagef("--retry: %q is neither an attempt nor one of %s", text, strings.Join(outcome.RetryWords(), ", "))
		case list == nil:
			all, own := AttemptsIn(p)
			found, err := attempts.Find(text, all, own)
			if err != nil {
				return nil, Usagef("--retry: %w", err)
			}
			named = append(named, lists.Of(found, func(a *results.Attempt) string { return a.Address })...)
		default:
			c = append(c, list...)
		}
	}
	list, err := Addresses("retry", named)
	return &engine.Retry{Named: list, Choose: c.choose}, err
}

// chooser chooses the attempts with some outcomes, and those that were named themselves
// or by their grades.
type chooser []string

func (c chooser) choose(steps []engine.Past) (again []int, diags diag.List) {
	for i, s := range steps {
		attempts := []int{i}
		if s.Kind == conditions.GradeKind {
			attempts = s.After
		}
		attempts = slices.DeleteFunc(slices.Clone(attempts), func(at int) bool { return steps[at].Kind != conditions.AttemptKind })
		var ended string
		if s.Record != nil {
			_ = json.Unmarshal(s.Record.Outputs["outcome"].JSON, &ended) // none is no outcome
		}
		if s.Named && len(attempts) == 0 {
			diags = append(diags, diag.General("No attempt", "--retry %s: it is neither an attempt of an agent nor the grade of one; --force runs any step again.", s.Name))
		}
		if s.Named || slices.Contains(c, ended) {
			again = append(again, attempts...)
		}
	}
	return again, diags
}
