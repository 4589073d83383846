package competitions

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache/leaf/pattern"
)

// Unpacked lists the archives of the raw data that a download may keep as
// folders of their entries, sorted: those that the prepare block of v1
// extracts by name, unless some version may also take the archive as a file:
// by its name, or as part of a pattern or a folder. Names that are computed,
// and those of archives inside other archives, are left out.
func (d *Definition) Unpacked() []string {
	names, _ := d.Extracted()
	if len(names) == 0 {
		return nil
	}
	uses := d.rawUses()
	names = slices.DeleteFunc(names, func(name string) bool {
		return slices.ContainsFunc(uses, func(means use) bool { return mayUse(means, name) })
	})
	names = slices.DeleteFunc(names, func(name string) bool {
		return slices.ContainsFunc(names, func(outer string) bool { return strings.HasPrefix(name, outer+"/") })
	})
	slices.Sort(names)
	return slices.Compact(names)
}

// Extracted returns the names of the archives that the prepare block extracts, and whether
// they are known without computing anything.
func (d *Definition) Extracted() (names []string, known bool) {
	body, ok := d.Prepare.Body.(*hclsyntax.Body)
	if !ok || body.Attributes["extract"] == nil {
		return nil, true
	}
	v, diags := body.Attributes["extract"].Expr.Value(nil)
	if diags.HasErrors() || v.IsNull() || !v.CanIterateElements() {
		return nil, false
	}
	object := v.Type().IsObjectType()
	for it := v.ElementIterator(); it.Next(); {
		key, name := it.Element()
		if object {
			name = key
		}
		if name.Type() == cty.String && !name.IsNull() {
			names = append(names, path.Clean(name.AsString()))
		}
	}
	return names, true
}

// use reports whether a text that may name raw files means a path.
type use func(path string) bool

// rawUses returns every text that may name raw files.
func (d *Definition) rawUses() (uses []use) {
	visit := func(n hclsyntax.Node) hcl.Diagnostics {
		if t, ok := n.(*hclsyntax.TemplateExpr); ok {
			if use := useOf(t); use != nil {
				uses = append(uses, use)
			}
		}
		return nil
	}
	prepare := func(body *hclsyntax.Body) {
		for name, attr := range body.Attributes {
			if name != "extract" {
				_ = hclsyntax.VisitAll(attr, visit)
			}
		}
		for _, b := range body.Blocks {
			_ = hclsyntax.VisitAll(b.Body, visit)
		}
	}
	if body, ok := d.Prepare.Body.(*hclsyntax.Body); ok {
		prepare(body)
	}
	for _, c := range append(slices.Clip(d.changes), change{locals: d.locals}) {
		if c.prepare != nil {
			prepare(c.prepare.Body)
		}
		for _, attr := range c.locals {
			_ = hclsyntax.VisitAll(attr, visit)
		}
	}
	return uses
}

// placeholder is a {name} of a pattern, which data fill in.
var placeholder = pattern.New(`\{[^{}]*\}`)

// useOf returns the use of a string by its possible values. For a string that ends
// with a part known only from the data, such as "{path}", it is nil.
func useOf(t *hclsyntax.TemplateExpr) use {
	var text strings.Builder
	for _, part := range t.Parts {
		if l, ok := part.(*hclsyntax.LiteralValueExpr); ok && l.Val.Type() == cty.String {
			text.WriteString(placeholder.Regexp().ReplaceAllString(l.Val.AsString(), "\x00"))
		} else {
			text.WriteByte(0)
		}
	}
	if text.Len() == 0 || strings.HasSuffix(text.String(), "\x00") {
		return nil
	}
	if !strings.ContainsAny(text.String(), "\x00*?") {
		return func(path string) bool { return path == text.String() }
	}
	quoted := regexp.QuoteMeta(text.String())
	quoted = strings.NewReplacer("\x00", ".*", `\*`, ".*", `\?`, ".").Replace(quoted)
	form, err := regexp.Compile("^(?s:" + quoted + ")$")
	if err != nil {
		return nil
	}
	return form.MatchString
}

// mayUse reports whether a text may mean a file or one of its folders.
func mayUse(means use, name string) bool {
	for ; ; name = path.Dir(name) {
		if means(name) {
			return true
		}
		if name == "." {
			return false
		}
	}
}
