package competitions

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/mleflow/mleflow/engine/diag"
)

// bodySchema lists the attributes and blocks that a body may hold.
type bodySchema struct {
	attrs  []string
	blocks map[string]blockShape
}

// blockShape is the form of a nested block.
type blockShape struct {
	labels int
	many   bool
}

// check reports every attribute and block that the schema does not have, with
// the nearest name that it has.
func (d *decoder) check(body *hclsyntax.Body, s bodySchema) {
	blockNames := slices.Sorted(maps.Keys(s.blocks))
	for _, attr := range InOrder(body) {
		switch {
		case slices.Contains(s.attrs, attr.Name):
		case attr.Name == "mends" && slices.Contains(s.attrs, "fixes"):
			d.fail(attr.NameRange, "Unknown attribute mends", "It is called fixes now.")
		default:
			d.fail(attr.NameRange, "Unknown attribute "+attr.Name, "%s", diag.Suggest(attr.Name, s.attrs))
		}
	}
	seen := map[string]*hclsyntax.Block{}
	for _, b := range body.Blocks {
		shape, ok := s.blocks[b.Type]
		switch {
		case !ok && b.Type == "checksums":
			d.fail(b.TypeRange, "Unknown block checksums", "Pins are in %s next to the definition; mleflow competition lock writes it.", LockName)
		case !ok:
			d.fail(b.TypeRange, "Unknown block "+b.Type, "%s", diag.Suggest(b.Type, blockNames))
		case len(b.Labels) != shape.labels:
			d.fail(b.DefRange(), "Wrong number of labels", "Block %s takes %d label(s) in quotes, not %d.", b.Type, shape.labels, len(b.Labels))
		case !shape.many && seen[b.Type] != nil:
			d.fail(b.DefRange(), "Second block "+b.Type, "The first is at line %d; only one is allowed.", seen[b.Type].DefRange().Start.Line)
		}
		seen[b.Type] = b
	}
}

// value evaluates an attribute as a type; false when absent or wrong.
func (d *decoder) value(body *hclsyntax.Body, name string, want cty.Type) (cty.Value, bool) {
	attr, ok := body.Attributes[name]
	if !ok {
		return cty.NilVal, false
	}
	v, diags := attr.Expr.Value(d.context)
	if d.diags = append(d.diags, diags...); diags.HasErrors() {
		return cty.NilVal, false
	}
	v, err := convert.Convert(v, want)
	if err != nil || holdsNull(v) || !v.IsWhollyKnown() {
		reason := "it is null, or contains a null"
		if err != nil {
			reason = err.Error()
		}
		d.fail(attr.Expr.Range(), "Wrong value for "+name, "Expected a %s: %s.", want.FriendlyName(), reason)
		return cty.NilVal, false
	}
	return v, true
}

// holdsNull reports whether a value or anything in it is null.
func holdsNull(v cty.Value) (found bool) {
	_ = cty.Walk(v, func(_ cty.Path, v cty.Value) (bool, error) {
		found = found || v.IsNull()
		return !found, nil
	})
	return found
}

// texts evaluates an attribute that maps names to texts.
func (d *decoder) texts(body *hclsyntax.Body, name string) map[string]string {
	v, ok := d.value(body, name, cty.Map(cty.String))
	if !ok {
		return nil
	}
	out := make(map[string]string, v.LengthInt())
	for key, item := range v.AsValueMap() {
		out[key] = item.AsString()
	}
	return out
}

// InOrder returns a body's attributes in the order of the file.
func InOrder(body *hclsyntax.Body) []*hclsyntax.Attribute {
	attrs := slices.Collect(maps.Values(body.Attributes))
	slices.SortFunc(attrs, func(a, b *hclsyntax.Attribute) int {
		return cmp.Compare(a.SrcRange.Start.Byte, b.SrcRange.Start.Byte)
	})
	return attrs
}

func blocksByType(body *hclsyntax.Body) map[string][]*hclsyntax.Block {
	out := make(map[string][]*hclsyntax.Block)
	for _, b := range body.Blocks {
		out[b.Type] = append(out[b.Type], b)
	}
	return out
}

// sum evaluates a pin of n hexadecimal digits; "" when absent.
func (d *decoder) sum(body *hclsyntax.Body, name, what string, n int) string {
	s := d.text(body, name, false)
	if s != "" {
		d.checkHex(body.Attributes[name].Expr.Range(), what, s, n)
	}
	return s
}

// checkHex reports a pin that is not n hexadecimal digits.
func (d *decoder) checkHex(r hcl.Range, what, sum string, n int) {
	if len(sum) == n && strings.Trim(sum, "0123456789abcdef") == "" {
		return
	}
	d.fail(r, "Malformed "+what, "A %s is %d lower-case hexadecimal digits; this has %d characters.", what, n, len(sum))
}
