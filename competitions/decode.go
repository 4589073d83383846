package competitions

import (
	"cmp"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/engine/bounded"
	"github.com/mleflow/mleflow/engine/diag"
)

// LoadOne reads one competition of a folder of competitions, in version v1.
func LoadOne(folder fs.FS, id string) (*Definition, hcl.Diagnostics) {
	src, err := fs.ReadFile(folder, path.Join(id, FileName))
	own, subErr := fs.Sub(folder, id)
	if err = cmp.Or(err, subErr); err != nil {
		return nil, hcl.Diagnostics{diag.General("Cannot read competition", "%v", err)}
	}
	return Parse(src, id, own)
}

// Parse decodes the text of one competition.hcl. id is the name of its folder,
// which must be the name in the file; folder holds the files it names.
func Parse(src []byte, id string, folder fs.FS) (*Definition, hcl.Diagnostics) {
	return parse(src, id, path.Join(id, FileName), folder)
}

// parse is Parse of a text at a path. Without an id the file's own counts.
func parse(src []byte, id, at string, folder fs.FS) (*Definition, hcl.Diagnostics) {
	def := &Definition{ID: id, path: at, folder: folder, Version: "v1", pinsVersion: "v1", Medals: unranked(), graded: &sync.Map{}}
	file, diags := bounded.Parse(src, def.FilePath())
	if diags.HasErrors() {
		return nil, diags
	}
	def.file = file
	body := file.Body.(*hclsyntax.Body)
	block, more := soleCompetition(body, id)
	if diags = append(diags, more...); diags.HasErrors() {
		return nil, diags
	}
	def.ID, def.label = block.Labels[0], block.LabelRanges[0]
	d := decoder{def: def}
	d.competition(block)
	if d.diags.HasErrors() {
		return nil, append(diags, d.diags...)
	}
	return def, append(diags, d.diags...)
}

func soleCompetition(body *hclsyntax.Body, id string) (*hclsyntax.Block, hcl.Diagnostics) {
	var diags hcl.Diagnostics
	var found *hclsyntax.Block
	for _, attr := range InOrder(body) {
		diags = append(diags, diag.Error(attr.NameRange, "Unexpected attribute", "A competition file contains one competition block and nothing else."))
	}
	for _, b := range body.Blocks {
		switch {
		case b.Type != "competition" || len(b.Labels) != 1:
			diags = append(diags, diag.Error(b.DefRange(), "Unexpected block", "A competition file contains one block: competition %q { … }.", id))
			continue
		case found != nil:
			diags = append(diags, diag.Error(b.DefRange(), "Second competition", "The first is at line %d; one file defines one competition.", found.DefRange().Start.Line))
			continue
		case id == "" && !validID(b.Labels[0]):
			diags = append(diags, diag.Error(b.LabelRanges[0], "Not an identifier", "An identifier contains only letters, digits, dashes and underscores, such as \"my-competition\"."))
		case id != "" && b.Labels[0] != id:
			diags = append(diags, diag.Error(b.LabelRanges[0], "Name differs from folder", "The competition is in folder %q and must have that name.", id))
		}
		found = b
	}
	if found == nil && !diags.HasErrors() {
		diags = append(diags, diag.Error(body.SrcRange, "No competition", "The file must contain a block competition %q { … }.", cmp.Or(id, "my-competition")))
	}
	return found, diags
}

// decoder collects what a competition block says and what is wrong with it.
type decoder struct {
	def   *Definition
	diags hcl.Diagnostics
	// context evaluates attributes; it is built once params and locals are known.
	context *hcl.EvalContext
}

func (d *decoder) fail(r hcl.Range, summary, detail string, args ...any) {
	d.diags = append(d.diags, diag.Error(r, summary, detail, args...))
}

var competitionSchema = bodySchema{
	attrs: []string{"title", "category", "complexity", "description", "kind", "opened", "closed", "size_gb",
		"metric_name", "sample_score", "answers", "gold", "sample", "replaces_shipped"},
	blocks: map[string]blockShape{
		"source": {labels: 1, many: true}, "param": {labels: 1, many: true}, "locals": {many: true},
		"reference": {}, "prepare": {}, "grade": {}, "medals": {}, "lint": {}, "mask": {},
		"errata": {labels: 1, many: true}, "public_labels": {labels: 1, many: true},
	},
}

