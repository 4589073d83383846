package config

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/mleflow/mleflow/cache/leaf/checkout"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/local"
	"github.com/mleflow/mleflow/engine/step"
)

// The expressions of a step that is made, as if they had been written:
//
//	step "task" "solve" {
//	  for_each    = { "a/reference" = { competition = "a", task = "reference" }, … }
//	  competition = each.value.competition
//	  task        = each.value.task
//	}
//	step "agent-run" "solve" {
//	  …
//	  texts = step.task.solve["${competition}/${task}"]
//	}

// combinations is the for_each of an implicit step: the values of the arguments
// in all instances of another step, by their key.
type combinations struct {
	of    *Step
	names []string
	exprs []hcl.Expression
	// when, if set, is the argument whose value an instance must have.
	when  hcl.Expression
	value string
}

// Value implements hcl.Expression.
func (c *combinations) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	contexts, marks, diags := c.contexts(ctx)
	if diags.HasErrors() {
		return cty.DynamicVal, diags
	}
	if contexts == nil {
		return cty.MapValEmpty(cty.DynamicPseudoType), nil // the other step reports why
	}
	all := map[string]cty.Value{}
	for _, one := range contexts {
		key, values, more, diags := c.in(one)
		if diags.HasErrors() {
			return cty.DynamicVal, diags
		}
		if values != nil {
			all[key] = cty.ObjectVal(values)
		}
		maps.Copy(marks, more)
	}
	return cty.ObjectVal(all).WithMarks(marks), nil
}

// contexts returns the scopes of the other step's instances, and only one of those that
// are alike; nil if its for_each is wrong.
func (c *combinations) contexts(ctx *hcl.EvalContext, more ...hcl.Expression) ([]*hcl.EvalContext, cty.ValueMarks, hcl.Diagnostics) {
	if c.of.ForEach == nil {
		return []*hcl.EvalContext{ctx}, cty.ValueMarks{}, nil
	}
	v, diags := c.of.ForEach.Value(ctx)
	if diags.HasErrors() {
		return nil, nil, diags
	}
	v, marks := v.Unmark()
	if v.IsNull() || !v.IsKnown() || !v.CanIterateElements() {
		return nil, nil, nil
	}
	if marks == nil {
		marks = cty.ValueMarks{}
	}
	return eachContexts(ctx, v, alikeIn(slices.Concat(c.written(), more)...)), marks, nil
}

// written returns the expressions that decide the combination of an instance.
func (c *combinations) written() []hcl.Expression { return append(written(c.when), c.exprs...) }

// eachContexts returns the scope of each element, and only one of those that are
// alike.
func eachContexts(ctx *hcl.EvalContext, v cty.Value, same *alike) (list []*hcl.EvalContext) {
	seen := map[string]bool{}
	keyed := v.Type().IsMapType() || v.Type().IsObjectType()
	for it := v.ElementIterator(); it.Next(); {
		key, value := it.Element()
		if !keyed {
			key = value
		}
		if same != nil {
			if of, ok := same.key(value); ok && seen[of] {
				continue
			} else if ok {
				seen[of] = true
			}
		}
		child := ctx.NewChild()
		child.Variables = map[string]cty.Value{"each": cty.ObjectVal(map[string]cty.Value{"key": key, "value": value})}
		list = append(list, child)
	}
	return list
}

// in returns the values of the arguments in one scope, and their key. The values are nil
// if the instance does not request the step.
func (c *combinations) in(ctx *hcl.EvalContext) (key string, values map[string]cty.Value, marks cty.ValueMarks, diags hcl.Diagnostics) {
	values, marks = map[string]cty.Value{}, cty.ValueMarks{}
	var parts []string
	if c.when != nil {
		v, more := c.when.Value(ctx)
		v, found := v.UnmarkDeep()
		maps.Copy(marks, found)
		if more.HasErrors() || v.IsKnown() && !v.RawEquals(cty.StringVal(c.value)) {
			return "", nil, marks, nil // the other step reports what is wrong
		}
		if !v.IsKnown() {
			return "", nil, marks, hcl.Diagnostics{diag.Error(c.when.Range(), "Value is not known", "It must be known before anything runs, since %q needs another step.", c.value)}
		}
	}
	for i, e := range c.exprs {
		v, more := e.Value(ctx)
		if diags = append(diags, more...); more.HasErrors() {
			continue
		}
		v, found := v.UnmarkDeep()
		maps.Copy(marks, found)
		text, err := convert.Convert(v, cty.String)
		switch {
		case err != nil || !v.IsKnown():
			diags = append(diags, diag.Error(e.Range(), "Value is not known", "%s must be a string that is known before anything runs.", c.names[i]))
		case text.IsNull(): // the argument's default applies
		default:
			values[c.names[i]] = text
			parts = append(parts, text.AsString())
			continue
		}
		values[c.names[i]] = cty.NullVal(cty.String)
	}
	return strings.Join(parts, "/"), values, marks, diags
}

// Variables implements hcl.Expression.
func (c *combinations) Variables() []hcl.Traversal {
	all := slices.Collect(traversals(append(written(c.of.ForEach), c.written()...)))
	return slices.DeleteFunc(all, func(t hcl.Traversal) bool { return t.RootName() == "each" })
}

// Range implements hcl.Expression.
func (c *combinations) Range() hcl.Range { return c.of.Range }

// StartRange implements hcl.Expression.
func (c *combinations) StartRange() hcl.Range { return c.of.Range }

// madeFor is the argument that an implicit step, which from refers to, provides.
type madeFor struct {
	*combinations
	from *hclsyntax.ScopeTraversalExpr
}

