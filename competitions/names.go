package competitions

import (
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/mleflow/mleflow/engine/diag"
)

// ParamRoot stands before the name of a parameter: param.test_size.
const ParamRoot = "param"

// reservedNames are those that no local and no variable of a for expression can
// have.
var reservedNames = []string{ParamRoot, "local", "each", "true", "false", "null"}

// nameWalker reports names that could mean two things: nothing shadows
// anything. A name is one local of the competition, one local of the prepare
// block around it, or the variable of one for expression around it.
type nameWalker struct {
	scopes []map[string]declared
	diags  hcl.Diagnostics
}

// declared is the origin of a name.
type declared struct {
	what string
	at   hcl.Range
}

// checkNames looks at all names of a competition block. The locals of errata
// blocks are in the place of those of the competition.
func checkNames(body *hclsyntax.Body) hcl.Diagnostics {
	w := &nameWalker{scopes: []map[string]declared{{}}}
	w.locals(body)
	for _, b := range body.Blocks {
		if b.Type != "errata" {
			continue
		}
		for name, attr := range localsOf(b.Body) {
			if _, ok := w.scopes[0][name]; !ok {
				w.declare(name, declared{"the local", attr.NameRange})
			}
		}
	}
	_ = hclsyntax.Walk(body, w)
	return w.diags
}

// localsOf returns the attributes of the locals blocks of a body; of a name
// that is there twice the first.
func localsOf(body *hclsyntax.Body) map[string]*hclsyntax.Attribute {
	out := map[string]*hclsyntax.Attribute{}
	for _, b := range body.Blocks {
		if b.Type != "locals" {
			continue
		}
		for name, attr := range b.Body.Attributes {
			if _, ok := out[name]; !ok {
				out[name] = attr
			}
		}
	}
	return out
}

func (w *nameWalker) locals(body *hclsyntax.Body) {
	locals := localsOf(body)
	for _, name := range slices.Sorted(maps.Keys(locals)) {
		w.declare(name, declared{"the local", locals[name].NameRange})
	}
}

// declare adds a name to the innermost scope.
func (w *nameWalker) declare(name string, d declared) {
	if slices.Contains(reservedNames, name) {
		w.diags = append(w.diags, diag.Error(d.at, "Reserved name "+name, "%s has a meaning of its own in a definition; choose another name.", name))
		return
	}
	for _, scope := range w.scopes {
		if first, ok := scope[name]; ok {
			w.diags = append(w.diags, diag.Error(d.at, "Ambiguous name "+name,
				"%s here and %s at line %d have the same name. Rename one of them.", d.what, first.what, first.at.Start.Line))
			return
		}
	}
	w.scopes[len(w.scopes)-1][name] = d
}

// Enter implements hclsyntax.Walker.
func (w *nameWalker) Enter(n hclsyntax.Node) hcl.Diagnostics {
	switch x := n.(type) {
	case *hclsyntax.Block:
		if x.Type == "prepare" {
			w.scopes = append(w.scopes, map[string]declared{})
			w.locals(x.Body)
		}
	case *hclsyntax.ForExpr:
		w.scopes = append(w.scopes, map[string]declared{})
		for _, name := range []string{x.KeyVar, x.ValVar} {
			if name != "" {
				w.declare(name, declared{"the variable of a for expression", x.OpenRange})
			}
		}
	case *hclsyntax.ScopeTraversalExpr:
		if x.Traversal.RootName() == "local" {
			w.diags = append(w.diags, diag.Error(x.SrcRange, "Locals have no prefix", "Write the name of the local alone, without local before it."))
		}
	}
	return nil
}

// Exit implements hclsyntax.Walker.
func (w *nameWalker) Exit(n hclsyntax.Node) hcl.Diagnostics {
	block, ok := n.(*hclsyntax.Block)
	_, isFor := n.(*hclsyntax.ForExpr)
	if isFor || ok && block.Type == "prepare" {
		w.scopes = w.scopes[:len(w.scopes)-1]
	}
	return nil
}
