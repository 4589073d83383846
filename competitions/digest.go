package competitions

import (
	"bytes"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/mleflow/mleflow/cache/digest"
)

// PrepareDigest identifies everything in the definition that preparation
// depends on: the prepare block, the values of the locals and parameters it
// refers to. Comments and layout do not count, nor does anything that only
// grading or people read.
func (d *Definition) PrepareDigest(params map[string]cty.Value) (digest.ContentID, hcl.Diagnostics) {
	h := digest.NewHasher("prepare definition", "1")
	diags := d.hashBlock(h, d.Prepare, params)
	return digest.ContentID(h.Sum()), diags
}

// GradeDigest identifies everything in the definition that a grading report
// depends on: the grade block, the values it refers to, where the answers lie,
// the leaderboard and the version.
func (d *Definition) GradeDigest(params map[string]cty.Value) (digest.ContentID, hcl.Diagnostics) {
	h := digest.NewHasher("grade definition", "1")
	h.String("id", d.ID)
	h.String("version", d.Version)
	h.String("answers", d.Layout.Answers)
	for _, score := range d.Medals.Scores {
		h.String("team", cty.NumberFloatVal(score).AsBigFloat().Text('g', -1))
	}
	diags := d.hashBlock(h, d.Grade, params)
	return digest.ContentID(h.Sum()), diags
}

// hashBlock adds a block's tokens and the values they refer to.
func (d *Definition) hashBlock(h *digest.Hasher, b Block, params map[string]cty.Value) hcl.Diagnostics {
	if b.IsZero() {
		return nil
	}
	body := b.Body.(*hclsyntax.Body)
	for _, text := range d.tokens(body.SrcRange) {
		h.String("token", text)
	}
	ctx, diags := d.EvalContext(params)
	if diags.HasErrors() {
		return diags
	}
	names := referenced(body)
	for _, root := range []string{"local", "param"} {
		values := ctx.Variables[root].AsValueMap()
		for _, name := range slices.Sorted(maps.Keys(values)) {
			if !slices.Contains(names, root+"."+name) {
				continue
			}
			text, err := ctyjson.Marshal(values[name], cty.DynamicPseudoType)
			if err != nil {
				return append(diags, &hcl.Diagnostic{Severity: hcl.DiagError, Summary: "Cannot encode " + root + "." + name, Detail: err.Error(), Subject: &b.Range})
			}
			h.String(root+"."+name, string(text))
		}
	}
	return diags
}

// referenced returns the "root.name" of every reference below a body.
func referenced(body *hclsyntax.Body) []string {
	var names []string
	_ = hclsyntax.VisitAll(body, func(n hclsyntax.Node) hcl.Diagnostics {
		expr, ok := n.(*hclsyntax.ScopeTraversalExpr)
		if !ok || len(expr.Traversal) < 2 {
			return nil
		}
		if step, ok := expr.Traversal[1].(hcl.TraverseAttr); ok {
			names = append(names, expr.Traversal.RootName()+"."+step.Name)
		}
		return nil
	})
	return names
}

// tokens returns the texts of the tokens of a range, without comments and
// without line ends that mean nothing.
func (d *Definition) tokens(r hcl.Range) []string {
	all, _ := hclsyntax.LexConfig(r.SliceBytes(d.file.Bytes), r.Filename, r.Start)
	var out []string
	depth := 0
	newline := func() {
		if n := len(out); depth == 0 && n > 0 && out[n-1] != "\n" {
			out = append(out, "\n")
		}
	}
	for _, t := range all {
		switch t.Type {
		case hclsyntax.TokenEOF:
			continue
		case hclsyntax.TokenNewline:
			newline()
			continue
		case hclsyntax.TokenComment:
			if bytes.HasSuffix(t.Bytes, []byte("\n")) {
				newline()
			}
			continue
		case hclsyntax.TokenOParen, hclsyntax.TokenOBrack:
			depth++
		case hclsyntax.TokenCParen, hclsyntax.TokenCBrack:
			depth--
		}
		out = append(out, string(t.Bytes))
	}
	return out
}