// Value implements hcl.Expression.
func (m *madeFor) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	key, values, marks, diags := m.in(ctx)
	if diags.HasErrors() {
		return cty.DynamicVal, nil // the implicit step reports why
	}
	if values == nil {
		return cty.NullVal(cty.DynamicPseudoType), nil
	}
	all, diags := m.from.Traversal.TraverseAbs(ctx)
	if diags.HasErrors() || !all.IsKnown() {
		return cty.DynamicVal, diags
	}
	v, diags := hcl.Index(all, cty.StringVal(key), m.of.Range.Ptr())
	return v.WithMarks(marks), diags
}

// Variables implements hcl.Expression.
func (m *madeFor) Variables() []hcl.Traversal {
	return slices.AppendSeq(m.from.Variables(), traversals(m.written()))
}

// passedOn is content that an implicit step gets from the instances of the other step
// that have its key.
type passedOn struct {
	*combinations
	name string
	from hcl.Expression
}

// Value implements hcl.Expression.
func (p *passedOn) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	contexts, _, diags := p.contexts(ctx, p.from)
	if diags.HasErrors() {
		return cty.DynamicVal, diags
	}
	key := ctx.Variables["each"].GetAttr("key").AsString()
	out := cty.DynamicVal
	for _, one := range contexts {
		if of, values, _, _ := p.in(one); of != key || values == nil {
			continue
		}
		v, diags := p.from.Value(one)
		if diags.HasErrors() {
			return cty.DynamicVal, diags
		}
		if out != cty.DynamicVal && !v.RawEquals(out) {
			return cty.DynamicVal, hcl.Diagnostics{diag.Error(p.from.Range(), "Different content", "The step that mleflow adds for %s has one %s for all instances that agree in %s, but here they differ. Write the step and refer to it.",
				p.of.Addr, p.name, strings.Join(p.names, ", "))}
		}
		out = v
	}
	return out, nil
}

// Variables implements hcl.Expression.
func (p *passedOn) Variables() []hcl.Traversal {
	own := slices.DeleteFunc(p.from.Variables(), func(t hcl.Traversal) bool { return t.RootName() == "each" })
	return slices.Concat(p.combinations.Variables(), own, reference(p.of.Range, "each", "key").Variables())
}

// reference is ROOT.NAME.NAME… as if it were written at a place.
func reference(r hcl.Range, root string, names ...string) *hclsyntax.ScopeTraversalExpr {
	t := hcl.Traversal{hcl.TraverseRoot{Name: root, SrcRange: r}}
	for _, name := range names {
		t = append(t, hcl.TraverseAttr{Name: name, SrcRange: r})
	}
	return &hclsyntax.ScopeTraversalExpr{Traversal: t, SrcRange: r}
}

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
func (l *loader) kindBlock(name string, attrs map[string]hcl.Expression, b *hcl.Block) {
	kind := l.opts.Kinds.Kind(b.Type)
	in := kind.InBlocks
	schema := attrSchema(kind.Args)
	for i := range schema.Attributes {
		schema.Attributes[i].Required = false
	}
	schema.Attributes = append(schema.Attributes, hcl.AttributeSchema{Name: in.Output})
	content, valid := l.content(b, schema)
	made := newStep(kind, name, b.DefRange, content.Attributes)
	args, given := made.Args, take(made.Args, in.Output)
	switch old := l.p.byAddr[made.Addr]; {
	case !valid:
		return
	case attrs[kind.Name] != nil:
		l.fail(b.DefRange, "Duplicate block", "An agent or step can have only one %q block.", b.Type)
		return
	case given != nil && len(args) > 0:
		l.fail(b.DefRange, "Conflicting arguments", "%s is the output of a step that has these arguments; write either.", in.Output)
		return
	case given != nil:
		attrs[kind.Name] = given
		return
	case old != nil:
		l.fail(b.DefRange, "Duplicate step", "This block adds a step %s, but one of that name is declared at %s. Use its output, %s = %s.%s, or rename that step.",
			made.Addr, position(old.Range), in.Output, made.Addr, in.Output)
		return
	}
	for i := range kind.Args {
		switch arg := &kind.Args[i]; {
		case arg.Required && args[arg.Name] == nil:
			l.fail(b.DefRange, "Missing argument", "The block %q needs %s: %s", b.Type, arg.Name, arg.Doc)
		case arg.Type == step.ArtifactType && args[arg.Name] != nil:
			args[arg.Name] = &fileOf{Expression: args[arg.Name], files: l.p.local}
		}
	}
	if at := args[in.Place]; at != nil {
		args[in.Place] = &placeOf{at, folderOf(l.p.Path)}
		attrs[in.Place] = args[in.Place]
	}
	if from, ok := args[in.From].(*fileOf); ok {
		if args[in.Lock] == nil {
			args[in.Lock] = &fileOf{Expression: from.Expression, files: l.p.local, names: in.LockNames}
		}
		if in.Named != "" && args[in.Named] == nil {
			args[in.Named] = &filesNamed{from, in.NamedBy}
		}
	}
	l.addStep(made)
	attrs[kind.Name] = reference(b.DefRange, "step", kind.Name, name, in.Output)
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
	switch a := artifactOf(plain); {
	case plain.Type() == cty.String:
		path = plain.AsString()
	case a == nil || f.names == nil: // the wrong type is refused like that of any argument
		return v, diags
	case a.Local == nil:
		return cty.NullVal(step.ArtifactType), diags
	default:
		path = a.Local.Path()
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
	a := artifactOf(plain)
	if diags.HasErrors() || a == nil || a.Local == nil {
		return none, nil // the other argument's own diagnostics say so
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
