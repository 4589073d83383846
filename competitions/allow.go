package competitions

import (
	"path"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// Allowance accepts a finding of the lint as intended.
type Allowance struct {
	// Rule is the lint rule.
	Rule string
	// File is a pattern of path.Match for the file of the finding; "" for any.
	File string
	// Column is the column of the finding; "" for any.
	Column string
	Reason string
	Range  hcl.Range
}

// covers reports whether the allowance is about a finding.
func (a Allowance) covers(rule, file, column string) bool {
	if a.Rule != rule || a.Column != "" && a.Column != column {
		return false
	}
	fits, _ := path.Match(a.File, file)
	return a.File == "" || fits
}

// lint decodes
//
//	lint {
//	  allow "duplicates" {
//	    file   = "public/test.csv"   # a pattern; any file without it
//	    column = "text"              # any column without it
//	    reason = "why this is as it should be"
//	  }
//	}
func (d *decoder) lint(body *hclsyntax.Body) {
	d.check(body, bodySchema{blocks: map[string]blockShape{"allow": {labels: 1, many: true}}})
	for _, b := range body.Blocks {
		if b.Type != "allow" || len(b.Labels) != 1 {
			continue
		}
		d.check(b.Body, bodySchema{attrs: []string{"file", "column", "reason"}})
		a := Allowance{
			Rule: b.Labels[0], File: d.text(b.Body, "file", false), Column: d.text(b.Body, "column", false),
			Reason: d.text(b.Body, "reason", true), Range: b.DefRange(),
		}
		if _, err := path.Match(a.File, ""); err != nil {
			d.fail(b.Body.Attributes["file"].Expr.Range(), "Malformed pattern", "%v.", err)
		}
		d.def.Allowed = append(d.def.Allowed, a)
	}
}

// names decodes a list of texts.
func (d *decoder) names(body *hclsyntax.Body, attr string) (out []string) {
	v, ok := d.value(body, attr, cty.List(cty.String))
	if !ok {
		return nil
	}
	for _, item := range v.AsValueSlice() {
		out = append(out, item.AsString())
	}
	return out
}

// Excuse returns why a finding of the lint is no news, if the definition says
// so: it is allowed, or an errata block of a later version fixes its rule.
func (d *Definition) Excuse(rule, file, column string) string {
	for _, a := range d.Allowed {
		if a.covers(rule, file, column) {
			return "allowed: " + a.Reason
		}
	}
	versions := d.Versions()
	for _, e := range d.Errata {
		later := slices.Index(versions, e.Version) > slices.Index(versions, d.Version)
		if later && slices.Contains(e.Fixes, rule) {
			return "fixed in " + e.Version + ": " + e.Reference
		}
	}
	return ""
}
