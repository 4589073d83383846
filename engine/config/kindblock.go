package config

import (
	"path/filepath"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache/leaf/checkout"
	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/local"
	"github.com/mleflow/mleflow/engine/step"
)

// A block in an agent block or in a step that is named like a kind stands for a step of
// that kind:
//
//	agent "mine" {
//	  python { requirements = "requirements.txt" }
//	}
//
// is
//
//	step "python" "mine" {
//	  requirements = file("requirements.txt")
//	  lock         = file("requirements.lock") // if there is one
//	}
//	agent "mine" {
//	  python { environment = step.python.mine.environment }
//	}

// agentSchema has a block for each kind that agents may have in them.
func (l *loader) agentSchema() *hcl.BodySchema {
	s := *schemas["agent"]
	for _, kind := range l.opts.Kinds.List() {
		if kind.InBlocks != nil {
			s.Blocks = append(slices.Clip(s.Blocks), hcl.BlockHeaderSchema{Type: kind.Name})
		}
	}
	return &s
}

// kindBlock takes a block of a kind out of a block of that name, whose arguments it
// adds to.
func (l *loader) kindBlock(name string, attrs map[string]hcl.Expression, b *hcl.Block) diag.List {
	kind := l.opts.Kinds.Kind(b.Type)
	schema := attrSchema(kind.Args)
	for i := range schema.Attributes {
		schema.Attributes[i].Required = false
	}
	schema.Attributes = append(schema.Attributes, hcl.AttributeSchema{Name: kind.InBlocks.Output})
	content, diags := b.Body.Content(schema)
	args := exprs(content.Attributes)
	made := &Step{Addr: addr.Step{Kind: kind.Name, Name: name}, Kind: kind, Range: b.DefRange, Args: args, Blocks: map[string]map[string]hcl.Expression{}}
	given := take(args, kind.InBlocks.Output)
	switch old := l.p.byAddr[made.Addr]; {
	case diags.HasErrors():
		return diags
	case attrs[kind.Name] != nil:
		return append(diags, diag.Error(b.DefRange, "Duplicate block", "An agent or step can have only one %q block.", b.Type))
	case given != nil && len(args) > 0:
		return append(diags, diag.Error(b.DefRange, "Conflicting arguments", "%s is the output of a step that has these arguments; write either.", kind.InBlocks.Output))
	case given != nil:
		attrs[kind.Name] = given
		return diags
	case old != nil:
		return append(diags, diag.Error(b.DefRange, "Duplicate step", "This block adds a step %s, but one of that name is declared at %s. Use its output, %s = %s.%s, or rename that step.",
			made.Addr, position(old.Range), kind.InBlocks.Output, made.Addr, kind.InBlocks.Output))
	}
	for i := range kind.Args {
		switch arg := &kind.Args[i]; {
		case arg.Required && args[arg.Name] == nil:
			diags = append(diags, diag.Error(b.DefRange, "Missing argument", "The block %q needs %s: %s", b.Type, arg.Name, arg.Doc))
		case arg.Type == step.ArtifactType && args[arg.Name] != nil:
			args[arg.Name] = &fileOf{Expression: args[arg.Name], files: l.p.local}
		}
	}
	if at := args[kind.InBlocks.Place]; at != nil {
		args[kind.InBlocks.Place] = &placeOf{at, folderOf(l.p.Path)}
		attrs[kind.InBlocks.Place] = args[kind.InBlocks.Place]
	}
	if from, to := args[kind.InBlocks.From], kind.InBlocks.Lock; from != nil && args[to] == nil {
		args[to] = &fileOf{Expression: from.(*fileOf).Expression, files: l.p.local, names: kind.InBlocks.LockNames}
	}
	if from, to := args[kind.InBlocks.From], kind.InBlocks.Named; from != nil && to != "" && args[to] == nil {
		args[to] = &filesNamed{from.(*fileOf), kind.InBlocks.NamedBy}
	}
	l.p.byAddr[made.Addr] = made
	l.p.Steps = append(l.p.Steps, made)
	attrs[kind.Name] = &hclsyntax.ScopeTraversalExpr{SrcRange: b.DefRange, Traversal: hcl.Traversal{
		hcl.TraverseRoot{Name: "step", SrcRange: b.DefRange}, hcl.TraverseAttr{Name: kind.Name, SrcRange: b.DefRange},
		hcl.TraverseAttr{Name: name, SrcRange: b.DefRange}, hcl.TraverseAttr{Name: kind.InBlocks.Output, SrcRange: b.DefRange},
	}}
	return diags
}

