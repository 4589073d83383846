package prep

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/engine/diag"
)

// localSet holds the locals that a prepare block sees: plain values of the
// competition, and expressions of the block itself, each computed once.
type localSet struct {
	given map[string]cty.Value
	own   map[string]*local
}

type local struct {
	attr  *hclsyntax.Attribute
	once  sync.Once
	value cty.Value
	diags hcl.Diagnostics
}

func (l *localSet) names() []string { return append(sortedKeys(l.given), sortedKeys(l.own)...) }

// get computes a local when it is first asked for.
func (l *localSet) get(e *evaluator, name string, at hcl.Range) (cty.Value, hcl.Diagnostics) {
	if v, ok := l.given[name]; ok {
		return v, nil
	}
	own, ok := l.own[name]
	if !ok {
		return fail(at, "Unknown name "+name, "%s", l.suggest(name, e.params))
	}
	own.once.Do(func() { own.value, own.diags = e.value(own.attr.Expr, nil) })
	return own.value, own.diags
}

// suggest returns a hint about a name that no local has.
func (l *localSet) suggest(name string, params map[string]cty.Value) string {
	if name == "each" {
		return "each.key and each.value exist only in an output with for_each."
	}
	if _, ok := params[name]; ok {
		return fmt.Sprintf("Write param.%s for the parameter.", name)
	}
	if names := l.names(); len(names) > 0 {
		return diag.Suggest(name, names)
	}
	return "There are no locals."
}

// declare adds the locals of a block. That no name is ambiguous has been checked
// when the definition was read.
func (l *localSet) declare(body *hclsyntax.Body) hcl.Diagnostics {
	var diags hcl.Diagnostics
	for _, b := range body.Blocks {
		diags = append(diags, diag.Error(b.TypeRange, "Unexpected block "+b.Type, "A locals block can contain only name = value."))
	}
	for _, name := range sortedKeys(body.Attributes) {
		attr := body.Attributes[name]
		if first, ok := l.own[name]; ok {
			diags = append(diags, diag.Error(attr.NameRange, "Second local "+name, "The first is at line %d.", first.attr.NameRange.Start.Line))
			continue
		}
		l.own[name] = &local{attr: attr}
	}
	return diags
}

// acyclic reports locals that need themselves.
func (l *localSet) acyclic() hcl.Diagnostics {
	done := map[string]bool{}
	for _, name := range sortedKeys(l.own) {
		if cycle := l.findCycle(name, nil, done); cycle != nil {
			return hcl.Diagnostics{diag.Error(l.own[cycle[0]].attr.NameRange, "Locals form a cycle",
				"%s. Break the cycle.", strings.Join(cycle, " → "))}
		}
	}
	return nil
}

func (l *localSet) findCycle(name string, path []string, done map[string]bool) []string {
	own, ok := l.own[name]
	if at := slices.Index(path, name); at >= 0 {
		return append(path[at:], name)
	}
	if !ok || done[name] {
		return nil
	}
	for _, t := range own.attr.Expr.Variables() {
		if cycle := l.findCycle(t.RootName(), append(path, name), done); cycle != nil {
			return cycle
		}
	}
	done[name] = true
	return nil
}

// Check decodes a definition's prepare block and reports the mistakes that
// show without data: unknown names, wrong numbers of
// arguments, outputs and attributes that do not exist.
func Check(def *competitions.Definition) hcl.Diagnostics {
	if def.PreparedByPython() {
		return nil
	}
	b, diags := decode(def, nil)
	if diags.HasErrors() {
		return diags
	}
	c := &checker{e: b.evaluator}
	body := def.Prepare.Body.(*hclsyntax.Body)
	_ = hclsyntax.VisitAll(body, func(n hclsyntax.Node) hcl.Diagnostics {
		switch x := n.(type) {
		case *hclsyntax.Block:
			if x.Body.Attributes[forEach] != nil {
				c.each = append(c.each, x.Range())
			}
		case *hclsyntax.Attribute:
			c.references(x.Expr)
		case *hclsyntax.FunctionCallExpr:
			c.call(x)
		}
		return nil
	})
	return append(diags, c.diags...)
}

// checker looks at expressions without computing them.
type checker struct {
	e     *evaluator
	each  []hcl.Range // of the blocks in which each has a value
	diags hcl.Diagnostics
}

func (c *checker) fail(r hcl.Range, summary, detail string, args ...any) {
	c.diags = append(c.diags, diag.Error(r, summary, detail, args...))
}

// references checks the names that an expression takes from outside.
func (c *checker) references(expr hclsyntax.Expression) {
	for _, t := range expr.Variables() {
		root := t.RootName()
		if root == competitions.ParamRoot {
			_, diags := c.e.parameter(t)
			c.diags = append(c.diags, diags...)
			continue
		}
		inside := func(r hcl.Range) bool { return r.ContainsPos(t.SourceRange().Start) }
		if root == "each" && slices.ContainsFunc(c.each, inside) {
			continue
		}
		if !slices.Contains(c.e.locals.names(), root) {
			c.fail(t[0].SourceRange(), "Unknown name "+root, "%s", c.e.locals.suggest(root, c.e.params))
		}
	}
}

func (c *checker) call(x *hclsyntax.FunctionCallExpr) {
	verb, isVerb := c.e.verbs[x.Name]
	_, isStd := c.e.functions[x.Name]
	switch {
	case !isVerb && !isStd:
		c.fail(x.NameRange, "Unknown verb "+x.Name, "%s", c.e.unknownVerb(x.Name))
	case isVerb && !isStd && !x.ExpandFinal:
		f := reflect.TypeOf(verb.Func)
		if message := countArguments(verb, f, written(f), len(x.Args)); message != "" {
			c.fail(x.Range(), "Wrong number of arguments", "%s", message)
		}
	}
}

// renamed maps the old names of verbs to those that pandas has for the same
// thing. No old name works; the error for one gives the new one.
var renamed = map[string]string{
	"with": "assign", "count_within": "cumcount", "number_groups": "ngroup", "sort_by": "sort_values", "is_in": "isin",
	"is_missing": "isna", "fill_missing": "fillna", "cumulative_sum": "cumsum", "map_values": "map",
	"starts_with": "startswith", "ends_with": "endswith", "pad": "zfill", "tail": "skip",
}

// unknownVerb suggests a replacement for a verb that does not exist.
func (e *evaluator) unknownVerb(name string) string {
	if now, ok := renamed[name]; ok {
		return fmt.Sprintf("It is called %s now.", now)
	}
	return diag.Suggest(name, slices.Concat(sortedKeys(e.verbs), sortedKeys(e.functions)))
}
