package app

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/power"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/engine/plan"
	"github.com/mleflow/mleflow/engine/step"
)

// graded is a step that grades an attempt, by its index, with its seed.
type graded struct {
	at   int
	seed string
}

// evaluation is the evaluate block of a pipeline with the attempts that it may
// choose.
type evaluation struct {
	plan.Evaluation
	holds  func(board.Flags) (success, counts bool)
	design power.Design
	// grades has the grades of each agent at each competition by seed.
	grades [2]map[string][]graded
}

// readEvaluation finds the attempts of the pipeline's evaluate block; nil without
// one.
func readEvaluation(p *engine.Program) (*evaluation, diag.List) {
	if p.Evaluation == nil {
		return nil, nil
	}
	e := &evaluation{Evaluation: *p.Evaluation, grades: [2]map[string][]graded{{}, {}}}
	wrong := func(arg, format string, values ...any) diag.List {
		return diag.List{diag.Error(p.Pipeline.Evaluate.ArgRange(arg), "Invalid "+arg, format, values...)}
	}
	name := e.Decide
	if name == "valid_submission" { // the field of a report; the figure counts them
		name += "s"
	}
	var err error
	if e.holds, err = board.Figure(name); err != nil {
		return nil, wrong("decide", "%s", diag.Sentence(err.Error()))
	}
	names := map[string]bool{}
	for i, inst := range p.Instances {
		if inst.Addr.Step.String() != e.Over {
			continue
		}
		if inst.Step.Kind.Name != conditions.GradeKind {
			return nil, wrong("over", "%s grades nothing: over must name a step of the kind %s, such as step.grade.score.", e.Over, conditions.GradeKind)
		}
		if args, diags := p.Args(i); !diags.HasErrors() {
			e.add(i, args, names)
		}
	}
	for _, agent := range e.Agents {
		if !names[agent] {
			known := slices.Sorted(maps.Keys(names))
			return nil, wrong("agents", "No step of %s has the label agent = %q.%s The agents are: %s.", e.Over, agent, diag.DidYouMean(agent, known), strings.Join(known, ", "))
		}
	}
	if !e.arrange() {
		return nil, wrong("agents", "%s grades no competition of both %s and %s.", e.Over, e.Agents[0], e.Agents[1])
	}
	if _, err := power.NewSequential(e.design); err != nil {
		return nil, wrong("budget", "%s", diag.Sentence(err.Error()))
	}
	return e, nil
}

// add adds the step with the given arguments if it grades one of the agents.
func (e *evaluation) add(at int, args step.Args, names map[string]bool) {
	labels, competition := args.Get("labels"), args.Get("competition")
	if !labels.IsWhollyKnown() || labels.IsNull() || !competition.IsKnown() {
		return
	}
	agent, id := args.Text("labels", "agent"), competition.AsString()
	names[agent] = true
	if side := slices.Index(e.Agents, agent); side >= 0 {
		e.grades[side][id] = append(e.grades[side][id], graded{at, args.Text("labels", "seed")})
	}
}

// arrange sorts the attempts by seed and makes the design. It returns false if
// there are no pairs.
func (e *evaluation) arrange() bool {
	e.design = power.Design{Difference: e.Difference / 100, Confidence: e.Confidence}
	for id, first := range e.grades[0] {
		second := e.grades[1][id]
		if len(second) == 0 {
			continue
		}
		for _, list := range [][]graded{first, second} {
			slices.SortStableFunc(list, func(a, b graded) int { return cmp.Or(board.CompareNames(a.seed, b.seed), a.at-b.at) })
		}
		seeds := min(len(first), len(second))
		if len(e.design.Competitions) == 0 || seeds < e.design.Seeds {
			e.design.Seeds = seeds
		}
		e.design.Competitions = append(e.design.Competitions, id)
	}
	slices.Sort(e.design.Competitions)
	e.design.Pairs = min(e.Budget/2, len(e.design.Competitions)*e.design.Seeds)
	e.Competitions = len(e.design.Competitions)
	// The rule identifies what an answer follows from besides the attempts. Budget and seeds
	// only end it, and may be raised: the rounds do not depend on them.
	rule, _ := json.Marshal([]any{e.Agents, e.Over, e.Decide, e.Difference, e.Confidence, e.design.Competitions}) // strings and finite numbers
	e.Rule = history.Mark("evaluation 1 " + string(rule))
	return e.Competitions > 0
}

