package grading

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/mleflow/mleflow/cache/leaf/lists"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
)

// An Attribute is one of a grade block. Its example has the lines that it needs.
type Attribute struct{ Name, Doc, Example string }

// Attributes are those of a grade block.
var Attributes = []Attribute{
	{"metric", "The metric's name, or command({ … }) for a program of your own.", `metric = "rmse"`},
	{"params", "The metric's parameters by name, as the metric lists them.", "metric = \"f1\"\nparams = { average = \"macro\" }"},
	{"id", "The column by which rows are paired.", `id = "id"`},
	{"targets", "The columns that are compared. Most metrics of one column take the mean over several.", `targets = ["label"]`},
	{"truth", "The targets' names in the answers, in the same order, where they differ.", `truth = ["corrected"]`},
	{"strings", "Columns of submission, answers and sample that are read as written, whatever they look like.", `strings = ["label"]`},
	{"cells", "How cells are converted before they are compared.", `cells = "int"`},
	{"align", "How rows are paired.", `align = "position"`},
	{"targets_by", "How target columns are found in the submission.", `targets_by = "place"`},
	{"rename", "Columns of the submission that go by another name, which becomes that on the right.", `rename = { prediction = "label" }`},
	{"only", "The rows that are graded: those whose column of the answers has a value, or { sum = [columns], at_least = number }. by = \"row\" applies it by the row's label instead of the id. It needs align = \"sorted\". Of a Usage column, grade the private rows.", `only = { column = "Usage", equals = "Private" }`},
	{"rounding", "How the score is rounded to five decimals.", `rounding = "python"`},
}

// Decode reads a definition's grade block against its locals and parameters.
// All mistakes are reported, with their ranges.
func Decode(def *competitions.Definition, metrics *metric.Registry, params map[string]cty.Value) (*Plan, hcl.Diagnostics) {
	context, diags := def.EvalContext(params)
	if diags.HasErrors() {
		return nil, diags
	}
	body, ok := def.Grade.Body.(*hclsyntax.Body)
	if !ok && def.GradedByPython() {
		plan := &Plan{Program: function(def), scorer: unmeasured, align: "position", cells: "raw", Metric: metric.Metric{Name: competitions.CommandFunction, Better: metric.Higher}}
		if def.Medals.LowerIsBetter {
			plan.Metric.Better = metric.Lower
		}
		return plan, diags
	}
	if !ok {
		return nil, append(diags, diag.General("No grade block", "Competition %s declares no grade block.", def.ID))
	}
	d := decoder{context: context, body: body, plan: &Plan{}, diags: diags}
	d.grade(def, metrics)
	if d.diags.HasErrors() {
		return nil, d.diags
	}
	return d.plan, d.diags
}

// decoder collects a plan and the mistakes found on the way.
type decoder struct {
	context *hcl.EvalContext
	body    *hclsyntax.Body
	plan    *Plan
	diags   hcl.Diagnostics
}

func (d *decoder) fail(r hcl.Range, summary, format string, args ...any) {
	d.diags = append(d.diags, diag.Error(r, summary, format, args...))
}

func (d *decoder) grade(def *competitions.Definition, metrics *metric.Registry) {
	for _, attr := range competitions.InOrder(d.body) {
		if known := lists.Of(Attributes, func(a Attribute) string { return a.Name }); !slices.Contains(known, attr.Name) {
			d.fail(attr.NameRange, "Unknown attribute "+attr.Name, "%s", diag.Suggest(attr.Name, known))
		}
	}
	d.plan.ID = d.text("id", "")
	d.plan.Targets = d.texts("targets", nil)
	d.plan.Truth = d.texts("truth", d.plan.Targets)
	if attr := d.body.Attributes["truth"]; attr != nil && len(d.plan.Truth) != len(d.plan.Targets) {
		d.fail(attr.Expr.Range(), "Wrong number of columns", "There are %d targets, but %d columns of the answers.", len(d.plan.Targets), len(d.plan.Truth))
	}
	align := "sorted"
	if d.plan.ID == "" {
		align = "position"
	}
	d.plan.align = alignment(d.choice("align", align, Alignments))
	d.plan.strings = d.texts("strings", nil)
	d.plan.cells = cellForm(d.choice("cells", "raw", CellForms))
	d.plan.byPlace = d.choice("targets_by", "name", TargetPairings) == "place"
	if rounding := d.choice("rounding", "metric", RoundingChoices); rounding != "metric" {
		d.plan.rounding = roundings[rounding]
	}
	d.renames()
	d.rowFilter()
	d.metric(def, metrics)
	d.requirements()
}

