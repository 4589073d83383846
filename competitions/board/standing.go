package board

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/lists"

	"github.com/mleflow/mleflow/cache/leaf/plain"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/grading"
)

// Unlabelled is the agent of reports without the label "agent".
const Unlabelled = "(unlabelled)"

// Standing is an agent's reports and what follows from them.
type Standing struct {
	Name  string
	File  File
	Board Board
	// Uncounted are the conditions of the attempts that do not count; see conditions.Final.
	Uncounted [][]string
}

// Selection says which of the reports in some files are an agent's, and how they count.
type Selection struct {
	// Agent and Version select the reports that count, by agent and by version of the
	// competitions. "" is any, if all reports have the same.
	Agent, Version string
	// Class are the conditions of the reports that count, or conditions.AnyClass. Without
	// them the reports of a competition must agree in conditions.Budgets.
	Class []string
	// Unflagged lets attempts in which a rule check found something count as no valid
	// submission; see Unflagged.
	Unflagged bool
	// Mixed lets reports of several agents count as one's.
	Mixed  bool
	Splits []SplitIDs
	Seeds  Seeds
	// Partial allows a board in which no split is complete: agents can be compared
	// there.
	Partial bool
}

// Of returns the standing of the agent of some reports. Without a label it is called by the
// paths that they are from.
func (q Selection) Of(file File, paths []string) (s Standing, err error) {
	s.File = file
	if s.File.Reports, err = ofVersion(s.File.Reports, q.Version); err != nil {
		return s, err
	}
	if q.Agent != "" || !q.Mixed {
		if s.File.Reports, err = ofAgent(s.File.Reports, q.Agent); err != nil {
			return s, err
		}
	}
	if s.File.Reports, s.Uncounted, err = Counted(s.File.Reports); err != nil {
		return s, err
	}
	if s.File.Reports, err = ofClass(s.File.Reports, q.Class); err != nil {
		return s, err
	}
	if q.Unflagged {
		if !slices.ContainsFunc(s.File.Reports, checked) {
			return s, errors.New("no report says that a rule check looked at its attempt, so none can be flagged; name a run or a bundle with steps of kind check")
		}
		s.File.Reports = lists.Of(s.File.Reports, Unflagged)
	}
	if q.Seeds.PadMissing {
		if err := refuseFailures(s.File, q.Splits); err != nil {
			return s, err
		}
	}
	s.Name = agentName(s.File.Reports, paths)
	if s.Board, err = NewBoard(AllFlags(s.File.Reports), q.Splits, q.Seeds); q.Partial {
		err = nil
	}
	return s, err
}

// pick returns the reports with a key, and all keys.
func pick(reports []grading.Graded, want string, key func(grading.Graded) string) (own []grading.Graded, keys []string) {
	for _, r := range reports {
		k := key(r)
		if !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
		if k == want {
			own = append(own, r)
		}
	}
	slices.SortFunc(keys, CompareNames)
	return own, keys
}

// ofVersion returns the reports of a version; without one all, unless some are
// of masked versions and some are not: they would count as further seeds.
func ofVersion(reports []grading.Graded, version string) ([]grading.Graded, error) {
	own, versions := pick(reports, version, versionOf)
	others := slices.DeleteFunc(slices.Clone(versions), competitions.IsMasked)
	switch {
	case version != "" && len(own) == 0:
		return nil, fmt.Errorf("no report is of version %s; there are %s", version, cmp.Or(plain.List(versions), "no reports"))
	case version != "":
		return own, nil
	case len(others) > 0 && len(others) < len(versions):
		return nil, fmt.Errorf("the reports are of masked and other versions, %s; choose one with --version, and another with --against-version", plain.List(versions))
	}
	return reports, nil
}

func versionOf(g grading.Graded) string { return cmp.Or(g.CompetitionVersion, "v1") }

