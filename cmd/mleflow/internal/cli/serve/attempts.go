package serve

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/leaderboard"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/rollout"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/outputs"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/competitions/reward"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/config"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/models/gateway"
	"github.com/mleflow/mleflow/steps/draw"
	"github.com/mleflow/mleflow/steps/modelblock"
)

// rolloutText is the pipeline of a rollout, which extends the server's. Variables have all
// that a request says, so that no text of a request is ever read as a program.
//
//go:embed rollout.hcl
var rolloutText string

// attempts runs rollouts in this process, each as a run of its own. It implements
// rollout.Runner.
type attempts struct {
	app     *app.App
	backend *app.Backend
	block   rolloutsBlock
	longest time.Duration
	catalog *competitions.Catalog
	grader  grading.Grader
	// agents has the models of each agent, the main one first.
	agents map[string][]step.Model

	mu sync.Mutex
	// scales are known by the answers.
	scales map[cache.Ref]*scale
	// read are the forms of requests whose pipeline has been read without errors.
	read map[rollout.Request]bool
}

// scale is what rewards of some answers are measured by.
type scale struct {
	once sync.Once
	reward.Scale
	sample float64
	err    error
}

// newAttempts opens the cache for rollouts, and reads the pipeline that a block names.
func newAttempts(a *app.App, block rolloutsBlock) (x *attempts, err error) {
	fail := func(format string, args ...any) error {
		return app.Usagef("rollouts: "+format, args...)
	}
	block.Time, block.Runtime = cmp.Or(block.Time, "1h"), cmp.Or(block.Runtime, "auto")
	block.Parallel, block.CPUs, block.Memory = cmp.Or(block.Parallel, runtime.NumCPU()), cmp.Or(block.CPUs, 1), cmp.Or(block.Memory, "4GiB")
	x = &attempts{app: a, block: block, agents: map[string][]step.Model{}, scales: map[cache.Ref]*scale{}, read: map[rollout.Request]bool{}}
	if x.longest, err = time.ParseDuration(block.Time); err != nil || x.longest <= 0 || block.Parallel < 0 {
		return nil, fail("time is a time such as 10m, and parallel a number above 0")
	}
	for _, u := range block.BaseURLs {
		if err := gateway.CheckBaseURL(u); err != nil {
			return nil, fail("base_urls: %w", err)
		}
	}
	if base := filepath.Base(block.Pipeline); strings.ContainsAny(base, "$%\"\\") {
		return nil, fail("pipeline: %q: rename the file; its name has one of $%%\"\\", base)
	}
	a.UsePipeline(block.Pipeline)
	if x.catalog, err = a.Catalog(); err != nil {
		return nil, err
	}
	if x.backend, err = a.OpenBackend(); err != nil {
		return nil, err
	}
	binary := sync.OnceValue(func() string { return app.BinaryDigest(x.backend.Options.Digests) })
	x.backend.Options.History.Describe(func() map[string]string { return app.Environment(binary()) })
	x.grader = app.NewGrader(a.Programs(), "")
	if err := x.readAgents(); err != nil {
		return nil, errors.Join(err, x.close())
	}
	return x, nil
}

func (x *attempts) close() error { return x.backend.Close() }

// readAgents reads the agents that the pipeline offers, with their models.
func (x *attempts) readAgents() error {
	p, err := x.app.Load(x.backend.Engine, x.block.Pipeline, app.InputFlags{})
	if err != nil {
		return err
	}
	known := p.Pipeline.Names("agent")
	for _, name := range view.Either(x.block.Agents == nil, known, x.block.Agents) {
		if !slices.Contains(known, name) {
			return app.Usagef("rollouts: agents: %s has no agent %q.%s", x.block.Pipeline, name, diag.DidYouMean(name, known))
		}
		p, err := x.program(rollout.Rollout{ID: "agents", Request: rollout.Request{Agent: name, Competition: x.catalog.IDs()[0]}})
		if err != nil {
			return err
		}
		at, _ := p.Find(addr.Single(attemptStep))
		args, diags := p.Args(at)
		if err := x.app.Settle(diags, p); err != nil {
			return err
		}
		var of struct {
			Models []step.Model `cty:"models"`
		}
		if err := step.ArgsOf(cty.ObjectVal(map[string]cty.Value{"models": args.Get("agent").GetAttr("models")})).Decode(&of); err != nil {
			return fmt.Errorf("agent %q: %w", name, err)
		}
		x.agents[name] = of.Models
	}
	return nil
}