func (d *decoder) metric(def *competitions.Definition, metrics *metric.Registry) {
	attr := d.body.Attributes["metric"]
	if attr == nil {
		d.fail(d.body.MissingItemRange(), "No metric", "A grade block must name its metric: metric = \"accuracy\".")
		return
	}
	if d.program(def, attr) {
		return
	}
	name := d.text("metric", "")
	found, err := metrics.Get(name)
	if err != nil {
		d.fail(attr.Expr.Range(), "Unknown metric "+name, "%s", diag.Suggest(name, metrics.Names()))
		return
	}
	d.plan.Metric = found
	args, at := d.metricArgs(attr)
	d.plan.args = args
	if d.plan.scorer, err = metrics.Build(name, args); err != nil {
		d.fail(at, "Wrong parameters of metric "+name, "%v.", err)
	}
}

// renames decodes the attribute rename.
func (d *decoder) renames() {
	v, ok := d.value("rename")
	if !ok {
		return
	}
	if !isObject(v) {
		d.fail(d.body.Attributes["rename"].Expr.Range(), "Wrong value for rename", "Expected an object: rename = { other = \"name\" }.")
		return
	}
	names := v.AsValueMap()
	for _, from := range slices.Sorted(maps.Keys(names)) {
		to := names[from]
		if to.IsNull() || to.Type() != cty.String {
			d.fail(d.body.Attributes["rename"].Expr.Range(), "Wrong value for rename", "The new name of %s must be a string.", from)
			continue
		}
		d.plan.rename = append(d.plan.rename, [2]string{from, to.AsString()})
	}
}

func (d *decoder) metricArgs(name *hclsyntax.Attribute) (metric.Args, hcl.Range) {
	attr := d.body.Attributes["params"]
	if attr == nil {
		return nil, name.Expr.Range()
	}
	v, ok := d.value("params")
	if !ok {
		return nil, attr.Expr.Range()
	}
	if !v.Type().IsObjectType() && !v.Type().IsMapType() {
		d.fail(attr.Expr.Range(), "Wrong value for params", "Expected an object: params = { name = value }.")
		return nil, attr.Expr.Range()
	}
	args := metric.Args{}
	values := v.AsValueMap()
	for _, key := range slices.Sorted(maps.Keys(values)) {
		x, err := plainValue(values[key])
		if err != nil {
			d.fail(attr.Expr.Range(), "Wrong value of parameter "+key, "%v.", err)
			continue
		}
		args[key] = x
	}
	return args, attr.Expr.Range()
}

// requirements decodes the require blocks, attributes in the order of the
// file.
func (d *decoder) requirements() {
	for _, block := range d.body.Blocks {
		if block.Type != "require" || len(block.Labels) > 0 {
			d.fail(block.DefRange(), "Unknown block "+block.Type, "A grade block holds attributes and blocks require { … } without a label.")
			continue
		}
		for _, inner := range block.Body.Blocks {
			d.fail(inner.DefRange(), "Unexpected block "+inner.Type, "A require block holds attributes only.")
		}
		for _, attr := range competitions.InOrder(block.Body) {
			d.requirement(attr)
		}
	}
}

func (d *decoder) requirement(attr *hclsyntax.Attribute) {
	known := slices.IndexFunc(rules, func(r Rule) bool { return r.Name == attr.Name })
	if known < 0 {
		d.fail(attr.NameRange, "Unknown requirement "+attr.Name, "%s", diag.Suggest(attr.Name, lists.Of(rules, func(r Rule) string { return r.Name })))
		return
	}
	v, ok := d.evaluate(attr)
	if !ok {
		return
	}
	check, err := rules[known].build(v, d.plan)
	if err != nil {
		d.fail(attr.Expr.Range(), "Wrong value of requirement "+attr.Name, "%v. %s", err, rules[known].Doc)
		return
	}
	if check != nil {
		d.plan.requirements = append(d.plan.requirements, requirement{name: attr.Name, check: check})
	}
}

func (d *decoder) evaluate(attr *hclsyntax.Attribute) (cty.Value, bool) {
	v, diags := attr.Expr.Value(d.context)
	if d.diags = append(d.diags, diags...); diags.HasErrors() {
		return cty.NilVal, false
	}
	if v.IsNull() || !v.IsWhollyKnown() {
		d.fail(attr.Expr.Range(), "Wrong value for "+attr.Name, "The value must be known and not null.")
		return cty.NilVal, false
	}
	return v, true
}