// ofAgent returns the reports labelled with an agent; without a name all,
// if they are of one agent.
func ofAgent(reports []grading.Graded, agent string) ([]grading.Graded, error) {
	own, names := pick(reports, agent, func(g grading.Graded) string { return cmp.Or(g.Labels["agent"], Unlabelled) })
	switch {
	case agent != "" && len(own) == 0:
		return nil, fmt.Errorf("no report is labelled with agent %q; there are %s", agent, cmp.Or(plain.List(names), "no reports"))
	case agent != "":
		return own, nil
	case len(names) > 1:
		return nil, fmt.Errorf("the reports are of several agents, %s; choose one with --agent, and another with --against-agent", plain.List(names))
	}
	return reports, nil
}

// Counted returns the reports of attempts that count, and the conditions of the others:
// results that are not final, and forks. All figures are of these. It is an error if
// there are none, or if some are of a rehearsal and some are not.
func Counted(reports []grading.Graded) (own []grading.Graded, others [][]string, err error) {
	of := func(g grading.Graded) []string { return g.Conditions }
	own, others = conditions.Counted(reports, of)
	err = conditions.CheckData(lists.Of(own, of)...)
	if len(own) == 0 && len(others) > 0 {
		err = fmt.Errorf("no attempt counts: %s; mleflow show and export have their scores", strings.TrimPrefix(conditions.RepeatsOf(others...).String(), ", "))
	}
	return own, others, err
}

// ofClass returns the reports under some conditions. Without any, it returns all,
// unless attempts at a competition could use different resources: they would count as
// further seeds.
func ofClass(reports []grading.Graded, wanted []string) ([]grading.Graded, error) {
	if slices.Contains(wanted, conditions.AnyClass) {
		return reports, nil
	}
	by := map[string][][]string{}
	var own []grading.Graded
	for _, g := range reports {
		if conditions.InClass(g.Conditions, wanted) {
			by[g.CompetitionID], own = append(by[g.CompetitionID], g.Conditions), append(own, g)
		}
	}
	if len(own) == 0 && len(reports) > 0 {
		return nil, fmt.Errorf("no attempt was made under %s; attempts are of class %s", strings.Join(wanted, ", "), Standing{File: File{Reports: reports}}.Class(nil))
	}
	for _, id := range slices.Sorted(maps.Keys(by)) {
		if differ := conditions.Differing(by[id]...); len(differ) > 1 {
			return nil, fmt.Errorf("attempts at %s were made under different conditions and are not further seeds:\n  %s\nchoose them with --class, such as --class time=24h, or take all with --class any", id, strings.Join(differ, "\n  "))
		}
	}
	return own, nil
}

// refuseFailures keeps runs that could not be graded, which is not a failure of
// the agent, from being counted as one.
func refuseFailures(file File, splits []SplitIDs) error {
	for _, f := range file.Failures {
		for _, s := range splits {
			if slices.Contains(s.IDs, f.CompetitionID) {
				return fmt.Errorf("pad missing reports: line %d, %s, could not be graded (%s), which is no failure of the agent; grade it again, or leave out --pad-missing",
					f.Line, f.CompetitionID, f.Reason)
			}
		}
	}
	return nil
}

// Under describes the attempts at competitions; no competitions are all.
func (s Standing) Under(ids []string) conditions.Under {
	return conditions.UnderOf(s.Conditions(ids)...)
}

// Class is the class of attempts at competitions; no competitions are all.
func (s Standing) Class(ids []string) string { return conditions.Class(s.Conditions(ids)...) }

// Conditions are the conditions of attempts at competitions; no competitions are all.
func (s Standing) Conditions(ids []string) [][]string {
	chosen := lists.Where(s.File.Reports, func(g grading.Graded) bool { return ids == nil || slices.Contains(ids, g.CompetitionID) })
	return lists.Of(chosen, func(g grading.Graded) []string { return g.Conditions })
}

// Reports are the reports of the agent's attempts.
func (s Standing) Reports() []grading.Report {
	return lists.Of(s.File.Reports, func(g grading.Graded) grading.Report { return g.Report })
}

// Stopped is a leaderboard had every attempt been stopped at a time.
type Stopped struct {
	Hours float64 `json:"hours"`
	Board
	At time.Duration `json:"-"`
}