// The steps of a rollout.
var (
	attemptStep = addr.Step{Kind: "agent-run", Name: "rollout"}
	gradeStep   = addr.Step{Kind: "grade", Name: "rollout"}
)

// dataStep is the step with the data of a request, public and private.
func dataStep(r *rollout.Request) addr.Step {
	kind := "checksum"
	if r.Data.Micro > 0 || r.Reward.On == conditions.OnValidation {
		kind = draw.Name
	}
	return addr.Step{Kind: kind, Name: "rollout"}
}

// The steps that some data need.
const (
	holdoutText = `
step "holdout" "rollout" {
  competition = var.rollout_competition
  data        = step.checksum.rollout.public
}
`
	drawText = `
step "draw" "rollout" {
  competition = var.rollout_competition
  prepared    = %s
  of          = %q
  ids         = var.rollout_micro
  seed        = var.rollout_micro_seed
}
`
	heldOut = "{ public = step.holdout.rollout.task, private = step.holdout.rollout.private }"
)

// program is the pipeline of a rollout. Its file exists in the run only, and has a name of
// its own, so that what is known of a pipeline is known of this rollout.
func (x *attempts) program(one rollout.Rollout) (*engine.Program, error) {
	r := one.Request
	text := fmt.Sprintf("mleflow {\n  extends = %q\n}\n\nlocals {\n  rollout_agent = agent[%q]\n  rollout_data  = %s\n}\n\n", filepath.Base(x.block.Pipeline), r.Agent, dataStep(&r)) + rolloutText
	from := "step.checksum.rollout"
	if r.Reward.On == conditions.OnValidation {
		text, from = text+holdoutText, heldOut
	}
	if dataStep(&r).Kind == draw.Name {
		text += fmt.Sprintf(drawText, from, r.Reward.On)
	}
	data := "real"
	if r.Data.Rehearsal {
		data = "rehearsal"
	}
	model := r.Model.Block
	if models := x.agents[r.Agent]; model == "" && len(models) > 0 {
		model = models[0].Name
	}
	in := config.Inputs{Environ: x.app.Environ}
	for name, value := range map[string]any{
		"competition": r.Competition, "seed": r.Seed, "data": data, "micro": r.Data.Micro, "micro_seed": r.Data.Seed,
		"model": model, "model_name": r.Model.Name, "base_url": r.Model.BaseURL,
		"time": cmp.Or(r.Limits.Time, x.block.Time), "turns": r.Limits.Turns, "tokens": r.Limits.Tokens, "cost": r.Limits.Cost,
		"runtime": x.block.Runtime, "cpus": x.block.CPUs, "memory": x.block.Memory,
	} {
		in.Assignments = append(in.Assignments, config.Assignment{Text: fmt.Sprintf("rollout_%s=%v", name, value)})
	}
	slices.SortFunc(in.Assignments, func(a, b config.Assignment) int { return strings.Compare(a.Text, b.Text) })
	p, diags := x.backend.Engine.Parse(filepath.Join(filepath.Dir(x.block.Pipeline), "rollout-"+one.ID+".hcl"), []byte(text), in)
	return p, app.Checked(diags, p.Pipeline.Files)
}

// Check implements rollout.Runner. The pipeline of a rollout is read when it runs. Here it is
// read once for all requests that differ in values only, which check has examined.
func (x *attempts) Check(_ context.Context, r rollout.Request) error {
	form := rollout.Request{Agent: r.Agent, Data: r.Data, Model: rollout.Model{Block: r.Model.Block}, Reward: rollout.Reward{On: r.Reward.On}}
	form.Data.Micro, form.Data.Seed = min(form.Data.Micro, 1), 0
	x.mu.Lock()
	known := x.read[form]
	x.mu.Unlock()
	if known {
		return invalid(x.check(&r))
	}
	if _, err := x.checked(rollout.Rollout{ID: "check", Request: r}); err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.read[form] = true
	return nil
}

// checked returns the pipeline of a rollout that this server serves.
func (x *attempts) checked(one rollout.Rollout) (p *engine.Program, err error) {
	if err = x.check(&one.Request); err == nil {
		p, err = x.program(one)
	}
	return p, invalid(err)
}

func invalid(err error) error {
	if err != nil {
		err = fmt.Errorf("%w: %w", rollout.ErrInvalid, err)
	}
	return err
}