// value evaluates an attribute of the grade block; false if it is not there.
func (d *decoder) value(name string) (cty.Value, bool) {
	attr, ok := d.body.Attributes[name]
	if !ok {
		return cty.NilVal, false
	}
	return d.evaluate(attr)
}

func (d *decoder) text(name, otherwise string) string {
	v, ok := d.value(name)
	if !ok {
		return otherwise
	}
	if v.Type() != cty.String {
		d.fail(d.body.Attributes[name].Expr.Range(), "Wrong value for "+name, "Expected a string in quotes.")
		return otherwise
	}
	return v.AsString()
}

func (d *decoder) texts(name string, otherwise []string) []string {
	v, ok := d.value(name)
	if !ok {
		return otherwise
	}
	list, err := textList(v)
	if err != nil {
		d.fail(d.body.Attributes[name].Expr.Range(), "Wrong value for "+name, "%v.", err)
		return otherwise
	}
	return list
}

func (d *decoder) choice(name, otherwise string, from []Choice) string {
	v := d.text(name, otherwise)
	names := lists.Of(from, func(c Choice) string { return c.Name })
	if !slices.Contains(names, v) {
		d.fail(d.body.Attributes[name].Expr.Range(), "Wrong value for "+name, "%s", diag.Suggest(v, names))
	}
	return v
}

// A Choice is one of the values that an attribute may have.
type Choice struct{ Name, Doc string }

func isList(v cty.Value) bool {
	t := v.Type()
	return t.IsTupleType() || t.IsListType() || t.IsSetType()
}

func isObject(v cty.Value) bool { return v.Type().IsObjectType() || v.Type().IsMapType() }

// textList reads a list of texts.
func textList(v cty.Value) ([]string, error) {
	if !isList(v) {
		return nil, fmt.Errorf("expected a list of strings, found a %s", v.Type().FriendlyName())
	}
	out := make([]string, 0, v.LengthInt())
	for _, item := range v.AsValueSlice() {
		if item.IsNull() || item.Type() != cty.String {
			return nil, fmt.Errorf("expected a list of strings, found a %s in it", item.Type().FriendlyName())
		}
		out = append(out, item.AsString())
	}
	return out, nil
}

// number reads a number.
func number(v cty.Value) (float64, error) {
	if v.IsNull() || v.Type() != cty.Number {
		return 0, fmt.Errorf("expected a number, found a %s", v.Type().FriendlyName())
	}
	x, _ := v.AsBigFloat().Float64()
	return x, nil
}

// truth reads a boolean.
func truth(v cty.Value) (bool, error) {
	b, err := convert.Convert(v, cty.Bool)
	if err != nil || v.Type() == cty.String {
		return false, fmt.Errorf("expected true or false, found a %s", v.Type().FriendlyName())
	}
	return b.True(), nil
}

// plainValue turns a value into what a metric's parameters hold.
func plainValue(v cty.Value) (any, error) {
	switch {
	case v.IsNull():
		return nil, fmt.Errorf("the value is null")
	case v.Type() == cty.String:
		return v.AsString(), nil
	case v.Type() == cty.Bool:
		return v.True(), nil
	case v.Type() == cty.Number:
		return number(v)
	}
	return textList(v)
}

// fill sets the fields of a struct from the members of an object that their tags name. Other
// members are refused, and a field without a member does not change.
func fill(v cty.Value, into any) error {
	fields, known := map[string]any{}, []string{}
	for field, value := range reflect.ValueOf(into).Elem().Fields() {
		if name, ok := field.Tag.Lookup("option"); ok {
			fields[name], known = value.Addr().Interface(), append(known, name)
		}
	}
	members := v.AsValueMap()
	for _, name := range slices.Sorted(maps.Keys(members)) {
		item, err := members[name], error(nil)
		switch to := fields[name].(type) {
		case *string:
			if item.IsNull() || item.Type() != cty.String {
				return fmt.Errorf("%s: expected a text", name)
			}
			*to = item.AsString()
		case *float64:
			if *to, err = number(item); err != nil {
				err = fmt.Errorf("%s: %w", name, err)
			}
		case *[]string:
			*to, err = textList(item)
		case *cty.Value:
			*to = item
		default:
			err = fmt.Errorf("no field is named %q (known: %v)", name, known)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
