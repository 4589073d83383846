package ui

import (
	"cmp"
	"context"
	"html/template"
	"net/url"
	"strings"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/steps/aggregate"
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
	Reason                       string
	External                     bool
	Limits                       []page.Fact
	LogEnd                       string
	Grade                        string
	GradeLink                    string
	Competition, CompetitionLink string
	Findings                     findings
}

// story is the attempt's course and outcome.
func story(ctx context.Context, a *shownAttempt, _ url.Values) storyData {
	d := storyData{Facts: storyFacts(a), Findings: findingsOf(ctx, a), Reason: a.result.Reason(), Grade: a.grader, Running: a.running}
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

func storyFacts(a *shownAttempt) (facts []page.Fact) {
	add := func(name, value, class string) {
		if value != "" {
			facts = append(facts, page.Fact{Name: name, Value: value, Class: class})
		}
	}
	text, class := endCell(a.result)
	add("outcome", text, class)
	switch r := &a.result.Report; {
	case r.ExactScore != nil:
		add("score", page.Score(float64(*r.ExactScore)), "")
		add("medal", cmp.Or(a.result.WithoutMedals(), r.Best()), "")
		if r.Rank != nil {
			add("rank among people", results.Place(*r.Rank, r.Teams), "")
		}
	case a.graded != nil && a.graded.Status != "":
		add("score", "none", "bad")
	}
	spent := took(a.journal, a.Now(), a.run)
	if s := a.result.Made.WallSeconds; s != nil {
		spent = view.Duration(seconds(*s))
	}
	add("agent's time", spent, "")
	if a.stats == nil {
		return facts
	}
	if a.stats.PeakMemoryBytes > 0 {
		add("peak memory", view.Bytes(a.stats.PeakMemoryBytes), "")
	}
	if use := results.Measured(a.stats.Models); use != nil {
		var requests, refused int64
		var waited float64
		for _, u := range a.stats.Models {
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
