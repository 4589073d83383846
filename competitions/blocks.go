package competitions

import (
	"cmp"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/engine/diag"
)

// sourceKinds says which attributes each kind of source takes; the first is
// required, but for the slug, which is the competition's identifier where it is
// left out.
var sourceKinds = map[string][]string{
	"kaggle": {"slug", "md5", "as"},
	"file":   {"path", "md5", "sha256", "as"},
	"http":   {"url", "md5", "sha256", "as"},
}

// sources decodes
//
//	source "kaggle" { slug = "leaf-classification"  md5 = "…" }
//	source "file"   { path = "data/digits.zip"  md5 = "…" }
//	source "http"   { url = "https://…"  sha256 = "…"  as = "meta.zip" }
func (d *decoder) sources(blocks []*hclsyntax.Block) {
	for _, b := range blocks {
		kind := b.Labels[0]
		attrs, ok := sourceKinds[kind]
		if !ok {
			d.fail(b.LabelRanges[0], "Unknown source "+kind, "%s", diag.Suggest(kind, slices.Sorted(maps.Keys(sourceKinds))))
			continue
		}
		d.check(b.Body, attrs, nil)
		s := Source{Kind: kind, Range: b.DefRange()}
		if b.Body.Attributes[attrs[0]] == nil && kind != "kaggle" {
			d.fail(b.Body.MissingItemRange(), "Missing attribute", "Write %s = \"…\".", attrs[0])
		}
		d.fill(b.Body, &s)
		if kind == "kaggle" {
			s.Slug = cmp.Or(s.Slug, d.def.ID)
		}
		d.def.Sources = append(d.def.Sources, s)
	}
}

// params decodes
//
//	param "test_size" { default = 9914  rehearsal = 100  description = "…" }
func (d *decoder) params(blocks []*hclsyntax.Block) {
	for _, b := range blocks {
		d.check(b.Body, attributesOf("param"), nil)
		p := Param{Name: b.Labels[0], Range: b.DefRange()}
		if slices.Contains(d.def.ParamNames(), p.Name) {
			d.fail(b.LabelRanges[0], "Second parameter "+p.Name, "Each parameter is declared once.")
			continue
		}
		d.fill(b.Body, &p)
		if v, ok := d.value(b.Body, "default", cty.DynamicPseudoType); ok {
			if t := v.Type(); t != cty.Number && t != cty.String && t != cty.Bool {
				d.fail(b.Body.Attributes["default"].Expr.Range(), "Wrong type of parameter", "A parameter is a number, a string or a boolean.")
			}
			p.Default = v
			p.Rehearsal, _ = d.value(b.Body, "rehearsal", v.Type())
		} else {
			d.fail(b.DefRange(), "Missing default", "Write default = …, the value of the reference.")
		}
		d.def.Params = append(d.def.Params, p)
	}
}

// reference decodes the pins of the reference's descriptions:
//
//	reference { url = "https://…"  sha256 = "…"  obfuscated_url = "https://…"  obfuscated_sha256 = "…" }
//
// A text without an address is in the reference's repository; sums may be in the lock
// file.
func (d *decoder) reference(body *hclsyntax.Body) {
	var texts struct {
		URL              string `attr:"url"`
		SHA256           string `attr:"sha256,sha256"`
		ObfuscatedURL    string `attr:"obfuscated_url"`
		ObfuscatedSHA256 string `attr:"obfuscated_sha256,sha256"`
	}
	d.decode("reference", body, &texts)
	d.def.Facts.Description = d.pin(Pin{URL: texts.URL, SHA256: texts.SHA256}, "description.md")
	if body.Attributes["obfuscated_url"] != nil || body.Attributes["obfuscated_sha256"] != nil {
		d.def.Facts.Obfuscated = d.pin(Pin{URL: texts.ObfuscatedURL, SHA256: texts.ObfuscatedSHA256}, "description_obfuscated.md")
	}
}

// pin completes the pin of a text. Without an address it is the competition's file of that
// name in the reference's repository.
func (d *decoder) pin(p Pin, file string) Pin {
	if p.URL == "" {
		p.Path = path.Join("mlebench/competitions", d.def.ID, file)
	}
	return p
}

// checksums decodes a block prepared of a lock file. // The pin of a Parquet file may be "content:<sha256>", or "content:" when it is
// not known.
func (d *decoder) checksums(body *hclsyntax.Body) (c Checksums) {
	d.check(body, attrNames(&c), nil)
	d.fill(body, &c)
	pins := c.Pinned()
	for _, file := range slices.Sorted(maps.Keys(pins)) {
		half, name, _ := strings.Cut(file, "/")
		d.checkPin(body.Attributes[half].Expr.Range(), name, pins[file])
	}
	return c
}

// checkPin checks the pin of a file.
func (d *decoder) checkPin(r hcl.Range, file, pin string) {
	content, ok := strings.CutPrefix(pin, ContentPin)
	switch {
	case !ok:
		d.checkHex(r, "MD5 of "+file, pin, 32)
	case path.Ext(file) != ".parquet":
		d.fail(r, "Wrong pin of "+file, "Only Parquet files are pinned by content; write the MD5 of the file.")
	case content != "":
		d.checkHex(r, "SHA-256 of the content of "+file, content, 64)
	}
}

