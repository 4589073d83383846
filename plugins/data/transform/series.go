package transform

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/numeric/libm"
)

// mapped returns a column of f of each cell that is not missing.
func mapped(c *table.Column, f func(i int) (table.Value, error)) (*table.Column, error) {
	cells, err := table.TryCollect(c.Len(), func(i int) (table.Value, error) {
		if c.IsMissing(i) {
			return table.Value{}, nil
		}
		return f(i)
	})
	return table.FromValues(c.Name(), cells), err
}

// stringsOnly refuses a column that holds other cells than strings.
func stringsOnly(verb string, c *table.Column) error {
	if c.Kind() != table.Text && c.Len() > c.MissingCount() {
		return fmt.Errorf("%s: column %q holds %s cells; convert them to strings with text(…)", verb, c.Name(), c.Kind())
	}
	return nil
}

var charactersVerb = Verb{
	Name: "characters", Params: []string{"column"},
	Summary: "The length of each string in code points; length is the number of rows.",
	Source:  "column.str.len()",
	Func: func(c *table.Column) (*table.Column, error) {
		if err := stringsOnly("characters", c); err != nil {
			return nil, err
		}
		return mapped(c, func(i int) (table.Value, error) { return table.IntValue(int64(utf8.RuneCountInString(c.Text(i)))), nil })
	},
}

var absVerb = Verb{
	Name: "abs", Params: []string{"column"},
	Summary: "The absolute value of each number.",
	Source:  "column.abs()",
	Func: func(c *table.Column) (*table.Column, error) {
		switch c.Kind() {
		case table.Int64:
			return table.FromInts(c.Name(), lists.Of(c.Ints(), func(v int64) int64 { return max(v, -v) })), nil
		case table.Float64:
			return table.FromFloats(c.Name(), lists.Of(c.Floats(), math.Abs)), nil
		}
		return nil, fmt.Errorf("abs works on a column of integers or floats, not on %s cells", c.Kind())
	},
}

var logVerb = Verb{
	Name: "log", Params: []string{"column"},
	Summary: "The natural logarithm of each number; minus infinity for 0, missing for less.",
	Detail:  "Of a single number, log(number, base) is that of the standard library.",
	Source:  "numpy.log(column)",
	Func: func(c *table.Column) (*table.Column, error) {
		if !c.Kind().IsNumber() {
			return nil, fmt.Errorf("log works on a column of numbers, not on %s cells", c.Kind())
		}
		return table.FromFloats(c.Name(), lists.Of(c.Floats(), libm.Log)), nil
	},
}

// shiftOptions are the options of shift.
type shiftOptions struct {
	Groups *table.Column `verb:"groups"`
}

var shiftVerb = Verb{
	Name: "shift", Params: []string{"column", "periods", "options"},
	Summary: "In each row the cell of the row periods before it (after it, if negative), missing without one.",
	Detail:  "groups is a column: rows are counted within equal cells, and none belongs to a missing one.",
	Source:  "column.shift(periods), column.groupby(groups).shift(periods)",
	Func: func(c *table.Column, periods int, o *shiftOptions) (*table.Column, error) {
		groups := [][]int{span(0, c.Len())}
		switch {
		case o.Groups != nil && o.Groups.Len() != c.Len():
			return nil, fmt.Errorf("shift: groups has %d cells; there are %d rows", o.Groups.Len(), c.Len())
		case periods == 0:
			return c, nil
		case o.Groups != nil:
			groups = rowsByCode(codesOf(false, o.Groups))
		}
		cells := make([]table.Value, c.Len())
		for _, rows := range groups {
			for k, row := range rows {
				if from := k - periods; from >= 0 && from < len(rows) {
					cells[row] = c.Value(rows[from])
				}
			}
		}
		return table.FromValues(c.Name(), cells), nil
	},
}

// dateParts are the parts of date_part.
var dateParts = map[string]func(time.Time) int{
	"year": time.Time.Year, "day": time.Time.Day, "hour": time.Time.Hour, "minute": time.Time.Minute, "second": time.Time.Second,
	"month": func(t time.Time) int { return int(t.Month()) }, "dayofyear": time.Time.YearDay,
	"dayofweek": func(t time.Time) int { return (int(t.Weekday()) + 6) % 7 },
	"quarter":   func(t time.Time) int { return (int(t.Month()) + 2) / 3 },
}

var dateLayouts = []string{time.DateOnly, time.DateTime, "2006-01-02T15:04:05", "2006-01-02 15:04", "2006/01/02", "01/02/2006"}

