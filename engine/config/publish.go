package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/gocty"

	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/step"
)

// PublishArgs are the arguments of a publish block.
//
//	publish { to = "results/${each.key}" }
var PublishArgs = []ArgDoc{
	required("to", "Path of the file or folder, relative to the pipeline's folder or absolute. Missing parent folders are created."),
	optional("output", "In a step, the one output that is written to the path. Without it, the path is a folder that holds every output under its name, as mleflow get writes them."),
	optional("link", "True for read-only hard links into the cache instead of copies. They take no space."),
	optional("private", "True to allow private content, such as answers. Only the owner can read the file or folder, and file(…) and dir(…) treat it as private."),
}

// Publication is content that is written to a path after a run.
type Publication struct {
	// Instance indexes Graph.Instances; -1 is an output block.
	Instance int
	// Name is the output of an instance, or empty for all of them.
	Name string
	// Output is the output block, if it is from one.
	Output *Output
	// To is as it was written, Path the absolute path. Base is the folder that
	// the path must not leave, or empty.
	To, Path, Base string
	Link, Private  bool
	Range          hcl.Range
}

// From names what is published: an address, an output of one, or output.NAME.
func (p *Publication) From(g *Graph) string {
	if p.Output != nil {
		return "output." + p.Output.Name
	}
	from := g.Instances[p.Instance].Addr.String()
	if p.Name != "" {
		from += "." + p.Name
	}
	return from
}

// publications evaluates all publish blocks of an expanded pipeline.
func publications(g *Graph) (diags diag.List) {
	for _, s := range g.Pipeline.Steps {
		b := g.eval.blocks[s]
		if s.Blocks["publish"] == nil || b == nil {
			continue
		}
		ctx := g.eval.scope(s.expressions())
		for _, inst := range b.instances {
			p := Publication{Instance: inst.index}
			more := p.evaluate(g.eval, s.Blocks["publish"], inst.context(ctx))
			if !more.HasErrors() {
				g.Publications = append(g.Publications, p)
				more = p.checkStep(inst, s.Blocks["publish"])
			}
			if diags = append(diags, more...); len(diags) > 20 {
				return diags
			}
		}
	}
	for _, o := range g.Pipeline.Outputs {
		if o.Publish == nil {
			continue
		}
		p := Publication{Instance: -1, Output: o}
		more := p.evaluate(g.eval, o.Publish, g.eval.scope(sortedExprs(o.Publish)))
		if !more.HasErrors() {
			g.Publications = append(g.Publications, p)
			more = p.checkOutput(g.eval)
		}
		diags = append(diags, more...)
	}
	return append(diags, checkPlaces(g)...)
}

// evaluate sets p to the values of a publish block.
func (p *Publication) evaluate(ev *evaluator, args map[string]hcl.Expression, ctx *hcl.EvalContext) (diags diag.List) {
	p.Range = args["to"].Range()
	var path, output *string
	var link, private *bool
	for _, arg := range []struct {
		name string
		dst  any
	}{{"to", &path}, {"output", &output}, {"link", &link}, {"private", &private}} {
		diags = append(diags, ev.decode("publish", arg.name, args[arg.name], ctx, arg.dst)...)
	}
	if diags.HasErrors() {
		return diags
	}
	p.Name, p.Link, p.Private = step.Text(output), link != nil && *link, private != nil && *private
	if path == nil {
		return diag.List{diag.Error(p.Range, "Invalid to", "Write a path, such as \"results/board\".")}
	}
	if err := p.setPath(*path, folderOf(ev.pipeline.Path)); err != nil {
		return diag.List{diag.Error(p.Range, "Invalid to", "%s", diag.Sentence(err.Error()))}
	}
	return nil
}

// decode stores a written argument of a block, which is stored and shown, in dst.
func (ev *evaluator) decode(block, name string, e hcl.Expression, ctx *hcl.EvalContext, dst any) diag.List {
	if e == nil {
		return nil
	}
	want, err := gocty.ImpliedType(dst)
	if err != nil {
		panic(err)
	}
	v, diags := ev.stored(block, name, e, want, ctx)
	if diags.HasErrors() {
		return diags
	}
	if err := gocty.FromCtyValue(v, dst); err != nil {
		diags = append(diags, diag.Error(e.Range(), "Invalid "+name, "%s", diag.Sentence(err.Error())))
	}
	return diags
}

// stored evaluates an argument of a block that is stored and shown, and must be known
// before anything runs. It may be null.
func (ev *evaluator) stored(block, name string, e hcl.Expression, want cty.Type, ctx *hcl.EvalContext) (cty.Value, diag.List) {
	v, diags := ev.evaluate(e, ctx)
	if diags.HasErrors() {
		return v, diags
	}
	fail := func(summary, detail string, args ...any) (cty.Value, diag.List) {
		return v, append(diags, diag.Error(e.Range(), summary, detail, append([]any{name}, args...)...))
	}
	marks := map[any]struct{}{}
	v, err := convert.Convert(unmark(v, marks), want)
	_, secret := marks[sensitive]
	switch what := hidden(marks); {
	case what != "":
		return fail("Private content in "+block, "%s is made from %s, which is private, and would be stored and shown. Use a value that is not made from it.", what)
	case secret:
		return fail("Sensitive value in "+block, "%s would be stored and shown. Use a value that is not sensitive.")
	case err != nil:
		return fail("Invalid "+name, "%s must be a %s.", want.FriendlyName())
	case !v.IsWhollyKnown():
		return fail("Invalid "+name, "%s depends on the result of a step. It must be known before anything runs: use variables, locals and each.")
	}
	return v, diags
}

