package results

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/grading"
)

// Side is what is compared: an agent, or one of a run.
type Side struct {
	Name     string
	Attempts []*Attempt
}

// Comparison is two sides compared at the competitions that both tried, under one class.
type Comparison struct {
	First, Second string
	// Class is the class of all attempts that are compared.
	Class string
	// Same is the number of attempts that both sides have, which differ in nothing.
	Same int
	// FirstAside and SecondAside count the attempts that are left out.
	FirstAside, SecondAside Aside
	board.Comparison
	// FirstOnly and SecondOnly are the competitions that the other side did not try.
	FirstOnly, SecondOnly []string
	// Won are the competitions at which the first side has more medals for each attempt,
	// Lost those at which it has fewer.
	Won, Lost []string
	// Better and Worse count the competitions at which the mean score of the first side is
	// better or worse.
	Better, Worse int
	// Of are the attempts that are compared.
	Of [2][]*Attempt
}

// Compare compares two sides within the class of which both have attempts, the most of
// them; a class may be asked for. Without one it is board.ErrNothingShared.
func Compare(first, second Side, class string) (*Comparison, error) {
	if class == "" {
		class = shared(first.Attempts, second.Attempts)
	}
	c := &Comparison{First: first.Name, Second: second.Name, Class: class}
	q := Selection{Class: class}
	c.Of[0], _, c.FirstAside = q.Comparable(first.Attempts)
	c.Of[1], _, c.SecondAside = q.Comparable(second.Attempts)
	if class == "" {
		return c, fmt.Errorf("%w: %s and %s have no attempts of the same conditions", board.ErrNothingShared, first.Name, second.Name)
	}
	keys := map[string]bool{}
	for _, a := range c.Of[0] {
		keys[a.Key()] = a.Key() != ""
	}
	for _, a := range c.Of[1] {
		c.Same += board.Count(keys[a.Key()])
	}
	x, y := competitionsOf(c.Of[0]), competitionsOf(c.Of[1])
	c.FirstOnly, c.SecondOnly = without(x, y), without(y, x)
	var err error
	if c.Comparison, err = board.Compare(graded(c.Of[0]), graded(c.Of[1]), x); err != nil {
		return c, err
	}
	for _, id := range without(x, c.FirstOnly) {
		c.at(id)
	}
	return c, nil
}

// at enters the medals and the mean scores at a competition of both.
func (c *Comparison) at(id string) {
	a, b := summed(c.Of[0], id), summed(c.Of[1], id)
	switch m := a.medals*float64(b.runs) - b.medals*float64(a.runs); {
	case m > 0:
		c.Won = append(c.Won, id)
	case m < 0:
		c.Lost = append(c.Lost, id)
	}
	if a.scored == 0 || b.scored == 0 {
		return
	}
	switch better := (a.mean() > b.mean()) != a.lower; {
	case a.mean() == b.mean():
	case better:
		c.Better++
	default:
		c.Worse++
	}
}

// sums are the attempts of a side at one competition.
type sums struct {
	runs, scored  int
	medals, score float64
	lower         bool
}

func (s sums) mean() float64 { return s.score / float64(s.scored) }

func summed(list []*Attempt, id string) (s sums) {
	for _, a := range list {
		if a.Competition() != id {
			continue
		}
		s.runs++
		s.medals += float64(board.Count(Medal(a.Report) != ""))
		s.lower = a.Report.LowerIsBetter
		if e := a.Report.ExactScore; e != nil && a.scored() {
			s.scored++
			s.score += float64(*e)
		}
	}
	return s
}

// Sentence says the comparison in words: "baseline is better than dummy at 2 of 2
// competitions; any medal +66.7 points (95 % interval 33 to 100, 3 and 3 attempts)".
func (c *Comparison) Sentence() string {
	if n := len(c.Of[0]); c.Same > 0 && c.Same == n && n == len(c.Of[1]) {
		return fmt.Sprintf("%s and %s are the same %s: nothing differs.", c.First, c.Second, plural(n, "attempt"))
	}
	var parts []string
	switch of := plural(c.Competitions, "competition"); {
	case c.Better == 0 && c.Worse == 0:
		parts = append(parts, fmt.Sprintf("%s and %s have equal mean scores at %s", c.First, c.Second, of))
	case c.Better >= c.Worse:
		parts = append(parts, fmt.Sprintf("%s is better than %s at %d of %s", c.First, c.Second, c.Better, of))
	default:
		parts = append(parts, fmt.Sprintf("%s is worse than %s at %d of %s", c.First, c.Second, c.Worse, of))
	}
	if d, ok := c.Figures["any_medal_percentage"]; ok {
		text := fmt.Sprintf("any medal %+.1f points", float64(d.Difference))
		in := "no interval"
		if i := d.Uncertainty.Shown(); i != "–" {
			in = "95 % interval " + i
		}
		text += fmt.Sprintf(" (%s, %d and %s)", in, c.FirstRuns, plural(c.SecondRuns, "attempt"))
		parts = append(parts, text)
	}
	if c.Same > 0 {
		parts = append(parts, fmt.Sprintf("%s of both are the same", plural(c.Same, "attempt")))
	}
	return strings.Join(parts, "; ") + "."
}

// shared is the class of the most attempts of which both sides have some that count.
func shared(first, second []*Attempt) (best string) {
	count := func(list []*Attempt) (n map[string]int, order []string) {
		n = map[string]int{}
		for _, a := range Distinct(list) {
			if a.Graded && a.counts() {
				n[a.Class()]++
			}
		}
		return n, Classes(list)
	}
	x, order := count(first)
	y, _ := count(second)
	most, real := 0, false
	for _, class := range order {
		n := min(x[class], y[class])
		r := !rehearsed(first, class)
		if n > 0 && (r && !real || r == real && n > most) {
			best, most, real = class, n, r
		}
	}
	return best
}

// rehearsed reports whether a class is of a rehearsal or a masked version.
func rehearsed(list []*Attempt, class string) bool {
	return slices.ContainsFunc(list, func(a *Attempt) bool { return a.Class() == class && aparts(a) != asideConditions })
}

// Graded returns the reports of attempts.
func graded(list []*Attempt) []grading.Graded {
	out := make([]grading.Graded, len(list))
	for i, a := range list {
		out[i] = a.AsGraded()
	}
	return out
}

// competitionsOf are the competitions of attempts, each once and sorted.
func competitionsOf(list []*Attempt) (ids []string) {
	for _, a := range list {
		ids = append(ids, a.Competition())
	}
	slices.SortFunc(ids, board.CompareNames)
	return slices.Compact(ids)
}

func without(ids, others []string) []string {
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return slices.Contains(others, id) })
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
