package firstscreen

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/export"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/ledger"
	"github.com/mleflow/mleflow/engine/plan"
	"github.com/mleflow/mleflow/steps/aggregate"
)

// Attempt is an attempt of a run with what is known of it.
type Attempt struct {
	// Address is its step; that of the step that grades it if no step of the run made it.
	Address                  string
	Agent, Competition, Seed string
	State                    State
	// Outcome is how the agent ended, Reason why there is no score.
	Outcome, Reason string
	Score           *float64
	stats           struct {
		WallSeconds float64                    `json:"wall_seconds"`
		Models      map[string]export.ModelUse `json:"models"`
	}
	known bool
}

// Pair is the steps of an attempt; either may be empty.
type Pair struct{ Attempt, Grade string }

// Source provides the data of a first screen.
type Source struct {
	// Pairs are the attempts of the run, in the order of its plan.
	Pairs []Pair
	// Step returns what happened to a step; nil for nothing.
	Step func(address string) *ledger.StepSummary
	// Reports are the grading reports that can be read, by the addresses of their steps.
	Reports map[string]grading.Graded
	Boards  Boards
	Catalog *competitions.Catalog
	Live    bool
	// Evaluation is the state of the run's evaluation; nil without one.
	Evaluation *plan.Evaluation
	// Link returns the address of a step's page; nil in a file.
	Link func(address string) string
}

// attempts returns the attempts by competition, agent and seed.
func (s *Source) attempts() []Attempt {
	out := make([]Attempt, len(s.Pairs))
	names := s.naming()
	for i, p := range s.Pairs {
		a := &out[i]
		a.Address = cmp.Or(p.Attempt, p.Grade)
		var report *grading.Graded
		if g, ok := s.Reports[p.Grade]; ok {
			report = &g
			a.Agent, a.Competition, a.Seed = cmp.Or(g.Labels["agent"], board.Unlabelled), g.CompetitionID, g.Labels["seed"]
		} else {
			a.Agent, a.Competition, a.Seed = names.of(a.Address)
		}
		a.read(s.Step(p.Attempt), s.Step(p.Grade))
		a.State = s.state(p, a, report)
	}
	slices.SortStableFunc(out, func(a, b Attempt) int {
		return cmp.Or(board.CompareNames(a.Competition, b.Competition), board.CompareNames(a.Agent, b.Agent), aggregate.CompareSeeds(a.Seed, b.Seed))
	})
	return out
}

// read takes what the steps gave.
func (a *Attempt) read(attempt, grade *ledger.StepSummary) {
	// What is not there or not of this form says nothing.
	if attempt != nil {
		_ = json.Unmarshal([]byte(attempt.Outputs["outcome"]), &a.Outcome)
		a.known = json.Unmarshal([]byte(attempt.Outputs["stats"]), &a.stats) == nil
		a.Reason = attempt.Error
	}
	if grade != nil {
		_ = json.Unmarshal([]byte(grade.Outputs["score"]), &a.Score)
		_ = json.Unmarshal([]byte(grade.Outputs["reason"]), &a.Reason)
		a.Reason = cmp.Or(a.Reason, grade.Error)
	}
}

// State is how an attempt stands, the best first.
type State string

// The states of attempts.
const (
	Gold    State = "gold"
	Silver  State = "silver"
	Bronze  State = "bronze"
	Median  State = "median"
	Miss    State = "miss"
	Scored  State = "scored" // where there is nobody to compare with
	Invalid State = "invalid"
	Failed  State = "failed"
	Running State = "running"
	Waiting State = "waiting"
	Stopped State = "stopped"
)

// states are the states in order, with their signs and their names.
var states = []struct {
	State
	Sign, Name string
}{
	{Gold, "G", "gold"}, {Silver, "S", "silver"}, {Bronze, "B", "bronze"}, {Median, "▲", "above the median"}, {Miss, "–", "no medal"}, {Scored, "✓", "scored"},
	{Invalid, "!", "no valid submission"}, {Failed, "✕", "failed"}, {Running, "…", "running"}, {Waiting, "", "waiting"}, {Stopped, "○", "not run"},
}

// Sign is the sign of the state in a matrix.
func (s State) Sign() string { return states[s.place()].Sign }

// Name is the state for people.
func (s State) Name() string { return states[s.place()].Name }

func (s State) place() int {
	for i := range states {
		if states[i].State == s {
			return i
		}
	}
	return len(states) - 1
}

// EndText is the outcome of an attempt or of its grading for people.
func EndText(outcome string) string {
	switch grading.Outcome(outcome) {
	case grading.InvalidScore:
		return "invalid submission"
	case grading.Missing:
		return "no submission"
	}
	return strings.ReplaceAll(outcome, "_", " ")
}

// Bad reports whether the attempt gave no score.
func (s State) Bad() bool { return s == Invalid || s == Failed }

