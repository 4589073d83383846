package aggregate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/outcome"
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
	def, err := conditions.Definition(catalog, r.CompetitionID, cmp.Or(r.CompetitionVersion, "v1"), r.Conditions)
	if err != nil {
		return nil
	}
	return &def.Medals
}

// conditionsOf returns the conditions of each entry's attempt.
func conditionsOf(entries []Entry) [][]string {
	return lists.Of(entries, func(e Entry) []string { return e.Report.Conditions })
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
		report, err := ReadReport(ctx, env.Store, r)
		if err != nil {
			return nil, err
		}
		if a.args.Version != nil && report.CompetitionVersion != *a.args.Version {
			continue
		}
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

// ReadReport reads a report. The engine knows the conditions under which it was made; the
// report's own claim could have been written by anybody.
func ReadReport(ctx context.Context, store cache.Store, r *step.Artifact) (report grading.Graded, err error) {
	data, err := cache.Get(ctx, store, r.Ref.ID, maxReportBytes)
	if err != nil {
		return report, fmt.Errorf("read report of %s: %w", r.From, err)
	}
	if err := json.Unmarshal(data, &report); err != nil || report.CompetitionID == "" {
		return report, fmt.Errorf("read output %q of %s: it is not a grading report", r.Output, r.From)
	}
	report.MadeUnder(r.Conditions)
	return report, nil
}

// Reported is the attempt of a report, with what the catalog says of its competition.
func Reported(g grading.Graded, catalog *competitions.Catalog) *results.Attempt {
	a := NewEntry(g, catalog).Known()
	a.Category, a.Complexity = catalog.Category(g.CompetitionID), string(catalog.Complexity(g.CompetitionID))
	return a
}

// attempt are the outputs of an agent-run step that are used.
type attempt struct {
	Logs    *step.Artifact `cty:"logs"`
	Outcome string         `cty:"outcome"`
	Stats   stats          `cty:"stats"`
}

type stats struct {
	WallSeconds float64                     `cty:"wall_seconds"`
	CPUSeconds  float64                     `cty:"cpu_seconds"`
	Validations int                         `cty:"validations"`
	Models      map[string]results.ModelUse `cty:"models" optional:"true"`
}

// checkAttempts checks that each attempt belongs to its report.
func (a *aggregation) checkAttempts() error {
	if len(a.args.Attempts) == 0 {
		return nil
	}
	return CheckPairs(a.args.Reports, lists.Of(a.args.Attempts, func(t attempt) *step.Artifact { return t.Logs }))
}

// CheckPairs checks that there is one attempt per report and, as far as the keys of their
// addresses show, that each belongs to its report. attempts has an output of each.
func CheckPairs(reports, attempts []*step.Artifact) error {
	if len(attempts) != len(reports) {
		return fmt.Errorf("there are %d attempts and %d reports; list both in the same order, as values(step.agent-run.NAME) and values(step.grade.NAME)[*].report do",
			len(attempts), len(reports))
	}
	for i, r := range reports {
		report, attempt := instanceKey(r), instanceKey(attempts[i])
		if report != "" && attempt != "" && report != attempt {
			return fmt.Errorf("attempt %d is of %s and report %d of %s; list both in the same order", i+1, attempts[i].From, i+1, r.From)
		}
	}
	return nil
}

// instanceKey returns the ["key"] of the address that made an artifact.
func instanceKey(a *step.Artifact) string {
	if a == nil {
		return ""
	}
	_, key, _ := strings.Cut(a.From, "[")
	return key
}

// known returns the known facts about an attempt. The model gateway's measurements
// override the agent's own figures. Usage that cannot be read is omitted with a
// warning, because the agent wrote it.
func (t attempt) known(ctx context.Context, env *step.Env) (out *results.Made, err error) {
	out = &results.Made{Outcome: outcome.End(t.Outcome), WallSeconds: &t.Stats.WallSeconds, CPUSeconds: &t.Stats.CPUSeconds, Validations: &t.Stats.Validations}
	if out.Usage = results.Measured(t.Stats.Models); out.Usage != nil || t.Logs == nil {
		return out, nil
	}
	out.Usage, err = results.Claimed(ctx, env.Store, t.Logs.Ref)
	switch {
	case errors.Is(err, results.ErrUsage):
		env.Warn(fmt.Sprintf("%s: %v", t.Logs.From, err))
	case err != nil:
		return nil, fmt.Errorf("%s: %w", t.Logs.From, err)
	}
	return out, nil
}

// task returns the form of the task that the entry's agent got, or "" if it is unknown.
func (e Entry) task() string { return taskOf(e.Report.Conditions) }

func taskOf(set []string) string {
	return strings.Join(step.ConditionValues(set, conditions.Task), " ")
}

// splitTasks separates the forms of a task. An agent that tried the same competition
// with the same seed under several forms becomes one agent for each, "NAME (TASK)". It
// returns the names that belong together, the reference's form first, so that they can
// be compared. Entries stay sorted.
func splitTasks(entries []Entry) (forms [][]string) {
	several := map[string]bool{}
	for i := 1; i < len(entries); i++ {
		a, b := entries[i-1], entries[i]
		if compareEntries(a, b) == 0 && a.task() != b.task() {
			several[b.Agent] = true
		}
	}
	names := map[string][]string{}
	for i := range entries {
		e := &entries[i]
		if agent := e.Agent; several[agent] {
			e.Agent += " (" + e.task() + ")"
			names[agent] = append(names[agent], e.Agent)
		}
	}
	slices.SortStableFunc(entries, compareEntries)
	for _, agent := range slices.Sorted(maps.Keys(names)) {
		list := slices.Compact(slices.Sorted(slices.Values(names[agent])))
		reference := agent + " (" + string(competitions.TaskReference) + ")"
		slices.SortStableFunc(list, func(a, b string) int { return board.Count(b == reference) - board.Count(a == reference) })
		forms = append(forms, list)
	}
	return forms
}

// splitBudgets separates the attempts of an agent at one competition that could use
// different resources: they are no further seeds of one result. The agent becomes one for
// each, "NAME (time 24h)". Entries stay sorted.
func splitBudgets(entries []Entry) {
	for own := range chunks(entries, func(e Entry) string { return e.Agent }) {
		several := false
		for at := range chunks(own, func(e Entry) string { return e.Report.CompetitionID }) {
			several = several || len(conditions.Differing(conditionsOf(at)...)) > 1
		}
		if several {
			apart := conditions.Apart(conditionsOf(own)...)
			for i := range own {
				own[i].Whole = own[i].Agent
				own[i].Agent += " (" + apart[i] + ")"
			}
		}
	}
	slices.SortStableFunc(entries, compareEntries)
}

// unscored counts the runs without a finite score by reason; see
// results.Attempt.NoScore.
func unscored(runs []Entry) map[string]int {
	counts := map[string]int{}
	for _, e := range runs {
		if why := e.Known().NoScore(); why != "" {
			counts[why]++
		}
	}
	return counts
}

// Explain tells the board how agents ended, where its step was not given their attempts: a
// missing submission has a cause.
func (b *Board) Explain(list []*results.Attempt) {
	type of struct{ agent, competition, seed string }
	ends, entries := map[of]outcome.End{}, map[string][]Entry{}
	for _, a := range list {
		ends[of{a.Agent, a.Competition(), a.Seed}] = a.Made.Outcome
	}
	for i := range b.Entries {
		e := &b.Entries[i]
		if end := ends[of{e.Agent, e.Report.CompetitionID, e.Seed}]; e.Attempt == nil && end != "" {
			e.Attempt = &results.Made{Outcome: end}
		}
		entries[e.Agent+"\x00"+e.Report.CompetitionID] = append(entries[e.Agent+"\x00"+e.Report.CompetitionID], *e)
	}
	for _, a := range b.Agents {
		for j, r := range a.Competitions {
			a.Competitions[j].Unscored = unscored(entries[a.Name+"\x00"+r.Competition])
		}
	}
}

// unscoredText returns text such as "2 no submission, 1 NaN", or "-" if every run has a
// score.
func unscoredText(counts map[string]int) string {
	if len(counts) == 0 {
		return "-"
	}
	return strings.Join(lists.OfMap(counts, func(why string, n int) string { return fmt.Sprintf("%d %s", n, why) }), ", ")
}

// unsubmitted returns a note for each agent with runs that never submitted.
func (b *Board) unsubmitted() (notes []string) {
	for own := range chunks(final(b.Entries), func(e Entry) string { return e.Agent }) {
		without := slices.DeleteFunc(slices.Clone(own), func(e Entry) bool { return e.Report.SubmissionExists })
		if len(without) == 0 {
			continue
		}
		notes = append(notes, fmt.Sprintf("%s: %d of %d runs never submitted (%s). In percentages and comparisons they count as runs without a medal; means and best scores are computed from the other runs.",
			own[0].Agent, len(without), len(own), unscoredText(unscored(without))))
	}
	return notes
}
