package ui

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/results"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/competitions/export"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/engine/ledger"
	"github.com/mleflow/mleflow/steps/agentrun"
	"github.com/mleflow/mleflow/steps/aggregate"
	"github.com/mleflow/mleflow/steps/grade"
)

// stops are the times of early stopping that a story answers for.
var stops = []time.Duration{time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour}

// storyData is the first page of an attempt.
type storyData struct {
	page.People
	Facts    []page.Fact
	Running  []runningRow
	OffScale bool
	// Scored reports whether the curve has scores.
	Scored bool
	Curve  template.HTML
	// NoCurve explains a missing score over time. Spoilt is the last snapshot's score of
	// a submission without a score.
	NoCurve, Spoilt              string
	Stops                        []stopRow
	Place                        template.HTML
	Reason                       string
	External                     bool
	Limits                       []page.Fact
	LogEnd                       string
	Grade                        string
	GradeLink                    string
	Competition, CompetitionLink string
	Findings                     findings
}

// stopRow shows the score that early stopping would have given.
type stopRow struct {
	After, Score, Medal, Best, Note string
}

// story shows the attempt's course and outcome.
func (o *one) story() error {
	var stats agentrun.Stats
	known := o.step != nil && decode(o.step.Outputs["stats"], &stats)
	d := storyData{}
	g := o.m.sums.Step(o.m.grades[o.address])
	report := o.report(g)
	d.Facts = storyFacts(o, known, stats, report, g)
	if o.c.live {
		d.Running = o.underWay()
	}
	if report != nil {
		d.Competition, d.CompetitionLink = report.CompetitionID, "/competitions/"+report.CompetitionID
		d.People = o.people(report.Report)
		d.Reason, d.External = report.Reason, report.MetricExternal
		if report.ExactScore != nil {
			d.Place, d.OffScale = page.Distribution(d.People, []page.Row{{Name: "this attempt", Scores: []float64{float64(*report.ExactScore)}}})
		}
	}
	o.curve(&d, g, stats, report)
	if len(o.m.grades[o.address]) > 0 {
		d.Grade, d.GradeLink = o.m.grades[o.address], stepAddress(o.sum.ID, o.m.grades[o.address], "grade")
	}
	d.Findings = o.findings()
	lines := o.m.past.Tail(o.address, tailLines)
	d.LogEnd = strings.Join(lines, "\n")
	if why := o.ended(); why != "" {
		d.Reason = why
	}
	return o.c.add("story", "story", d)
}

// ended is how the attempt ended, "" if it finished: a crash explains more than that
// there is no submission.
func (o *one) ended() string {
	var out view.Outcomes
	if o.step == nil {
		return ""
	}
	out.Add(o.step.Finished(), o.sum.ID, nil)
	out.Explain(1, o.u.tail)
	if len(out.Problems) == 0 {
		return ""
	}
	return out.Problems[0].What()
}

// report is the grading report of the attempt, nil if there is none or it is no
// longer there.
func (o *one) report(g *ledger.StepSummary) *grading.Graded {
	if g == nil || g.Outputs["report"] == "" {
		return nil
	}
	r, err := results.Read[grading.Graded](o.ctx, o.store, g.Outputs["report"])
	if err != nil {
		return nil
	}
	return &r
}

// people is the human leaderboard of a report's competition; without a
// definition only the thresholds are known.
func (o *one) people(r grading.Report) page.People {
	p := page.PeopleOf(r)
	if catalog, err := o.u.Catalog(o.m.past); err == nil {
		if def, err := catalog.Get(r.CompetitionID); err == nil {
			p.Human = def.Medals.Scores
		}
	}
	return p
}

func storyFacts(o *one, known bool, stats agentrun.Stats, report *grading.Graded, g *ledger.StepSummary) []page.Fact {
	var facts []page.Fact
	add := func(name, value, class string) {
		if value != "" {
			facts = append(facts, page.Fact{Name: name, Value: value, Class: class})
		}
	}
	row := attemptRowOf(o.m, o.sum, o.address, o.u.Now())
	class := "good"
	if row.Bad {
		class = "bad"
	}
	add("outcome", cmp.Or(row.Outcome, row.Status), class)
	switch {
	case report != nil && report.ExactScore != nil:
		add("score", page.Score(float64(*report.ExactScore)), "")
		add("medal", report.Report.Best(), "")
		if report.Rank != nil {
			add("rank among people", export.Place(*report.Rank, report.Teams), "")
		}
	case row.Score != "":
		add("score", row.Score, "")
		add("medal", row.Medal, "")
	case g != nil && g.Status != "":
		add("score", "none", "bad")
	}
	add("agent's time", row.Took, "")
	if !known {
		return facts
	}
	if stats.PeakMemoryBytes > 0 {
		add("peak memory", view.Bytes(stats.PeakMemoryBytes), "")
	}
	if use := export.Measured(stats.Models); use != nil {
		var requests, refused int64
		var waited float64
		for _, u := range stats.Models {
			requests, refused, waited = requests+u.Requests, refused+u.Refused, waited+u.WaitedSeconds
		}
		add("model calls", view.Count(requests), "")
		add("tokens", aggregate.TokensText(use), "")
		add("cost (USD)", aggregate.CostText(use), "")
		if waited >= 1 {
			add("waited for the provider", view.Duration(seconds(waited)), "")
		}
		if refused > 0 {
			add("model calls refused", view.Count(refused), "warn")
		}
	}
	return facts
}