func (x *attempts) check(r *rollout.Request) error {
	models, known := x.agents[r.Agent]
	if !known {
		return fmt.Errorf("agent %q: the server offers %s", r.Agent, strings.Join(slices.Sorted(maps.Keys(x.agents)), ", "))
	}
	def, err := x.definition(r)
	if err != nil {
		return err
	}
	if _, err := reward.Check(r.Reward.Kind, def); err != nil {
		return err
	}
	limit, err := time.ParseDuration(cmp.Or(r.Limits.Time, x.block.Time))
	if err != nil || limit <= 0 || limit > x.longest {
		return fmt.Errorf("limits.time %q: it is a time up to %s, which the server allows", r.Limits.Time, x.block.Time)
	}
	if len(models) == 0 {
		if r.Model != (rollout.Model{}) || r.Limits.Turns > 0 || r.Limits.Tokens > 0 || r.Limits.Cost != "" {
			return fmt.Errorf("agent %q has no model; leave model out, and the limits of one", r.Agent)
		}
		return nil
	}
	return x.checkModel(r, models)
}

// checkModel refuses another model, address or budget than the server's administrator allows.
func (x *attempts) checkModel(r *rollout.Request, models []step.Model) error {
	name := cmp.Or(r.Model.Block, models[0].Name)
	at := slices.IndexFunc(models, func(m step.Model) bool { return m.Name == name })
	if at < 0 {
		return fmt.Errorf("model.block %q: agent %q has %s", name, r.Agent, strings.Join(lists.Of(models, func(m step.Model) string { return m.Name }), ", "))
	}
	m := models[at]
	g, err := modelblock.Of(m)
	if err != nil {
		return err
	}
	if to := r.Model.Name; to != "" && (strings.Contains(to, "*") || !g.Allows(to)) {
		return fmt.Errorf("model.name %q: the model block %s allows %s", to, name, strings.Join(m.Models, ", "))
	}
	if to := r.Model.BaseURL; to != "" && to != m.BaseURL {
		if !slices.Contains(x.block.BaseURLs, to) {
			return fmt.Errorf("model.base_url %q: the server's administrator has not allowed it in base_urls", to)
		}
		if m.Key != nil && m.Key.Ref != "" {
			return fmt.Errorf("model.base_url %q: the model block %s has a key, which goes to its own base_url only", to, name)
		}
	}
	var cost gateway.Dollars
	if r.Limits.Cost != "" {
		if cost, err = gateway.ParseDollars(r.Limits.Cost); err != nil || !strings.HasSuffix(r.Limits.Cost, "USD") || cost <= 0 {
			return fmt.Errorf("limits.cost %q is not an amount such as \"1 USD\"", r.Limits.Cost)
		}
	}
	over := func(asked, most int64) bool { return most > 0 && asked > most }
	if over(r.Limits.Turns, g.Budget.Requests) || over(r.Limits.Tokens, g.Budget.Tokens) || over(int64(cost), int64(g.Budget.Cost)) {
		return fmt.Errorf("limits: the budget of the model block %s has less", name)
	}
	return nil
}

// definition is that of a request's competition with its data.
func (x *attempts) definition(r *rollout.Request) (*competitions.Definition, error) {
	def, err := x.catalog.Get(r.Competition)
	if err == nil && r.Data.Rehearsal {
		def = def.Rehearsed()
	}
	return def, err
}

// Run implements rollout.Runner.
func (x *attempts) Run(ctx context.Context, one rollout.Rollout, report func(rollout.State, string)) (*rollout.Result, error) {
	p, err := x.checked(one) // the server may have another file now
	if err != nil {
		return nil, err
	}
	state, run := rollout.Running, ""
	sink := event.SinkFunc(func(e event.Event) {
		switch e := e.(type) {
		case event.RunStarted:
			run = e.Run
		case event.StepStarted:
			if e.Kind == gradeStep.Kind {
				state = rollout.Grading
			}
		default:
			return
		}
		report(state, run)
	})
	res, diags := x.backend.Engine.Apply(ctx, p, engine.ApplyOptions{
		PlanOptions: engine.PlanOptions{Targets: []addr.Instance{addr.Single(gradeStep)}, Repeats: engine.KeepRepeats}, Sink: sink,
		About: history.About{Tags: map[string]string{"rollout": one.ID, "owner": one.Owner}}, Args: []string{"mleflow", "serve"},
	})
	if err := app.Checked(diags, p.Pipeline.Files); err != nil {
		return nil, err
	}
	for _, f := range res.Failures {
		return nil, fmt.Errorf("%s: %w", f.Address, f.Err)
	}
	if res.Status != event.Ran {
		return nil, cmp.Or(context.Cause(ctx), errors.New("the run was cancelled"))
	}
	return x.result(ctx, one, res)
}

