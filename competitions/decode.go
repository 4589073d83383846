package competitions

import (
	"cmp"
	"io/fs"
	"iter"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/gocty"

	"github.com/mleflow/mleflow/cache/leaf/lists"
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
		case id == "" && !ValidID(b.Labels[0]):
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

var competitionBlocks = map[string]blockShape{
	"source": {labels: 1, many: true}, "param": {labels: 1, many: true}, "locals": {many: true},
	"reference": {}, "prepare": {}, "grade": {}, "medals": {}, "lint": {}, "mask": {}, "validation": {}, "python": {},
	"errata": {labels: 1, many: true}, "public_labels": {labels: 1, many: true},
}

func (d *decoder) competition(b *hclsyntax.Block) {
	body := b.Body
	d.check(body, attributesOf("competition"), competitionBlocks)
	blocks := lists.By(body.Blocks, func(b *hclsyntax.Block) string { return b.Type })
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
		case "validation":
			d.validation(b)
		case "prepare":
			d.def.Prepare = blockOf(b)
		case "grade":
			d.def.Grade = blockOf(b)
		case "python":
			d.python(b)
		}
	}
	d.def.direct()
	d.errata(blocks["errata"])
	d.publicLabels(blocks["public_labels"])
	d.lock()
	d.pinned()
	for _, need := range []string{"prepare", "grade"} {
		byPython := map[string]string{"prepare": d.def.Python.Prepare, "grade": d.def.Python.Grade}[need] != ""
		if len(blocks[need]) == 0 && !byPython {
			d.fail(b.DefRange(), "Missing block", "A competition needs a block %s { … }.", need)
		}
	}
}

func (d *decoder) facts(body *hclsyntax.Body) {
	def := d.def
	d.fill(body, def)
	known := []Complexity{Low, Medium, High, Dev, Demo}
	if attr := body.Attributes["complexity"]; attr != nil && !slices.Contains(known, def.Complexity) {
		d.fail(attr.Expr.Range(), "Unknown complexity", "Write one of %v.", known)
	}
	def.Description, def.Facts.Kind = strings.TrimSpace(def.Description), cmp.Or(def.Facts.Kind, "simple")
	d.date(body, "opened", &def.Facts.Opened)
	d.date(body, "closed", &def.Facts.Closed)
	if def.Facts.Opened != "" && def.Facts.Closed != "" && def.Facts.Closed < def.Facts.Opened {
		d.fail(body.Attributes["closed"].Expr.Range(), "Closed before it opened", "Opened on %s. Dates are year, month, day.", def.Facts.Opened)
	}
	l := &def.Layout
	for tag, field := range tagged(reflect.ValueOf(l).Elem()) {
		name, p := tag[0], field.String()
		if p != "" && (path.Clean(p) != p || !strings.HasPrefix(p, "public/") && !strings.HasPrefix(p, "private/")) {
			d.fail(body.Attributes[name].Expr.Range(), "Not a prepared path", "Write a path below public/ or private/, such as \"private/test.csv\".")
		}
	}
	l.Answers, l.Sample = cmp.Or(l.Answers, defaultAnswers), cmp.Or(l.Sample, defaultSample)
	l.Gold = cmp.Or(l.Gold, l.Answers)
}

// date checks a day as YYYY-MM-DD, and empties a wrong one.
func (d *decoder) date(body *hclsyntax.Body, name string, day *string) {
	if _, err := time.Parse(time.DateOnly, *day); err != nil && *day != "" {
		d.fail(body.Attributes[name].Expr.Range(), "Not a day", "Write year, month and day, such as \"2019-03-25\".")
		*day = ""
	}
}

// blockShape is the form of a nested block.
type blockShape struct {
	labels int
	many   bool
}

// decode checks that the body of a block holds its attributes and no blocks, and fills a struct.
func (d *decoder) decode(block string, body *hclsyntax.Body, into any) {
	d.check(body, attributesOf(block), nil)
	d.fill(body, into)
}

