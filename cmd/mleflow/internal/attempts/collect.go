package attempts

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/proof/bundle"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/outputs"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/outcome"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/engine/lockfile"
	"github.com/mleflow/mleflow/engine/plan"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/steps/agentrun"
	"github.com/mleflow/mleflow/steps/aggregate"
)

// Run is a run and where its results are.
type Run struct {
	ID, Pipeline, Version string
	Started               time.Time
	// About is what people say of it.
	About history.About
	Steps []history.StepSummary
	// Plan says which attempt a grade is of.
	Plan    *plan.Plan
	Store   cache.Store
	Index   cache.Index
	Catalog *competitions.Catalog
	// Standing is that of the records.
	Standing string
	// Tried finds the attempts in a chain, by their records. If it is nil, tries are not counted.
	Tried func(attempts map[string]*cache.Record) *bundle.Chain
}

// The standings of records besides those of package proof/verify.
const (
	// Recorded: the run itself graded it, and its cache has the report.
	Recorded = "recorded"
	// Reported: a file says so.
	Reported = "reported"
)

// Left is a step of which there is no record.
type Left struct{ Address, Why string }

// collector gathers the records of one run.
type collector struct {
	Run
	recs map[string]*cache.Record
	left []Left
	// checks are what the rules found, by the address of the attempt.
	checks map[string]*results.Check
	// journal has the steps, and ready says when one could start.
	journal func(address string) *history.StepSummary
	ready   func(address string) time.Time
}

// Collect returns the records of a run by agent, competition and seed, and the
// steps that have no result.
func Collect(ctx context.Context, run Run) ([]*results.Attempt, []Left, error) {
	c := &collector{Run: run, recs: map[string]*cache.Record{}, checks: map[string]*results.Check{}}
	c.journal = StepsOf(&history.Summary{Steps: run.Steps})
	c.ready = Readiness(run.Plan, run.Started, c.journal)
	if err := errors.Join(c.lookup(ctx), c.check(ctx)); err != nil {
		return nil, nil, err
	}
	var list []*results.Attempt
	graded := map[string]bool{}
	for _, s := range c.Plan.Steps {
		rec := c.recs[s.Name]
		if rec == nil || s.Kind != conditions.GradeKind {
			continue
		}
		attempt := AttemptOf(c.Plan, s)
		graded[attempt] = true
		a, err := c.graded(ctx, s.Name, rec, attempt)
		if err != nil {
			return nil, nil, fmt.Errorf("read the report of %s: %w", s.Name, err)
		}
		list = append(list, a)
	}
	for _, s := range c.Plan.Steps {
		if rec := c.recs[s.Name]; rec != nil && s.Kind == conditions.AttemptKind && !graded[s.Name] {
			a, err := c.ungraded(ctx, s.Name, rec)
			if err != nil {
				return nil, nil, fmt.Errorf("read %s: %w", s.Name, err)
			}
			list = append(list, a)
		}
	}
	c.count(list)
	Sort(list)
	return list, c.left, nil
}

// count enters what the chain says of the attempts.
func (c *collector) count(list []*results.Attempt) {
	if c.Tried == nil {
		return
	}
	attempts := maps.Clone(c.recs)
	maps.DeleteFunc(attempts, func(_ string, rec *cache.Record) bool { return rec.Kind != conditions.AttemptKind })
	chain := c.Tried(attempts)
	for _, r := range list {
		t, why := chain.Tried(r.Address)
		if t != nil {
			r.Tries = &results.Tries{Begun: t.Began, Published: t.Published, ThrownAway: t.ThrownAway()}
		}
		if r.Unproven = why; why != "" {
			r.Report.Conditions = step.UnionConditions(r.Report.Conditions, []string{conditions.Unproven})
		}
	}
}

// Sort orders records by run, agent, competition and seed.
func Sort(list []*results.Attempt) {
	slices.SortStableFunc(list, func(a, b *results.Attempt) int {
		return cmp.Or(cmp.Compare(a.RunID, b.RunID), board.CompareNames(a.Agent, b.Agent), cmp.Compare(a.Report.CompetitionID, b.Report.CompetitionID),
			results.CompareSeeds(a.Seed, b.Seed), cmp.Compare(a.GradeAddress, b.GradeAddress), cmp.Compare(a.Address, b.Address))
	})
}

