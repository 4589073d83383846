package aggregate

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/step"
)

// Entry is one report.
type Entry struct {
	Agent  string            `json:"agent"`
	Seed   string            `json:"seed"`
	Labels map[string]string `json:"labels,omitempty"`
	Report grading.Report    `json:"report"`
	// Margins are the differences between the score and the thresholds.
	Margins map[grading.Threshold]grading.Margin `json:"margins,omitempty"`
	// RoundingDecides lists the thresholds that are reached, or missed, only because
	// scores are rounded.
	RoundingDecides []grading.Threshold `json:"rounding_decides,omitempty"`
	// MedalOnNonFinite means that a medal is based on a score that is not finite.
	MedalOnNonFinite bool `json:"medal_on_non_finite,omitempty"`
	// Attempt describes how the submission was made; nil if unknown.
	Attempt *results.Made `json:"attempt,omitempty"`
	// Origin is that of the report, which is not stored.
	Origin *grading.Origin `json:"-"`
	// Whole is the agent of which splitBudgets made several; "" elsewhere. It is not stored.
	Whole string `json:"-"`
}

// NewEntry makes an entry of a report. The agent is the label "agent".
func NewEntry(g grading.Graded, catalog *competitions.Catalog) Entry {
	a := results.OfReport(g)
	e := Entry{
		Agent: a.Agent, Seed: a.Seed, Labels: g.Labels, Report: g.Report, Origin: g.Origin,
		RoundingDecides: g.RoundingDecides(), MedalOnNonFinite: g.MedalOnNonFinite(),
	}
	e.Margins = g.Margins(medalsOf(catalog, g.Report))
	if g.Origin != nil {
		e.Attempt = &a.Made
	}
	return e
}

// medalsOf returns the human leaderboard that a report was compared with; nil
// if unknown.
func medalsOf(catalog *competitions.Catalog, r grading.Report) *competitions.Medals {
	def, err := catalog.Get(r.CompetitionID)
	if err == nil && r.CompetitionVersion != "" {
		def, err = def.At(r.CompetitionVersion)
	}
	if err != nil {
		return nil
	}
	if conditions.Rehearsed(r.Conditions) {
		def = def.Rehearsed()
	}
	return &def.Medals
}

// conditionsOf returns the conditions of each entry's attempt.
func conditionsOf(entries []Entry) [][]string {
	sets := make([][]string, len(entries))
	for i, e := range entries {
		sets[i] = e.Report.Conditions
	}
	return sets
}

// Known returns the attempt with what the entry says of it.
func (e Entry) Known() *results.Attempt {
	a := &results.Attempt{Agent: e.Agent, Seed: e.Seed, Labels: e.Labels, Graded: true, Report: e.Report, Margins: e.Margins}
	if e.Attempt != nil {
		a.Made = *e.Attempt
	}
	return a
}

// graded returns the report from which the entry was made.
func (e Entry) graded() grading.Graded {
	return grading.Graded{Report: e.Report, Labels: e.Labels, Origin: e.Origin}
}

// compareEntries orders by agent, competition and seed; numeric seeds are
// compared as numbers.
func compareEntries(a, b Entry) int {
	return cmp.Or(
		board.CompareNames(a.Agent, b.Agent),
		strings.Compare(a.Report.CompetitionID, b.Report.CompetitionID),
		results.CompareSeeds(a.Seed, b.Seed),
	)
}

// SortEntries sorts entries in the order that NewBoard requires.
func SortEntries(entries []Entry) { slices.SortStableFunc(entries, compareEntries) }

// entries reads the reports of the wanted version.
func (a *aggregation) entries(ctx context.Context, env *step.Env) ([]Entry, error) {
	var entries []Entry
	for i, r := range a.args.Reports {
		data, err := cache.Get(ctx, env.Store, r.Ref.ID, maxReportBytes)
		if err != nil {
			return nil, fmt.Errorf("read report of %s: %w", r.From, err)
		}
		var report grading.Graded
		if err := json.Unmarshal(data, &report); err != nil || report.CompetitionID == "" {
			return nil, fmt.Errorf("read output %q of %s: it is not a grading report", r.Output, r.From)
		}
		if a.args.Version != nil && report.CompetitionVersion != *a.args.Version {
			continue
		}
		// The engine knows the conditions under which the report was made. The report's
		// own claim could have been written by anybody.
		report.MadeUnder(r.Conditions)
		e := NewEntry(report, a.catalog)
		e.Agent = cmp.Or(a.args.Labels[e.Agent], e.Agent)
		if len(a.args.Attempts) > 0 {
			if e.Attempt, err = a.args.Attempts[i].known(ctx, env); err != nil {
				return nil, err
			}
		}
		entries = append(entries, e)
	}
	if len(entries) == 0 {
		return nil, fmt.Errorf("no report is of version %q", *a.args.Version)
	}
	SortEntries(entries)
	return entries, nil
}
