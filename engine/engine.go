package engine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/secret"
	"github.com/mleflow/mleflow/engine/config"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/engine/plan"
	"github.com/mleflow/mleflow/engine/publish"
	"github.com/mleflow/mleflow/engine/sched"
	"github.com/mleflow/mleflow/engine/step"
)

// ErrPaused is the cause of the cancellation of an apply that is to be continued later.
var ErrPaused = fmt.Errorf("paused: %w", context.Canceled)

// Options configure an engine.
type Options struct {
	// Options are those of the language. Files is not used.
	config.Options
	Cache cache.Cache
	// Remote is the remote cache that Apply asks for results missing from the
	// cache. It may be nil.
	Remote Remote
	// Elsewhere runs steps on other machines. If it is nil, all steps run on
	// this one.
	Elsewhere Elsewhere
	// Places records publications. If it is nil, nothing is published.
	Places *publish.Places
	// History records runs. If it is nil, nothing is recorded.
	History *history.Store
	// Capacity is the machine's capacity for steps.
	Capacity sched.Capacity
	// Devices prevents two processes from leasing the same device. It may be
	// nil.
	Devices *sched.DeviceLocks
	// Space measures the space available to the cache. It may be nil.
	Space func(context.Context) (plan.Space, error)
}

// Engine plans and applies pipelines.
type Engine struct{ opts Options }

// New returns an engine. It does no I/O.
func New(opts Options) *Engine { return &Engine{opts: opts} }

// Program is an expanded pipeline with the values of its variables.
type Program struct {
	*config.Graph
	// Variables are the given values of the non-sensitive variables as strings,
	// for the run history.
	Variables map[string]string
	// pins and near are those of a plan.
	pins pins
	near *neighbours
	// hidden are the strings in sensitive variables. The run history masks them.
	hidden []string
}

// fresh returns the program for a plan.
func (p *Program) fresh() *Program {
	own := *p
	own.Graph, own.near = p.Graph.Fresh(), &neighbours{}
	return &own
}

// within returns a context in which references to secrets start at the pipeline's folder.
func (p *Program) within(ctx context.Context) context.Context {
	dir, err := filepath.Abs(filepath.Dir(p.Pipeline.Path))
	if err != nil {
		return ctx
	}
	return secret.In(ctx, dir)
}

// Load reads, checks and expands the pipeline file at path. The program is
// usable only if there are no errors. Its Pipeline is never nil, so that
// messages can show snippets.
func (e *Engine) Load(path string, in config.Inputs) (*Program, diag.List) {
	p, diags := config.Load(path, e.language(in))
	return e.expand(p, diags, in)
}

// Parse is like Load for a text already in memory. path is the name shown in
// ranges.
func (e *Engine) Parse(path string, src []byte, in config.Inputs) (*Program, diag.List) {
	p, diags := config.Parse(path, src, e.language(in))
	return e.expand(p, diags, in)
}

func (e *Engine) language(in config.Inputs) config.Options {
	opts := e.opts.Options
	opts.Files = in.Files
	return opts
}

func (e *Engine) expand(p *config.Pipeline, diags diag.List, in config.Inputs) (*Program, diag.List) {
	prog := &Program{Graph: &config.Graph{Pipeline: p}}
	if diags.HasErrors() {
		return prog, diags
	}
	values, more := p.Values(in)
	if diags = append(diags, more...); diags.HasErrors() {
		return prog, diags
	}
	prog.Variables, prog.hidden = p.Shown(values), p.Hidden(values)
	diags = append(diags, p.CheckSensitive(values)...)
	graph, more := p.Expand(values)
	if diags = append(diags, more...); diags.HasErrors() {
		return prog, diags
	}
	prog.Graph = graph
	return prog, diags
}

// Check constructs every step with known arguments, so that a kind's objections
// are found before anything runs. Choices left to the machine stay open, so the
// result does not depend on the machine.
func (e *Engine) Check(p *Program) (diags diag.List) {
	for i := range p.Instances {
		if p.Known(i) {
			_, more := construct(p, i, asWritten)
			diags = append(diags, more...)
		}
	}
	return diags
}

// constructed is a step with its arguments and choices.
type constructed struct {
	step.Step
	args    step.Args
	choices []step.Choice
}

// settling settles the arguments that are left to the machine.
type settling func(*step.Kind, step.Args) (step.Args, []step.Choice, error)

// here settles arguments with this machine's choices.
var here settling = (*step.Kind).Settle

// asWritten leaves open choices open.
func asWritten(_ *step.Kind, args step.Args) (step.Args, []step.Choice, error) { return args, nil, nil }

// recalled settles arguments with the choices in the key fields of a record.
func recalled(fields []digest.Field) settling {
	return func(k *step.Kind, args step.Args) (step.Args, []step.Choice, error) {
		return k.Recall(args, fields), nil, nil
	}
}

// construct makes the step of instance i.
func construct(p *Program, i int, settle settling) (c constructed, diags diag.List) {
	c.args, diags = p.Args(i)
	if diags.HasErrors() {
		return c, diags
	}
	var err error
	inst := p.Instances[i]
	if c.args, c.choices, err = settle(inst.Step.Kind, c.args); err == nil {
		c.Step, err = inst.Step.Kind.New(c.args)
	}
	if err != nil {
		return c, mistakes(inst, err)
	}
	return c, nil
}

// mistakes reports a kind's objections to an instance's arguments, each with
// its range.
func mistakes(inst *config.Instance, err error) (diags diag.List) {
	for _, e := range step.Mistakes(err) {
		at, summary := inst.Step.Range, "Invalid step"
		if wrong, ok := errors.AsType[*step.ArgError](e); ok {
			at, summary = inst.Step.ArgRange(wrong.Arg), "Invalid "+wrong.Arg
		}
		var list diag.List
		if inst.Text {
			e = errors.New("the details are left out, because it reads private content")
		}
		if !errors.As(e, &list) {
			diags = append(diags, diag.Error(at, summary, "%s: %s", inst.Addr, diag.Sentence(e.Error())))
		}
		for _, d := range list {
			diags = append(diags, diag.Error(at, summary, "%s: %s", inst.Addr, diag.Sentence(d.Summary+": "+d.Detail)))
		}
	}
	return diags
}