// result makes the result of a run.
func (x *attempts) result(ctx context.Context, one rollout.Rollout, res *engine.Result) (*rollout.Result, error) {
	past, err := x.backend.Options.History.Open(res.RunID)
	if err != nil {
		return nil, err
	}
	run, err := leaderboard.TidyRun(past, x.backend.Cache, x.catalog)
	if err != nil {
		return nil, err
	}
	run.Tried = nil // no part of a result, and the chain grows with each rollout
	list, err := leaderboard.Collected(ctx, run)
	if err != nil {
		return nil, err
	}
	if len(list) != 1 || !list[0].Graded {
		return nil, errors.New("the attempt has no report")
	}
	a := list[0]
	if a.Made.Outcome.Environmental() {
		return nil, fmt.Errorf("the attempt has no final result: it ended as %s; ask again with another key", a.Made.Outcome)
	}
	action := ""
	for _, s := range run.Steps {
		if s.Address == dataStep(&one.Request).String() {
			action = s.Action
		}
	}
	made, err := outputs.Lookup(ctx, x.backend.Cache, action)
	if err != nil {
		return nil, fmt.Errorf("find the answers: %w", err)
	}
	def, err := x.definition(&one.Request)
	if err != nil {
		return nil, err
	}
	s := x.scale(ctx, def, made.Outputs)
	if s.err != nil {
		return nil, s.err
	}
	kind, err := reward.Check(one.Request.Reward.Kind, def)
	if err != nil {
		return nil, err
	}
	out := &rollout.Result{
		Reward:  s.Of(kind, a.Report),
		Parts:   rollout.Parts{Valid: a.Report.ValidSubmission, AboveSample: reward.Beats(a.Report, s.sample), Medal: results.Medal(a.Report)},
		Outcome: a.Made.Outcome, Integrity: a.Integrity().Label, Attempt: one.Attempt, Run: res.RunID, Cached: a.MadeIn != "" && a.MadeIn != res.RunID,
	}
	if share, ok := a.Report.Percentile(); ok && !def.Rehearsal {
		out.Parts.Percentile = &share
	}
	if n := a.Report.ExactScore; n != nil && n.Finite() {
		out.Parts.Score = (*float64)(n)
	}
	if u := a.Made.Usage; u != nil {
		count := func(n *float64) int64 { return int64(math.Round(*cmp.Or(n, new(float64)))) }
		out.Turns, out.Tokens, out.CostUSD = count(u.Requests), rollout.Tokens{Input: count(u.InputTokens), Output: count(u.OutputTokens)}, u.CostUSD
	}
	return out, nil
}

// scale is that of the data which a step made, measured once.
func (x *attempts) scale(ctx context.Context, def *competitions.Definition, made cache.Outputs) *scale {
	x.mu.Lock()
	s := x.scales[made["private"].Ref]
	if s == nil {
		s = &scale{}
		x.scales[made["private"].Ref] = s
	}
	x.mu.Unlock()
	s.once.Do(func() {
		if s.err = x.measure(context.WithoutCancel(ctx), s, def, made); s.err != nil { // may pass
			x.mu.Lock()
			defer x.mu.Unlock()
			delete(x.scales, made["private"].Ref)
		}
	})
	return s
}

func (x *attempts) measure(ctx context.Context, s *scale, def *competitions.Definition, made cache.Outputs) (err error) {
	dir, err := os.MkdirTemp("", "mleflow-scale-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, tree.Remove(dir)) }()
	place := func(name string) (string, error) {
		half, rest, _ := strings.Cut(name, "/")
		e, err := tree.Find(ctx, x.backend.Cache, made[half].Ref, rest)
		to := filepath.Join(dir, strings.ReplaceAll(name, "/", "-"))
		if _, had := os.Lstat(to); err == nil && had != nil {
			_, err = tree.Materialise(ctx, x.backend.Cache, e.Ref(), to, tree.Options{})
		}
		return to, err
	}
	grade := func(name string) (r grading.Report, err error) {
		answers, err := place(def.Layout.Answers)
		if err != nil {
			return r, err
		}
		submission, err := place(name)
		if err != nil {
			return r, err
		}
		return x.grader.Grade(ctx, def, grading.Request{Submission: submission, Name: filepath.Base(name), Answers: answers, Created: time.Unix(0, 0)})
	}
	if s.Scale, err = reward.Measure(def, grade); err != nil {
		return fmt.Errorf("measure the reward of %s: %w", def.ID, err)
	}
	sample, err := grade(def.Layout.Sample)
	if s.sample = math.NaN(); err == nil && sample.ExactScore != nil && !sample.NonFinite {
		s.sample = float64(*sample.ExactScore)
	}
	return err
}
