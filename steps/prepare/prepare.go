package prepare

import (
	"context"
	"errors"
	"fmt"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/footprint"
	"github.com/mleflow/mleflow/competitions/mask"
	"github.com/mleflow/mleflow/competitions/prep"
	"github.com/mleflow/mleflow/engine/step"
)

// Kind returns the step kind "prepare" over the competitions of a catalog.
func Kind(catalog *competitions.Catalog) step.Kind {
	return step.Kind{
		Name:    "prepare",
		Version: "2",
		Doc:     "Turns raw data into public files, which agents see, and private ones, which hold the answers, by the competition's prepare block.",
		Args:    step.Attrs(arguments{Version: "v1"}, nil),
		Outputs: []step.Output{
			{Name: "private", Type: step.ArtifactType, Secrecy: step.Private, Doc: "The private files, including the answers, a tree."},
			{Name: "public", Type: step.ArtifactType, Secrecy: step.Public, Doc: "The public files, a tree."},
		},
		New: func(args step.Args) (step.Step, error) { return newPreparation(args, catalog) },
	}
}

// arguments are the block's arguments.
type arguments struct {
	Competition string            `cty:"competition" is:"required" doc:"Identifier of the competition."`
	Version     string            `cty:"version" doc:"Version of the competition: v1 as published, one with errata fixed, or the masked version of one, such as v1m: other ids in another order."`
	Raw         *step.Artifact    `cty:"raw" is:"required" doc:"The raw data, a tree."`
	Salt        *step.Artifact    `cty:"salt" doc:"A masked version's salt, such as file(\"mask.salt\"): 16 or more secret bytes. Plans, lock files and records show only its digest."`
	Params      map[string]string `cty:"params" doc:"Values for parameters of the competition, such as sizes fixed for the full data."`
}

type preparation struct {
	def    *competitions.Definition
	raw    *step.Artifact
	salt   *step.Artifact // of a masked version
	params map[string]cty.Value
	// definition is the digest of the parts of the definition that affect the result.
	definition digest.ContentID
}

func newPreparation(args step.Args, catalog *competitions.Catalog) (step.Step, error) {
	var a arguments
	if err := args.Decode(&a); err != nil {
		return nil, err
	}
	p := &preparation{raw: a.Raw, salt: a.Salt, params: competitions.TextParams(a.Params)}
	var err error
	if p.def, err = conditions.Definition(catalog, a.Competition, a.Version, args.Conditions); err != nil {
		return nil, err
	}
	switch {
	case p.def.Masked() && p.salt == nil:
		return nil, step.WrongArg("salt", fmt.Errorf("version %s needs one: write it with mleflow mask salt mask.salt, and here salt = file(\"mask.salt\")", a.Version))
	case !p.def.Masked() && p.salt != nil:
		return nil, step.WrongArg("salt", fmt.Errorf("version %s is not a masked one; write version = %q, or leave the salt out", a.Version, a.Version+"m"))
	}
	sum, diags := p.def.PrepareDigest(p.params)
	if diags.HasErrors() {
		return nil, step.WrongArg("params", diags)
	}
	p.definition = sum
	return p, nil
}

// Fingerprint implements step.Fingerprinter.
func (p *preparation) Fingerprint(h *digest.Hasher) error {
	h.Content("definition", p.definition)
	h.String("preparer version", prep.Version)
	if p.def.Masked() {
		h.String("masker version", mask.Version)
	}
	return nil
}

// Estimate implements step.Estimator.
func (p *preparation) Estimate() step.Estimate {
	raw, basis := int64(0), "the raw data's size"
	switch {
	case p.raw != nil && !p.raw.Ref.IsZero():
		raw = p.raw.Ref.Size
	case p.raw != nil && p.raw.Expected > 0:
		raw, basis = p.raw.Expected, "the raw data's expected size"
	default:
		var factor float64
		raw, factor = footprint.Unpacked(p.def, footprint.Files(p.def))
		basis = footprint.Basis(factor)
	}
	added, factor := footprint.Prepared(p.def, raw)
	if factor != 1 {
		basis += fmt.Sprintf(" × %g", factor)
	}
	return step.Estimate{CacheBytes: added, Known: raw > 0, Basis: basis}
}

// Run implements step.Step.
func (p *preparation) Run(ctx context.Context, env *step.Env) (cache.Outputs, error) {
	if out, ok, err := p.adopt(ctx, env); ok || err != nil {
		return out, err
	}
	p.tellSizes(env)
	sink := newSink(ctx, env.Store)
	err := prep.Run(ctx, p.def, prep.Options{
		Raw: tree.NewFS(ctx, env.Store, p.raw.Ref), Out: sink, Params: p.params, Work: env.WorkDir,
		Progress: func(p progress.State) { env.Progress(step.ProgressOf(p)) },
	})
	if err != nil {
		return nil, fmt.Errorf("prepare %s: %w", p.def.ID, explain(ctx, err))
	}
	out, err := sink.outputs(ctx, env.Store)
	if err == nil && p.def.Masked() {
		out, err = p.masked(ctx, env, out)
	}
	if err != nil {
		return nil, fmt.Errorf("prepare %s: %w", p.def.ID, explain(ctx, err))
	}
	return out, nil
}

// tellSizes logs the parameters that have other values in a rehearsal.
func (p *preparation) tellSizes(env *step.Env) {
	for _, param := range p.def.Params {
		if _, given := p.params[param.Name]; p.def.Rehearsal && !given && param.Rehearsal != cty.NilVal {
			if text, err := convert.Convert(param.Rehearsal, cty.String); err == nil {
				env.Note("rehearsal: parameter %s is %s", param.Name, text.AsString())
			}
		}
	}
}

// mostSalt is the maximum size of a salt file in bytes.
const mostSalt = 4096

// masked returns the masked version of prepared files.
func (p *preparation) masked(ctx context.Context, env *step.Env, prepared cache.Outputs) (cache.Outputs, error) {
	if p.salt.Ref.Kind != cache.Blob {
		return nil, fmt.Errorf("salt: %s is a folder; name a file", p.salt.Name())
	}
	data, err := cache.Get(ctx, env.Store, p.salt.Ref.ID, mostSalt)
	if err != nil {
		return nil, fmt.Errorf("salt: %w", err)
	}
	salt, err := mask.ParseSalt(data)
	if err != nil {
		return nil, err
	}
	work := &progress.Work{}
	defer env.Follow(work)()
	sink := newSink(ctx, env.Store)
	err = mask.Run(ctx, p.def, mask.Options{
		Public: tree.NewFS(ctx, env.Store, prepared["public"].Ref), Private: tree.NewFS(ctx, env.Store, prepared["private"].Ref),
		Out: sink, Salt: salt, Work: env.WorkDir, Progress: work,
	})
	if err != nil {
		return nil, err
	}
	return sink.outputs(ctx, env.Store)
}

// explain returns the interruption, if there was one, because the errors that it causes
// are meaningless.
func explain(ctx context.Context, err error) error {
	if ctx.Err() != nil && !errors.Is(err, context.Cause(ctx)) {
		return fmt.Errorf("%w (%w)", context.Cause(ctx), err)
	}
	return err
}
