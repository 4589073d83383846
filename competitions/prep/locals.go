package prep

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

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
