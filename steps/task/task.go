package task

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/transfer/source"
)

// OwnInstructions are our general instructions, a text/template that the step
// agent-run fills in with what differs between attempts.
//
//go:embed instructions.txt
var OwnInstructions string

// Definitions returns the definition of a competition; a *competitions.Catalog
// implements it.
type Definitions interface {
	Get(id string) (*competitions.Definition, error)
}

// Deps are the parts of the program that the kind needs.
type Deps struct {
	Catalog Definitions
	// Sources holds the kinds file, http and mirror.
	Sources *source.Registry
	// Adopt is a data directory or a checkout of the reference, or "". Mirror is the
	// URL of a mirror, or "". Neither is in the key, which contains the digests
	// instead.
	Adopt, Mirror string
	// Repository is the repository of the texts; nil is the reference's.
	Repository *competitions.Repository
}

// patience is the maximum time for a server to confirm that it has a text.
var patience = 20 * time.Second

// Kind returns the step kind "task".
func Kind(deps Deps) step.Kind {
	asked := &answers{patience: patience}
	deps.Repository = cmp.Or(deps.Repository, competitions.Reference())
	return step.Kind{
		Name:    "task",
		Version: "1",
		Doc:     "Gets an agent's task texts from the folder of --adopt, the mirror or the pinned address, and checks them against pins. An agent-run step that names its task gets this step automatically.",
		Args:    step.Attrs(arguments{Task: string(competitions.TaskReference)}, step.OneOf{"task": competitions.Tasks()}),
		Outputs: []step.Output{
			{Name: "description", Type: step.ArtifactType, Secrecy: step.Public, Doc: "The text of the competition, Markdown."},
			{Name: "instructions", Type: step.ArtifactType, Secrecy: step.Public, Doc: `The general instructions; of "own" a template for agent-run.`},
		},
		New: func(args step.Args) (step.Step, error) { return newTexts(args, deps, asked) },
	}
}

// arguments are the block's arguments.
type arguments struct {
	Competition string  `cty:"competition" is:"required" doc:"Identifier of the competition."`
	Task        string  `cty:"task" doc:"The reference's texts; its obfuscated ones, which do not name Kaggle or the competition; or our own, which need no network."`
	From        *string `cty:"from" is:"cosmetic" doc:"A checkout or data directory of the reference, or a mirror, tried first."`
}

// texts is one instance of the kind.
type texts struct {
	def   *competitions.Definition
	task  competitions.Task
	pins  competitions.Texts
	from  string
	deps  Deps
	asked *answers
}

func newTexts(args step.Args, deps Deps, asked *answers) (step.Step, error) {
	var a arguments
	if err := args.Decode(&a); err != nil {
		return nil, err
	}
	def, err := deps.Catalog.Get(a.Competition)
	if err != nil {
		return nil, step.WrongArg("competition", err)
	}
	t := &texts{def: def, task: competitions.Task(a.Task), from: step.Text(a.From), deps: deps, asked: asked}
	if t.task == competitions.TaskOwn {
		return t, nil
	}
	if t.pins, err = deps.Repository.Texts(def, t.task); err != nil {
		return nil, step.WrongArg("task", err)
	}
	return t, nil
}

// Authored implements step.Authored.
func (t *texts) Authored() []string { return t.def.Own("description", "instructions") }

// Fingerprint implements step.Fingerprinter.
func (t *texts) Fingerprint(h *digest.Hasher) error {
	description, instructions, err := Digests(t.deps.Repository, t.def, t.task)
	if err != nil {
		return err
	}
	h.Content("description", description)
	h.Content("instructions", instructions)
	return nil
}

var ownInstructions = sync.OnceValue(func() digest.ContentID { return digest.Of([]byte(OwnInstructions)) })

// Digests returns the digests of a task's texts, which are known even if the
// texts are not.
func Digests(from *competitions.Repository, def *competitions.Definition, task competitions.Task) (description, instructions digest.ContentID, err error) {
	if task == competitions.TaskOwn {
		return digest.Of(def.OwnDescription()), ownInstructions(), nil
	}
	pins, err := from.Texts(def, task)
	if err != nil {
		return description, instructions, err
	}
	if description, err = digest.ParseContentID(pins.Description.SHA256); err != nil {
		return description, instructions, fmt.Errorf("pin of %s: %w", pins.Description.Name(), err)
	}
	if instructions, err = digest.ParseContentID(pins.Instructions.SHA256); err != nil {
		return description, instructions, fmt.Errorf("pin of %s: %w", pins.Instructions.Name(), err)
	}
	return description, instructions, nil
}

