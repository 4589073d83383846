package ui

import (
	"cmp"
	"context"
	"fmt"
	"html/template"
	"maps"
	"math"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/outputs"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/firstscreen"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/plugins/numeric/stat"
	"github.com/mleflow/mleflow/steps/aggregate"
)

// figure is a figure of one comparison.
type figure struct {
	name string
	// second is the side that the first is compared with.
	second *side
	row    []string
	board.Difference
}

// figures arranges the figures of a comparison, what differs most first, and returns those
// that differ.
func (p *pair) figures() (list []figure) {
	p.Basis = aggregate.Basis(p.Comparison.Comparison)
	rows := firstscreen.Figures(p.First, p.Second, p.Comparison.Comparison)
	p.Rows = rows[:1:1]
	for _, name := range board.MeasureNames() {
		f, ok := p.Figures[name]
		if !ok {
			continue
		}
		rows = rows[1:]
		name = strings.ReplaceAll(strings.TrimSuffix(name, "_percentage"), "_", " ")
		if f.Difference == 0 {
			p.Equal = append(p.Equal, fmt.Sprintf("%s (%.1f %%)", name, float64(f.First)))
			continue
		}
		rows[0][0] = name
		list = append(list, figure{name, p.second, rows[0], f})
	}
	sortFigures(list)
	p.Rows = append(p.Rows, lists.Of(list, func(f figure) []string { return f.row })...)
	return list
}

// intervalsOf draws the figures that differ, the largest difference first.
func intervalsOf(figures []figure) template.HTML {
	sortFigures(figures)
	var plotted []page.Estimate
	for _, f := range figures[:min(len(figures), 40)] {
		value := float64(f.Difference.Difference)
		e := page.Estimate{Name: f.name, Value: value, Note: fmt.Sprintf("%+.1f", value), Color: f.second.Color}
		if in := cmp.Or(f.Competitions, f.Runs); in != nil {
			e.Lower, e.Upper, e.Known = float64(in.Lower), float64(in.Upper), true
		}
		plotted = append(plotted, e)
	}
	return page.Intervals(plotted, "difference in percentage points, with 95 % intervals")
}

