package grading

import (
	"fmt"

	"github.com/mleflow/mleflow/plugins/data/table"
)

// sameIDOrder is the name of a rule.
const sameIDOrder = "same_id_order"

// idRules are the rules on ids, in the order of documentation.
var idRules = []Rule{
	{
		Name: "same_ids", Value: "true",
		Doc: "Sorted by id, the answers' ids row by row. Numbers compare by value (1.0 equals 1), strings exactly; a missing id equals nothing.",
		build: needsID(func(s *subject) error {
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
	},
	{
		Name: "same_id_set", Value: "true",
		Doc: "The answers' ids and no others, however often. A missing id is one of them where ids are strings.",
		build: needsID(func(s *subject) error {
			submitted, known, err := s.ids()
			if err != nil {
				return err
			}
			if row := firstOutside(submitted, known, table.Lookup{}, holdsObjects(submitted) && holdsObjects(known)); row >= 0 {
				return unexpected(submitted, row)
			}
			return checkAll(s)
		}),
	},
	{
		Name: sameIDOrder, Value: "true",
		Doc: "The answers' ids, row by row in the files' order.",
		build: needsID(func(s *subject) error {
			a, b, err := s.ids()
			if err != nil {
				return err
			}
			if a.Len() != b.Len() {
				return invalid("there are %d ids; expected %d", a.Len(), b.Len())
			}
			if row := firstDifference(a, b); row >= 0 {
				return invalid("column %q: row %d contains %s instead of the expected id", s.plan.ID, row+1, cell(a, row))
			}
			return nil
		}),
	},
	{
		Name: "known_ids", Value: "true",
		Doc:   "Only ids of the answers; some may be left out. A missing id is none of them.",
		build: needsID(checkKnown),
	},
	{
		Name: "all_ids", Value: "true",
		Doc:   "Every id of the answers; there may be others. A missing id is one of them where ids are strings.",
		build: needsID(checkAll),
	},
	{
		Name: "unique_ids", Value: "true",
		Doc: "No id occurs twice.",
		build: needsID(func(s *subject) error {
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
	},
}

func checkKnown(s *subject) error {
	submitted, known, err := s.ids()
	if err != nil {
		return err
	}
	by := table.Lookup{Floats: submitted.Kind() == table.Float64 || known.Kind() == table.Float64}
	if row := firstOutside(submitted, known, by, false); row >= 0 {
		return unexpected(submitted, row)
	}
	return nil
}

func unexpected(ids *table.Column, row int) error {
	return invalid("column %q: row %d: %s is not an expected id", ids.Name(), row+1, cell(ids, row))
}

func checkAll(s *subject) error {
	submitted, known, err := s.ids()
	if err != nil {
		return err
	}
	if row := firstOutside(known, submitted, table.Lookup{}, holdsObjects(submitted) && holdsObjects(known)); row >= 0 {
		if known.IsMissing(row) {
			return invalid("column %q: no id is empty, as one of the expected ids is", s.plan.ID)
		}
		return invalid("column %q: the id %s is missing", s.plan.ID, cell(known, row))
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
