package prep

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"golang.org/x/sync/errgroup"

	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/plugins/data/transform"
)

// Version changes whenever the same definition and raw data may give other
// bytes than before; the engine's keys hold it.
const Version = "2"

// Options give the source and the destination of a preparation.
type Options struct {
	// Raw is the unpacked download.
	Raw fs.FS
	// Out gets the outputs.
	Out Sink
	// Params overrides parameters of the definition.
	Params map[string]cty.Value
	// Work is a folder for unpacked archives; empty means a new folder of the
	// system's temporary one. Run removes the files that it puts there.
	Work string
	// Parallelism is the number of outputs written at once, and of files that each of
	// them copies at once; 0 means the number of processors.
	Parallelism int
	// Progress, where set, is told now and then how far it is, one call at a time:
	// "unpacking" archives, "reading" raw files, "writing" outputs. Totals are of
	// what is known to come.
	Progress func(progress.State)
}

// Run prepares a competition. Mistakes of the definition and of the data are
// diagnostics (hcl.Diagnostics as error); the sink then holds a part of the
// outputs and must be discarded.
func Run(ctx context.Context, def *competitions.Definition, o Options) (err error) {
	block, diags := decode(def, o.Params)
	if diags.HasErrors() {
		return diags
	}
	if o.Parallelism <= 0 {
		o.Parallelism = runtime.GOMAXPROCS(0)
	}
	work, err := os.MkdirTemp(o.Work, "prepare-")
	if err != nil {
		return fmt.Errorf("prepare %s: %w", def.ID, err)
	}
	defer os.RemoveAll(work)
	counts := newCounts(block.outputs)
	stop := counts.sample(o.Progress)
	defer func() { stop(err == nil) }()
	raw, closeRaw, diags := block.mount(ctx, o.Raw, work, &counts.unpacking)
	defer closeRaw()
	if diags.HasErrors() {
		return diags
	}
	input := &transform.Input{Context: ctx, Raw: countedFS{raw, counts}}
	defer func() {
		if unread := input.Close(); unread != nil {
			err = fmt.Errorf("prepare %s: %w", def.ID, unread)
		}
	}()
	block.evaluator.input = input
	r := &runner{evaluator: block.evaluator, raw: raw, sink: o.Out, counts: counts, work: work, copiers: o.Parallelism}
	return r.run(ctx, block.outputs, o.Parallelism)
}

// run writes all outputs. The first failure stops the others; of failures
// that happened at once, the one declared first is reported.
func (r *runner) run(ctx context.Context, outputs []*item, parallelism int) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallelism)
	r.ctx = ctx
	found := make([]hcl.Diagnostics, len(outputs))
	for i, it := range outputs {
		group.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			found[i] = it.kind.write(r, it)
			if found[i].HasErrors() {
				return found[i]
			}
			return nil
		})
	}
	err := group.Wait()
	if err == nil {
		return nil
	}
	for _, diags := range found {
		if diags.HasErrors() && !isCancelled(diags) {
			return diags
		}
	}
	return err
}

func isCancelled(diags hcl.Diagnostics) bool {
	return !slices.ContainsFunc(diags, func(d *hcl.Diagnostic) bool { return !diag.Is(d, context.Canceled) })
}

// block is a decoded prepare block.
type block struct {
	evaluator *evaluator
	outputs   []*item
	extract   *hclsyntax.Attribute
}

func decode(def *competitions.Definition, params map[string]cty.Value) (*block, hcl.Diagnostics) {
	ctx, diags := def.EvalContext(params)
	if diags.HasErrors() {
		return nil, diags
	}
	body, ok := def.Prepare.Body.(*hclsyntax.Body)
	if !ok {
		return nil, wrong(def.Prepare.Range, "No prepare block", "The competition needs a block prepare { … }.")
	}
	locals := &localSet{given: maps.Clone(ctx.Variables), own: map[string]*local{}}
	delete(locals.given, competitions.ParamRoot)
	out := &block{evaluator: &evaluator{
		locals: locals, params: ctx.Variables[competitions.ParamRoot].AsValueMap(), functions: ctx.Parent().Functions, verbs: verbsByName(),
	}}
	for _, name := range sortedKeys(body.Attributes) {
		if name != "extract" {
			diags = append(diags, diag.Error(body.Attributes[name].NameRange, "Unknown attribute "+name, "%s", diag.Suggest(name, []string{"extract"})))
		}
	}
	out.extract = body.Attributes["extract"]
	x := &expander{context: ctx, locals: locals}
	for _, b := range body.Blocks {
		if b.Type == "locals" {
			diags = append(diags, locals.declare(b.Body)...)
		}
	}
	for _, b := range body.Blocks {
		var more hcl.Diagnostics
		var items []*item
		switch b.Type {
		case "locals":
		case "public", "private":
			items, more = x.outputs(b.Body, b.Type+"/", nil)
			out.outputs = append(out.outputs, items...)
		default:
			more = wrong(b.TypeRange, "Unknown block "+b.Type, "%s", diag.Suggest(b.Type, []string{"locals", "public", "private"}))
		}
		diags = append(diags, more...)
	}
	return out, append(diags, locals.acyclic()...)
}

// Output is a declared output of a prepare block.
type Output struct {
	// Path is the destination below the prepared folder; it may hold column
	// names in braces.
	Path string
	// Kind is the block type.
	Kind  string
	Range hcl.Range
	// Value is the source text of the file's content: rows, lines or
	// value of a generated file, from of a copy.
	Value string
}

// Outputs lists the outputs that a definition's prepare block declares, in order. Members
// of archives are not listed on their own.
func Outputs(def *competitions.Definition) ([]Output, hcl.Diagnostics) {
	block, diags := decode(def, nil)
	if diags.HasErrors() {
		return nil, diags
	}
	var out []Output
	for _, it := range block.outputs {
		o := Output{Path: it.dest, Kind: it.kind.name, Range: it.block.DefRange()}
		if slices.Contains(it.kind.attrs, "from") {
			o.Value = strconv.Quote(it.label)
		}
		for _, name := range []string{"rows", "lines", "value", "from"} {
			if attr := it.block.Body.Attributes[name]; attr != nil {
				o.Value = it.each.fill(string(attr.Expr.Range().SliceBytes(def.Source())), "each.key", "each.value")
			}
		}
		out = append(out, o)
	}
	return out, diags
}
