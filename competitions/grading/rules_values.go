package grading

import (
	"fmt"
	"math"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/plugins/data/pytext"
	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
)

// eachColumn is the build function of a rule that looks at the targets or at
// the columns of a list, one after the other.
func eachColumn(check func(*table.Column) error) func(cty.Value, *Plan) (func(*subject) error, error) {
	return func(v cty.Value, p *Plan) (func(*subject) error, error) {
		names, on, err := columnsOrTargets(v, p)
		if err != nil || !on {
			return nil, err
		}
		return func(s *subject) error { return s.each(names, check) }, nil
	}
}

// each checks columns of the submission.
func (s *subject) each(names []string, check func(*table.Column) error) error {
	for _, name := range names {
		c, err := s.column(name)
		if err != nil {
			return err
		}
		if err := check(c); err != nil {
			return err
		}
	}
	return nil
}

// valueRules are the rules on cells, in the order of documentation.
var valueRules = []Rule{
	{
		Name: "numeric", Value: "true (the targets) or a list of names",
		Doc: "Only numbers, booleans and missing cells.",
		build: eachColumn(func(c *table.Column) error {
			if c.Kind() != table.Text && c.Kind() != table.Mixed {
				return nil
			}
			if row := firstWord(c); row >= 0 {
				return invalid("column %q: row %d: %s is not a number", c.Name(), row+1, cell(c, row))
			}
			return nil
		}),
	},
	{
		Name: "number_type", Value: "true (the targets) or a list of names",
		Doc: "Of numeric type: no strings, no booleans, at least one row.",
		build: eachColumn(func(c *table.Column) error {
			if !c.Kind().IsNumber() {
				return invalid("column %q is not numeric", c.Name())
			}
			return nil
		}),
	},
	{
		Name: "number_or_truth_type", Value: "true (the targets) or a list of names",
		Doc: "Of numeric type, or boolean without missing cells; at least one row.",
		build: eachColumn(func(c *table.Column) error {
			if !c.Kind().IsNumber() && (c.Kind() != table.Bool || c.MissingCount() > 0) {
				return invalid("column %q is not numeric", c.Name())
			}
			return nil
		}),
	},
	{
		Name: "text", Value: "true (the targets) or a list of names",
		Doc: "Strings without missing cells; numeric and boolean columns are refused.",
		build: eachColumn(func(c *table.Column) error {
			for i := range c.Len() {
				if v := c.Value(i); v.Kind() != table.Text {
					return invalid("column %q: row %d: %s is not a string", c.Name(), i+1, cell(c, i))
				}
			}
			return nil
		}),
	},
	{
		Name: "no_missing", Value: "true (the targets) or a list of names",
		Doc: "No missing cells.",
		build: eachColumn(func(c *table.Column) error {
			for i := range c.Len() {
				if c.IsMissing(i) {
					return invalid("column %q: row %d has no value", c.Name(), i+1)
				}
			}
			return nil
		}),
	},
	{
		Name: "finite", Value: "true (the targets) or a list of names",
		Doc: "Finite numbers, none missing.",
		build: eachColumn(func(c *table.Column) error {
			v, err := floats(c)
			if err != nil {
				return err
			}
			for i, x := range v {
				if math.IsNaN(x) || math.IsInf(x, 0) {
					return invalid("column %q: row %d: %s is not a finite number", c.Name(), i+1, cell(c, i))
				}
			}
			return nil
		}),
	},
	{
		Name: "between", Value: "[lowest, highest] or { min, max, missing = \"skip\", columns = [names] }",
		Doc: `Every cell of the targets, or of columns, is a number in this range, inclusive. Missing cells are refused unless missing = "skip".`,
		build: func(v cty.Value, p *Plan) (func(*subject) error, error) {
			r, err := decodeRange(v, p)
			if err != nil {
				return nil, err
			}
			return r.check, nil
		},
	},
	{
		Name: "rows_sum_to", Value: "number or { value, atol, rtol, decimals, columns = [names] or \"after_first\" or \"all_but_id\" }",
		Doc: "In every row the targets, or columns, add up to value; missing cells count as 0. The sum is within atol + rtol·|value| of it (numpy.isclose; defaults 1e-6 and 1e-5). With decimals, the sum so rounded equals value.",
		build: func(v cty.Value, p *Plan) (func(*subject) error, error) {
			r, err := decodeRowSum(v, p)
			if err != nil {
				return nil, err
			}
			return r.check, nil
		},
	},
}

// firstWord returns the first row that holds a text which is not a number, -1
// if there is none.
func firstWord(c *table.Column) int {
	for i := range c.Len() {
		if v := c.Value(i); v.Kind() == table.Text {
			if _, ok := pytext.Float(v.String()); !ok {
				return i
			}
		}
	}
	return -1
}

// hasTexts reports whether some cell is a string. A long column may be Mixed and
// have numbers and booleans only.
func hasTexts(c *table.Column) bool {
	if c.Kind() != table.Mixed {
		return c.Kind() == table.Text
	}
	for i := range c.Len() {
		if c.Value(i).Kind() == table.Text {
			return true
		}
	}
	return false
}

// floats returns a column of numbers or booleans.
func floats(c *table.Column) ([]float64, error) {
	if err := numbers(c); err != nil {
		return nil, err
	}
	return c.Floats(), nil
}