// CheckEvaluation reports what is wrong with the pipeline's evaluation, if it has one.
func CheckEvaluation(p *engine.Program) diag.List {
	_, diags := readEvaluation(p)
	return diags
}

// Evaluate returns the start of the pipeline's evaluation; nil without one. The
// store has the reports.
func Evaluate(store cache.Store, p *engine.Program) (func() engine.Rounds, diag.List) {
	e, diags := readEvaluation(p)
	if e == nil {
		return nil, diags
	}
	return func() engine.Rounds {
		seq, _ := power.NewSequential(e.design) // readEvaluation reports the error
		return &pairChooser{evaluation: *e, store: store, seq: seq}
	}, nil
}

// pairChooser asks for pairs of attempts until the evaluation has an answer. It
// implements engine.Rounds.
type pairChooser struct {
	evaluation
	store cache.Store
	seq   *power.Sequential
	asked []power.Pair
}

// Candidates implements engine.Rounds.
func (c *pairChooser) Candidates() (all []int) {
	for _, side := range c.grades {
		for _, list := range side {
			all = append(all, lists.Of(list, func(g graded) int { return g.at })...)
		}
	}
	slices.Sort(all)
	return all
}

// Next implements engine.Rounds.
func (c *pairChooser) Next(ctx context.Context, outputs func(int) cache.Outputs) ([]int, plan.Evaluation, error) {
	for _, pair := range c.asked {
		var figures [2]float64
		for side := range figures {
			var err error
			if figures[side], err = c.figure(ctx, outputs(c.at(pair, side))); err != nil {
				return nil, c.Evaluation, fmt.Errorf("evaluate %s: %s: %w", c.Name, pair.Competition, err)
			}
		}
		if err := c.seq.Add(power.Outcome{Pair: pair, First: figures[0], Second: figures[1]}); err != nil {
			return nil, c.Evaluation, err
		}
	}
	if len(c.asked) > 0 {
		c.Round++
		c.Attempts += 2 * len(c.asked)
	}
	c.asked = c.seq.Next(c.design.Pairs)
	var next []int
	for _, pair := range c.asked {
		next = append(next, c.at(pair, 0), c.at(pair, 1))
	}
	a := c.seq.Answer()
	c.Evaluation.Next, c.Decision = len(next), string(a.Decision)
	c.Estimate, c.Low, c.High, c.Covers = float64(100*a.Estimate), float64(100*a.Low), float64(100*a.High), a.Confidence
	return next, c.Evaluation, nil
}

// at returns the step that grades an agent's attempt of a pair.
func (c *pairChooser) at(pair power.Pair, side int) int {
	return c.grades[side][pair.Competition][pair.Seed].at
}

// figure reads the verdict of a report: 1 or 0.
func (c *pairChooser) figure(ctx context.Context, outputs cache.Outputs) (float64, error) {
	r, err := c.store.Open(ctx, outputs["report"].Ref.ID)
	if err != nil {
		return 0, fmt.Errorf("read report: %w", err)
	}
	defer r.Close()
	file, err := board.ReadFile(r)
	if err != nil {
		return 0, err
	}
	counted, _, err := board.Counted(file.Reports)
	if err != nil {
		return 0, err
	}
	success, counts := c.holds(board.FlagsOf(counted[0].Report))
	if !counts {
		return 0, fmt.Errorf("the competition has no %s, since it has no leaderboard; leave it out, or decide by another verdict", c.Decide)
	}
	return float64(board.Count(success)), nil
}
