package ui

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"net/url"
	"slices"
	"time"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/plugins/numeric/stat"
)

// comparedScores are the scores of the sides at one competition.
type comparedScores struct {
	page.People
	Link        string
	Plot, Curve template.HTML
	Rows        []scoreDifference
	// effect is the largest difference, in distances from the median to gold.
	effect float64
}

// scoreDifference is how the first side's scores differ from those of another.
type scoreDifference struct {
	First, Second, A, B, Difference, Interval string
	Runs, Medals                              string
	AWins, BWins                              bool
}

// scores adds the differences of two sides at every competition that both have.
func (d *compareData) scores(c *results.Comparison) {
	x, y := byCompetition(c.Of[0]), byCompetition(c.Of[1])
	for _, id := range sortedKeys(x) {
		if len(y[id]) == 0 {
			continue
		}
		i := slices.IndexFunc(d.Competitions, func(c comparedScores) bool { return c.ID == id })
		if i < 0 {
			i = len(d.Competitions)
			d.Competitions = append(d.Competitions, comparedScores{People: peopleOf(d.catalog, x[id][0].Report), Link: "/competitions/" + url.PathEscape(id)})
		}
		d.Competitions[i].add(c, x[id], y[id])
	}
}

func byCompetition(list []*results.Attempt) map[string][]*results.Attempt {
	by := map[string][]*results.Attempt{}
	for _, a := range list {
		by[a.Competition()] = append(by[a.Competition()], a)
	}
	return by
}

// add compares two sides: their medals, their means, and the difference of these with its
// interval. Runs are not paired.
func (c *comparedScores) add(of *results.Comparison, first, second []*results.Attempt) {
	x, y := scoresOf(first), scoresOf(second)
	row := scoreDifference{First: of.First, Second: of.Second, A: scoreText(mean(x)), B: scoreText(mean(y)), Runs: fmt.Sprintf("%d and %d", len(x), len(y)), Medals: medalsText(first) + " and " + medalsText(second)}
	if len(x) > 0 && len(y) > 0 {
		diff := mean(x) - mean(y)
		row.Difference = signed(diff)
		row.AWins, row.BWins = diff != 0 && (diff < 0) == c.LowerIsBetter, diff != 0 && (diff > 0) == c.LowerIsBetter
		if half, ok := stat.Welch(board.Level, stat.NewSample(x), stat.NewSample(y)); ok {
			row.Interval = signed(diff-half) + " to " + signed(diff+half)
		}
		c.effect = max(c.effect, math.Abs(diff)/c.scale(x, y))
	}
	c.Rows = append(c.Rows, row)
}

// scale makes differences at different competitions comparable: the distance from the
// median to gold, else the range of the scores.
func (c *comparedScores) scale(x, y []float64) float64 {
	if s := math.Abs(c.Gold - c.Median); s > 0 {
		return s
	}
	all := slices.Concat(x, y)
	return max(slices.Max(all)-slices.Min(all), math.SmallestNonzeroFloat64)
}

// plotsShown is the number of competitions that are drawn.
const plotsShown = 30

// medalsText counts the attempts with a medal.
func medalsText(list []*results.Attempt) string {
	t := results.TallyOf(list)
	return fmt.Sprintf("%d of %d", t.Medals(), t.Ranked)
}

// linesShown bounds the curves of one competition.
const linesShown = 60

// draw draws the competitions, those with the largest differences first: the scores of the
// sides, and the best scores over time of their attempts.
func (u *UI) draw(d *compareData) {
	slices.SortStableFunc(d.Competitions, func(a, b comparedScores) int { return cmp.Compare(b.effect, a.effect) })
	var all []*results.Attempt
	for _, s := range d.Sides {
		all = append(all, s.compared...)
	}
	points := curves(u.History, all...)
	for i := range d.Competitions[:min(len(d.Competitions), plotsShown)] {
		c := &d.Competitions[i]
		curves := page.Curves{People: c.People}
		var rows []page.Estimate
		for _, s := range d.Sides {
			own := s.at(c.ID)
			if len(own) == 0 {
				continue
			}
			scores := scoresOf(own)
			e := page.Estimate{Name: s.Name, Value: mean(scores), Color: s.Color, Points: scores, Note: fmt.Sprintf("%s (%d)", scoreText(mean(scores)), len(scores))}
			if half, ok := stat.Welch(board.Level, stat.NewSample(scores)); ok {
				e.Lower, e.Upper, e.Known = e.Value-half, e.Value+half, true
			}
			rows = append(rows, e)
			for _, a := range own {
				if line := bestLine(points[a], a); len(line) > 0 && len(curves.Lines) < linesShown {
					curves.Lines = append(curves.Lines, page.Line{Name: s.Name + " " + page.Name(a.GradeAddress), Steps: true, Moments: line, Color: s.Color})
				}
			}
		}
		c.Plot = page.Dots(c.People, rows)
		if len(curves.Lines) > 0 {
			c.Curve = curves.Draw()
		}
	}
}

// bestLine is the best score of an attempt at each moment and, in the end, that of what was
// handed in.
func bestLine(points []grading.Moment, a *results.Attempt) []page.Moment {
	if len(points) == 0 {
		return nil
	}
	var end time.Duration
	if s := a.Made.WallSeconds; s != nil {
		end = seconds(*s)
	}
	report := a.AsGraded()
	lines := scoreLines(points, end, &report, report.LowerIsBetter)
	best, raw := lines[0].Moments, lines[1].Moments
	if len(raw) > len(points) && best[len(best)-1].At < end {
		best = append(best, raw[len(raw)-1])
	}
	return best
}

func signed(v float64) string {
	if text := page.Score(v); v <= 0 {
		return text
	} else {
		return "+" + text
	}
}

func scoreText(v float64) string {
	if math.IsNaN(v) {
		return "none"
	}
	return page.Score(v)
}

// scoresOf are the scores of attempts that are numbers.
func scoresOf(list []*results.Attempt) (out []float64) {
	for _, a := range list {
		if s := a.Report.ExactScore; s != nil && !math.IsNaN(float64(*s)) && !math.IsInf(float64(*s), 0) {
			out = append(out, float64(*s))
		}
	}
	return out
}

// mean is NaN of nothing.
func mean(list []float64) float64 {
	sum := 0.0
	for _, v := range list {
		sum += v
	}
	return sum / float64(len(list))
}
