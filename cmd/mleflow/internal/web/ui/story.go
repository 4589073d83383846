package ui

import (
	"cmp"
	"context"
	"fmt"
	"html/template"
	"math"
	"net/url"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/plugins/sandbox/validity"
	"github.com/mleflow/mleflow/steps/aggregate"
	"github.com/mleflow/mleflow/steps/grade"
)

// storyData is the first page of an attempt.
type storyData struct {
	page.AmongPeople
	Facts   []page.Fact
	Running *runningRow
	// Scored reports whether the curve has scores.
	Scored bool
	Curve  template.HTML
	// NoCurve explains a missing score over time. Spoilt is the last snapshot's score of
	// a submission without a score.
	NoCurve, Spoilt              string
	Stops                        []stopRow
	Reason, LogEnd               string
	External                     bool
	Grade, GradeLink             string
	Competition, CompetitionLink string
	Findings                     findings
}

// story is the attempt's course and outcome.
func story(ctx context.Context, a *shownAttempt, _ url.Values) storyData {
	found := findingsOf(ctx, a)
	d := storyData{Facts: append(storyFacts(a), integrityFacts(a, found.found)...), Findings: found, Reason: a.result.Reason(), Grade: a.grader, Running: a.running}
	d.LogEnd = strings.Join(a.past.Tail(a.address, tailLines), "\n")
	if r := a.report; r != nil {
		d.Competition, d.CompetitionLink = r.CompetitionID, "/competitions/"+r.CompetitionID
		catalog, _ := a.Catalog(a.past) // without it, the scores of people are not known
		d.People, d.External = peopleOf(catalog, r.Report), r.MetricExternal
		if r.ExactScore != nil {
			d.AmongPeople = page.Distribution(d.People, []page.Row{{Name: "this attempt", Scores: []float64{float64(*r.ExactScore)}}})
		}
	}
	if a.grader != "" {
		d.GradeLink = stepAddress(a.run.ID, a.grader, "grade")
	}
	d.course(ctx, a)
	return d
}

// peopleOf is the human leaderboard of a report's competition; without a
// definition only the thresholds are known.
func peopleOf(catalog *competitions.Catalog, r grading.Report) page.People {
	p := page.PeopleOf(r)
	if catalog != nil {
		if def, err := catalog.Get(r.CompetitionID); err == nil {
			p.Human = def.Medals.Scores
		}
	}
	return p
}

// integrityFacts are the label of an attempt that has ended, and which data it opened.
func integrityFacts(a *shownAttempt, found *results.Check) (facts page.Facts) {
	if a.result.Made.Outcome == "" {
		return nil
	}
	one := *a.result
	one.Check = found
	i := one.Integrity()
	facts.Add("integrity", i.Text(), view.When(i.Label.Failing(), "bad"))
	facts.Add("evidence", strings.Join(i.Lines(), "; "), "")
	facts.Add("data files opened", one.Opened.Text(), "")
	return facts
}

func storyFacts(a *shownAttempt) (facts page.Facts) {
	text, class := endCell(a.result)
	facts.Add("outcome", text, class)
	switch r := &a.result.Report; {
	case r.ExactScore != nil:
		facts.Add("score", page.Score(float64(*r.ExactScore)), "")
		facts.Add("medal", cmp.Or(a.result.WithoutMedals(), r.Best()), "")
		if r.Rank != nil {
			facts.Add("rank among people", results.Place(*r.Rank, r.Teams), "")
		}
	case a.graded != nil && a.graded.Status != "":
		facts.Add("score", "none", "bad")
	}
	if q := a.result.Queries; q != nil {
		facts.Add("validation scores", q.Text()+" queries"+view.When(q.Best != nil, ", best "+view.Known(q.Best, "", page.Score)), "")
	}
	spent := tookText(a.journal, a.Now(), a.run)
	if s := a.result.Made.WallSeconds; s != nil {
		spent = view.Duration(view.Seconds(*s))
	}
	facts.Add("agent's time", spent, "")
	facts.Add("by hand", a.result.ByHand(), "warn")
	if a.stats == nil {
		return facts
	}
	facts.Add("peak memory", view.When(a.stats.PeakMemoryBytes > 0, view.Bytes(a.stats.PeakMemoryBytes)), "")
	if use := results.Measured(a.stats.Models); use != nil {
		var requests, refused int64
		var waited float64
		for _, u := range a.stats.Models {
			requests, refused, waited = requests+u.Requests, refused+u.Refused, waited+u.WaitedSeconds
		}
		facts.Add("model calls", view.Count(requests), "")
		facts.Add("tokens", view.Known(use.Tokens(), "", func(n float64) string { return view.Count(int64(n)) }), "")
		facts.Add("cost (USD)", aggregate.CostText(use), "")
		facts.Add("waited for the provider", view.When(waited >= 1, view.Duration(view.Seconds(waited))), "")
		facts.Count("model calls refused", refused, "warn")
	}
	return facts
}

