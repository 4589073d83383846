package grading

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache/leaf/plain"
	"github.com/mleflow/mleflow/plugins/data/table"
)

// A Rule is a kind of requirement: what an attribute of a require block means.
type Rule struct {
	Name  string
	Value string // what the attribute may be, for documentation
	Doc   string // what it requires
	class string // see Invalid.Class

	build func(v cty.Value, p *Plan) (func(*subject) error, error)
}

// rules is the list of all kinds, in the order of documentation.
var rules = slices.Concat(shapeRules, idRules, valueRules)

// Rules returns every kind of requirement, for documentation.
func Rules() []Rule { return append([]Rule(nil), rules...) }

// about is a rule that is switched on by true.
func about(name, doc string, check func(*subject) error) Rule {
	return Rule{name, "true", doc, "rows", func(v cty.Value, _ *Plan) (func(*subject) error, error) {
		on, err := truth(v)
		if err != nil || !on {
			return nil, err
		}
		return check, nil
	}}
}

// aboutIDs is such a rule about the id column.
func aboutIDs(name, doc string, check func(*subject) error) Rule {
	r := about(name, doc, check)
	on := r.build
	r.class, r.build = "ids", func(v cty.Value, p *Plan) (func(*subject) error, error) {
		if p.ID == "" {
			return nil, fmt.Errorf("the grade block names no id column")
		}
		return on(v, p)
	}
	return r
}

// columnsOrTargets reads true as the targets and a list as itself; false
// switches off.
func columnsOrTargets(v cty.Value, p *Plan) (names []string, on bool, err error) {
	if isList(v) {
		names, err = textList(v)
		return names, err == nil, err
	}
	on, err = truth(v)
	return p.Targets, on, err
}

