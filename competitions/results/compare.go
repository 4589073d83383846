package results

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/lists"

	"github.com/mleflow/mleflow/competitions/board"
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
	// Same is the number of attempts that both sides have, which cannot differ.
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
	// better or worse, where no score is worse than any. Equal counts those at which the
	// means are the same. At the others neither side has a score.
	Better, Worse, Equal int
	// Of are the attempts that are compared.
	Of [2][]*Attempt
}

// noClass is the class and noVersion the version of no attempt.
const (
	noClass   = "none"
	noVersion = "none"
)

// Compare compares two sides within one class: that of which both have the most attempts at
// the same version of a competition, of real data if there is such a class. A class may be asked for.
// Without anything that both have it is board.ErrNothingShared, and all attempts are set
// aside or at competitions of one side.
func Compare(first, second Side, class string) (*Comparison, error) {
	class, versions := shared(first.Attempts, second.Attempts, class)
	c := &Comparison{First: first.Name, Second: second.Name, Class: class}
	q := Selection{Class: cmp.Or(class, noClass), versions: versions}
	c.Of[0], _, c.FirstAside = q.Comparable(first.Attempts)
	c.Of[1], _, c.SecondAside = q.Comparable(second.Attempts)
	if len(c.Of[0]) == 0 || len(c.Of[1]) == 0 {
		return c, fmt.Errorf("%w: %s and %s have no attempts of the same conditions", board.ErrNothingShared, first.Name, second.Name)
	}
	if err := c.fill(competitionsOf(append(slices.Clone(c.Of[0]), c.Of[1]...))); err != nil {
		return c, fmt.Errorf("%w: %s and %s have no competition in common", err, first.Name, second.Name)
	}
	return c, nil
}

// Between compares attempts that were chosen already, whatever their class, at some
// competitions. Without one that both sides tried it is board.ErrNothingShared.
func Between(first, second Side, ids []string) (*Comparison, error) {
	c := &Comparison{First: first.Name, Second: second.Name}
	for i, side := range []Side{first, second} {
		for _, a := range side.Attempts {
			if a.Uncounted() == "" && slices.Contains(ids, a.Competition()) {
				c.Of[i] = append(c.Of[i], a)
			}
		}
	}
	return c, c.fill(ids)
}

// Recalled is Between at all competitions, with figures that were computed before.
func Recalled(first, second Side, figures board.Comparison) *Comparison {
	c := &Comparison{First: first.Name, Second: second.Name, Comparison: figures}
	c.Of[0], _ = counting(first.Attempts)
	c.Of[1], _ = counting(second.Attempts)
	c.count()
	return c
}

// fill compares the attempts of both sides at some competitions.
func (c *Comparison) fill(ids []string) (err error) {
	c.count()
	c.Comparison, err = board.Compare(lists.Of(c.Of[0], (*Attempt).AsGraded), lists.Of(c.Of[1], (*Attempt).AsGraded), ids)
	return err
}

// count enters what both sides have in common, their medals and their mean scores.
func (c *Comparison) count() {
	keys := make(map[string]bool, len(c.Of[0]))
	for _, a := range c.Of[0] {
		keys[a.Key()] = a.Key() != ""
	}
	for _, a := range c.Of[1] {
		c.Same += board.Count(keys[a.Key()])
	}
	x, y := competitionsOf(c.Of[0]), competitionsOf(c.Of[1])
	c.FirstOnly, c.SecondOnly = without(x, y), without(y, x)
	a, b := sumsOf(c.Of[0]), sumsOf(c.Of[1])
	for _, id := range without(x, c.FirstOnly) {
		c.at(id, a[id], b[id])
	}
}

// at enters the medals and the mean scores at a competition of both.
func (c *Comparison) at(id string, a, b sums) {
	switch m := a.medals*b.runs - b.medals*a.runs; {
	case m > 0:
		c.Won = append(c.Won, id)
	case m < 0:
		c.Lost = append(c.Lost, id)
	}
	switch {
	case a.scored == 0 && b.scored == 0:
	case b.scored == 0, a.scored > 0 && (a.mean() > b.mean()) != a.lower && a.mean() != b.mean():
		c.Better++
	case a.scored > 0 && a.mean() == b.mean():
		c.Equal++
	default:
		c.Worse++
	}
}

// sums are the attempts of a side at one competition.
type sums struct {
	runs, scored, medals int
	score                float64
	lower                bool
}

func (s sums) mean() float64 { return s.score / float64(s.scored) }