// stops are the times of early stopping that a story answers for.
var stops = []time.Duration{time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour}

// stopRow shows the score that early stopping would have given.
type stopRow struct {
	After, Score, Medal, Best, Note string
}

// course draws the scores of the snapshots with what the attempt used and did, and fills
// in the scores of early stopping.
func (d *storyData) course(ctx context.Context, a *shownAttempt) {
	var end time.Duration
	if a.stats != nil {
		end = view.Seconds(a.stats.WallSeconds)
	}
	c := page.Course{Curves: page.Curves{People: d.People, Until: end, Marks: stops}, Lanes: lanes(ctx, a)}
	var points []grading.Moment
	switch {
	case a.graded == nil || len(a.graded.Outputs) == 0:
		d.NoCurve = "There is no score over time: no step has graded the attempt yet."
	case !decode(a.graded.Outputs["curve"], &points) || len(points) == 0:
		d.NoCurve = "There is no score over time: the attempt kept no snapshots, or its grade step was not given them. snapshot_every = \"10m\" in the agent-run step keeps them, and snapshots = step.agent-run.NAME[each.key].snapshots in the grade step scores them."
	default:
		c.Lines = append(scoreLines(points, end, a.report, d.LowerIsBetter), kinLines(a)...)
		d.Scored = true
	}
	if l := queriesLine(ctx, a, d.LowerIsBetter); len(l.Moments) > 0 {
		c.Lines = append(c.Lines, l)
	}
	d.Curve = c.Draw()
	if d.Curve == "" && d.NoCurve == "" {
		d.NoCurve = "None of the " + view.Plural(len(points), "snapshot") + " has a score."
	}
	if a.report != nil {
		d.Spoilt = grade.Spoilt(a.report.Outcome, points)
	}
	d.Stops = stopRows(points, end, a.report, d.LowerIsBetter)
}

// queriesLine is the best validation score that the agent had asked for so far.
func queriesLine(ctx context.Context, a *shownAttempt, lower bool) page.Line {
	raw := page.Line{}
	ref, missing := a.output("queries")
	if missing != "" {
		return raw
	}
	e, err := tree.Find(ctx, a.store, ref, validity.QueriesFile)
	if err != nil {
		return raw
	}
	text, _ := headBytes(ctx, a.store, e.Ref(), maxJournal) // what can be read is drawn
	for q := range jsonLines[validity.Query](text) {
		if q.Score != nil && len(raw.Moments) < maxLines {
			raw.Moments = append(raw.Moments, page.Moment{At: view.Seconds(q.Elapsed), Score: *q.Score})
		}
	}
	return raw.BestSoFar("best validation score", 2, lower)
}

// scoreLines are the scores of the snapshots, and the best so far.
func scoreLines(points []grading.Moment, end time.Duration, report *grading.Graded, lower bool) []page.Line {
	raw := page.Line{Name: "score"}
	for _, p := range points {
		m := page.Moment{At: time.Duration(p.Seconds) * time.Second, Score: math.NaN()}
		if p.Score != nil {
			m.Score = *p.Score
		}
		raw.Moments = append(raw.Moments, m)
	}
	best := raw.BestSoFar("best so far", 3, lower)
	if report != nil && report.ExactScore != nil && end > 0 {
		raw.Moments = append(raw.Moments, page.Moment{At: end, Score: float64(*report.ExactScore)})
		if with := raw.BestSoFar("", 0, lower).Moments; len(points) == 0 || with[len(points)].Score != with[len(points)-1].Score {
			best.Moments = append(best.Moments, with[len(points)])
		}
	}
	return []page.Line{best, raw}
}

// stopRows are the scores of early stopping, none if stopping earlier would have made no
// difference.
func stopRows(points []grading.Moment, end time.Duration, report *grading.Graded, lower bool) (rows []stopRow) {
	if len(points) == 0 {
		return nil
	}
	final, differs := stopRowOf(points, max(end, stops[len(stops)-1]), end, report, lower), false
	for _, stop := range stops {
		if end > 0 && end <= stop {
			break
		}
		row := stopRowOf(points, stop, end, report, lower)
		differs = differs || row.Score != final.Score
		rows = append(rows, row)
	}
	if !differs {
		return nil
	}
	return rows
}

