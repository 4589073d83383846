package grading

import (
	"fmt"

	"github.com/mleflow/mleflow/plugins/data/table"
)

var sameIDsRule = Rule{
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
}

var sameIDOrderRule = Rule{
	Name: "same_id_order", Value: "true",
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
}

var sameIDSetRule = Rule{
	Name: "same_id_set", Value: "true",
	Doc: "The answers' ids and no others, however often.",
	build: needsID(func(s *subject) error {
		if err := checkKnown(s); err != nil {
			return err
		}
		return checkAll(s)
	}),
}

var knownIDsRule = Rule{
	Name: "known_ids", Value: "true",
	Doc:   "Only ids of the answers; some may be missing.",
	build: needsID(checkKnown),
}

var allIDsRule = Rule{
	Name: "all_ids", Value: "true",
	Doc:   "Every id of the answers; there may be others.",
	build: needsID(checkAll),
}

var uniqueIDsRule = Rule{
	Name: "unique_ids", Value: "true",
	Doc: "No id occurs twice.",
	build: needsID(func(s *subject) error {
		ids, err := s.column(s.plan.ID)
		if err != nil {
			return err
		}
		seen := make(map[key]bool, ids.Len())
		for i := range ids.Len() {
			k := keyOf(ids.Value(i))
			if seen[k] {
				return invalid("column %q: %s occurs twice", s.plan.ID, cell(ids, i))
			}
			seen[k] = true
		}
		return nil
	}),
}

func checkKnown(s *subject) error {
	submitted, known, err := s.ids()
	if err != nil {
		return err
	}
	if row := firstOutside(submitted, known); row >= 0 {
		return invalid("column %q: row %d: %s is not an expected id", s.plan.ID, row+1, cell(submitted, row))
	}
	return nil
}

func checkAll(s *subject) error {
	submitted, known, err := s.ids()
	if err != nil {
		return err
	}
	if row := firstOutside(known, submitted); row >= 0 {
		return invalid("column %q: the id %s is missing", s.plan.ID, cell(known, row))
	}
	return nil
}

// firstOutside returns the first row of a whose id b does not have, -1 if
// there is none.
func firstOutside(a, b *table.Column) int {
	if a.Len() == b.Len() && firstDifference(a, b) < 0 {
		return -1
	}
	have := make(map[key]bool, b.Len())
	for i := range b.Len() {
		have[keyOf(b.Value(i))] = true
	}
	for i := range a.Len() {
		if v := a.Value(i); v.IsMissing() || !have[keyOf(v)] {
			return i
		}
	}
	return -1
}

// key is a value as Python's sets tell values apart: numbers and booleans by
// value, texts by text.
type key struct {
	sort   byte
	number uint64
	text   string
}

func keyOf(v table.Value) key {
	switch v.Kind() {
	case table.Text:
		return key{sort: 't', text: v.String()}
	case table.Float64:
		if f := v.Float(); f == float64(int64(f)) && f > -0x1p63 && f < 0x1p63 {
			return key{sort: 'n', number: uint64(int64(f))}
		}
		return key{sort: 'f', text: v.String()}
	case table.Int64, table.Uint64, table.Bool:
		return key{sort: 'n', number: uint64(v.Int())}
	}
	return key{}
}

// firstDifference returns the first row where the columns, of one length,
// differ as numpy's != tells, -1 if there is none: numbers compare by value, a
// missing cell differs from everything.
func firstDifference(a, b *table.Column) int {
	switch {
	case a.Kind() == table.Int64 && b.Kind() == table.Int64:
		return unequal(a, b, (*table.Column).IntsInto)
	case a.Kind() == table.Text && b.Kind() == table.Text:
		return table.FirstUnlike(a, b)
	case a.Kind() == table.Mixed || b.Kind() == table.Mixed:
		for i := range a.Len() {
			if v := a.Value(i); v.IsMissing() || keyOf(v) != keyOf(b.Value(i)) {
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

func unequal[T int64 | float64](a, b *table.Column, into func(*table.Column, []T) []T) (row int) {
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
