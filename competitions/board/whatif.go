package board

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/outcome"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
)

// Spread is a figure over all choices of k seeds out of n, each choice being as likely.
// A choice takes whole seeds, as the board arranges them.
type Spread struct {
	// Mean is the mean over the choices, which is that over all seeds; SD is their
	// standard deviation; Lowest and Highest are the extreme choices.
	Mean    grading.Number `json:"mean"`
	SD      grading.Number `json:"sd"`
	Lowest  grading.Number `json:"lowest"`
	Highest grading.Number `json:"highest"`
}

// NewSpread computes the spread over choices of k of the values, one a seed. It follows
// from sampling without replacement, so that no choice is enumerated. k is at least 1
// and at most the number of values.
func NewSpread(values []float64, k int) Spread {
	sorted := slices.Sorted(slices.Values(values))
	n, mean := float64(len(values)), metric.Mean(values)
	var squares float64
	for _, v := range values {
		squares += float64((v - mean) * (v - mean))
	}
	sd := 0.0
	if len(values) > 1 {
		sd = math.Sqrt(squares / (n - 1) / float64(k) * (1 - float64(k)/n))
	}
	return Spread{
		Mean: grading.Number(mean), SD: grading.Number(sd),
		Lowest: grading.Number(metric.Mean(sorted[:k])), Highest: grading.Number(metric.Mean(sorted[len(sorted)-k:])),
	}
}

// Unflagged returns a report as it counts if cheating is a failure: that of an attempt with
// a label that says so counts as no valid submission; see grading.Integrity.
func Unflagged(g grading.Graded) grading.Graded {
	if flagged(g) {
		g.Medals, g.ValidSubmission = grading.Medals{}, false
		g.Outcome, g.Reason = outcome.Invalid, "the attempt is "+string(g.IntegrityOf())
		g.Score, g.ExactScore, g.Rank = nil, nil, nil
	}
	return g
}

func checked(g grading.Graded) bool { return g.Origin != nil && g.Origin.Checked }

func flagged(g grading.Graded) bool { return g.IntegrityOf().Failing() }

// Case is a board of an agent's attempts had something been otherwise.
type Case struct {
	// Name says what is otherwise: "as published" and so on.
	Name string `json:"case"`
	// Attempts are those that count, Seeds the complete seeds among them.
	Attempts int `json:"attempts"`
	Seeds    int `json:"seeds"`
	// Figures are the figures by name; none if they are not known.
	Figures Split `json:"figures,omitempty"`
	// Measures are the figures with their intervals.
	Measures map[string]Measure `json:"measures,omitempty"`
	// Change is the difference of any_medal_percentage from the published one, in
	// percentage points.
	Change *grading.Number `json:"change,omitempty"`
	// Choices is the spread of any_medal_percentage over choices of seeds.
	Choices *Spread `json:"choices,omitempty"`
	// Why explains missing figures.
	Why string `json:"why,omitempty"`
}

// WhatIf returns the boards of an agent's reports that count over some competitions, as they are
// and as they would be: with attempts stopped at times, without flagged attempts, of
// each version of the competitions, under each class of conditions, and with fewer
// seeds.
func WhatIf(reports []grading.Graded, ids []string, times []time.Duration) []Case {
	published := Case{Name: "as published"}
	reports, _, err := Counted(reports)
	published.Attempts = len(reports)
	_, errVersion := ofVersion(reports, "")
	_, errClass := ofClass(reports, nil)
	if err = cmp.Or(err, errVersion, errClass); err != nil {
		published.Why = err.Error()
	} else {
		published = newCase(published.Name, reports, ids)
	}
	cases := []Case{published}
	add := func(c Case) {
		if c.Figures != nil && published.Figures != nil {
			change := c.Figures[shownFigure].Mean - published.Figures[shownFigure].Mean
			c.Change = &change
		}
		cases = append(cases, c)
	}
	for _, at := range times {
		name := "stopped after " + conditions.Limit(at)
		if early, why := stopped(reports, at); why != nil {
			add(Case{Name: name, Why: why.Error()})
		} else {
			add(newCase(name, early, ids))
		}
	}
	add(withoutFlagged(reports, ids))
	for _, split := range []struct {
		what string
		key  func(grading.Graded) string
	}{
		{"version ", versionOf},
		{"class ", func(g grading.Graded) string { return conditions.Class(g.Conditions) }},
	} {
		_, keys := pick(reports, "", split.key)
		if len(keys) < 2 {
			continue
		}
		for _, key := range keys {
			own, _ := pick(reports, key, split.key)
			add(newCase(split.what+key, own, ids))
		}
	}
	if err != nil {
		return cases
	}
	seeds, err := Seeds{}.Arrange(AllFlags(reports), ids)
	if values := medals().values(seeds); err == nil {
		for k := 1; k < len(values); k++ {
			spread := NewSpread(values, k)
			cases = append(cases, Case{Name: fmt.Sprintf("%d of %d seeds", k, len(values)), Attempts: k * len(ids), Seeds: k, Choices: &spread})
		}
	}
	return cases
}

// shownFigure is the figure of changes and choices.
const shownFigure = "any_medal_percentage"

func medals() figure {
	return percentages[slices.IndexFunc(percentages, func(f figure) bool { return f.name == shownFigure })]
}

func withoutFlagged(reports []grading.Graded, ids []string) Case {
	looked, found := len(lists.Where(reports, checked)), len(lists.Where(reports, flagged))
	name := fmt.Sprintf("without %d flagged", found)
	if looked < len(reports) {
		name += fmt.Sprintf(", %d unchecked", len(reports)-looked)
	}
	if looked == 0 {
		return Case{Name: "without flagged", Why: "no step of kind check looked at the attempts"}
	}
	return newCase(name, lists.Of(reports, Unflagged), ids)
}

func newCase(name string, reports []grading.Graded, ids []string) Case {
	c := Case{Name: name, Attempts: len(reports)}
	seeds, err := Seeds{}.Arrange(AllFlags(reports), ids)
	if err != nil {
		c.Why = err.Error()
		return c
	}
	c.Seeds, c.Figures, c.Measures = len(seeds), Aggregate(seeds), Measures(seeds)
	return c
}