// sortFigures puts the largest differences first.
func sortFigures(list []figure) {
	slices.SortStableFunc(list, func(a, b figure) int {
		return cmp.Compare(math.Abs(float64(b.Difference.Difference)), math.Abs(float64(a.Difference.Difference)))
	})
}

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
	for _, id := range view.SortedKeys(x) {
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

// add compares two sides: their medals, their means, and the difference of these with its
// interval. Runs are not paired.
func (c *comparedScores) add(of *results.Comparison, first, second []*results.Attempt) {
	x, y := scoresOf(first), scoresOf(second)
	row := scoreDifference{First: of.First, Second: of.Second, A: scoreText(meanScore(x)), B: scoreText(meanScore(y)), Runs: fmt.Sprintf("%d and %d", len(x), len(y)), Medals: medalsText(first) + " and " + medalsText(second)}
	if len(x) > 0 && len(y) > 0 {
		diff := meanScore(x) - meanScore(y)
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
	points := curves(u.History, slices.Concat(lists.Of(d.Sides, func(s *side) []*results.Attempt { return s.compared })...)...)
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
			e := page.Estimate{Name: s.Name, Value: meanScore(scores), Color: s.Color, Points: scores, Note: fmt.Sprintf("%s (%d)", scoreText(meanScore(scores)), len(scores))}
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
		end = view.Seconds(*s)
	}
	report := a.AsGraded()
	lines := scoreLines(points, end, &report, report.LowerIsBetter)
	best, raw := lines[0].Moments, lines[1].Moments
	if len(raw) > len(points) && best[len(best)-1].At < end {
		best = append(best, raw[len(raw)-1])
	}
	return best
}

func signed(v float64) string { return view.When(v > 0, "+") + page.Score(v) }

func scoreText(v float64) string { return view.Either(math.IsNaN(v), "none", page.Score(v)) }

// meanScore is NaN of nothing.
func meanScore(list []float64) float64 { return float64(board.NewEstimate(list).Mean) }

// changeTable is what differs between sides: their runs' variables, and the inputs of one
// attempt of each.
type changeTable struct {
	Names []string
	// Rows have the values of an input by side, after its name.
	Rows [][]string
	// Same says why there is nothing.
	Same string
	// Changes are those of the pipelines' text from the first side to the others.
	Changes []change
}

// sideFacts are the inputs of a side.
type sideFacts struct {
	inputs  map[string]string
	sources map[string][]byte
	run     string
}

// changed compares the inputs of the sides.
func (u *UI) changed(ctx context.Context, sides []*side) (t changeTable) {
	facts := make([]sideFacts, len(sides))
	names := map[string]bool{}
	for i, s := range sides {
		facts[i] = u.facts(ctx, s, sides)
		t.Names = append(t.Names, s.Name)
		for name := range facts[i].inputs {
			names[name] = true
		}
	}
	for _, name := range slices.SortedFunc(maps.Keys(names), board.CompareNames) {
		values := lists.Of(facts, func(f sideFacts) string { return oneLine(f.inputs[name], 400) })
		if slices.ContainsFunc(values, func(v string) bool { return v != values[0] }) {
			t.Rows = append(t.Rows, append([]string{name}, values...))
		}
	}
	for i, f := range facts[1:] {
		if f.run != facts[0].run {
			t.Changes = append(t.Changes, sourceChanges(facts[0].sources, f.sources, sides[i+1].Name)...)
		}
	}
	if len(t.Rows)+len(t.Changes) == 0 {
		t.Same = "Nothing that is known: variables, pipeline, program, and the inputs of the attempts are the same."
	}
	return t
}

// facts returns the variables and the environment of a side's newest run, and the inputs of
// its attempt at a competition that all sides have.
func (u *UI) facts(ctx context.Context, s *side, sides []*side) sideFacts {
	f := sideFacts{inputs: map[string]string{}}
	one := s.sample(sides)
	if one == nil {
		return f
	}
	past, err := u.History.Open(one.RunID)
	if err != nil {
		return f
	}
	f.run = past.Info.ID
	f.sources, _ = past.Sources() // a run without them has none to compare
	for name, v := range past.Info.Variables {
		f.inputs["variable "+name] = string(v)
	}
	f.inputs["mleflow"], f.inputs["machine"], f.inputs["pipeline"] = past.Info.Version, strings.TrimSpace(past.Info.Host+" "+past.Info.OS), past.Info.Pipeline
	maps.Copy(f.inputs, past.Info.Environment)
	_ = u.Results(past, func(c Results) error { // what is gone is left out
		f.attempt(ctx, c, one)
		return nil
	})
	return f
}

// sample is an attempt at a competition that all sides have, with the lowest seed; nil if
// none is compared.
func (s *side) sample(sides []*side) *results.Attempt {
	if len(s.compared) == 0 {
		return nil
	}
	lacking := map[string]int{} // the sides without an attempt at a competition
	for id := range byCompetition(s.compared) {
		for _, other := range sides {
			lacking[id] += board.Count(len(other.at(id)) == 0)
		}
	}
	return slices.MinFunc(s.compared, func(a, b *results.Attempt) int {
		return cmp.Or(lacking[a.Competition()]-lacking[b.Competition()], board.CompareNames(a.Competition(), b.Competition()), results.CompareSeeds(a.Seed, b.Seed), strings.Compare(b.RunID, a.RunID))
	})
}

// attempt adds the models of an attempt and the fields of its key.
func (f *sideFacts) attempt(ctx context.Context, c Results, a *results.Attempt) {
	if use := a.Made.Usage; use != nil && use.Model != "" {
		f.inputs["models"] = use.Model
	}
	if rec, err := outputs.Lookup(ctx, c, a.AttemptAction); err == nil {
		for _, field := range rec.Fields {
			f.inputs["attempt: "+field.Label] = field.Value
		}
	}
}

// sourceChanges compares the text of two pipelines.
func sourceChanges(from, to map[string][]byte, side string) (list []change) {
	for _, name := range union(from, to) {
		a, inA := from[name]
		b, inB := to[name]
		if string(a) == string(b) && inA == inB || len(list) >= maxChanges {
			continue
		}
		c := change{Path: name, What: "as in " + view.OneLine(side)}
		if len(a) > maxCompared || len(b) > maxCompared {
			c.Note = "The file is too large to be compared here."
		} else {
			c.Lines = diffLines(linesOf(a), linesOf(b))
		}
		list = append(list, c)
	}
	return list
}

// compareData is the page that compares agents or runs with the first of them.
type compareData struct {
	// Given are the sides of the address, Sides those that are compared: of runs with
	// several agents, one for each agent.
	Given, Sides []*side
	Choices      [][]choice
	Missing      []string
	Progress     progress
	Pairs        []*pair
	// Classes are those of all attempts of the sides, Offered those that every side has.
	Classes []page.Fact
	Offered []page.Link
	// Intervals are the differences in the figures of leaderboards, the largest first.
	Intervals    template.HTML
	Competitions []comparedScores
	// Names are those of the sides, in the order of their colours.
	Names   []string
	Changes changeTable
	Ready   bool
	catalog *competitions.Catalog
	by      *classes
}

// side is an agent or a run that is compared.
type side struct {
	results.Side
	Ref, Link, Remove string
	Color             int
	// Drawn means that the side is compared as it is, and not agent by agent.
	Drawn bool
	// run is the run whose agents are compared; "" of an agent.
	run string
	// compared are the attempts that are compared.
	compared []*results.Attempt
	parts    map[string]*side
}

// at are the compared attempts at a competition.
func (s *side) at(id string) []*results.Attempt {
	return slices.DeleteFunc(slices.Clone(s.compared), func(a *results.Attempt) bool { return a.Competition() != id })
}

// pair is the comparison of two sides.
type pair struct {
	*results.Comparison
	first, second *side
	// Letter is that of the class. Missing says why nothing is compared.
	Letter, Missing string
	// Asides say what is left out of each side, Programs what other programs they have.
	Asides, Programs []page.Link
	Basis            string
	// Rows are those of the figures that differ, headers first.
	Rows [][]string
	// Equal are the figures that do not differ.
	Equal []string
}

// agents are the agents of the side.
func (s *side) agents() []string {
	return view.Names(s.Attempts, agentOf)
}

// letters are those of the classes of the side.
func (s *side) letters(by *classes) string {
	letters := slices.DeleteFunc(view.Names(s.Attempts, by.letter), func(letter string) bool { return letter == "" })
	return cmp.Or(strings.Join(letters, ", "), "none")
}