// placeOf is the absolute path of a folder that is written relative to the pipeline's.
type placeOf struct {
	hcl.Expression
	dir string
}

// Value implements hcl.Expression.
func (p *placeOf) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	v, diags := p.Expression.Value(ctx)
	plain, marks := v.Unmark()
	if diags.HasErrors() || !plain.IsKnown() || plain.IsNull() || plain.Type() != cty.String {
		return v, diags
	}
	at := plain.AsString()
	if !filepath.IsAbs(at) {
		at = filepath.Join(p.dir, at)
	}
	real, err := checkout.Follow(at)
	if own, bad := checkout.Follow(p.dir); err == nil && bad == nil && checkout.Below(own, real) {
		return v, append(diags, diag.Error(p.Range(), "Folder contains the pipeline", "%s is or contains the pipeline's folder. Name a folder of its own, such as .venv.", at))
	}
	return cty.StringVal(at).WithMarks(marks), diags
}

// fileOf is the file at the path that an expression gives, or content as it is. With
// names it is the first file of other names beside that one, null if there is none.
type fileOf struct {
	hcl.Expression
	files *local.Files
	names func(path string) []string
}

// Value implements hcl.Expression.
func (f *fileOf) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	v, diags := f.Expression.Value(ctx)
	if diags.HasErrors() || !v.IsKnown() || v.IsNull() {
		return v, diags
	}
	plain, marks := v.Unmark()
	path := ""
	switch {
	case plain.Type() == cty.String:
		path = plain.AsString()
	case plain.Type() == step.ArtifactType && f.names == nil:
		return v, diags
	case plain.Type() == step.ArtifactType:
		a, ok := plain.EncapsulatedValue().(*step.Artifact)
		if !ok || a.Local == nil {
			return cty.NullVal(step.ArtifactType), diags
		}
		path = a.Local.Path()
	default:
		return v, diags // its type is refused like that of any argument
	}
	paths := []string{path}
	if f.names != nil {
		paths = f.names(path)
	}
	var err error
	for _, path := range paths {
		var content cty.Value
		if content, err = artifactValue(f.files.File(path)); err == nil {
			return content.WithMarks(marks), diags
		}
	}
	if f.names != nil {
		return cty.NullVal(step.ArtifactType), diags
	}
	return cty.DynamicVal, append(diags, diag.Error(f.Range(), "File cannot be read", "%s", diag.Sentence(err.Error())))
}

// filesNamed are the files that another one names by their paths, null if there are none.
type filesNamed struct {
	*fileOf
	names func(path, text string) []string
}

// Value implements hcl.Expression.
func (f *filesNamed) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	none := cty.NullVal(cty.List(step.ArtifactType))
	v, diags := f.fileOf.Value(ctx)
	plain, marks := v.Unmark()
	if diags.HasErrors() || !plain.IsKnown() || plain.IsNull() || plain.Type() != step.ArtifactType {
		return none, nil // the other argument's own diagnostics say so
	}
	a, ok := plain.EncapsulatedValue().(*step.Artifact)
	if !ok || a.Local == nil {
		return none, nil
	}
	text, err := a.Local.Text()
	if err != nil {
		return none, nil
	}
	var list []cty.Value
	for _, name := range f.names(a.Local.Path(), text) {
		content, err := artifactValue(f.files.File(filepath.Join(filepath.Dir(a.Local.Path()), filepath.FromSlash(name))))
		if err != nil {
			return cty.DynamicVal, hcl.Diagnostics{diag.Error(f.Range(), "File cannot be read", "%s names %s: %s", a.Local.Path(), name, diag.Sentence(err.Error()))}
		}
		list = append(list, content)
	}
	if len(list) == 0 {
		return none, nil
	}
	return cty.ListVal(list).WithMarks(marks), nil
}
