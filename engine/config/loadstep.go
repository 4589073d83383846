package config

import (
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/bounded"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/step"
)

func (l *loader) step(b *hcl.Block) diag.List {
	kind := l.opts.Kinds.Kind(b.Labels[0])
	if kind == nil {
		return diag.List{diag.Error(b.LabelRanges[0], "Unknown step kind",
			"There is no step kind %q.%s The kinds are: %s.", b.Labels[0],
			diag.DidYouMean(b.Labels[0], l.opts.Kinds.Names()), strings.Join(l.opts.Kinds.Names(), ", "))}
	}
	a := addr.Step{Kind: kind.Name, Name: b.Labels[1]}
	diags := checkName("step", a.Name, b.LabelRanges[1])
	if old := l.p.byAddr[a]; old != nil {
		return append(diags, duplicate("step", a.String(), b.DefRange, old.Range))
	}
	content, more := b.Body.Content(stepSchema(kind))
	diags = append(diags, explainCount(b.Body, more)...)
	s := &Step{Addr: a, Kind: kind, Range: b.DefRange, Args: exprs(content.Attributes), Blocks: map[string]map[string]hcl.Expression{}}
	diags = append(diags, checkDependsOn(s.Args["depends_on"])...)
	s.ForEach, s.DependsOn, s.Timeout, s.On = take(s.Args, "for_each"), take(s.Args, "depends_on"), take(s.Args, "timeout"), take(s.Args, "on")
	for _, nested := range content.Blocks {
		if slices.ContainsFunc(kind.Args, func(a step.Attr) bool { return a.Block && a.Name == nested.Type }) {
			diags = append(diags, l.kindBlock(a.Name, s.Args, nested)...)
			continue
		}
		diags = append(diags, s.nested(nested)...)
	}
	l.p.byAddr[a] = s
	l.p.Steps = append(l.p.Steps, s)
	return diags
}

// makeSteps adds the steps that provide what other steps' arguments leave out.
func (l *loader) makeSteps() (diags diag.List) {
	for _, s := range slices.Clone(l.p.Steps) {
		for i := range s.Kind.Args {
			if a := &s.Kind.Args[i]; a.Made != nil {
				diags = append(diags, l.makeStep(s, a)...)
			}
		}
	}
	return diags
}

func (l *loader) makeStep(s *Step, a *step.Attr) diag.List {
	kind := l.opts.Kinds.Kind(a.Made.Kind)
	if kind == nil || s.Args[a.Name] != nil || !s.asks(a.Made.When) {
		return nil
	}
	made := &Step{Addr: addr.Step{Kind: kind.Name, Name: s.Addr.Name}, Kind: kind, Range: s.Range,
		Args: map[string]hcl.Expression{}, Blocks: map[string]map[string]hcl.Expression{}}
	if old := l.p.byAddr[made.Addr]; old != nil {
		return diag.List{diag.Error(s.Range, "Duplicate step", "%s needs a step %s, which mleflow adds because %s is not set, but a step of that name is declared at %s. Write %s = %s…, or rename that step.",
			s.Addr, made.Addr, a.Name, position(old.Range), a.Name, made.Addr)}
	}
	all := &combinations{of: s}
	for _, name := range a.Made.Args {
		if e := s.Args[name]; e != nil {
			all.names, all.exprs = append(all.names, name), append(all.exprs, e)
			made.Args[name] = &eachValue{name, s.Range}
		}
	}
	// The expressions are pointers, since they are map keys.
	made.ForEach = all
	s.Args[a.Name] = &madeFor{all, made.Addr}
	l.p.byAddr[made.Addr] = made
	l.p.Steps = append(l.p.Steps, made)
	return nil
}

// asks reports whether an argument is written and differs from its default.
func (s *Step) asks(name string) bool {
	e := s.Args[name]
	if e == nil {
		return false
	}
	i := slices.IndexFunc(s.Kind.Args, func(a step.Attr) bool { return a.Name == name })
	v, diags := bounded.Literal(e)
	return diags.HasErrors() || i < 0 || s.Kind.Args[i].Default == (cty.Value{}) || !v.RawEquals(s.Kind.Args[i].Default)
}

// checkDependsOn requires a list of step references of any form.
func checkDependsOn(e hcl.Expression) (diags diag.List) {
	if e == nil {
		return nil
	}
	const want = "depends_on must be a list of step references, not in quotes, such as [step.prepare.data]."
	list, more := hcl.ExprList(e)
	if more.HasErrors() {
		return diag.List{diag.Error(e.Range(), "Invalid depends_on", want)}
	}
	for _, item := range list {
		if !slices.ContainsFunc(item.Variables(), func(t hcl.Traversal) bool { return t.RootName() == "step" }) {
			diags = append(diags, diag.Error(item.Range(), "Invalid depends_on", want))
		}
	}
	return diags
}

func take(m map[string]hcl.Expression, name string) hcl.Expression {
	e := m[name]
	delete(m, name)
	return e
}

// explainCount adds the alternative to the error for Terraform's count.
func explainCount(body hcl.Body, diags diag.List) diag.List {
	if count := body.(*hclsyntax.Body).Attributes["count"]; count != nil {
		addDetail(diags, count.NameRange, " To repeat a step n times write: for_each = { for i in range(n) : tostring(i) => i }.")
	}
	return diags
}

func (s *Step) nested(b *hcl.Block) diag.List {
	content, diags := b.Body.Content(blockOf(s.Kind, b.Type))
	if s.Blocks[b.Type] != nil {
		return append(diags, diag.Error(b.DefRange, "Duplicate block", "A step can have only one %q block.", b.Type))
	}
	s.Blocks[b.Type] = exprs(content.Attributes)
	return diags
}

// blockOf returns the schema of a block in a step of a kind.
func blockOf(k *step.Kind, name string) *hcl.BodySchema {
	for i := range k.Blocks {
		if k.Blocks[i].Name == name {
			return attrSchema(k.Blocks[i].Args)
		}
	}
	return blockIn(metaArgs, name)
}

func stepSchema(k *step.Kind) *hcl.BodySchema {
	schema, common := attrSchema(k.Args), schemas["step"]
	schema.Attributes = append(schema.Attributes, common.Attributes...)
	schema.Blocks = append(schema.Blocks, common.Blocks...)
	for _, b := range k.Blocks {
		schema.Blocks = append(schema.Blocks, hcl.BlockHeaderSchema{Type: b.Name})
	}
	for _, a := range k.Args {
		if a.Block && a.Type == step.ArtifactType {
			schema.Blocks = append(schema.Blocks, hcl.BlockHeaderSchema{Type: a.Name})
		}
	}
	return schema
}

func attrSchema(attrs []step.Attr) *hcl.BodySchema {
	schema := &hcl.BodySchema{}
	for _, a := range attrs {
		if !a.Block {
			schema.Attributes = append(schema.Attributes, hcl.AttributeSchema{Name: a.Name, Required: a.Required})
		}
	}
	return schema
}

func sortedAttrs(attrs hcl.Attributes) []*hcl.Attribute {
	return slices.SortedFunc(maps.Values(attrs), func(a, b *hcl.Attribute) int { return a.Range.Start.Byte - b.Range.Start.Byte })
}