// underWay is how a running attempt stands.
func (o *one) underWay() []runningRow {
	now := o.u.Now()
	for _, a := range o.m.state.Running() {
		if a.Address != o.address {
			continue
		}
		row := runningRow{Address: a.Address, Took: view.Duration(now.Sub(a.Time).Round(time.Second)), Devices: strings.Join(a.Devices, ", ")}
		row.phase(a.Phase, now)
		return []runningRow{row}
	}
	return nil
}

// curve draws the scores of the snapshots with what the attempt used and did, and those
// of early stopping.
func (o *one) curve(d *storyData, g *ledger.StepSummary, stats agentrun.Stats, report *grading.Graded) {
	end := seconds(stats.WallSeconds)
	c := page.Course{Curves: page.Curves{People: d.People, Until: end, Marks: stops}, Lanes: o.lanes()}
	var points []grading.Moment
	switch {
	case g == nil || g.Outputs["curve"] == "":
		d.NoCurve = "There is no score over time: no step has graded the attempt yet."
	case !decode(g.Outputs["curve"], &points) || len(points) == 0:
		d.NoCurve = "There is no score over time: the attempt kept no snapshots, or its grade step was not given them. snapshot_every = \"10m\" in the agent-run step keeps them, and snapshots = step.agent-run.NAME[each.key].snapshots in the grade step scores them."
	default:
		c.Lines = scoreLines(points, end, report, d.LowerIsBetter)
		d.Scored = true
	}
	d.Curve = c.Draw()
	if d.Curve == "" && d.NoCurve == "" {
		d.NoCurve = "None of the " + view.Plural(len(points), "snapshot") + " has a score."
	}
	if report != nil {
		d.Spoilt = grade.Spoilt(report.Outcome, points)
	}
	d.Stops = stopRows(points, end, report, d.LowerIsBetter)
}