// lookup reads the records of attempts, grades and checks.
func (c *collector) lookup(ctx context.Context) error {
	for _, s := range c.Steps {
		read := s.Kind == conditions.AttemptKind || s.Kind == conditions.GradeKind || s.Kind == conditions.CheckKind
		if !read || s.Status == event.Unneeded {
			continue
		}
		if s.Action == "" {
			c.left = append(c.left, Left{s.Address, "it has no result in this run"})
			continue
		}
		rec, err := outputs.Lookup(ctx, c.Index, s.Action)
		if errors.Is(err, cache.ErrNotFound) {
			c.left = append(c.left, Left{s.Address, "its outputs are no longer in the cache; apply makes them again"})
			continue
		}
		if err != nil {
			return fmt.Errorf("look up %s: %w", s.Address, err)
		}
		c.recs[s.Address] = rec
	}
	return nil
}

// check reads what rule checks found.
func (c *collector) check(ctx context.Context) error {
	for _, s := range c.Plan.Steps {
		rec, attempt := c.recs[s.Name], AttemptOf(c.Plan, s)
		if rec == nil || attempt == "" || s.Kind != conditions.CheckKind {
			continue
		}
		found, err := outputs.Document[results.Check](ctx, c.Store, rec.Outputs["findings"].Ref.ID)
		if errors.Is(err, cache.ErrNotFound) {
			c.left = append(c.left, Left{s.Name, "what it found is not there"})
			continue
		}
		if err != nil {
			return fmt.Errorf("read the findings of %s: %w", s.Name, err)
		}
		c.checks[attempt] = c.checks[attempt].Join(&found)
	}
	return nil
}

// AttemptOf is the address of the attempt that a grade or check depends on; "" if
// there is none.
func AttemptOf(p *plan.Plan, of plan.Step) string {
	for _, i := range of.After {
		if i >= 0 && i < len(p.Steps) && p.Steps[i].Kind == conditions.AttemptKind {
			return p.Steps[i].Name
		}
	}
	return ""
}

func (c *collector) graded(ctx context.Context, address string, rec *cache.Record, attempt string) (*results.Attempt, error) {
	ref := rec.Outputs["report"].Ref
	g, err := outputs.Document[grading.Graded](ctx, c.Store, ref.ID)
	if err != nil {
		return nil, err
	}
	g.MadeUnder(step.RecordedConditions(rec.Fields, rec.Tries))
	r := c.about(aggregate.Reported(g, c.Catalog))
	r.Standing = c.Standing
	if v := rec.Outputs["curve"]; len(v.JSON) > 0 {
		if err := json.Unmarshal(v.JSON, &r.Snapshots); err != nil {
			return r, fmt.Errorf("output curve: %w", err)
		}
	}
	r.GradeAddress, r.GradeAction, r.ReportDigest = address, rec.Action.String(), ref.ID.String()
	r.Submission, r.Definition = rec.Field("submission"), rec.Field("definition")
	if made := c.recs[attempt]; made != nil {
		return r, errors.Join(c.attempt(ctx, r, attempt, made), c.log(ctx, r, made))
	}
	return r, nil
}

func (c *collector) ungraded(ctx context.Context, address string, rec *cache.Record) (*results.Attempt, error) {
	r := c.about(&results.Attempt{})
	a := bundle.AttemptOf(address, rec)
	r.Agent, r.Seed = a.Agent, a.Seed
	r.Report.CompetitionID, r.Report.CompetitionVersion = a.Competition, a.CompetitionVersion
	r.Report.SubmissionExists = a.Result.Outcome != outcome.NoSubmission && rec.Outputs["submission"].Ref.Files > 0
	r.Report.MadeUnder(a.Conditions)
	r.Category, r.Complexity = c.Catalog.Category(a.Competition), string(c.Catalog.Complexity(a.Competition))
	r.Submission = a.Result.Submission
	return r, errors.Join(c.attempt(ctx, r, address, rec), c.log(ctx, r, rec))
}

// about enters what is said of the run.
func (c *collector) about(a *results.Attempt) *results.Attempt {
	a.RunID, a.Pipeline, a.Mleflow, a.Started = c.ID, c.Pipeline, c.Version, c.Started.UTC().Format(time.RFC3339)
	a.RunName, a.RunNote, a.RunTags = c.About.Called(c.ID), c.About.Note, c.About.Tags
	return a
}