// sumsOf adds up attempts by competition. Scores are exact where that is known.
func sumsOf(list []*Attempt) map[string]sums {
	out := map[string]sums{}
	for _, a := range list {
		s := out[a.Competition()]
		s.runs++
		s.medals += board.Count(a.ranked() && Medal(a.Report) != "")
		s.lower = a.Report.LowerIsBetter
		if a.scored() {
			s.scored++
			s.score += float64(*cmp.Or(a.Report.ExactScore, a.Report.Score))
		}
		out[a.Competition()] = s
	}
	return out
}

// Sentence says the comparison in words: "baseline is better than dummy at 2 of 2
// competitions; any medal +66.7 points (95 % interval 33 to 100, 3 and 3 attempts)."
func (c *Comparison) Sentence() string {
	if n := len(c.Of[0]); c.Same > 0 && c.Same == n && n == len(c.Of[1]) {
		return fmt.Sprintf("%s and %s have the same %s: nothing differs.", c.First, c.Second, strings.TrimPrefix(plural(n, "attempt"), "1 "))
	}
	parts := []string{c.order()}
	if d, ok := c.Figures["any_medal_percentage"]; ok {
		in := "no interval"
		if i := d.Uncertainty.Shown(); d.Runs != nil || d.Competitions != nil {
			in = "95 % interval " + strings.Replace(i, " *", " over other competitions", 1)
		}
		parts = append(parts, fmt.Sprintf("any medal %+.1f points (%s, %d and %d attempts)", float64(d.Difference), in, c.FirstRuns, c.SecondRuns))
	}
	if c.Same > 0 {
		parts = append(parts, "both have "+plural(c.Same, "attempt")+" in common")
	}
	return strings.Join(parts, "; ") + "."
}

// order says at how many competitions which side has the better mean score.
func (c *Comparison) order() string {
	of := plural(c.Competitions, "competition")
	switch {
	case c.Better+c.Worse+c.Equal == 0:
		return fmt.Sprintf("neither %s nor %s has a score at %s", c.First, c.Second, of)
	case c.Better == 0 && c.Worse == 0:
		return fmt.Sprintf("%s and %s have equal mean scores at %s", c.First, c.Second, plural(c.Equal, "competition"))
	case c.Better == c.Worse:
		return fmt.Sprintf("%s and %s are each better than the other at %d of %s", c.First, c.Second, c.Better, of)
	case c.Better > c.Worse:
		return fmt.Sprintf("%s is better than %s at %d of %s", c.First, c.Second, c.Better, of)
	}
	return fmt.Sprintf("%s is worse than %s at %d of %s", c.First, c.Second, c.Worse, of)
}

// edition is a version of a competition, as attempts of a class had it.
type edition struct{ class, competition, version string }

// shared is the class of which both sides have the most attempts that count at the same
// places, of real data if there is such a class, and "" if there is none; a class may be
// given. Versions are those at which both sides tried a competition, noVersion where they
// have none in common.
func shared(first, second []*Attempt, class string) (best string, versions map[string]string) {
	classOf, apart := classing(), map[string]bool{}
	count := func(list []*Attempt) map[edition]int {
		n := map[edition]int{}
		final, _ := counting(list)
		old := outdated(final, classOf)
		for _, a := range final {
			if !old(a) {
				at := edition{classOf(a), a.Competition(), a.Report.CompetitionVersion}
				apart[at.class] = aparts(a) != asideConditions
				n[at]++
			}
		}
		return n
	}
	x, y := count(first), count(second)
	both := map[string]int{}
	for at, n := range x {
		both[at.class] += min(n, y[at])
	}
	if best = class; best == "" {
		for class, n := range both {
			if n > 0 && (best == "" || cmp.Or(board.Count(apart[best])-board.Count(apart[class]), n-both[best], strings.Compare(best, class)) > 0) {
				best = class
			}
		}
	}
	tried, most, versions := map[string]bool{}, map[string]int{}, map[string]string{}
	for at := range y {
		tried[at.competition] = tried[at.competition] || at.class == best
	}
	for at, n := range x {
		id := at.competition
		if at.class != best || !tried[id] {
			continue
		}
		switch n = min(n, y[at]); {
		case n > most[id], n > 0 && n == most[id] && board.CompareNames(at.version, versions[id]) < 0:
			most[id], versions[id] = n, at.version
		case most[id] == 0:
			versions[id] = noVersion
		}
	}
	return best, versions
}

// competitionsOf are the competitions of attempts, each once and sorted.
func competitionsOf(list []*Attempt) (ids []string) {
	ids = lists.Of(list, (*Attempt).Competition)
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