// setPath takes the path as it was written.
func (p *Publication) setPath(to, folder string) error {
	p.To = to
	if strings.Contains(to, "://") {
		return fmt.Errorf("%q is a URL, and results can be published only to a path on this machine. Copy them from there, or share them through a remote cache", to)
	}
	clean := filepath.Clean(filepath.FromSlash(to))
	switch {
	case to == "" || strings.ContainsRune(to, 0):
		return fmt.Errorf("%q is not a path", to)
	case filepath.IsAbs(clean):
		p.Path = clean
	case clean == ".":
		return fmt.Errorf("%q is the pipeline's own folder; name a folder in it", to)
	case !filepath.IsLocal(clean):
		return fmt.Errorf("%q leads out of the pipeline's folder; to publish elsewhere, write an absolute path", to)
	default:
		p.Base, p.Path = folder, filepath.Join(folder, clean)
	}
	return nil
}

func (p *Publication) checkStep(inst *Instance, args map[string]hcl.Expression) diag.List {
	var private []string
	names := outputNames(inst.Step.Kind)
	for o, name := range names {
		if (p.Name == "" || p.Name == name) && (origin{inst: inst, out: o}).hidden() {
			private = append(private, name)
		}
	}
	if p.Name != "" && !slices.Contains(names, p.Name) {
		return diag.List{diag.Error(args["output"].Range(), "Unknown output", "A step of kind %q has no output %q.%s It has %s.",
			inst.Step.Kind.Name, p.Name, diag.DidYouMean(p.Name, names), strings.Join(names, ", "))}
	}
	if len(private) > 0 && !p.Private {
		return diag.List{privateContent(p.Range, fmt.Sprintf("%s of %s", strings.Join(private, ", "), inst.Addr))}
	}
	return nil
}

func (p *Publication) checkOutput(ev *evaluator) diag.List {
	if p.Name != "" {
		return diag.List{diag.Error(p.Range, "Invalid publish", "output selects one of a step's outputs, but an output block publishes its own value. Remove it.")}
	}
	v, diags := ev.alone(p.Output.Value)
	if diags.HasErrors() {
		return nil // Expand reports it
	}
	marks := map[any]struct{}{}
	v = unmark(v, marks)
	if what := hidden(marks); what != "" && !p.Private {
		return diag.List{privateContent(p.Range, what)}
	}
	if v.Type() == step.ArtifactType {
		return nil
	}
	holds := false
	_ = cty.Walk(v, func(_ cty.Path, v cty.Value) (bool, error) {
		holds = holds || v.Type() == step.ArtifactType
		return !holds, nil
	})
	if holds {
		return diag.List{diag.Error(p.Range, "Invalid publish", "The output %q contains several pieces of content. Put the publish block into the step that produces them, with each.key in its path.", p.Output.Name)}
	}
	return nil
}

func privateContent(r hcl.Range, what string) *hcl.Diagnostic {
	return diag.Error(r, "Private content", "%s is private: it holds answers or was made from them. To publish it anyway, where no agent can read it, write private = true.", what)
}

// checkPlaces rejects publications that would overwrite each other, or change
// what the pipeline reads.
func checkPlaces(g *Graph) (diags diag.List) {
	order := make([]*Publication, len(g.Publications))
	for i := range g.Publications {
		order[i] = &g.Publications[i]
	}
	// A path comes right before those below it.
	slices.SortStableFunc(order, func(a, b *Publication) int { return strings.Compare(a.Path+"/", b.Path+"/") })
	var above *Publication
	for _, p := range order {
		if above != nil && strings.HasPrefix(p.Path+"/", above.Path+"/") {
			hint := "Give one of them another path."
			if above.Instance >= 0 && p.Instance >= 0 && g.Instances[above.Instance].Step == g.Instances[p.Instance].Step {
				hint = "Use each.key in the path."
			}
			diags = append(diags, diag.Error(p.Range, "Paths overlap", "%s and %s (%s) are both published to %s. %s",
				p.From(g), above.From(g), position(above.Range), above.To, hint))
			return diags
		}
		above = p
		if read := g.Pipeline.local.Reads(p.Path); read != "" {
			diags = append(diags, diag.Error(p.Range, "Published into an input", "%s is part of %s, which the pipeline reads: each run would change the input of the next one. Publish elsewhere, or leave the path out with dir(…, { exclude = [%q] }).",
				p.To, read, filepath.ToSlash(p.To)))
		}
	}
	return diags
}