// attempt enters what the record of an attempt says.
func (c *collector) attempt(ctx context.Context, r *results.Attempt, address string, rec *cache.Record) error {
	a := bundle.AttemptOf(address, rec)
	models, err := r.MadeBy(string(rec.Outputs["outcome"].JSON), string(rec.Outputs["stats"].JSON))
	if err != nil {
		return fmt.Errorf("outputs outcome and stats: %w", err)
	}
	r.Program = results.ProgramOf(lockfile.Inputs(rec.Fields))
	r.Address, r.AttemptAction, r.MadeIn, r.Check = address, rec.Action.String(), a.History.Run, c.checks[address]
	r.Agent = cmp.Or(r.Agent, a.Agent)
	if r.Agent == board.Unlabelled && a.Agent != "" {
		r.Agent = a.Agent
	}
	enterHours(r, c.journal(address), c.ready(address), time.Time{})
	r.Seed = cmp.Or(a.Seed, r.Seed) // the label is anybody's word
	r.AgentVersion, r.Image, r.ImageDigest, r.Network = a.AgentVersion, a.Image, a.ImageDigest, a.Network.Policy
	if reached := step.ConditionValues(r.Report.Conditions, conditions.Network); len(reached) > 0 {
		r.Network = reached[0] // a runtime may not enforce what is declared
	}
	r.Data, r.Description, r.Instructions = a.Saw.Data, a.Saw.Description, a.Saw.Instructions
	r.CPULimit, r.MemoryLimitBytes, r.GPULimit = number(a.Limits.CPUs), number(a.Limits.MemoryBytes), number(a.Limits.GPUs)
	if d, err := time.ParseDuration(a.Limits.Time); err == nil {
		r.TimeLimitSeconds = new(d.Seconds())
	}
	if len(models) == 0 {
		r.Made.Usage, err = results.Claimed(ctx, c.Store, rec.Outputs["logs"].Ref)
		if errors.Is(err, results.ErrUsage) || errors.Is(err, cache.ErrNotFound) {
			return nil
		}
	}
	return err
}

// number reads a limit of a key; what is none is nil.
func number(text string) *float64 {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil
	}
	return &v
}

// maxLogBytes is the largest log in which a cause is sought.
const maxLogBytes = 4 << 20

// log enters what the end of the agent's output tells about an attempt of which it tells
// more; see results.Attempt.LogTells. A log that is too large or not there says nothing.
func (c *collector) log(ctx context.Context, r *results.Attempt, rec *cache.Record) error {
	logs := rec.Outputs["logs"].Ref
	if !r.LogTells() || logs.Kind != cache.Tree {
		return nil
	}
	e, err := tree.Find(ctx, c.Store, logs, agentrun.OutputLog)
	if err == nil && !e.IsDir() && e.Size <= maxLogBytes {
		var text []byte
		if text, err = cache.Get(ctx, c.Store, e.ID, maxLogBytes); err == nil {
			lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
			r.Log, _ = view.Excerpt(lines[max(0, len(lines)-view.TailLines):])
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, cache.ErrNotFound) {
		return fmt.Errorf("read %s: %w", agentrun.OutputLog, err)
	}
	return nil
}

// FromBundle returns the records of a bundle that was examined, with a standing.
func FromBundle(ctx context.Context, b *bundle.Bundle, x *bundle.Examined, catalog *competitions.Catalog, standing string) ([]*results.Attempt, []Left, error) {
	store, err := b.Store(nil)
	if err != nil {
		return nil, nil, err
	}
	p, err := b.Plan()
	if err != nil {
		return nil, nil, err
	}
	return Collect(ctx, Run{
		ID: x.Run.ID, Pipeline: x.Run.Pipeline, Version: x.Run.Version, Started: x.Run.Started, About: x.Run.About, Steps: x.Summary.Steps,
		Plan: p, Store: store, Index: store, Catalog: catalog, Standing: standing,
		Tried: func(map[string]*cache.Record) *bundle.Chain { return x.Chain },
	})
}

// FromFile returns the records of a file of reports or of a leaderboard, in the
// order of the file.
func FromFile(path string, catalog *competitions.Catalog) ([]*results.Attempt, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	list := []*results.Attempt{}
	add := func(g grading.Graded) *results.Attempt {
		a := aggregate.Reported(g, catalog)
		a.Standing = Reported
		list = append(list, a)
		return a
	}
	var b aggregate.Board
	if json.Unmarshal(text, &b) == nil && len(b.Entries) > 0 {
		for _, e := range b.Entries {
			a := add(grading.Graded{Report: e.Report, Labels: e.Labels})
			if a.Agent, a.Seed = e.Agent, e.Seed; e.Attempt != nil {
				a.Made = *e.Attempt
			}
		}
		return list, nil
	}
	f, err := board.ReadPaths([]string{path})
	if err != nil {
		return nil, err
	}
	for _, g := range f.Reports {
		add(g)
	}
	return list, nil
}