var datePartVerb = Verb{
	Name: "date_part", Params: []string{"column", "part"},
	Summary: "Of each date, its year, quarter, month, day, hour, minute, second, dayofweek (Monday is 0) or dayofyear.",
	Detail:  "Dates are as 2020-09-22, with a time of day as 2020-09-22 10:30:00 (T in place of the space, seconds left out), as 2020/09/22 or as 09/22/2020, all in one form.",
	Source:  "getattr(pandas.to_datetime(column).dt, part)",
	Func: func(c *table.Column, part string) (*table.Column, error) {
		of := dateParts[part]
		if of == nil {
			return nil, fmt.Errorf("date_part: no part is named %q; write year, quarter, month, day, hour, minute, second, dayofweek or dayofyear", part)
		}
		if err := stringsOnly("date_part", c); err != nil {
			return nil, err
		}
		layout := ""
		return mapped(c, func(i int) (table.Value, error) {
			text := c.Text(i)
			if layout == "" {
				fits := func(layout string) bool { _, err := time.Parse(layout, text); return err == nil }
				if at := slices.IndexFunc(dateLayouts, fits); at >= 0 {
					layout = dateLayouts[at]
				}
			}
			t, err := time.Parse(layout, text)
			if err != nil || layout == "" {
				return table.Value{}, fmt.Errorf("date_part: row %d of column %q: %q is no date, or in another form than those before", i, c.Name(), text)
			}
			return table.IntValue(int64(of(t))), nil
		})
	},
}

var cutVerb = Verb{
	Name: "cut", Params: []string{"column", "bins"},
	Summary: "The number of the bin, from 0, in which each number is: above a bound, and at most the next. Missing outside of them.",
	Detail:  "bins is the list of bounds, increasing.",
	Source:  "pandas.cut(column, bins, labels=False)",
	Func: func(c *table.Column, bins []table.Value) (*table.Column, error) {
		bounds := lists.Of(bins, table.Value.Float)
		for k, b := range bounds {
			if b != b || k > 0 && b <= bounds[k-1] {
				return nil, fmt.Errorf("cut: bound %d is not greater than the one before, or no number", k)
			}
		}
		if !isNumeric(c.Kind()) {
			return nil, fmt.Errorf("cut: column %q holds %s cells, not numbers", c.Name(), c.Kind())
		}
		return mapped(c, func(i int) (table.Value, error) {
			at, _ := slices.BinarySearch(bounds, c.Float(i))
			if at == 0 || at == len(bounds) {
				return table.Value{}, nil
			}
			return table.IntValue(int64(at - 1)), nil
		})
	},
}

const patternDetail = "The pattern is a regular expression in RE2's syntax, in which \\d, \\w and \\s are ASCII."

var extractVerb = Verb{
	Name: "extract", Params: []string{"column", "pattern"},
	Summary: "The first group of the first match of the pattern in each string; missing without a match.",
	Detail:  patternDetail,
	Source:  "column.str.extract(pattern, expand=False)",
	Func: func(c *table.Column, pattern string) (*table.Column, error) {
		re, err := compiled("extract", pattern, c)
		if err == nil && re.NumSubexp() != 1 {
			err = fmt.Errorf("extract: the pattern must have one group ( )")
		}
		if err != nil {
			return nil, err
		}
		return mapped(c, func(i int) (table.Value, error) {
			text := c.Text(i)
			if at := re.FindStringSubmatchIndex(text); at != nil && at[2] >= 0 {
				return table.TextValue(strings.Clone(text[at[2]:at[3]])), nil
			}
			return table.Value{}, nil
		})
	},
}

var matchesVerb = Verb{
	Name: "matches", Params: []string{"column", "pattern"},
	Summary: "Whether the pattern matches somewhere in each string; false for a missing one.",
	Detail:  patternDetail,
	Source:  "column.str.contains(pattern, na=False)",
	Func: func(c *table.Column, pattern string) (*table.Column, error) {
		re, err := compiled("matches", pattern, c)
		if err != nil {
			return nil, err
		}
		return table.FromBools(c.Name(), table.Collect(c.Len(), func(i int) bool { return !c.IsMissing(i) && re.MatchString(c.Text(i)) }), nil), nil
	},
}

func compiled(verb, pattern string, c *table.Column) (*regexp.Regexp, error) {
	if err := stringsOnly(verb, c); err != nil {
		return nil, err
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", verb, err)
	}
	return re, nil
}