// medals decodes
//
//	medals { leaderboard = "board.txt" }
//	medals { scores = [0.99, 0.98]  note = "…" }
//
// Without both, and without the block, it is the file leaderboard.txt.
func (d *decoder) medals(body *hclsyntax.Body) {
	var m struct {
		File   string    `attr:"leaderboard"`
		Scores []float64 `attr:"scores"`
		Note   string    `attr:"note"`
	}
	before := len(d.diags)
	d.decode("medals", body, &m)
	board, list := body.Attributes["leaderboard"], body.Attributes["scores"]
	switch {
	case board != nil && list != nil:
		d.fail(body.MissingItemRange(), "Two leaderboards", "Write either leaderboard = \"<file>\" or scores = [ … ] in rank order.")
		return
	case d.diags[before:].HasErrors():
		return
	case list == nil:
		m.File = cmp.Or(m.File, defaultLeaderboard)
		var err error
		if m.Scores, err = readLeaderboard(d.def.folder, m.File); err != nil {
			at := body.MissingItemRange()
			if board != nil {
				at = board.Expr.Range()
			}
			d.fail(at, "Cannot read leaderboard", "%v.", err)
			return
		}
	}
	medals, err := NewMedals(m.Scores)
	if err != nil {
		d.fail(body.MissingItemRange(), "Empty leaderboard", "%v.", err)
		return
	}
	medals.Note, medals.File = m.Note, m.File
	d.def.Medals = medals
}

// Allowance accepts a finding of the lint as intended.
type Allowance struct {
	// Rule is the lint rule.
	Rule string
	// File is a pattern of path.Match for the file of the finding; "" for any.
	File string `attr:"file"`
	// Column is the column of the finding; "" for any.
	Column string `attr:"column"`
	Reason string `attr:"reason,required"`
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
	d.check(body, nil, map[string]blockShape{"allow": {labels: 1, many: true}})
	for _, b := range body.Blocks {
		if b.Type != "allow" || len(b.Labels) != 1 {
			continue
		}
		a := Allowance{Rule: b.Labels[0]}
		d.decode("allow", b.Body, &a)
		if _, err := path.Match(a.File, ""); err != nil {
			d.fail(b.Body.Attributes["file"].Expr.Range(), "Malformed pattern", "%v.", err)
		}
		d.def.Allowed = append(d.def.Allowed, a)
	}
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

// PublicLabels is a collection outside the competition that has labels of its hidden test
// rows. No output depends on it.
type PublicLabels struct {
	Name string `json:"name"`
	// URL is the collection's page.
	URL string `json:"url" attr:"url,required"`
	// Covers is the part of the hidden rows whose labels it has: all, part or unknown.
	Covers string `json:"covers" attr:"covers,required"`
	Note   string `json:"note" attr:"note,required"`
	// Loaders are the names with which programs fetch it, such as stanford_dogs.
	Loaders []string `json:"loaders,omitempty" attr:"loaders"`
	// Reference is the address of the evidence.
	Reference string `json:"reference" attr:"reference,required"`
}

// covers are the values of Covers.
var covers = []string{"all", "part", "unknown"}

// Extent describes which labels the collection has.
func (p PublicLabels) Extent() string {
	switch p.Covers {
	case "all":
		return "the labels of all hidden rows"
	case "part":
		return "labels of some hidden rows"
	}
	return "labels of the same kind of rows; how many are hidden here is not known"
}

// Address returns the URL in lower case without scheme, "www." and a slash at the end, as
// code may write it.
func (p PublicLabels) Address() string {
	_, rest, _ := strings.Cut(p.URL, "://")
	return strings.ToLower(strings.TrimPrefix(strings.TrimSuffix(rest, "/"), "www."))
}

// publicLabels decodes
//
//	public_labels "Stanford Dogs" {
//	  url       = "http://vision.stanford.edu/aditya86/ImageNetDogs/"
//	  covers    = "all"             # of the hidden rows: all, part, unknown
//	  note      = "one sentence on what is the same"
//	  loaders   = ["stanford_dogs"] # names with which programs fetch it
//	  reference = "description.md"  # the evidence: a URL, or a file in the reference's folder of the competition
//	}
func (d *decoder) publicLabels(blocks []*hclsyntax.Block) {
	for _, b := range blocks {
		p := PublicLabels{Name: b.Labels[0]}
		d.decode("public_labels", b.Body, &p)
		p.Reference = d.referenceURL(p.Reference)
		if a := b.Body.Attributes["covers"]; a != nil && !slices.Contains(covers, p.Covers) {
			d.fail(a.Expr.Range(), "Unknown part "+p.Covers, "Write one of %v.", covers)
		}
		for _, one := range [][2]string{{"url", p.URL}, {"reference", p.Reference}} {
			u, err := url.Parse(one[1])
			if a := b.Body.Attributes[one[0]]; a != nil && (err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http") {
				d.fail(a.Expr.Range(), "Not a URL", "Write an address that begins with https:// or http://.")
			}
		}
		d.def.PublicLabels = append(d.def.PublicLabels, p)
	}
}
