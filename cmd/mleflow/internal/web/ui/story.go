package ui

import (
	"cmp"
	"fmt"
	"html/template"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/ledger"
	"github.com/mleflow/mleflow/steps/agentrun"
	"github.com/mleflow/mleflow/steps/aggregate"
)

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

// story shows the attempt's course and outcome.
func (o *one) story() error {
	var stats agentrun.Stats
	known := o.step != nil && decode(o.step.Outputs["stats"], &stats)
	d := storyData{}
	g := o.m.sums.Step(o.m.grades[o.address])
	var report *grading.Graded
	if r, ok := o.m.reports[o.m.grades[o.address]]; ok {
		report = &r
	}
	d.Facts = storyFacts(o, known, stats, report, g)
	if o.c.live {
		d.Running = o.underWay()
	}
	if report != nil {
		d.Competition, d.CompetitionLink = report.CompetitionID, "/competitions/"+report.CompetitionID
		d.People = o.people(report.Report)
		d.External = report.MetricExternal
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
	d.Reason = o.attempt.Reason()
	return o.c.add("story", "story", d)
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
	text, class := endCell(o.attempt)
	add("outcome", text, class)
	switch r := &o.attempt.Report; {
	case r.ExactScore != nil:
		add("score", page.Score(float64(*r.ExactScore)), "")
		add("medal", cmp.Or(o.attempt.WithoutMedals(), r.Best()), "")
		if r.Rank != nil {
			add("rank among people", results.Place(*r.Rank, r.Teams), "")
		}
	case g != nil && g.Status != "":
		add("score", "none", "bad")
	}
	spent := took(o.step, o.u.Now(), o.sum)
	if s := o.attempt.Made.WallSeconds; s != nil {
		spent = view.Duration(seconds(*s))
	}
	add("agent's time", spent, "")
	if !known {
		return facts
	}
	if stats.PeakMemoryBytes > 0 {
		add("peak memory", view.Bytes(stats.PeakMemoryBytes), "")
	}
	if use := results.Measured(stats.Models); use != nil {
		var requests, refused int64
		var waited float64
		for _, u := range stats.Models {
			requests, refused, waited = requests+u.Requests, refused+u.Refused, waited+u.WaitedSeconds
		}
		add("model calls", view.Count(requests), "")
		if n := use.Tokens(); n != nil {
			add("tokens", view.Count(int64(*n)), "")
		}
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
	for _, a := range o.m.state.InProgress() {
		if a.Address != o.address {
			continue
		}
		row := runningRow{Address: a.Address, Took: view.Duration(now.Sub(a.Time).Round(time.Second)), Devices: strings.Join(a.Devices, ", ")}
		row.phase(a.Phase, now)
		return []runningRow{row}
	}
	return nil
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

func modelText(u results.ModelUse) string {
	parts := []string{u.Provider + " " + strings.Join(u.Models, ", "), view.Plural(int(u.Requests), "request"),
		view.Count(u.InputTokens) + " tokens in (" + view.Count(u.CachedInputTokens) + " cached)", view.Count(u.OutputTokens) + " out (" + view.Count(u.ReasoningTokens) + " reasoning)", u.Charges()}
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
