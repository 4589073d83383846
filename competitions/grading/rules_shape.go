package grading

import (
	"slices"
	"strconv"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache/leaf/plain"
)

// shapeRules are the rules on columns and rows, in the order of documentation.
var shapeRules = []Rule{
	{
		Name: "columns", Value: "list of names",
		Doc: "These columns exist; the reason names the first missing one in the list's order.",
		build: func(v cty.Value, _ *Plan) (func(*subject) error, error) {
			names, err := textList(v)
			return func(s *subject) error {
				for _, name := range names {
					if _, err := s.column(name); err != nil {
						return err
					}
				}
				return nil
			}, err
		},
	},
	{
		Name: "exact_columns", Value: "true (id and targets) or a list of names",
		Doc:   "These columns and no others, in any order.",
		build: header(exactly),
	},
	{
		Name: "column_count", Value: "true (id and targets) or a number",
		Doc: "Exactly this number of columns.",
		build: func(v cty.Value, p *Plan) (func(*subject) error, error) {
			count := len(p.Targets)
			if p.ID != "" {
				count++
			}
			if v.Type() == cty.Number {
				x, _ := number(v)
				count = int(x)
			} else if on, err := truth(v); err != nil || !on {
				return nil, err
			}
			return func(s *subject) error {
				if have := len(s.submission.Columns()); have != count {
					return invalid("there are %d columns; expected %d", have, count)
				}
				return nil
			}, nil
		},
	},
	{
		Name: "column_order", Value: "true (id and targets) or a list of names",
		Doc: "Exactly these columns, in this order.",
		build: header(func(have, want []string) error {
			for i, name := range want {
				if i >= len(have) || have[i] != name {
					return invalid("column %s must be %q", strconv.Itoa(i+1), name)
				}
			}
			if len(have) > len(want) {
				return invalid("unexpected column %q", have[len(want)])
			}
			return nil
		}),
	},
	{
		Name: "same_rows", Value: "true",
		Doc: "As many rows as the answers.",
		build: flag(func(s *subject) error {
			if have, want := s.submission.Len(), s.answers.Len(); have != want {
				return invalid("there are %d rows; expected %d", have, want)
			}
			return nil
		}),
	},
	{
		Name: "not_empty", Value: "true",
		Doc: "At least one row and column.",
		build: flag(func(s *subject) error {
			if s.submission.Len() == 0 || len(s.submission.Columns()) == 0 {
				return invalid("the table is empty")
			}
			return nil
		}),
	},
}

// header is the build function of a rule that compares the names of all columns with
// the id and targets, or with a list.
func header(check func(have, want []string) error) func(cty.Value, *Plan) (func(*subject) error, error) {
	return func(v cty.Value, p *Plan) (func(*subject) error, error) {
		names, on, err := columnsOrTargets(v, p)
		if err != nil || !on {
			return nil, err
		}
		if !isList(v) && p.ID != "" {
			names = append([]string{p.ID}, names...)
		}
		return func(s *subject) error { return check(s.submission.Names(), names) }, nil
	}
}

func exactly(have, want []string) error {
	for _, name := range want {
		if !slices.Contains(have, name) {
			return invalid("column %q is missing", name)
		}
	}
	known := make(map[string]bool, len(want))
	for _, name := range want {
		known[name] = true
	}
	for _, name := range have {
		if !known[name] {
			return invalid("unexpected column %q (expected: %s)", name, plain.List(want))
		}
	}
	return nil
}