// numbers checks that a column has numbers or booleans.
func numbers(c *table.Column) error {
	if c.Len() > 0 && hasTexts(c) {
		row := max(firstWord(c), 0)
		return invalid("column %q: row %d: %s is not a number", c.Name(), row+1, cell(c, row))
	}
	return nil
}

type valueRange struct {
	min, max float64
	skip     bool // missing cells pass
	columns  []string
}

func decodeRange(v cty.Value, p *Plan) (valueRange, error) {
	r := valueRange{columns: p.Targets}
	if isList(v) && v.LengthInt() == 2 {
		ends := v.AsValueSlice()
		var err error
		if r.min, err = number(ends[0]); err != nil {
			return r, err
		}
		r.max, err = number(ends[1])
		return r, err
	}
	if !isObject(v) {
		return r, fmt.Errorf("expected [lowest, highest] or an object")
	}
	o, err := objectOptions(v, "min", "max", "missing", "columns")
	if err != nil {
		return r, err
	}
	return r, r.fill(o)
}

func (r *valueRange) fill(o options) (err error) {
	if r.min, err = o.number("min", math.Inf(-1)); err != nil {
		return err
	}
	if r.max, err = o.number("max", math.Inf(1)); err != nil {
		return err
	}
	missing, err := o.text("missing", "refuse")
	if err != nil {
		return err
	}
	if missing != "refuse" && missing != "skip" {
		return fmt.Errorf("missing must be \"refuse\" or \"skip\"")
	}
	r.skip = missing == "skip"
	if v, ok := o["columns"]; ok {
		r.columns, err = textList(v)
	}
	return err
}

func (r valueRange) check(s *subject) error { return s.each(r.columns, r.checkColumn) }

func (r valueRange) checkColumn(c *table.Column) error {
	if lo, hi, ok := c.Bounds(); ok && lo >= r.min && hi <= r.max {
		return nil
	}
	v, err := floats(c)
	if err != nil {
		return err
	}
	for i, x := range v {
		if x >= r.min && x <= r.max || r.skip && math.IsNaN(x) {
			continue
		}
		return invalid("column %q: row %d: %s is not between %v and %v", c.Name(), i+1, cell(c, i), r.min, r.max)
	}
	return nil
}

type rowSum struct {
	value, atol, rtol float64
	decimals          int // -1: compare with tolerances
	columns           func(*subject) []string
}

func decodeRowSum(v cty.Value, p *Plan) (rowSum, error) {
	r := rowSum{decimals: -1, atol: 1e-6, rtol: 1e-5, columns: func(*subject) []string { return p.Targets }}
	if !isObject(v) {
		var err error
		r.value, err = number(v)
		return r, err
	}
	o, err := objectOptions(v, "value", "atol", "rtol", "decimals", "columns")
	if err != nil {
		return r, err
	}
	decimals := -1.0
	r.value = 1
	for _, field := range []struct {
		name string
		into *float64
	}{{"value", &r.value}, {"atol", &r.atol}, {"rtol", &r.rtol}, {"decimals", &decimals}} {
		if *field.into, err = o.number(field.name, *field.into); err != nil {
			return r, err
		}
	}
	r.decimals = int(decimals)
	return r, r.chooseColumns(o)
}

func (r *rowSum) chooseColumns(o options) error {
	v, ok := o["columns"]
	if !ok {
		return nil
	}
	if isList(v) {
		names, err := textList(v)
		r.columns = func(*subject) []string { return names }
		return err
	}
	which, err := o.text("columns", "")
	switch {
	case err != nil:
		return err
	case which == "after_first":
		r.columns = func(s *subject) []string { return s.submission.Names()[min(1, len(s.submission.Names())):] }
	case which == "all_but_id":
		r.columns = func(s *subject) []string { return without(s.submission.Names(), s.plan.ID) }
	default:
		return fmt.Errorf("columns must be a list, \"after_first\" or \"all_but_id\"")
	}
	return nil
}

func without(names []string, name string) []string {
	var out []string
	for _, n := range names {
		if n != name {
			out = append(out, n)
		}
	}
	return out
}

func (r rowSum) check(s *subject) error {
	var columns []*table.Column
	err := s.each(r.columns(s), func(c *table.Column) error {
		columns = append(columns, c)
		return numbers(c)
	})
	if err != nil {
		return err
	}
	const rows = 1 << 12 // at once, so that they stay in the processor's cache
	memory, sums := make([]float64, rows), make([]float64, rows)
	for lo := 0; lo < s.submission.Len(); lo += rows {
		sums = sums[:min(rows, s.submission.Len()-lo)]
		clear(sums)
		for _, c := range columns {
			for i, x := range c.Slice(lo, lo+len(sums)).FloatsInto(memory) {
				if x == x {
					sums[i] += x
				}
			}
		}
		for i, sum := range sums {
			if !r.close(sum) {
				return invalid("row %d adds up to %v; expected %v", lo+i+1, sum, r.value)
			}
		}
	}
	return nil
}

func (r rowSum) close(sum float64) bool {
	if r.decimals >= 0 {
		return metric.RoundNumpy(sum, r.decimals) == r.value
	}
	return math.Abs(sum-r.value) <= r.atol+float64(r.rtol*math.Abs(r.value))
}
