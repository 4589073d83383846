package competitions

import (
	"cmp"
	"maps"
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
		d.check(b.Body, bodySchema{attrs: attrs})
		s := Source{Kind: kind, Range: b.DefRange()}
		fields := map[string]*string{"slug": &s.Slug, "path": &s.Path, "url": &s.URL, "md5": &s.MD5, "sha256": &s.SHA256, "as": &s.As}
		for i, name := range attrs {
			*fields[name] = d.text(b.Body, name, i == 0 && name != "slug")
		}
		if kind == "kaggle" && s.Slug == "" {
			s.Slug = d.def.ID
		}
		d.sum(b.Body, "md5", "MD5", 32)
		d.sum(b.Body, "sha256", "SHA-256", 64)
		d.def.Sources = append(d.def.Sources, s)
	}
}

// params decodes
//
//	param "test_size" { default = 9914  rehearsal = 100  description = "…" }
func (d *decoder) params(blocks []*hclsyntax.Block) {
	for _, b := range blocks {
		d.check(b.Body, bodySchema{attrs: []string{"default", "description", "rehearsal"}})
		p := Param{Name: b.Labels[0], Range: b.DefRange()}
		if slices.Contains(d.def.ParamNames(), p.Name) {
			d.fail(b.LabelRanges[0], "Second parameter "+p.Name, "Each parameter is declared once.")
			continue
		}
		p.Description = d.text(b.Body, "description", false)
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
	d.check(body, bodySchema{attrs: []string{"url", "sha256", "obfuscated_url", "obfuscated_sha256"}})
	d.def.Facts.Description = d.pin(body, "", "description.md")
	if body.Attributes["obfuscated_url"] != nil || body.Attributes["obfuscated_sha256"] != nil {
		d.def.Facts.Obfuscated = d.pin(body, "obfuscated_", "description_obfuscated.md")
	}
}

// pin decodes the attributes of one text. Without an address it is the
// competition's file of that name in the reference's repository.
func (d *decoder) pin(body *hclsyntax.Body, prefix, file string) Pin {
	p := Pin{URL: d.text(body, prefix+"url", false), SHA256: d.sum(body, prefix+"sha256", "SHA-256", 64)}
	if p.URL == "" {
		p.Path = path.Join("mlebench/competitions", d.def.ID, file)
	}
	return p
}

// checksums decodes a block prepared of a lock file. // The pin of a Parquet file may be "content:<sha256>", or "content:" when it is
// not known.
func (d *decoder) checksums(body *hclsyntax.Body) (c Checksums) {
	d.check(body, checksumsSchema)
	c.Public, c.Private = d.texts(body, "public"), d.texts(body, "private")
	for _, name := range []string{"public", "private"} {
		sums := map[string]map[string]string{"public": c.Public, "private": c.Private}[name]
		for _, file := range slices.Sorted(maps.Keys(sums)) {
			d.checkPin(body.Attributes[name].Expr.Range(), file, sums[file])
		}
	}
	c.Manifest = d.sum(body, "manifest", "SHA-256", 64)
	return c
}

var checksumsSchema = bodySchema{attrs: []string{"public", "private", "manifest"}}

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
	d.check(body, bodySchema{attrs: []string{"leaderboard", "scores", "note"}})
	var scores []float64
	board, list := body.Attributes["leaderboard"], body.Attributes["scores"]
	file := ""
	switch {
	case board != nil && list != nil:
		d.fail(body.MissingItemRange(), "Two leaderboards", "Write either leaderboard = \"<file>\" or scores = [ … ] in rank order.")
		return
	case list == nil:
		file = cmp.Or(d.text(body, "leaderboard", false), defaultLeaderboard)
		var err error
		if scores, err = readLeaderboard(d.def.folder, file); err != nil {
			at := body.MissingItemRange()
			if board != nil {
				at = board.Expr.Range()
			}
			d.fail(at, "Cannot read leaderboard", "%v.", err)
			return
		}
	default:
		v, ok := d.value(body, "scores", cty.List(cty.Number))
		if !ok {
			return
		}
		for _, item := range v.AsValueSlice() {
			f, _ := item.AsBigFloat().Float64()
			scores = append(scores, f)
		}
	}
	medals, err := NewMedals(scores)
	if err != nil {
		d.fail(body.MissingItemRange(), "Empty leaderboard", "%v.", err)
		return
	}
	medals.Note, medals.File = d.text(body, "note", false), file
	d.def.Medals = medals
}
