package prep

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// forEach is the attribute that makes an output for each element.
const forEach = "for_each"

// expander makes items of output blocks.
type expander struct {
	// context holds the plain values of the definition: which outputs there
	// are is known without data.
	context *hcl.EvalContext
	locals  *localSet
}

// each is an element of for_each.
type each struct {
	key   string
	value cty.Value
}

// scope returns the scope that an output's attributes see.
func (e *each) scope() *scope {
	if e == nil {
		return nil
	}
	return &scope{names: map[string]cty.Value{"each": cty.ObjectVal(map[string]cty.Value{"key": cty.StringVal(e.key), "value": e.value})}}
}

// fill puts the element into a destination or a text of the definition.
func (e *each) fill(text, key, value string) string {
	if e == nil {
		return text
	}
	text = strings.ReplaceAll(text, key, e.key)
	if v, err := convert.Convert(e.value, cty.String); err == nil && !v.IsNull() {
		text = strings.ReplaceAll(text, value, v.AsString())
	}
	return text
}

// elements returns the elements for which a block makes outputs: one that is
// outer's, or nil, without for_each.
func (x *expander) elements(b *hclsyntax.Block, outer *each) ([]*each, hcl.Diagnostics) {
	attr := b.Body.Attributes[forEach]
	if attr == nil {
		return []*each{outer}, nil
	}
	refuse := func(summary, detail string, args ...any) ([]*each, hcl.Diagnostics) {
		return nil, wrong(attr.Expr.Range(), summary, detail, args...)
	}
	if outer != nil {
		return refuse("for_each within for_each", "The outputs inside use each.key of the archive; remove one of the two.")
	}
	for _, t := range attr.Expr.Variables() {
		if _, own := x.locals.own[t.RootName()]; own {
			return refuse("for_each depends on data", "%s is a local of the prepare block. The set of files must be known before any data are read: use locals of the competition, parameters and plain values.", t.RootName())
		}
	}
	v, diags := attr.Expr.Value(x.context)
	if diags.HasErrors() {
		return nil, diags
	}
	if v.IsNull() || !v.IsKnown() || !v.CanIterateElements() {
		return refuse("Wrong value for for_each", "Expected a list of strings or an object, not %s.", describe(v))
	}
	named := v.Type().IsObjectType() || v.Type().IsMapType()
	var out []*each
	for it := v.ElementIterator(); it.Next(); {
		key, value := it.Element()
		if !named {
			key = value
		}
		text, err := convert.Convert(key, cty.String)
		if err != nil || text.IsNull() {
			return refuse("Wrong value for for_each", "Expected a list of strings or an object; one element is %s.", describe(key))
		}
		if slices.ContainsFunc(out, func(e *each) bool { return e.key == text.AsString() }) {
			return refuse("Wrong value for for_each", "%q is there twice.", text.AsString())
		}
		out = append(out, &each{text.AsString(), value})
	}
	return out, nil
}
