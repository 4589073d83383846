package prep

import (
	"reflect"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/engine/diag"
)

// Check decodes a definition's prepare block and reports the mistakes that
// show without data: unknown names, wrong numbers of
// arguments, outputs and attributes that do not exist.
func Check(def *competitions.Definition) hcl.Diagnostics {
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