// Run implements step.Step.
func (t *texts) Run(ctx context.Context, env *step.Env) (cache.Outputs, error) {
	if t.task == competitions.TaskOwn {
		return t.own(ctx, env.Store)
	}
	out := cache.Outputs{}
	var lack lacking
	for _, o := range t.outputs() {
		ref, err := t.fetch(ctx, env, o.pin)
		if err != nil && !lack.add(err) {
			return nil, err
		}
		out[o.name] = cache.Value{Ref: ref}
	}
	if err := lack.error(t); err != nil {
		return nil, lack.retryable(err)
	}
	return out, nil
}

// output is a text and the name of its output.
type output struct {
	name string
	pin  competitions.Pin
}

func (t *texts) outputs() []output {
	return []output{{"description", t.pins.Description}, {"instructions", t.pins.Instructions}}
}

func (t *texts) own(ctx context.Context, store cache.Store) (cache.Outputs, error) {
	out := cache.Outputs{}
	for name, text := range map[string][]byte{"description": t.def.OwnDescription(), "instructions": []byte(OwnInstructions)} {
		ref, err := cache.PutBytes(ctx, store, text)
		if err != nil {
			return nil, fmt.Errorf("keep %s: %w", name, err)
		}
		out[name] = cache.Value{Ref: ref}
	}
	return out, nil
}

// maxText limits the size of a text of the reference; the longest has 37 kB.
const maxText = 16 << 20

// fetch stores one text, from the first place that has it.
func (t *texts) fetch(ctx context.Context, env *step.Env, pin competitions.Pin) (cache.Ref, error) {
	if ref, ok := stored(ctx, env.Store, pin); ok {
		return ref, nil
	}
	var failed []error
	for _, p := range t.places(pin) {
		data, err := p.source.Fetch(ctx, source.Request{Spec: p.spec, Store: env.Store, Log: func(format string, args ...any) {
			fmt.Fprintf(env.Log, format+"\n", args...)
		}})
		switch {
		case err == nil:
			fmt.Fprintf(env.Log, "%s from %s\n", pin.Name(), p.what)
			return data.Ref, nil
		case ctx.Err() != nil:
			return cache.Ref{}, context.Cause(ctx)
		case errors.Is(err, source.ErrMismatch):
			return cache.Ref{}, t.mismatch(pin, p, err)
		case !absent(err):
			failed = append(failed, err)
		}
	}
	return cache.Ref{}, &missing{pin, failed}
}

// stored returns a text that is already in the cache, whatever its origin.
func stored(ctx context.Context, store cache.Store, pin competitions.Pin) (cache.Ref, bool) {
	id, err := digest.ParseContentID(pin.SHA256)
	if err != nil {
		return cache.Ref{}, false
	}
	text, err := cache.Get(ctx, store, id, maxText)
	if err != nil {
		return cache.Ref{}, false
	}
	ref, err := cache.PutBytes(ctx, store, text)
	return ref, err == nil
}

func absent(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, source.ErrGone) }

// mismatch is the error for a place that has a different text.
func (t *texts) mismatch(pin competitions.Pin, p place, err error) error {
	return step.Mismatch(fmt.Errorf("%s of %s, from %s, does not match the pinned text of the reference: %w", pin.Name(), t.def.ID, p.what, err))
}

// Describer gets the reference's descriptions outside a pipeline, for example
// to lay out data for its tools.
type Describer struct {
	deps  Deps
	asked *answers
}

// NewDescriber returns a describer that waits at most this long for a server.
func NewDescriber(deps Deps, patience time.Duration) *Describer {
	deps.Repository = cmp.Or(deps.Repository, competitions.Reference())
	return &Describer{deps, &answers{patience: patience}}
}

// Describe returns the reference's description of a competition, from the place where a
// step of the kind would take it. It returns nil if the competition has none. A text
// that does not match its pin is a step.ErrMismatch. Any other error means that no
// place has the text.
func (d *Describer) Describe(ctx context.Context, store cache.Cache, def *competitions.Definition) ([]byte, error) {
	pins, err := d.deps.Repository.Texts(def, competitions.TaskReference)
	if err != nil {
		return nil, nil //nolint:nilerr,nilnil // it has none
	}
	t := &texts{def: def, task: competitions.TaskReference, pins: pins, deps: d.deps, asked: d.asked}
	if _, ok := stored(ctx, store, pins.Description); !ok {
		// Ask first, so that Describe does not wait again for a silent server.
		if _, _, err := t.ask(ctx, pins.Description); err != nil {
			return nil, t.explain(err)
		}
	}
	ref, err := t.fetch(ctx, &step.Env{Store: store, Log: io.Discard}, pins.Description)
	if err != nil {
		return nil, t.explain(err)
	}
	return cache.Get(ctx, store, ref.ID, maxText)
}

// explain lists the ways to get a missing text.
func (t *texts) explain(err error) error {
	var lack lacking
	if lack.add(err) {
		return lack.error(t)
	}
	return err
}
