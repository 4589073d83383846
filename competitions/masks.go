package competitions

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache/digest"
)

// maskSuffix ends the name of a masked version: v1m is v1 with other ids.
const maskSuffix = "m"

// Mask describes how the rows of a competition get other ids; see package
// competitions/mask.
type Mask struct {
	// Refused is the reason why the competition cannot be masked; "" if it can.
	Refused string `attr:"refuse"`
	// Columns are the columns that hold ids besides the grade block's, in
	// tables and in JSON records; a column inside an object is object/column.
	// Each has the expression that finds the id in a
	// cell: its first group, or the whole match. nil is the whole cell.
	Columns []MaskColumn
	// Order is the column whose ids decide the order of rows; "" for the grade
	// block's, or else the first.
	Order string `attr:"order"`
	// Names is the expression that finds an id in the name of a file; nil if
	// the name is an id, with or without suffixes.
	Names *regexp.Regexp
	// Tables are patterns of path.Match for the names of files that are CSV
	// without the suffix .csv or .tsv.
	Tables []string `attr:"tables"`
	// Opaque are patterns for the names of files that hold no id though their
	// format could.
	Opaque []string `attr:"opaque"`
}

// MaskColumn is a column of ids.
type MaskColumn struct {
	Name string
	ID   *regexp.Regexp
}

// mask decodes
//
//	mask {
//	  columns = { id = "^[^_]+", patient = "" }   # besides the grade block's id; an expression, or "" for the whole cell
//	  order   = "patient"                          # rows are sorted by it, so that equal ones stay together
//	  names   = "^([^_]+)_"                       # the id in a file's name
//	  tables  = ["test.txt"]                      # CSV files with another suffix
//	  opaque  = ["geometry.parquet"]              # holds no id
//	}
//
// or
//
//	mask { refuse = "why the ids cannot be replaced" }
func (d *decoder) mask(body *hclsyntax.Body) {
	m := &d.def.Mask
	var ids struct {
		Columns map[string]string `attr:"columns"`
		Names   string            `attr:"names"`
	}
	d.check(body, attributesOf("mask"), nil)
	d.fill(body, m)
	d.fill(body, &ids)
	m.Refused = strings.TrimSpace(m.Refused)
	if attr := body.Attributes["refuse"]; attr != nil && (m.Refused == "" || len(body.Attributes) > 1) {
		d.fail(attr.Range(), "Wrong refusal", "Write refuse = \"why the ids cannot be replaced\" and nothing else in the block.")
	}
	for _, name := range slices.Sorted(maps.Keys(ids.Columns)) {
		m.Columns = append(m.Columns, MaskColumn{name, d.expression(body, "columns", ids.Columns[name])})
	}
	m.Names = d.expression(body, "names", ids.Names)
	for i, p := range slices.Concat(m.Tables, m.Opaque) {
		attr := body.Attributes["opaque"]
		if i < len(m.Tables) {
			attr = body.Attributes["tables"]
		}
		if _, err := path.Match(p, ""); err != nil {
			d.fail(attr.Expr.Range(), "Malformed pattern", "%q: %v.", p, err)
		}
	}
}

func (d *decoder) expression(body *hclsyntax.Body, name, text string) *regexp.Regexp {
	if text == "" {
		return nil
	}
	re, err := regexp.Compile(text)
	if err != nil {
		d.fail(body.Attributes[name].Expr.Range(), "Malformed expression", "%v.", err)
	}
	return re
}

// IDColumn returns the column of ids that the grade block names; "" if it names
// none, or computes it.
func (d *Definition) IDColumn() string {
	body, ok := d.Grade.Body.(*hclsyntax.Body)
	if !ok || body.Attributes["id"] == nil {
		return ""
	}
	v, diags := body.Attributes["id"].Expr.Value(&hcl.EvalContext{})
	if diags.HasErrors() || v.IsNull() || v.Type() != cty.String {
		return ""
	}
	return v.AsString()
}

// Masked reports whether the version is a masked one.
func (d *Definition) Masked() bool { return strings.HasSuffix(d.Version, maskSuffix) }

// MaskedVersion is the name of the masked version of a version.
func MaskedVersion(version string) string { return version + maskSuffix }

// IsMasked reports whether a version's name belongs to a masked version.
func IsMasked(version string) bool {
	_, ok := Unmasked(version)
	return ok
}

// Unmasked returns the version that a version masks, which is itself if it masks none.
func Unmasked(version string) (base string, masked bool) {
	base, ok := strings.CutSuffix(version, maskSuffix)
	return base, ok && versionName.Regexp().MatchString(base)
}

// hashMask adds what masking depends on.
func (d *Definition) hashMask(h *digest.Hasher) {
	h.String("masked by", d.IDColumn())
	for _, c := range d.Mask.Columns {
		h.String("mask column "+c.Name, expressionText(c.ID))
	}
	h.String("mask order", d.Mask.Order)
	h.String("mask names", expressionText(d.Mask.Names))
	for _, p := range d.Mask.Tables {
		h.String("mask table", p)
	}
	for _, p := range d.Mask.Opaque {
		h.String("mask opaque", p)
	}
}

func expressionText(re *regexp.Regexp) string {
	if re == nil {
		return ""
	}
	return re.String()
}

// masked returns the definition of v1m: that of v1 with other ids. Nothing is
// pinned, since the bytes depend on the salt.
func (d *Definition) masked(version string) (*Definition, error) {
	at, err := d.At(strings.TrimSuffix(version, maskSuffix))
	if err != nil {
		return nil, err
	}
	if d.Mask.Refused != "" {
		return nil, fmt.Errorf("competition %s has no masked version: %s", d.ID, strings.TrimSuffix(d.Mask.Refused, "."))
	}
	out := *at
	out.Version, out.pinsVersion, out.Checksums = version, version, Checksums{}
	return &out, nil
}