// stopRowOf returns the score of stopping at a time: that of the last submission before
// it.
func stopRowOf(points []grading.Moment, stop, end time.Duration, report *grading.Graded, lower bool) stopRow {
	row := stopRow{After: fmt.Sprintf("%d h", int(stop.Hours())), Medal: "none", Score: "none", Best: "none"}
	n := 0 // snapshots until then, which are in the order of time
	for n < len(points) && time.Duration(points[n].Seconds)*time.Second <= stop {
		n++
	}
	if best := scoreLines(points[:n], 0, nil, lower)[0].Moments; n > 0 && !math.IsNaN(best[n-1].Score) {
		row.Best = page.Score(best[n-1].Score)
	}
	switch {
	case end > 0 && end <= stop && report != nil:
		row.Note = "the attempt had ended"
		if report.ExactScore != nil {
			row.Score, row.Medal = page.Score(float64(*report.ExactScore)), report.Report.Best()
		}
	case n == 0:
		row.Note = "there was no submission yet"
	case points[n-1].Score == nil:
		row.Note = "the submission was " + string(points[n-1].Outcome)
	default:
		row.Score, row.Medal = page.Score(*points[n-1].Score), points[n-1].Medal
	}
	return row
}

// lanes are what the attempt used and did over time.
func lanes(ctx context.Context, a *shownAttempt) []page.Lane {
	u := a.overTime(ctx)
	if u.begun.IsZero() {
		return nil
	}
	memory := page.Lane{Name: "memory", Write: func(v float64) string { return view.Bytes(int64(v)) }}
	cpu := page.Lane{Name: "CPUs", Write: func(v float64) string { return fmt.Sprintf("%.1f", v) }}
	gpu := page.Lane{Name: "GPU", Write: func(v float64) string { return fmt.Sprintf("%.0f %%", v) }}
	asked := page.Lane{Name: "tokens/min", Write: func(v float64) string { return view.Count(int64(v)) }}
	for _, p := range u.points {
		if p.memory > 0 {
			memory.Samples = append(memory.Samples, page.Sample{At: p.at, Value: float64(p.memory)})
		}
		if p.gpu > 0 || len(gpu.Samples) > 0 {
			gpu.Samples = append(gpu.Samples, page.Sample{At: p.at, Value: float64(p.gpu)})
		}
	}
	cpu.Samples = rates(u.points, func(p useAt) float64 { return p.cpu.Seconds() }, 1)
	asked.Samples = rates(u.points, func(p useAt) float64 { return float64(p.tokens) }, 60)
	var out []page.Lane
	for _, l := range []page.Lane{memory, cpu, gpu, asked} {
		if len(l.Samples) > 1 {
			last := u.points[len(u.points)-1].at
			l.Samples = append(l.Samples, page.Sample{At: last, Value: l.Samples[len(l.Samples)-1].Value})
			out = append(out, l)
		}
	}
	for _, l := range []page.Lane{validityLane(ctx, a, u.begun), codeLane(ctx, a)} {
		if len(l.Events) > 0 {
			out = append(out, l)
		}
	}
	return out
}

// overTime is what the attempt used over time, from the run that executed it.
func (a *shownAttempt) overTime(ctx context.Context) *useOverTime {
	if a.usage != nil {
		return a.usage
	}
	past, _, missing := a.executedBy()
	if missing != "" || past == a.past {
		return &useOverTime{}
	}
	u := &useOverTime{}
	for e, err := range past.Events() {
		if err != nil || ctx.Err() != nil {
			break
		}
		if p, ok := e.(event.StepPhase); ok && p.Address == a.address {
			u.add(p)
		}
	}
	return u
}

// validityLane are the questions to the validity server.
func validityLane(ctx context.Context, a *shownAttempt, begun time.Time) page.Lane {
	l := page.Lane{Name: "validity"}
	text, _ := a.blob(ctx, "validation_log", maxJournal)
	for v := range jsonLines[validity.Call](text) {
		if v.Time.Before(begun) || len(l.Events) >= maxLines {
			continue
		}
		e := page.Event{At: v.Time.Sub(begun), Text: "valid", Link: a.link("checks")}
		if !v.Valid {
			e.Text, e.Bad = oneLine("invalid: "+v.Reason+v.Error, 200), true
		}
		l.Events = append(l.Events, e)
	}
	return l
}

// codeLane are the copies of the code.
func codeLane(ctx context.Context, a *shownAttempt) page.Lane {
	l := page.Lane{Name: "code"}
	all, _ := a.copies(ctx)
	for i, v := range all {
		if i > 0 && v.at != atEnd {
			l.Events = append(l.Events, page.Event{At: v.at, Text: "what changed in the code", Link: a.codeChange(all[i-1], v)})
		}
	}
	return l
}

// maxKin is the number of related attempts whose scores a page draws.
const maxKin = 3

// kinLines are the scores over time of the attempts that share a beginning with this one.
func kinLines(a *shownAttempt) (lines []page.Line) {
	from, _ := forkedFrom(a.result)
	for _, other := range a.kin {
		if len(lines) == maxKin {
			break
		}
		_, after := forkedFrom(other)
		line := page.Line{Name: "forked after " + after, Color: 4 + len(lines)}
		if shortKey(other) == from {
			line.Name = "the attempt that was forked"
		}
		if points := curves(a.History, other)[other]; len(points) > 0 {
			line.Moments = scoreLines(points, 0, nil, false)[1].Moments
			lines = append(lines, line)
		}
	}
	return lines
}
