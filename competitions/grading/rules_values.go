package grading

import (
	"fmt"
	"math"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/plugins/data/pytext"
	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
)

// aboutColumns is a rule that looks at the targets or at the columns of a list, one
// after the other.
func aboutColumns(name, doc string, check func(*table.Column) error) Rule {
	return Rule{name, "true (the targets) or a list of names", doc, "values", func(v cty.Value, p *Plan) (func(*subject) error, error) {
		names, on, err := columnsOrTargets(v, p)
		if err != nil || !on {
			return nil, err
		}
		return func(s *subject) error { return s.each(names, check) }, nil
	}}
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
	aboutColumns("numeric", "Only numbers, booleans and missing cells.", func(c *table.Column) error {
		if c.Kind() != table.Text && c.Kind() != table.Mixed {
			return nil
		}
		if row := firstWord(c); row >= 0 {
			return invalid("column %q: row %d: %s is not a number", c.Name(), row+1, cell(c, row))
		}
		return nil
	}),
	aboutColumns("number_type", "Of numeric type: no strings, no booleans, at least one row.", func(c *table.Column) error {
		if !c.Kind().IsNumber() {
			return invalid("column %q is not numeric", c.Name())
		}
		return nil
	}),
	aboutColumns("number_or_truth_type", "Of numeric type, or boolean without missing cells; at least one row.", func(c *table.Column) error {
		if !c.Kind().IsNumber() && (c.Kind() != table.Bool || c.MissingCount() > 0) {
			return invalid("column %q is not numeric", c.Name())
		}
		return nil
	}),
	aboutColumns("text", "Strings without missing cells; numeric and boolean columns are refused.", func(c *table.Column) error {
		for i := range c.Len() {
			if v := c.Value(i); v.Kind() != table.Text {
				return invalid("column %q: row %d: %s is not a string", c.Name(), i+1, cell(c, i))
			}
		}
		return nil
	}),
	aboutColumns("no_missing", "No missing cells.", func(c *table.Column) error {
		for i := range c.Len() {
			if c.IsMissing(i) {
				return invalid("column %q: row %d has no value", c.Name(), i+1)
			}
		}
		return nil
	}),
	aboutColumns("finite", "Finite numbers, none missing.", func(c *table.Column) error {
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
	{
		Name: "between", Value: "[lowest, highest] or { min, max, missing = \"skip\", columns = [names] }", class: "range",
		Doc: `Every cell of the targets, or of columns, is a number in this range, inclusive. Missing cells are refused unless missing = "skip".`,
		build: func(v cty.Value, p *Plan) (func(*subject) error, error) {
			r, err := decodeRange(v, p)
			return r.check, err
		},
	},
	{
		Name: "rows_sum_to", Value: "number or { value, atol, rtol, decimals, columns = [names] or \"after_first\" or \"all_but_id\" }", class: "range",
		Doc: "In every row the targets, or columns, add up to value; missing cells count as 0. The sum is within atol + rtol·|value| of it (numpy.isclose; defaults 1e-6 and 1e-5). With decimals, the sum so rounded equals value.",
		build: func(v cty.Value, p *Plan) (func(*subject) error, error) {
			r, err := decodeRowSum(v, p)
			return r.check, err
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
	Min     float64  `option:"min"`
	Max     float64  `option:"max"`
	Missing string   `option:"missing"` // "skip" lets missing cells pass
	Columns []string `option:"columns"`
}

func decodeRange(v cty.Value, p *Plan) (r valueRange, err error) {
	r = valueRange{math.Inf(-1), math.Inf(1), "refuse", p.Targets}
	switch {
	case isList(v) && v.LengthInt() == 2:
		ends := v.AsValueSlice()
		if r.Min, err = number(ends[0]); err == nil {
			r.Max, err = number(ends[1])
		}
		return r, err
	case !isObject(v):
		return r, fmt.Errorf("expected [lowest, highest] or an object")
	}
	if err = fill(v, &r); err == nil && r.Missing != "refuse" && r.Missing != "skip" {
		err = fmt.Errorf("missing must be \"refuse\" or \"skip\"")
	}
	return r, err
}

func (r valueRange) check(s *subject) error { return s.each(r.Columns, r.checkColumn) }

func (r valueRange) checkColumn(c *table.Column) error {
	if lo, hi, ok := c.Bounds(); ok && lo >= r.Min && hi <= r.Max {
		return nil
	}
	v, err := floats(c)
	if err != nil {
		return err
	}
	for i, x := range v {
		if x >= r.Min && x <= r.Max || r.Missing == "skip" && math.IsNaN(x) {
			continue
		}
		return invalid("column %q: row %d: %s is not between %v and %v", c.Name(), i+1, cell(c, i), r.Min, r.Max)
	}
	return nil
}

type rowSum struct {
	Value    float64   `option:"value"`
	Atol     float64   `option:"atol"`
	Rtol     float64   `option:"rtol"`
	Decimals float64   `option:"decimals"` // -1: compare with tolerances
	Columns  cty.Value `option:"columns"`
	columns  func(*subject) []string
}

func decodeRowSum(v cty.Value, p *Plan) (r rowSum, err error) {
	r = rowSum{Value: 1, Decimals: -1, Atol: 1e-6, Rtol: 1e-5, columns: func(*subject) []string { return p.Targets }}
	if !isObject(v) {
		r.Value, err = number(v)
		return r, err
	}
	if err = fill(v, &r); err == nil && r.Columns != cty.NilVal {
		r.columns, err = chooseColumns(r.Columns)
	}
	return r, err
}

// chooseColumns decodes the columns of a sum.
func chooseColumns(v cty.Value) (func(*subject) []string, error) {
	if isList(v) {
		names, err := textList(v)
		return func(*subject) []string { return names }, err
	}
	if v.IsNull() || v.Type() != cty.String {
		return nil, fmt.Errorf("columns: expected a text")
	}
	switch v.AsString() {
	case "after_first":
		return func(s *subject) []string { return s.submission.Names()[min(1, len(s.submission.Names())):] }, nil
	case "all_but_id":
		return func(s *subject) []string {
			return slices.DeleteFunc(s.submission.Names(), func(name string) bool { return name == s.plan.ID })
		}, nil
	}
	return nil, fmt.Errorf("columns must be a list, \"after_first\" or \"all_but_id\"")
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
				return invalid("row %d adds up to %v; expected %v", lo+i+1, sum, r.Value)
			}
		}
	}
	return nil
}

func (r rowSum) close(sum float64) bool {
	if r.Decimals >= 0 {
		return metric.RoundNumpy(sum, int(r.Decimals)) == r.Value
	}
	return math.Abs(sum-r.Value) <= r.Atol+float64(r.Rtol*math.Abs(r.Value))
}
