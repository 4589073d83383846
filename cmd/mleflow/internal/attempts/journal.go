package attempts

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/engine/plan"
	"github.com/mleflow/mleflow/engine/step"
)

// Pair is the steps of an attempt; either may be empty.
type Pair struct{ Attempt, Grade string }

// PairsOf pairs the steps of a plan that run agents with those that grade them; steps that
// grade something else stand alone. Without a plan, steps with the same key belong together.
func PairsOf(addresses []string, kind func(address string) string, attemptOf func(grade string) string) (list []Pair) {
	at := map[string]int{}
	key := func(a string) string { return "[" + addr.KeyOf(a) }
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

// planned returns the pairs of a plan.
func planned(p *plan.Plan) []Pair {
	var addresses []string
	at := make(map[string]*plan.Step, len(p.Steps))
	for i := range p.Steps {
		if s := &p.Steps[i]; s.Kind == conditions.AttemptKind || s.Kind == conditions.GradeKind {
			addresses, at[s.Name] = append(addresses, s.Name), s
		}
	}
	return PairsOf(addresses, func(a string) string { return at[a].Kind }, func(a string) string { return AttemptOf(p, *at[a]) })
}

// Unplanned returns the pairs of a run without a plan, by their keys.
func Unplanned(sum *history.Summary) []Pair {
	step := StepsOf(sum)
	kind := func(address string) string { return step(address).Kind }
	return PairsOf(lists.Of(sum.Steps, view.StepAddress), kind, func(string) string { return "" })
}

// JournalOf is the journal of a run that was read as a whole, with the pairs and names of its
// plan. Without a plan, p is nil, and steps with the same key belong together.
func JournalOf(p *plan.Plan, sum *history.Summary) Journal {
	j := Journal{Run: sum.Info, Live: sum.State == history.Running, Last: sum.Last, Step: StepsOf(sum), Steered: sum.Steered}
	if p == nil {
		j.Pairs = Unplanned(sum)
		return j
	}
	names := make(map[string][]string, len(p.Steps))
	for i := range p.Steps {
		names[p.Steps[i].Name] = p.Steps[i].Names
	}
	j.Benchmarks = p.Benchmarks
	j.Pairs, j.Names = planned(p), func(address string) []string { return names[address] }
	j.Ready = Readiness(p, sum.Started, j.Step)
	return j
}

// StepsOf returns a function that finds the steps of a run; it returns nil for others. Many
// look-ups of it are faster than those of the summary.
func StepsOf(sum *history.Summary) func(address string) *history.StepSummary {
	steps := make(map[string]*history.StepSummary, len(sum.Steps))
	for i := range sum.Steps {
		steps[sum.Steps[i].Address] = &sum.Steps[i]
	}
	return func(address string) *history.StepSummary { return steps[address] }
}

// Journal reads the attempts of a run from its journal, whether they have ended or not.
// Records say more of those that have; see Collect.
type Journal struct {
	// Run is the head of the run, Live whether somebody executes it, and Last its last sign
	// of life.
	Run  history.Info
	Live bool
	Last time.Time
	// Pairs are the attempts of the run, in the order of its plan.
	Pairs []Pair
	// Names returns the names of a step that the plan has; nil for none. It may be nil.
	Names func(address string) []string
	// Step returns what happened to a step; nil for nothing.
	Step func(address string) *history.StepSummary
	// Ready says when a step could start. It may be nil.
	Ready func(address string) time.Time
	// Reports are the grading reports that can be read, by the addresses of their steps.
	Reports map[string]grading.Graded
	// Steered are the answers to what people asked.
	Steered []event.Steered
	Catalog *competitions.Catalog
	// Benchmarks are those of the run's pipeline.
	Benchmarks []step.Benchmark
}

// List returns the attempts in the order of the pairs.
func (j Journal) List() []*results.Attempt {
	out := make([]*results.Attempt, len(j.Pairs))
	names := j.naming()
	done := lists.Where(j.Steered, func(s event.Steered) bool { return s.Refused == "" && s.Request.Address != "" })
	acts := lists.By(done, func(s event.Steered) string { return s.Request.Address })
	for i, p := range j.Pairs {
		a := &results.Attempt{Address: p.Attempt, GradeAddress: p.Grade, RunID: j.Run.ID, Pipeline: j.Run.Pipeline, Mleflow: j.Run.Version, Started: j.Run.Started.UTC().Format(time.RFC3339)}
		out[i] = a
		g, graded := j.Reports[p.Grade]
		if a.Agent, a.Report.CompetitionID, a.Seed = j.named(p, names, graded, g.Labels); graded {
			a.Labels, a.Graded, a.Report = g.Labels, true, g.Report
		}
		a.Acts = lists.Of(acts[p.Attempt], view.ActText)
		attempt, grade := j.Step(p.Attempt), j.Step(p.Grade)
		read(a, attempt, grade)
		if a.Phase = j.phase(p, attempt, grade); a.Phase == results.Interrupted {
			j.interrupted(a, attempt)
		}
		var ready time.Time
		if j.Ready != nil {
			ready = j.Ready(p.Attempt)
		}
		enterHours(a, attempt, ready, j.Last)
	}
	return out
}

// interrupted enters how long the agent had worked, if it had begun.
func (j *Journal) interrupted(a *results.Attempt, attempt *history.StepSummary) {
	if attempt == nil || attempt.Started.IsZero() || a.Made.WallSeconds != nil {
		return
	}
	end := attempt.Ended
	if end.IsZero() {
		end = j.Last
	}
	a.Made.WallSeconds = new(max(0, end.Sub(attempt.Started).Seconds()))
}

// read enters what the steps gave. What is not there or not of this form says nothing.
func read(a *results.Attempt, attempt, grade *history.StepSummary) {
	if attempt != nil {
		a.AttemptAction, a.MadeIn, a.Failure = attempt.Action, attempt.MadeIn, attempt.Error
		if len(a.Report.Conditions) == 0 {
			a.Report.Conditions = attempt.Conditions
		}
		_, _ = a.MadeBy(attempt.Outputs["outcome"], attempt.Outputs["stats"])
	}
	if grade == nil {
		return
	}
	a.GradeAction, a.Failure = grade.Action, cmp.Or(a.Failure, grade.Error)
	switch {
	case a.Graded && len(grade.Conditions) > 0: // anybody could have written those of the report
		a.Report.MadeUnder(grade.Conditions)
	case !a.Graded && ended(grade) && grade.Outputs["outcome"]+grade.Outputs["score"] != "":
		a.GradedBy(grade.Outputs, grade.Conditions)
	}
}

func ended(s *history.StepSummary) bool {
	return s != nil && s.Status.Succeeded()
}

// phase is how far an attempt got.
func (j *Journal) phase(p Pair, attempt, grade *history.StepSummary) results.Phase {
	begun := func(s *history.StepSummary) bool { return s != nil && !s.Started.IsZero() }
	failed := func(s *history.StepSummary) bool { return s != nil && s.Status == event.Failed }
	stopped := func(s *history.StepSummary) bool { return s != nil && s.Status != "" && !ended(s) }
	last := grade
	if p.Grade == "" {
		last = attempt
	}
	switch {
	case ended(last):
		return results.Done
	case failed(attempt), failed(grade):
		return results.Failed
	case j.Live && !stopped(attempt) && !stopped(grade):
		if begun(attempt) || begun(grade) || ended(attempt) {
			return results.Running
		}
		return results.Waiting
	case ended(attempt):
		return results.Done
	case begun(attempt), begun(grade):
		return results.Interrupted
	}
	return results.NotRun
}

// named are the names of an attempt: those of its grade, as the labels of the report have
// them, then those of the step that runs the agent. What the plan leaves out, or an older
// one does not have, is in the key.
func (j *Journal) named(p Pair, guess naming, graded bool, labels map[string]string) (agent, competition, seed string) {
	of := func(address string) []string {
		if j.Names == nil || address == "" {
			return nil
		}
		return j.Names(address)
	}
	grade, attempt := of(p.Grade), of(p.Attempt)
	if graded {
		grade = []string{labels["agent"], "", labels["seed"]}
	}
	switch {
	case attempt == nil && p.Attempt != "":
		attempt = guess.of(p.Attempt)
	case grade == nil && p.Grade != "":
		grade = guess.of(p.Grade)
	}
	for _, names := range [][]string{grade, attempt} {
		if len(names) == 3 {
			agent, competition, seed = cmp.Or(agent, names[0]), cmp.Or(competition, names[1]), cmp.Or(seed, names[2])
		}
	}
	return cmp.Or(agent, board.Unlabelled), competition, seed
}

// naming knows which part of a step's key is the agent, the competition and the seed.
type naming struct {
	catalog                  *competitions.Catalog
	agent, competition, seed int
	parts                    int
}

// naming learns from an attempt that was graded and has labels.
func (j *Journal) naming() naming {
	n := naming{catalog: j.Catalog}
	i := slices.IndexFunc(j.Pairs, func(p Pair) bool { return j.Reports[p.Grade].Labels["agent"] != "" })
	if i < 0 {
		return n
	}
	g, parts := j.Reports[j.Pairs[i].Grade], partsOf(cmp.Or(j.Pairs[i].Attempt, j.Pairs[i].Grade))
	n.agent, n.competition, n.seed = slices.Index(parts, g.Labels["agent"]), slices.Index(parts, g.CompetitionID), slices.Index(parts, g.Labels["seed"])
	n.parts = len(parts)
	return n
}

// of returns agent, competition and seed as a step's key has them. Of a key of another form
// the part that is a competition is known, and by the custom of the shipped pipelines the
// agent is before and the seed after it.
func (n naming) of(address string) []string {
	parts := partsOf(address)
	at := func(i int) string {
		if i < 0 || i >= len(parts) {
			return ""
		}
		return parts[i]
	}
	if n.parts == len(parts) && n.competition >= 0 {
		return []string{at(n.agent), at(n.competition), at(n.seed)}
	}
	i := slices.IndexFunc(parts, n.known)
	if i < 0 {
		i = max(0, len(parts)-2)
	}
	return []string{strings.Join(parts[:i], "/"), cmp.Or(at(i), address), strings.Join(parts[min(i+1, len(parts)):], "/")}
}

// known reports whether a part of a key is a competition.
func (n naming) known(part string) bool {
	if n.catalog == nil {
		return false
	}
	_, err := n.catalog.Get(part)
	return err == nil
}

// partsOf are the parts of a step's key.
func partsOf(address string) []string { return strings.Split(addr.KeyOf(address), "/") }
