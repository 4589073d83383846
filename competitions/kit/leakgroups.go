package kit

import (
	"math"
	"regexp"
	"slices"

	"github.com/mleflow/mleflow/cache/leaf/lists"

	"github.com/mleflow/mleflow/plugins/data/table"
)

// groupNames are usual names of columns that say which rows belong together.
var groupNames = regexp.MustCompile(`(?i)group|patient|subject|user|customer|client|session|speaker|author|house|family|study|series|(^|[^a-z])ids?$|[a-z]I[Dd]$`)

// lintGroups looks for groups, such as the pictures of one patient, with rows on both sides.
func lintGroups(p *preparedLinter) error {
	for _, s := range p.testSides() {
		for _, t := range p.trainSides() {
			for _, c := range s.t.Columns() {
				groups, err := t.t.Column(c.Name())
				if err != nil || c.Name() == p.plan.ID || slices.Contains(p.plan.Truth, c.Name()) || !groupNames.MatchString(c.Name()) {
					continue
				}
				p.judgeGroups(s, t, c, groups)
			}
		}
	}
	return nil
}

// judgeGroups reports a column whose groups are split, but for a few, or whose groups'
// training answers tell those of the test rows.
func (p *preparedLinter) judgeGroups(s side, t publicTable, test, train *table.Column) {
	known, hidden := lists.By(rowsOf(train), train.Text), lists.By(s.rows, test.Text)
	if len(known) < 5 || 2*len(known) > train.Len() {
		return // kinds rather than groups, or ids
	}
	shared, rows := 0, 0
	for group, members := range hidden {
		unknown := 5*len(known[group]) > train.Len() // as "N/A"
		if len(known[group]) > 0 && group != "" && !unknown {
			shared, rows = shared+1, rows+len(members)
		}
	}
	switch {
	case shared == 0:
	case 10*shared <= len(hidden) && len(hidden) >= 10:
		p.leak(Warning, s.name, test.Name(), "%d of %d groups of column %q have rows in %s, too; the other groups are on one side only", shared, len(hidden), test.Name(), t.name)
	case 2*rows >= len(s.rows):
		for _, truth := range p.truths() {
			if labels, err := t.t.Column(truth.Name()); err == nil && p.tells(s, test, truth, known, labels) {
				p.leak(Warning, s.name, test.Name(), "%d of %d test rows have rows of their group (column %q) in %s, whose answers of column %q are like theirs; split by groups, unless the competition is about known groups",
					rows, len(s.rows), test.Name(), t.name, truth.Name())
				return
			}
		}
	}
}

func rowsOf(c *table.Column) []int { return table.Collect(c.Len(), func(i int) int { return i }) }

// tells reports whether answers of a group's training rows agree with those of its test
// rows more often than chance does; numbers are compared as above or below the median.
func (p *preparedLinter) tells(s side, test, truth *table.Column, known map[string][]int, labels *table.Column) bool {
	kind := kindsOf(labels)
	share := map[string]float64{}
	for i := range labels.Len() {
		share[kind(labels, i)] += 1 / float64(labels.Len())
	}
	more, variance := 0.0, 0.0
	for n, i := range s.rows {
		members := known[test.Text(i)]
		if len(members) == 0 {
			continue
		}
		answer := kind(truth, s.answers[n])
		alike := lists.Where(members, func(row int) bool { return kind(labels, row) == answer })
		more += float64(len(alike))/float64(len(members)) - share[answer]
		variance += float64(share[answer] * (1 - share[answer]))
	}
	return more > float64(spread*math.Sqrt(variance)) && more > 1
}

// kindsOf returns how answers are compared: as text, or numbers of many values by their median.
func kindsOf(labels *table.Column) func(c *table.Column, row int) string {
	if values := lists.By(rowsOf(labels), labels.Text); len(values) <= 20 || !labels.Kind().IsNumber() {
		return (*table.Column).Text
	}
	sorted := slices.Sorted(slices.Values(labels.Floats()))
	median := sorted[len(sorted)/2]
	return func(c *table.Column, row int) string {
		if c.Float(row) < median {
			return "below"
		}
		return "above"
	}
}
