package prep

import (
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/data/transform"
)

// outputKind is a kind of output block.
type outputKind struct {
	// name is the block type; attrs are its attributes, the first required
	// ones first.
	name     string
	attrs    []string
	required int
	// nested reports whether the block holds further outputs.
	nested bool
	// whole reports whether the destination may be ".", the folder itself.
	whole bool
	// doc describes the kind for the reference pages.
	doc   string
	write func(r *runner, it *item) hcl.Diagnostics
}

// outputKinds lists the kinds of output blocks.
func outputKinds() []outputKind {
	return []outputKind{tableOutput, filesOutput, copyOutput, textOutput, jsonOutput, jsonLinesOutput, npyOutput, bsonOutput, parquetOutput, archiveOutput, repackOutput}
}

// OutputDoc describes a kind of output block for reference pages.
type OutputDoc struct {
	Name, Doc  string
	Attributes []string
}

// OutputDocs returns the kinds of output blocks.
func OutputDocs() []OutputDoc {
	return lists.Of(outputKinds(), func(k outputKind) OutputDoc { return OutputDoc{Name: k.name, Doc: k.doc, Attributes: k.attrs} })
}

// item is one output block of a definition.
type item struct {
	kind outputKind
	dest string
	// label is the destination as it is written, filled in.
	label  string
	block  *hclsyntax.Block
	inside []*item
	// each is the element of for_each that it is for, or nil.
	each *each
}

// outputs decodes the output blocks of a body; folder is the folder they
// are relative to.
func (x *expander) outputs(body *hclsyntax.Body, folder string, outer *each) ([]*item, hcl.Diagnostics) {
	var items []*item
	var diags hcl.Diagnostics
	for _, name := range sortedKeys(body.Attributes) {
		diags = append(diags, diag.Error(body.Attributes[name].NameRange, "Unexpected attribute "+name, "Only outputs are allowed here: table \"train.csv\" { … }."))
	}
	seen := map[string]hcl.Range{}
	for _, b := range body.Blocks {
		elements, more := x.elements(b, outer)
		diags = append(diags, more...)
		for _, e := range elements {
			it, more := x.output(b, folder, e)
			diags = append(diags, more...)
			if more.HasErrors() {
				break
			}
			if first, ok := seen[it.dest]; ok {
				diags = append(diags, diag.Error(b.LabelRanges[0], "Duplicate output "+strings.TrimPrefix(it.dest, folder), "It is first declared at line %d.", first.Start.Line))
				break
			}
			seen[it.dest] = b.LabelRanges[0]
			items = append(items, it)
		}
	}
	return items, diags
}

func (x *expander) output(b *hclsyntax.Block, folder string, e *each) (*item, hcl.Diagnostics) {
	kinds := outputKinds()
	at := slices.IndexFunc(kinds, func(k outputKind) bool { return k.name == b.Type })
	if at < 0 {
		names := lists.Of(kinds, func(k outputKind) string { return k.name })
		return nil, wrong(b.TypeRange, "Unknown output "+b.Type, "%s", diag.Suggest(b.Type, names))
	}
	it := &item{kind: kinds[at], block: b, each: e}
	if len(b.Labels) != 1 {
		return nil, wrong(b.DefRange(), "Wrong number of labels", "Write the destination in quotes: %s \"train.csv\" { … }.", b.Type)
	}
	dest := e.fill(b.Labels[0], "{each.key}", "{each.value}")
	whole := dest == "." && it.kind.whole
	if err := checkPath(dest); err != nil && !whole {
		return nil, wrong(b.LabelRanges[0], "Wrong destination", "%v.", err)
	}
	it.label = dest
	if it.dest = folder + dest; whole {
		it.dest = path.Clean(folder)
	}
	diags := it.checkAttributes()
	if it.kind.nested {
		inner := *b.Body
		inner.Attributes = nil
		var more hcl.Diagnostics
		it.inside, more = x.outputs(&inner, "", e)
		return it, append(diags, more...)
	}
	for _, inner := range b.Body.Blocks {
		diags = append(diags, diag.Error(inner.TypeRange, "Unexpected block "+inner.Type, "An output of kind %s can contain only attributes.", b.Type))
	}
	return it, diags
}

func (it *item) checkAttributes() hcl.Diagnostics {
	var diags hcl.Diagnostics
	for _, name := range sortedKeys(it.block.Body.Attributes) {
		if name != forEach && !slices.Contains(it.kind.attrs, name) {
			diags = append(diags, diag.Error(it.block.Body.Attributes[name].NameRange, "Unknown attribute "+name, "%s", diag.Suggest(name, it.kind.attrs)))
		}
	}
	for _, name := range it.kind.attrs[:it.kind.required] {
		if it.block.Body.Attributes[name] == nil {
			diags = append(diags, diag.Error(it.block.DefRange(), "Missing attribute "+name, "Output %s needs %s = ….", it.kind.name, name))
		}
	}
	return diags
}

// reader evaluates the attributes of an item and collects what is wrong.
type reader struct {
	e     *evaluator
	it    *item
	diags hcl.Diagnostics
}

func (r *runner) read(it *item) *reader { return &reader{e: r.evaluator, it: it} }

func (r *reader) at(name string) hcl.Range {
	if attr := r.it.block.Body.Attributes[name]; attr != nil {
		return attr.Expr.Range()
	}
	return r.it.block.DefRange()
}

// read evaluates an attribute into a Go value. The value stays unchanged if the
// attribute is absent.
func (r *reader) read(name string, convert func(cty.Value) error) {
	attr := r.it.block.Body.Attributes[name]
	if attr == nil {
		return
	}
	v, diags := r.e.value(attr.Expr, r.it.each.scope())
	if r.diags = append(r.diags, diags...); diags.HasErrors() {
		return
	}
	if err := convert(v); err != nil {
		r.fail(name, "Wrong value for "+name, err)
	}
}

func (r *reader) fail(name, summary string, err error) {
	r.diags = append(r.diags, diag.Error(r.at(name), summary, "%v.", err))
}

// assign evaluates an attribute into a string, a number, a boolean or a value of JSON.
func assign[T any](r *reader, name string, out *T) {
	r.read(name, func(v cty.Value) error { return intoGo(v, out) })
}

func (r *reader) rows(name string) (rows transform.Rows) {
	r.read(name, func(v cty.Value) (err error) {
		rows, err = toRows(v)
		return err
	})
	return rows
}

// table evaluates an attribute as a table; a column becomes a table of it.
func (r *reader) table(name string) *table.Table {
	switch rows := r.rows(name).(type) {
	case transform.TableRows:
		return rows.Table
	case transform.ColumnRows:
		t, err := table.New(rows.Column)
		if err != nil {
			r.fail(name, "Wrong value for "+name, err)
		}
		return t
	case transform.Tabular:
		t, err := rows.Table()
		if err != nil {
			r.fail(name, "Cannot read "+name, err)
		}
		return t
	case nil:
	default:
		r.diags = append(r.diags, diag.Error(r.at(name), "Wrong value for "+name, "Expected a table or a column."))
	}
	return nil
}

func (r *reader) failed() bool { return r.diags.HasErrors() }

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
