package config

import (
	"slices"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/engine/bounded"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/step"
)

// shared is what the instances of a block with for_each have in common while they
// are expanded.
type shared struct {
	// values are those of the arguments that do not refer to each.
	values map[hcl.Expression]evaluated
	// each says that some expression of the block refers to each.
	each bool
	// waits are the instances that depends_on names, if all wait for the same.
	waits struct {
		once  sync.Once
		deps  []int
		diags diag.List
	}
	// commands are what is wrong with the commands, if all instances have the same.
	commands struct {
		once  sync.Once
		diags diag.List
	}
}

// evaluated is the value of an expression before its marks were removed.
type evaluated struct {
	value cty.Value
	diags diag.List
	// final says that it is the argument of every instance as it is: known, without
	// marks, of the right type and allowed.
	final bool
}

// has reports whether all instances have the same value of an expression, or none.
func (s *shared) has(e hcl.Expression) bool {
	if s == nil {
		return false
	}
	_, ok := s.values[e]
	return ok || e == nil
}

// final reports whether the value of an expression is final.
func (s *shared) final(e hcl.Expression) bool { return s != nil && e != nil && s.values[e].final }

// evaluateOnce evaluates the arguments of a block that are the same for all
// instances, since they do not refer to each.
func (x *expander) evaluateOnce(s *Step, ctx *hcl.EvalContext) map[hcl.Expression]evaluated {
	once := map[hcl.Expression]evaluated{}
	add := func(attrs []step.Attr, exprs map[string]hcl.Expression) {
		for i := range attrs {
			e := exprs[attrs[i].Name]
			if e == nil || refersToEach(e) {
				continue
			}
			v, diags := x.evaluate(e, ctx)
			final := false
			if !diags.HasErrors() && !v.ContainsMarked() {
				if out, err := bounded.Convert(v, attrs[i].Type); err == nil {
					v = out
					final = len(diags) == 0 && !attrs[i].Files && !v.IsNull() && v.IsWhollyKnown() && allowed(&attrs[i], v)
				}
			}
			once[e] = evaluated{v, diags, final}
		}
	}
	add(s.Kind.Args, s.Args)
	for i := range s.Kind.Blocks {
		add(s.Kind.Blocks[i].Args, s.Blocks[s.Kind.Blocks[i].Name])
	}
	return once
}

func refersToEach(e hcl.Expression) bool {
	return slices.ContainsFunc(e.Variables(), func(t hcl.Traversal) bool { return t.RootName() == "each" })
}