// tagged yields the attributes that the fields of a struct declare, such as
// `attr:"md5,required,md5"`, with the options behind the name. An empty tag is that of a
// struct whose attributes belong to the same body.
func tagged(v reflect.Value) iter.Seq2[[]string, reflect.Value] {
	return func(yield func([]string, reflect.Value) bool) {
		for field, value := range v.Fields() {
			tag, ok := field.Tag.Lookup("attr")
			switch {
			case !ok:
			case tag == "":
				tagged(value)(yield)
			case !yield(strings.Split(tag, ","), value):
				return
			}
		}
	}
}

// attrNames returns the names of the attributes that a struct declares.
func attrNames(of any) (names []string) {
	for tag := range tagged(reflect.ValueOf(of).Elem()) {
		names = append(names, tag[0])
	}
	return names
}

// fill evaluates attributes into the fields of a struct. The options of a field are required,
// md5 and sha256. A field without an attribute, or with a wrong one, does not change.
func (d *decoder) fill(body *hclsyntax.Body, into any) {
	for tag, field := range tagged(reflect.ValueOf(into).Elem()) {
		name, attr := tag[0], body.Attributes[tag[0]]
		if attr == nil {
			if slices.Contains(tag[1:], "required") {
				d.fail(body.MissingItemRange(), "Missing attribute", "Write %s = \"…\".", name)
			}
			continue
		}
		want, err := gocty.ImpliedType(field.Interface())
		if err != nil {
			panic(err) // no attribute has this type
		}
		v, ok := d.value(body, name, want)
		if !ok {
			continue
		}
		if err := gocty.FromCtyValue(v, field.Addr().Interface()); err != nil {
			d.fail(attr.Expr.Range(), "Wrong value for "+name, "Expected a %s: %v.", want.FriendlyName(), err)
			continue
		}
		switch {
		case slices.Contains(tag[1:], "md5") && field.String() != "":
			d.checkHex(attr.Expr.Range(), "MD5", field.String(), 32)
		case slices.Contains(tag[1:], "sha256") && field.String() != "":
			d.checkHex(attr.Expr.Range(), "SHA-256", field.String(), 64)
		}
	}
}

// check reports every attribute and block with a name that is not one of the given ones,
// with the nearest of them.
func (d *decoder) check(body *hclsyntax.Body, attrs []string, blocks map[string]blockShape) {
	for _, attr := range InOrder(body) {
		switch {
		case slices.Contains(attrs, attr.Name):
		case attr.Name == "mends" && slices.Contains(attrs, "fixes"):
			d.fail(attr.NameRange, "Unknown attribute mends", "It is called fixes now.")
		default:
			d.fail(attr.NameRange, "Unknown attribute "+attr.Name, "%s", diag.Suggest(attr.Name, attrs))
		}
	}
	seen := map[string]*hclsyntax.Block{}
	for _, b := range body.Blocks {
		shape, ok := blocks[b.Type]
		switch {
		case !ok && b.Type == "checksums":
			d.fail(b.TypeRange, "Unknown block checksums", "Pins are in %s next to the definition; mleflow competition lock writes it.", LockName)
		case !ok:
			d.fail(b.TypeRange, "Unknown block "+b.Type, "%s", diag.Suggest(b.Type, slices.Sorted(maps.Keys(blocks))))
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

// InOrder returns a body's attributes in the order of the file.
func InOrder(body *hclsyntax.Body) []*hclsyntax.Attribute {
	attrs := slices.Collect(maps.Values(body.Attributes))
	slices.SortFunc(attrs, func(a, b *hclsyntax.Attribute) int {
		return cmp.Compare(a.SrcRange.Start.Byte, b.SrcRange.Start.Byte)
	})
	return attrs
}

// checkHex reports a pin that is not n hexadecimal digits.
func (d *decoder) checkHex(r hcl.Range, what, sum string, n int) {
	if len(sum) == n && strings.Trim(sum, "0123456789abcdef") == "" {
		return
	}
	d.fail(r, "Malformed "+what, "A %s is %d lower-case hexadecimal digits; this has %d characters.", what, n, len(sum))
}