func (d *decoder) competition(b *hclsyntax.Block) {
	body := b.Body
	d.check(body, competitionSchema)
	blocks := blocksByType(body)
	d.params(blocks["param"])
	d.locals(blocks["locals"])
	d.diags = append(d.diags, checkNames(body)...)
	if d.diags.HasErrors() {
		return
	}
	d.context = &hcl.EvalContext{Functions: new(bounded.Budget).Functions(pureFunctions(d.def.folder))}
	d.facts(body)
	d.sources(blocks["source"])
	if _, err := fs.Stat(d.def.folder, defaultLeaderboard); err == nil && len(blocks["medals"]) == 0 {
		d.medals(&hclsyntax.Body{SrcRange: d.def.label, EndRange: d.def.label})
	}
	for _, b := range body.Blocks {
		switch b.Type {
		case "reference":
			d.reference(b.Body)
		case "medals":
			d.medals(b.Body)
		case "lint":
			d.lint(b.Body)
		case "mask":
			d.mask(b.Body)
		case "prepare":
			d.def.Prepare = blockOf(b)
		case "grade":
			d.def.Grade = blockOf(b)
		}
	}
	d.def.direct()
	d.errata(blocks["errata"])
	d.publicLabels(blocks["public_labels"])
	d.lock()
	d.pinned()
	for _, need := range []string{"prepare", "grade"} {
		if len(blocks[need]) == 0 {
			d.fail(b.DefRange(), "Missing block", "A competition needs a block %s { … }.", need)
		}
	}
}

func (d *decoder) facts(body *hclsyntax.Body) {
	def := d.def
	def.Title = d.text(body, "title", true)
	def.Category = d.text(body, "category", false)
	def.Complexity = Complexity(d.text(body, "complexity", true))
	known := []Complexity{Low, Medium, High, Dev, Demo}
	if attr := body.Attributes["complexity"]; attr != nil && !slices.Contains(known, def.Complexity) {
		d.fail(attr.Expr.Range(), "Unknown complexity", "Write one of %v.", known)
	}
	def.Description = strings.TrimSpace(d.text(body, "description", true))
	def.Facts.Kind = cmp.Or(d.text(body, "kind", false), "simple")
	def.Facts.Opened, def.Facts.Closed = d.date(body, "opened"), d.date(body, "closed")
	if def.Facts.Opened != "" && def.Facts.Closed != "" && def.Facts.Closed < def.Facts.Opened {
		d.fail(body.Attributes["closed"].Expr.Range(), "Closed before it opened", "Opened on %s. Dates are year, month, day.", def.Facts.Opened)
	}
	def.Facts.MetricName = d.text(body, "metric_name", false)
	if size := d.number(body, "size_gb"); size != nil {
		def.Facts.SizeGB = *size
	}
	def.Facts.SampleScore = d.number(body, "sample_score")
	if v, ok := d.value(body, "replaces_shipped", cty.Bool); ok {
		def.ReplacesShipped = v.True()
	}
	def.Layout.Answers = cmp.Or(d.preparedPath(body, "answers"), defaultAnswers)
	def.Layout.Sample = cmp.Or(d.preparedPath(body, "sample"), defaultSample)
	def.Layout.Gold = cmp.Or(d.preparedPath(body, "gold"), def.Layout.Answers)
}

func (d *decoder) preparedPath(body *hclsyntax.Body, name string) string {
	p := d.text(body, name, false)
	if p == "" {
		return ""
	}
	if path.Clean(p) != p || !strings.HasPrefix(p, "public/") && !strings.HasPrefix(p, "private/") {
		d.fail(body.Attributes[name].Expr.Range(), "Not a prepared path", "Write a path below public/ or private/, such as \"private/test.csv\".")
	}
	return p
}

// text evaluates a text attribute; "" when absent.
func (d *decoder) text(body *hclsyntax.Body, name string, required bool) string {
	v, ok := d.value(body, name, cty.String)
	if !ok {
		if required && body.Attributes[name] == nil {
			d.fail(body.MissingItemRange(), "Missing attribute", "Write %s = \"…\".", name)
		}
		return ""
	}
	return v.AsString()
}

// date reads a day as YYYY-MM-DD; "" when absent or wrong.
func (d *decoder) date(body *hclsyntax.Body, name string) string {
	text := d.text(body, name, false)
	if text == "" {
		return ""
	}
	if _, err := time.Parse(time.DateOnly, text); err != nil {
		d.fail(body.Attributes[name].Expr.Range(), "Not a day", "Write year, month and day, such as \"2019-03-25\".")
		return ""
	}
	return text
}

func (d *decoder) number(body *hclsyntax.Body, name string) *float64 {
	v, ok := d.value(body, name, cty.Number)
	if !ok {
		return nil
	}
	f, _ := v.AsBigFloat().Float64()
	return &f
}