// stopped returns the reports had every attempt been stopped at a time.
func stopped(reports []grading.Graded, at time.Duration) (out []grading.Graded, err error) {
	out = make([]grading.Graded, len(reports))
	for i, g := range reports {
		if out[i], err = g.Stopped(at); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Stopped returns the boards of an agent had its attempts been stopped early.
func (q Selection) Stopped(s Standing, times []time.Duration) ([]Stopped, error) {
	var out []Stopped
	for _, at := range times {
		reports, err := stopped(s.File.Reports, at)
		if err != nil {
			return nil, fmt.Errorf("--at: %w", err)
		}
		b, err := NewBoard(AllFlags(reports), q.Splits, q.Seeds)
		if err != nil && !q.Partial {
			return nil, err
		}
		out = append(out, Stopped{Hours: at.Hours(), Board: b, At: at})
	}
	return out, nil
}

// RuleTally sums up what rule checks found in the attempts of an agent.
type RuleTally struct {
	Attempts int `json:"attempts"`
	// Checked is the number of attempts that a step of kind check examined, Warned the
	// number with a warning.
	Checked int `json:"checked"`
	Warned  int `json:"warned"`
	// Rules counts the attempts that each rule warns of.
	Rules map[string]int `json:"rules"`
}

// Integrity counts an agent's attempts by label, and its medals in two ways.
type Integrity struct {
	Attempts int            `json:"attempts"`
	Labels   map[string]int `json:"labels"`
	// AsSuccess and AsFailure are the percentages of attempts with a medal if those that are
	// suspect or tampered count as they are, and if they count as failures.
	AsSuccess float64 `json:"any_medal_percentage_if_success"`
	AsFailure float64 `json:"any_medal_percentage_if_failure"`
}

// Integrity sums up the labels; nil without attempts.
func (s Standing) Integrity() *Integrity {
	i := &Integrity{Attempts: len(s.File.Reports), Labels: map[string]int{}}
	if i.Attempts == 0 {
		return nil
	}
	as, fair := 0, 0
	for _, g := range s.File.Reports {
		i.Labels[string(g.IntegrityOf())]++
		as += Count(g.Medals.Best() != "none")
		fair += Count(Unflagged(g).Medals.Best() != "none")
	}
	i.AsSuccess, i.AsFailure = 100*float64(as)/float64(i.Attempts), 100*float64(fair)/float64(i.Attempts)
	return i
}

// Found says in sentences what was found in the attempts of an agent.
func (s Standing) Found(agent string) (notes []string) {
	if t := s.RuleTally(); t != nil {
		notes = append(notes, t.Sentence(agent))
	}
	i := s.Integrity()
	if i == nil || i.Labels[string(grading.Suspect)]+i.Labels[string(grading.Tampered)] == 0 {
		return notes
	}
	text := fmt.Sprintf("Integrity of %s: %d of %d attempts suspect, %d tampered", agent, i.Labels[string(grading.Suspect)], i.Attempts, i.Labels[string(grading.Tampered)])
	if i.AsSuccess != i.AsFailure {
		text += fmt.Sprintf("; medals in %.1f %% of attempts, and in %.1f %% if these count as failures", i.AsSuccess, i.AsFailure)
	}
	return append(notes, text+".")
}

// RuleTally is nil if no attempt is known to have been checked.
func (s Standing) RuleTally() *RuleTally {
	t := &RuleTally{Attempts: len(s.File.Reports), Rules: map[string]int{}}
	for _, g := range s.File.Reports {
		if !checked(g) {
			continue
		}
		t.Checked++
		t.Warned += Count(len(g.Origin.WarnedBy) > 0)
		for _, name := range g.Origin.WarnedBy {
			t.Rules[name]++
		}
	}
	if t.Checked == 0 {
		return nil
	}
	return t
}

// Sentence says it of an agent.
func (t *RuleTally) Sentence(agent string) string {
	by := lists.OfMap(t.Rules, func(name string, n int) string { return fmt.Sprintf("%s %d", name, n) })
	text := fmt.Sprintf("Rule checks of %s: warnings in %d of %d attempts", agent, t.Warned, t.Checked)
	if len(by) > 0 {
		text += " (" + strings.Join(by, ", ") + ")"
	}
	if left := t.Attempts - t.Checked; left > 0 {
		text += fmt.Sprintf("; %d not checked", left)
	}
	return text + "."
}