// scoreLines are the scores of the snapshots, and the best so far.
func scoreLines(points []grading.Moment, end time.Duration, report *grading.Graded, lower bool) []page.Line {
	raw, best := page.Line{Name: "score", Color: 0}, page.Line{Name: "best so far", Steps: true, Color: 3}
	so := math.NaN()
	for _, p := range points {
		m := page.Moment{At: time.Duration(p.Seconds) * time.Second, Score: math.NaN()}
		if p.Score != nil {
			m.Score = *p.Score
			if math.IsNaN(so) || better(*p.Score, so, lower) {
				so = *p.Score
			}
		}
		raw.Moments = append(raw.Moments, m)
		best.Moments = append(best.Moments, page.Moment{At: m.At, Score: so})
	}
	if report != nil && report.ExactScore != nil && end > 0 {
		final := page.Moment{At: end, Score: float64(*report.ExactScore)}
		raw.Moments = append(raw.Moments, final)
		if math.IsNaN(so) || better(final.Score, so, lower) {
			best.Moments = append(best.Moments, final)
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

func better(a, b float64, lower bool) bool {
	if lower {
		return a < b
	}
	return a > b
}

// stopRowOf returns the score of stopping at a time: that of the last submission before
// it.
func stopRowOf(points []grading.Moment, stop, end time.Duration, report *grading.Graded, lower bool) stopRow {
	row := stopRow{After: fmt.Sprintf("%d h", int(stop.Hours())), Medal: "none", Score: "none", Best: "none"}
	var last *grading.Moment
	best := math.NaN()
	for i, p := range points { // in the order of time
		if time.Duration(p.Seconds)*time.Second > stop {
			break
		}
		last = &points[i]
		if p.Score != nil && (math.IsNaN(best) || better(*p.Score, best, lower)) {
			best = *p.Score
		}
	}
	switch {
	case end > 0 && end <= stop && report != nil:
		row.Note = "the attempt had ended"
		if report.ExactScore != nil {
			row.Score, row.Medal = page.Score(float64(*report.ExactScore)), report.Report.Best()
		}
	case last == nil:
		row.Note = "there was no submission yet"
	case last.Score == nil:
		row.Note = "the submission was " + string(last.Outcome)
	default:
		row.Score, row.Medal = page.Score(*last.Score), last.Medal
	}
	if !math.IsNaN(best) {
		row.Best = page.Score(best)
	}
	return row
}

// about is the attempt's limits, environment, figures and key.
func (o *one) about() error {
	d := struct {
		Stats, Models, Limits, Fields, Environment, Packages []page.Fact
		Missing, RunNote                                     string
	}{Missing: o.why}
	var stats agentrun.Stats
	if o.step != nil && decode(o.step.Outputs["stats"], &stats) {
		d.Stats = statFacts(stats)
		for _, name := range sortedKeys(stats.Models) {
			d.Models = append(d.Models, page.Fact{Name: name, Value: modelText(stats.Models[name])})
		}
	}
	limits := map[string]bool{"timeout": true, "resources": true, "disk_limit": true, "processes": true, "shm": true, "network": true, "runtime": true, "handler": true, "user": true, "capabilities": true, "limits": true, "snapshot_every": true}
	for _, f := range o.fields() {
		name, _, _ := strings.Cut(f.Name, ".")
		if limits[name] || limits[strings.TrimPrefix(f.Name, "arg ")] || strings.Contains(f.Name, "limit") || strings.Contains(f.Name, "resources") || strings.Contains(f.Name, "timeout") {
			d.Limits = append(d.Limits, f)
			continue
		}
		d.Fields = append(d.Fields, f)
	}
	past := o.m.past
	if o.record != nil && o.record.Run != "" && o.record.Run != o.sum.ID {
		if other, err := o.u.Ledger.Open(o.record.Run); err == nil {
			past = other
			d.RunNote = "The attempt was executed by the run " + o.record.Run + "."
		} else {
			d.RunNote = "The attempt was executed by the run " + o.record.Run + ", which is not in this ledger; this is the environment of the present one."
		}
	}
	d.Environment, d.Packages = page.Environment(past.Info), o.packages()
	return o.c.add("about", "attempt about", d)
}

// packages returns the packages of the agent's Python environment, as listed by the step
// that installed them.
func (o *one) packages() (facts []page.Fact) {
	for _, address := range o.m.after(o.address) {
		var versions map[string]string
		if s := o.sum.Step(address); o.m.kind(address) == "python" && s != nil && decode(s.Outputs["packages"], &versions) {
			for _, name := range sortedKeys(versions) {
				facts = append(facts, page.Fact{Name: name, Value: versions[name]})
			}
		}
	}
	return facts
}

func statFacts(s agentrun.Stats) []page.Fact {
	facts := []page.Fact{{Name: "wall time", Value: view.Duration(seconds(s.WallSeconds))}, {Name: "processor time", Value: view.Duration(seconds(s.CPUSeconds))},
		{Name: "peak memory", Value: view.Bytes(s.PeakMemoryBytes)}, {Name: "exit status", Value: fmt.Sprint(s.ExitCode)}, {Name: "runtime", Value: s.Runtime},
		{Name: "isolated", Value: yes(s.Isolated)}, {Name: "network", Value: s.Network}, {Name: "connections", Value: fmt.Sprint(s.Connections)}, {Name: "validity calls", Value: fmt.Sprint(s.Validations)},
		{Name: "refused calls of mlebench", Value: fmt.Sprint(s.ShimCalls)}, {Name: "resumed", Value: yes(s.Resumed)}}
	add := func(name, value string) {
		if value != "" {
			facts = append(facts, page.Fact{Name: name, Value: value})
		}
	}
	add("devices", strings.Join(s.Devices, ", "))
	for _, what := range sortedKeys(s.Enforced) {
		add("limit of "+what+" held by", s.Enforced[what])
	}
	add("lost services", strings.Join(s.LostServices, ", "))
	add("not harvested", strings.Join(s.LeftOut, "; "))
	if s.LeftoverProcesses > 0 {
		add("processes left at the end", fmt.Sprint(s.LeftoverProcesses))
	}
	if s.LogBytesDropped > 0 {
		add("log left out", view.Bytes(s.LogBytesDropped))
	}
	return facts
}

func yes(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}

func modelText(u export.ModelUse) string {
	parts := []string{u.Provider + " " + strings.Join(u.Models, ", "), view.Plural(int(u.Requests), "request"),
		view.Count(u.InputTokens) + " tokens in (" + view.Count(u.CachedInputTokens) + " cached)", view.Count(u.OutputTokens) + " out (" + view.Count(u.ReasoningTokens) + " reasoning)", "$" + u.CostUSD + u.ToolCharges()}
	for _, n := range []struct {
		n    int64
		what string
	}{{u.Refused, "refused"}, {u.Failed, "failed"}, {u.Retries, "retries"}, {u.Replayed, "replayed"}, {u.Unreported, "without reported usage"}} {
		if n.n > 0 {
			parts = append(parts, view.Count(n.n)+" "+n.what)
		}
	}
	parts = append(parts, "first byte after "+view.Duration(seconds(u.FirstByteMedian))+" (median), "+view.Duration(seconds(u.FirstByteLongest))+" (longest)", "waited "+view.Duration(seconds(u.WaitedSeconds)))
	if u.Exhausted {
		parts = append(parts, "budget exhausted")
	}
	return strings.Join(parts, " · ")
}