func (s *Source) state(p Pair, a *Attempt, report *grading.Graded) State {
	attempt, grade := s.Step(p.Attempt), s.Step(p.Grade)
	switch {
	case ended(grade) && grade.Outputs["score"] != "" && a.Score != nil:
		return medal(grade, report)
	case ended(grade) && a.Outcome != "" && a.Outcome != finished, attempt != nil && attempt.Status == event.Failed, grade != nil && grade.Status == event.Failed:
		return Failed
	case ended(grade):
		return Invalid
	case ended(attempt) && a.Outcome != finished && (p.Grade == "" || !s.Live || grade != nil && grade.Status != ""):
		return Failed
	case ended(attempt) && p.Grade == "":
		return Scored
	}
	return s.underWay(p, attempt, grade)
}

// finished is the outcome of an attempt whose agent ended by itself.
const finished = "finished"

func ended(s *ledger.StepSummary) bool {
	return s != nil && (s.Status == event.Ran || s.Status == event.Cached)
}

// underWay is the state of an attempt without a result.
func (s *Source) underWay(p Pair, attempt, grade *ledger.StepSummary) State {
	begun := func(s *ledger.StepSummary) bool {
		return s != nil && (s.Status == "" && !s.Started.IsZero() || ended(s))
	}
	stopped := func(s *ledger.StepSummary) bool { return s != nil && s.Status != "" && !ended(s) }
	switch {
	case !s.Live || stopped(attempt) || stopped(grade):
		return Stopped
	case begun(attempt) || begun(grade):
		return Running
	}
	return Waiting
}

// medal is the state of an attempt with a score.
func medal(grade *ledger.StepSummary, report *grading.Graded) State {
	var best string
	_ = json.Unmarshal([]byte(grade.Outputs["medal"]), &best) // else it is none
	if report != nil {
		best = report.Best()
	}
	switch {
	case slices.Contains([]State{Gold, Silver, Bronze}, State(best)):
		return State(best)
	case report != nil && report.AboveMedian:
		return Median
	case report != nil && report.Unranked():
		return Scored
	}
	return Miss
}

// naming knows which part of a step's key is the agent, the competition and the seed.
type naming struct {
	catalog                  *competitions.Catalog
	agent, competition, seed int
	parts                    int
}

// naming learns from an attempt that was graded.
func (s *Source) naming() naming {
	n := naming{catalog: s.Catalog}
	for _, p := range s.Pairs {
		g, ok := s.Reports[p.Grade]
		if !ok {
			continue
		}
		parts := partsOf(cmp.Or(p.Attempt, p.Grade))
		n.agent, n.competition, n.seed = slices.Index(parts, g.Labels["agent"]), slices.Index(parts, g.CompetitionID), slices.Index(parts, g.Labels["seed"])
		n.parts = len(parts)
		break
	}
	return n
}

// of returns the names in a step's key. Of a key of another form the part that is a
// competition is known, and by the custom of the shipped pipelines the agent is before and
// the seed after it.
func (n naming) of(address string) (agent, competition, seed string) {
	parts := partsOf(address)
	at := func(i int) string {
		if i < 0 || i >= len(parts) {
			return ""
		}
		return parts[i]
	}
	if n.parts == len(parts) && n.competition >= 0 {
		return cmp.Or(at(n.agent), board.Unlabelled), at(n.competition), at(n.seed)
	}
	i := slices.IndexFunc(parts, func(p string) bool { _, err := n.catalog.Get(p); return err == nil })
	if i < 0 {
		i = max(0, len(parts)-2)
	}
	return cmp.Or(strings.Join(parts[:i], "/"), board.Unlabelled), cmp.Or(at(i), address), strings.Join(parts[min(i+1, len(parts)):], "/")
}

// partsOf are the parts of a step's key.
func partsOf(address string) []string { return strings.Split(page.Key(address), "/") }

// PairsOf pairs the steps of a plan that run agents with those that grade them; steps that
// grade something else stand alone. Without a plan, steps with the same key belong together.
func PairsOf(addresses []string, kind func(address string) string, attemptOf func(grade string) string) (list []Pair) {
	at := map[string]int{}
	key := func(a string) string { _, key, _ := strings.Cut(a, "["); return "[" + key }
	for _, a := range addresses {
		if kind(a) == conditions.AttemptKind {
			at[a], at[key(a)] = len(list), len(list)
			list = append(list, Pair{Attempt: a})
		}
	}
	for _, a := range addresses {
		if kind(a) != conditions.GradeKind {
			continue
		}
		if i, ok := at[cmp.Or(attemptOf(a), key(a))]; ok && list[i].Grade == "" {
			list[i].Grade = a
		} else {
			list = append(list, Pair{Grade: a})
		}
	}
	return list
}
