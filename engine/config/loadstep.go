package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/bounded"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/step"
)

func (l *loader) step(b *hcl.Block) {
	kind := l.opts.Kinds.Kind(b.Labels[0])
	if kind == nil {
		l.fail(b.LabelRanges[0], "Unknown step kind", "There is no step kind %q.%s The kinds are: %s.", b.Labels[0],
			diag.DidYouMean(b.Labels[0], l.opts.Kinds.Names()), strings.Join(l.opts.Kinds.Names(), ", "))
		return
	}
	s := newStep(kind, l.in.qualified(l.name("step", b)), b.DefRange, nil)
	if old := l.p.byAddr[s.Addr]; old != nil {
		l.duplicate("step", s.Addr.String(), b.DefRange, old.Range)
		return
	}
	content, more := b.Body.Content(stepSchema(kind))
	if count := b.Body.(*hclsyntax.Body).Attributes["count"]; count != nil { // Terraform's
		addDetail(more, count.NameRange, " To repeat a step n times write: for_each = { for i in range(n) : tostring(i) => i }.")
	}
	l.add(more)
	s.Args = exprs(content.Attributes)
	l.checkDependsOn(s.Args["depends_on"])
	s.When = take(s.Args, "when")
	s.ForEach, s.DependsOn, s.Timeout, s.On = take(s.Args, "for_each"), take(s.Args, "depends_on"), take(s.Args, "timeout"), take(s.Args, "on")
	provides := func(b *hcl.Block) bool { a := step.AttrOf(kind.Args, b.Type); return a != nil && a.Block }
	for _, nested := range lists.Where(content.Blocks, provides) {
		l.kindBlock(s.Addr.Name, s.Args, nested)
	}
	own := slices.DeleteFunc(content.Blocks, provides)
	s.Before, s.After = l.rules(own.OfType("precondition")), l.rules(own.OfType("postcondition"))
	own = slices.DeleteFunc(own, func(b *hcl.Block) bool { return strings.HasSuffix(b.Type, "condition") })
	s.Blocks = l.nested(own, func(name string) *hcl.BodySchema { return blockOf(kind, name) }, func(nested *hcl.Block) string {
		return fmt.Sprintf("A step can have only one %q block.", nested.Type)
	})
	l.addStep(s)
}

func newStep(kind *step.Kind, name string, r hcl.Range, args hcl.Attributes) *Step {
	return &Step{Block: newBlock(name, r, args), Addr: addr.Step{Kind: kind.Name, Name: name}, Kind: kind}
}

func (l *loader) addStep(s *Step) {
	l.p.byAddr[s.Addr] = s
	l.p.Steps = append(l.p.Steps, s)
}

// makeSteps adds the steps that provide what other steps' arguments leave out.
func (l *loader) makeSteps() {
	for _, s := range slices.Clone(l.p.Steps) {
		for i := range s.Kind.Args {
			if a := &s.Kind.Args[i]; a.Made != nil {
				l.makeStep(s, a)
			}
		}
	}
}

func (l *loader) makeStep(s *Step, a *step.Attr) {
	kind := l.opts.Kinds.Kind(a.Made.Kind)
	when, value, exact := strings.Cut(a.Made.When, "=")
	if kind == nil || s.Args[a.Name] != nil || !s.asks(when, value) {
		return
	}
	made := newStep(kind, s.Name, s.Range, nil)
	if old := l.p.byAddr[made.Addr]; old != nil {
		l.fail(s.Range, "Duplicate step", "%s needs a step %s, which mleflow adds because %s is not set, but a step of that name is declared at %s. Write %s = %s…, or rename that step.",
			s.Addr, made.Addr, a.Name, position(old.Range), a.Name, made.Addr)
		return
	}
	all := &combinations{of: s}
	if exact {
		all.when, all.value = s.Args[when], value
	}
	for _, name := range a.Made.Args {
		e := s.Args[name]
		if arg := step.AttrOf(kind.Args, name); e != nil && arg != nil && arg.Type == step.ArtifactType {
			made.Args[name] = &passedOn{all, name, e}
		} else if e != nil {
			all.names, all.exprs = append(all.names, name), append(all.exprs, e)
			made.Args[name] = reference(s.Range, "each", "value", name)
		}
	}
	// The expressions are pointers, since they are map keys.
	made.ForEach = all
	s.Args[a.Name] = &madeFor{all, reference(s.Range, "step", made.Addr.Kind, made.Addr.Name)}
	l.addStep(made)
}

// asks reports whether an argument is written and differs from its default, or may have
// a value, if that is not "".
func (s *Step) asks(name, value string) bool {
	e := s.Args[name]
	if e == nil {
		return false
	}
	a := step.AttrOf(s.Kind.Args, name)
	v, diags := bounded.Literal(e)
	if value != "" {
		return diags.HasErrors() || v.RawEquals(cty.StringVal(value))
	}
	return diags.HasErrors() || a == nil || a.Default == (cty.Value{}) || !v.RawEquals(a.Default)
}

// checkDependsOn requires a list of step references of any form.
func (l *loader) checkDependsOn(e hcl.Expression) {
	if e == nil {
		return
	}
	const want = "depends_on must be a list of step references, not in quotes, such as [step.prepare.data]."
	list, more := hcl.ExprList(e)
	if more.HasErrors() {
		l.fail(e.Range(), "Invalid depends_on", want)
	}
	for _, item := range list {
		if !refersTo(item, "step") {
			l.fail(item.Range(), "Invalid depends_on", want)
		}
	}
}

func take(m map[string]hcl.Expression, name string) hcl.Expression {
	e := m[name]
	delete(m, name)
	return e
}

// blockOf returns the schema of a block in a step of a kind.
func blockOf(k *step.Kind, name string) *hcl.BodySchema {
	if b := k.Block(name); b != nil {
		return attrSchema(b.Args)
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
