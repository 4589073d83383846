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
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/plugins/numeric/stat"
	"github.com/mleflow/mleflow/steps/agentrun"
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
	Runs                                      string
	AWins, BWins                              bool
}

// scores adds the differences of two sides at every competition that both have.
func (d *compareData) scores(first, second *side) {
	for _, id := range first.common(second) {
		i := slices.IndexFunc(d.Competitions, func(c comparedScores) bool { return c.ID == id })
		if i < 0 {
			i = len(d.Competitions)
			c := comparedScores{People: page.PeopleOf(first.at(id)[0].Report), Link: "/competitions/" + url.PathEscape(id)}
			if def, err := d.definition(id); err == nil {
				c.Human = def.Medals.Scores
			}
			d.Competitions = append(d.Competitions, c)
		}
		d.Competitions[i].add(first, second)
	}
}

func (d *compareData) definition(id string) (*competitions.Definition, error) {
	if d.catalog == nil {
		return nil, errNothing
	}
	return d.catalog.Get(id)
}

// add compares two sides: their means, and the difference of these with its interval. Runs
// are not paired.
func (c *comparedScores) add(first, second *side) {
	x, y := scoresOf(first.at(c.ID)), scoresOf(second.at(c.ID))
	row := scoreDifference{First: first.Name, Second: second.Name, A: scoreText(mean(x)), B: scoreText(mean(y)), Runs: fmt.Sprintf("%d and %d", len(x), len(y))}
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

// arrange puts the competitions with the largest differences first and draws them.
func (d *compareData) arrange() {
	slices.SortStableFunc(d.Competitions, func(a, b comparedScores) int { return cmp.Compare(b.effect, a.effect) })
	for i := range d.Competitions[:min(len(d.Competitions), plotsShown)] {
		c := &d.Competitions[i]
		var rows []page.Estimate
		for _, s := range d.Sides {
			scores := scoresOf(s.at(c.ID))
			e := page.Estimate{Name: s.Name, Value: mean(scores), Color: s.Color, Points: scores, Note: fmt.Sprintf("%s (%d)", scoreText(mean(scores)), len(scores))}
			if half, ok := stat.Welch(board.Level, stat.NewSample(scores)); ok {
				e.Lower, e.Upper, e.Known = e.Value-half, e.Value+half, true
			}
			rows = append(rows, e)
		}
		c.Plot = page.Dots(c.People, rows)
	}
}

// linesShown bounds the curves of one competition.
const linesShown = 60

// curves draws the best scores over time of the sides' attempts.
func (u *UI) curves(d *compareData) {
	points := u.moments(d.Sides)
	for i := range d.Competitions[:min(len(d.Competitions), plotsShown)] {
		c := &d.Competitions[i]
		curves := page.Curves{People: c.People}
		for _, s := range d.Sides {
			for _, a := range s.at(c.ID) {
				if line := points[[2]string{a.run, a.address}].line(&a.Graded); len(line) > 0 && len(curves.Lines) < linesShown {
					curves.Lines = append(curves.Lines, page.Line{Name: s.Name + " " + page.Name(a.address), Steps: true, Moments: line, Color: s.Color})
				}
			}
		}
		if len(curves.Lines) > 0 {
			c.Curve = curves.Draw()
		}
	}
}

// progressing is what a journal tells of an attempt's scores: those over time, and when it
// ended.
type progressing struct {
	points []grading.Moment
	end    time.Duration
}

// moments are the scores over time of the attempts of all sides, by run and step.
func (u *UI) moments(sides []*side) map[[2]string]progressing {
	out := map[[2]string]progressing{}
	runs := map[string]bool{}
	for _, s := range sides {
		for _, a := range s.attempts {
			runs[a.run] = true
			out[[2]string{a.run, a.address}] = progressing{}
		}
	}
	for id := range runs {
		past, err := u.Ledger.Open(id)
		if err != nil {
			continue // a run that is gone has no curves
		}
		ends := map[string]time.Duration{}
		for e, err := range past.Finished(conditions.AttemptKind, conditions.GradeKind) {
			key := [2]string{id, e.Address}
			var stats agentrun.Stats
			if _, wanted := out[key]; err == nil && wanted {
				p := progressing{end: ends[addr.KeyOf(e.Address)]}
				_ = decode(e.Outputs["curve"], &p.points) // without it, there is no curve
				out[key] = p
			} else if err == nil && decode(e.Outputs["stats"], &stats) {
				ends[addr.KeyOf(e.Address)] = seconds(stats.WallSeconds)
			}
		}
	}
	return out
}

// line is the best score at each moment and, in the end, that of what was handed in.
func (p progressing) line(report *grading.Graded) []page.Moment {
	if len(p.points) == 0 {
		return nil
	}
	lines := scoreLines(p.points, p.end, report, report.LowerIsBetter)
	best, raw := lines[0].Moments, lines[1].Moments
	if len(raw) > len(p.points) && best[len(best)-1].At < p.end {
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
func scoresOf(list []sideAttempt) (out []float64) {
	for _, a := range list {
		if s := a.ExactScore; s != nil && !math.IsNaN(float64(*s)) && !math.IsInf(float64(*s), 0) {
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