// shapeRules are the rules on columns and rows, in the order of documentation.
var shapeRules = []Rule{
	{
		Name: "columns", Value: "list of names", class: "columns",
		Doc: "These columns exist; the reason names the first missing one in the list's order.",
		build: func(v cty.Value, _ *Plan) (func(*subject) error, error) {
			names, err := textList(v)
			return func(s *subject) error { return s.each(names, func(*table.Column) error { return nil }) }, err
		},
	},
	aboutHeader("exact_columns", "These columns and no others, in any order.", exactly),
	{
		Name: "column_count", Value: "true (id and targets) or a number", class: "columns",
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
	aboutHeader("column_order", "Exactly these columns, in this order.", func(have, want []string) error {
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
	about("same_rows", "As many rows as the answers.", func(s *subject) error {
		if have, want := s.submission.Len(), s.answers.Len(); have != want {
			return invalid("there are %d rows; expected %d", have, want)
		}
		return nil
	}),
	about("not_empty", "At least one row and column.", func(s *subject) error {
		if s.submission.Len() == 0 || len(s.submission.Columns()) == 0 {
			return invalid("the table is empty")
		}
		return nil
	}),
}

// aboutHeader is a rule that compares the names of all columns with the id and
// targets, or with a list.
func aboutHeader(name, doc string, check func(have, want []string) error) Rule {
	return Rule{name, "true (id and targets) or a list of names", doc, "columns", func(v cty.Value, p *Plan) (func(*subject) error, error) {
		names, on, err := columnsOrTargets(v, p)
		if err != nil || !on {
			return nil, err
		}
		if !isList(v) && p.ID != "" {
			names = append([]string{p.ID}, names...)
		}
		return func(s *subject) error { return check(s.submission.Names(), names) }, nil
	}}
}

func exactly(have, want []string) error {
	known := make(map[string]bool, len(want))
	for _, name := range want {
		if known[name] = true; !slices.Contains(have, name) {
			return invalid("column %q is missing", name)
		}
	}
	for _, name := range have {
		if !known[name] {
			return invalid("unexpected column %q (expected: %s)", name, plain.List(want))
		}
	}
	return nil
}

// sameIDOrder is the name of a rule.
const sameIDOrder = "same_id_order"

// idRules are the rules on ids, in the order of documentation.
var idRules = []Rule{
	aboutIDs("same_ids", "Sorted by id, the answers' ids row by row. Numbers compare by value (1.0 equals 1), strings exactly; a missing id equals nothing.",
		func(s *subject) error {
			pair, err := s.sort()
			if err != nil {
				return err
			}
			a, _ := pair.submission.Column(s.plan.ID)
			b, _ := pair.answers.Column(s.plan.ID)
			if a.Len() != b.Len() {
				return invalid("there are %d ids; expected %d", a.Len(), b.Len())
			}
			if row := firstDifference(a, b); row >= 0 {
				return invalid("column %q does not contain the expected ids: %s is unknown, repeated, or takes the place of a missing id", s.plan.ID, cell(a, row))
			}
			return nil
		}),
	aboutIDs("same_id_set", "The answers' ids and no others, however often. A missing id is one of them where ids are strings.",
		bothIDs(func(submitted, known *table.Column) error {
			if row := firstOutside(submitted, known, table.Lookup{}, holdsObjects(submitted) && holdsObjects(known)); row >= 0 {
				return unexpected(submitted, row)
			}
			return checkAll(submitted, known)
		})),
	aboutIDs(sameIDOrder, "The answers' ids, row by row in the files' order.", bothIDs(func(a, b *table.Column) error {
		if a.Len() != b.Len() {
			return invalid("there are %d ids; expected %d", a.Len(), b.Len())
		}
		if row := firstDifference(a, b); row >= 0 {
			return invalid("column %q: row %d contains %s instead of the expected id", a.Name(), row+1, cell(a, row))
		}
		return nil
	})),
	aboutIDs("known_ids", "Only ids of the answers; some may be left out. A missing id is none of them.",
		bothIDs(func(submitted, known *table.Column) error {
			by := table.Lookup{Floats: submitted.Kind() == table.Float64 || known.Kind() == table.Float64}
			if row := firstOutside(submitted, known, by, false); row >= 0 {
				return unexpected(submitted, row)
			}
			return nil
		})),
	aboutIDs("all_ids", "Every id of the answers; there may be others. A missing id is one of them where ids are strings.", bothIDs(checkAll)),
	aboutIDs("unique_ids", "No id occurs twice.", func(s *subject) error {
		ids, err := s.column(s.plan.ID)
		if err != nil {
			return err
		}
		seen := make(map[table.Value]bool, ids.Len())
		for i := range ids.Len() {
			k := ids.Value(i).Exact()
			if seen[k] {
				return invalid("column %q: %s occurs twice", s.plan.ID, cell(ids, i))
			}
			seen[k] = true
		}
		return nil
	}),
}

// bothIDs checks the ids of the submission and those of the answers.
func bothIDs(check func(submitted, known *table.Column) error) func(*subject) error {
	return func(s *subject) error {
		submitted, known, err := s.ids()
		if err != nil {
			return err
		}
		return check(submitted, known)
	}
}

func unexpected(ids *table.Column, row int) error {
	return invalid("column %q: row %d: %s is not an expected id", ids.Name(), row+1, cell(ids, row))
}

func checkAll(submitted, known *table.Column) error {
	if row := firstOutside(known, submitted, table.Lookup{}, holdsObjects(submitted) && holdsObjects(known)); row >= 0 {
		if known.IsMissing(row) {
			return invalid("column %q: no id is empty, as one of the expected ids is", known.Name())
		}
		return invalid("column %q: the id %s is missing", known.Name(), cell(known, row))
	}
	return nil
}

// firstOutside returns the first row of a whose id b does not have, -1 if there
// is none. missing says whether b's missing ids count.
func firstOutside(a, b *table.Column, by table.Lookup, missing bool) int {
	if a.Len() == b.Len() && a.Kind() == b.Kind() && firstDifference(a, b) < 0 {
		return -1
	}
	have := make(map[table.Value]bool, b.Len())
	for i := range b.Len() {
		have[by.Key(b.Value(i))] = true
	}
	for i := range a.Len() {
		if v := a.Value(i); v.IsMissing() && !missing || !have[by.Key(v)] {
			return i
		}
	}
	return -1
}

// holdsObjects reports whether pandas has the column's cells as objects of Python. A
// missing one is the same object everywhere, so that sets find it; a missing number
// is another one each time.
func holdsObjects(c *table.Column) bool {
	return c.Kind() == table.Text || c.Kind() == table.Mixed || c.Kind() == table.Bool && c.MissingCount() > 0
}

// firstDifference returns the first row where the columns, of one length,
// differ by numpy's !=, -1 if there is none: integers compare exactly, with floats as
// floats, and a missing cell differs from everything.
func firstDifference(a, b *table.Column) int {
	mixed := a.Kind() == table.Mixed || b.Kind() == table.Mixed
	switch {
	case a.Kind() == table.Int64 && b.Kind() == table.Int64:
		return unequal(a, b, (*table.Column).IntsInto)
	case a.Kind() == table.Uint64 && b.Kind() == table.Uint64:
		return unequal(a, b, (*table.Column).UintsInto)
	case a.Kind() == table.Text && b.Kind() == table.Text:
		return table.FirstUnlike(a, b)
	case mixed || a.Kind() == table.Uint64 && b.Kind() == table.Int64 || a.Kind() == table.Int64 && b.Kind() == table.Uint64:
		for i := range a.Len() {
			if v := a.Value(i); v.IsMissing() || v.Exact() != b.Value(i).Exact() {
				return i
			}
		}
		return -1
	case a.Kind() == table.Text || b.Kind() == table.Text:
		if a.Len() > 0 {
			return 0
		}
		return -1
	}
	return unequal(a, b, (*table.Column).FloatsInto)
}

func unequal[T int64 | uint64 | float64](a, b *table.Column, into func(*table.Column, []T) []T) (row int) {
	row = -1
	table.EachPair(a, b, into, func(at int, x, y []T) bool {
		for i, v := range x {
			if v != y[i] {
				row = at + i
				return false
			}
		}
		return true
	})
	return row
}

// cell spells a cell for a message.
func cell(c *table.Column, row int) string {
	if c.IsMissing(row) {
		return "a missing cell"
	}
	text := c.Text(row)
	if r := []rune(text); len(r) > 40 {
		text = string(r[:40]) + "…"
	}
	if c.Kind() == table.Text {
		return fmt.Sprintf("%q", text)
	}
	return text
}
