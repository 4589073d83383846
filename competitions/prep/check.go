package prep

import (
	"reflect"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/engine/diag"
)

// Check decodes a definition's prepare block and reports what is wrong with
// it as far as that shows without data: unknown names, wrong numbers of
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
	diags hcl.Diagnostics
}

func (c *checker) fail(r hcl.Range, summary, detail string, args ...any) {
	c.diags = append(c.diags, diag.Error(r, summary, detail, args...))
}

// references checks the names that an expression takes from outside.
func (c *checker) references(expr hclsyntax.Expression) {
	for _, t := range expr.Variables() {
		root := t.RootName()
		if root != "local" && root != "param" {
			c.fail(t.SourceRange(), "Unknown name "+root, "Write local.%s for a local, param.%s for a parameter.", root, root)
			continue
		}
		if len(t) < 2 {
			c.fail(t.SourceRange(), "Incomplete reference", "Write %s.<name>.", root)
			continue
		}
		step, ok := t[1].(hcl.TraverseAttr)
		if !ok {
			c.fail(t.SourceRange(), "Incomplete reference", "Write %s.<name>.", root)
			continue
		}
		known := c.e.locals.names()
		if root == "param" {
			known = sortedKeys(c.e.params)
		}
		c.named(root, step, known)
	}
}

func (c *checker) named(root string, step hcl.TraverseAttr, known []string) {
	for _, k := range known {
		if k == step.Name {
			return
		}
	}
	what := map[string]string{"local": "local", "param": "parameter"}[root]
	c.fail(step.SrcRange, "Unknown "+what+" "+step.Name, "%s", diag.Suggest(step.Name, known))
}

func (c *checker) call(x *hclsyntax.FunctionCallExpr) {
	verb, isVerb := c.e.verbs[x.Name]
	_, isStd := c.e.functions[x.Name]
	switch {
	case !isVerb && !isStd:
		names := append(sortedKeys(c.e.verbs), sortedKeys(c.e.functions)...)
		c.fail(x.NameRange, "Unknown verb "+x.Name, "%s", diag.Suggest(x.Name, names))
	case isVerb && !isStd && !x.ExpandFinal:
		f := reflect.TypeOf(verb.Func)
		if message := countArguments(verb, f, written(f), len(x.Args)); message != "" {
			c.fail(x.Range(), "Wrong number of arguments", "%s", message)
		}
	}
}
