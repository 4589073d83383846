package report

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/attempts"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/outputs"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/firstscreen"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/engine/plan"
	"github.com/mleflow/mleflow/plugins/sandbox/shim"
)

// maxDocument is the largest document that is read.
const maxDocument = 64 << 20

// Source provides the data of a report.
type Source struct {
	Run     *history.Past
	Store   cache.Store
	Index   cache.Index
	Catalog *competitions.Catalog
	// Tail returns the last lines of a step's log in a run; nil for none.
	Tail func(run, address string, lines int) []string
}

// Collect gathers the data of a run. Content that has been evicted is omitted, and the
// environment says so.
func Collect(ctx context.Context, src Source) (Data, error) {
	sum, err := src.Run.Summary()
	if err != nil {
		return Data{}, err
	}
	pl, err := src.Run.Plan()
	if err != nil {
		return Data{}, err
	}
	c := &collector{Source: src, ctx: ctx, sum: sum, reports: map[string]grading.Graded{}, data: Data{Run: headOf(sum), Steps: stepsOf(pl, sum), Nodes: nodesOf(sum)}}
	var attempts conditions.Tally
	var outcomes view.Outcomes
	for _, s := range sum.Steps {
		attempts.Add(s.Kind, s.Conditions)
		outcomes.Add(s.Finished(), sum.ID, nil)
	}
	c.data.Outcomes = outcomes.Lines()
	c.data.Run.Unscored, c.data.Run.Attempts = outcomes.Unscored()
	c.data.Run.NotIsolated = attempts.NotIsolated("were not isolated")
	for _, w := range sum.Warnings {
		if w.Address == "" {
			c.data.Run.Warnings = append(c.data.Run.Warnings, w.Message)
		}
	}
	if err := c.read(); err != nil {
		return Data{}, err
	}
	c.screen(pl, &outcomes)
	return c.data, nil
}

// screen makes the first screen, and adds the scores with the causes that logs tell.
func (c *collector) screen(pl *plan.Plan, o *view.Outcomes) {
	src := firstscreen.Source{Journal: attempts.JournalOf(pl, c.sum), Summary: c.sum, Store: c.Store, Tail: c.Tail}
	src.Reports, src.Catalog = c.reports, c.Catalog
	if c.Tail != nil {
		o.Explain(rowsShown, c.Tail)
	}
	reasons := map[string]string{}
	for _, p := range o.Problems {
		reasons[p.Address] = p.Reason
	}
	c.addScores(src.List(), reasons)
	c.data.Screen = src.New(c.ctx, o.Problems)
}

func headOf(sum *history.Summary) Run {
	file := sum.Pipeline
	if sum.Start.Pipeline != "" {
		file = sum.Start.Pipeline
	}
	return Run{Info: sum.Info, Duration: sum.Last.Sub(sum.Started), State: sum.State, File: filepath.Base(cmp.Or(file, "?"))}
}

// stepsOf combines the plan, for blocks and reasons, with the events.
func stepsOf(pl *plan.Plan, sum *history.Summary) []Step {
	happened := make(map[string]*history.StepSummary, len(sum.Steps))
	for i := range sum.Steps {
		happened[sum.Steps[i].Address] = &sum.Steps[i]
	}
	steps := make([]Step, len(pl.Steps))
	for i := range pl.Steps {
		p := &pl.Steps[i]
		s := Step{Bar: page.Bar{Address: p.Name, Kind: p.Kind}, Block: p.Address.Step.String()}
		for _, r := range p.Reasons {
			s.Reasons = append(s.Reasons, r.Text)
		}
		for _, before := range p.After {
			if block := pl.Steps[before].Address.Step.String(); !slices.Contains(s.After, block) {
				s.After = append(s.After, block)
			}
		}
		if h := happened[p.Name]; h != nil {
			s.Status, s.Started, s.Duration, s.Attempts, s.Error = h.Status, h.Started, sum.Took(h, sum.Last), h.LastTry, h.Error
		}
		steps[i] = s
	}
	return view.InOrder(steps, func(s Step) string { return s.Address })
}

// collector reads the content that the run's steps gave.
type collector struct {
	Source
	ctx     context.Context
	sum     *history.Summary
	data    Data
	reports map[string]grading.Graded // by the address of their steps
}

func (c *collector) read() error {
	for i := range c.sum.Steps {
		s := &c.sum.Steps[i]
		c.addModels(s)
		sizes := c.sizes(s.Action)
		for _, name := range slices.Sorted(maps.Keys(s.Outputs)) {
			kind, sum, ok := strings.Cut(s.Outputs[name], ":")
			if !ok || (kind != string(cache.Blob) && kind != string(cache.Tree)) {
				continue
			}
			c.data.Pins = append(c.data.Pins, Pin{Address: s.Address, Output: name, Digest: sum, Size: sizes[name]})
			if err := c.document(s, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// sizes returns the sizes of an action's outputs, if it is still recorded.
func (c *collector) sizes(action string) map[string]int64 {
	id, err := digest.ParseActionID(action)
	if err != nil {
		return nil
	}
	rec, err := c.Index.Lookup(c.ctx, id)
	if err != nil {
		return nil
	}
	sizes := make(map[string]int64, len(rec.Outputs))
	for name, v := range rec.Outputs {
		sizes[name] = v.Ref.Size
	}
	return sizes
}

// document reads an output that the report shows: the report of a grade step or the
// calls that an attempt was refused.
func (c *collector) document(s *history.StepSummary, output string) (err error) {
	switch s.Kind + " " + output {
	case "grade report":
		var r grading.Graded
		if r, err = outputs.Read[grading.Graded](c.ctx, c.Store, s.Outputs[output]); err == nil {
			c.reports[s.Address] = r
		}
	case "agent-run shim_log":
		err = c.addRefused(s.Address, s.Outputs[output])
	}
	switch {
	case errors.Is(err, cache.ErrNotFound), errors.Is(err, cache.ErrCorrupt):
		c.data.Missing++
	case err != nil:
		return fmt.Errorf("read %s of %s: %w", output, s.Address, err)
	}
	return nil
}

// addModels adds an attempt's use of models.
func (c *collector) addModels(s *history.StepSummary) {
	var stats struct{ Models map[string]results.ModelUse }
	if s.Kind != conditions.AttemptKind || json.Unmarshal([]byte(s.Outputs["stats"]), &stats) != nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(stats.Models)) {
		if u := stats.Models[name]; len(c.data.Models) < rowsShown {
			c.data.Models = append(c.data.Models, ModelUse{s.Address, name, u})
		}
	}
}

// addRefused adds the calls of an attempt that the package mlebench refused.
func (c *collector) addRefused(address, output string) error {
	_, sum, _ := strings.Cut(output, ":")
	id, err := digest.ParseContentID(sum)
	if err != nil {
		return err
	}
	text, err := cache.Get(c.ctx, c.Store, id, maxDocument)
	if err != nil {
		return err
	}
	var tally shim.Tally
	for line := range bytes.Lines(text) {
		var r shim.Record
		if json.Unmarshal(line, &r) == nil {
			tally.Add(r)
		}
	}
	for _, g := range tally.Groups() {
		c.data.Refused = append(c.data.Refused, Refused{address, g})
	}
	if tally.Others > 0 {
		c.data.Refused = append(c.data.Refused, Refused{address, shim.Group{Call: "others", Times: tally.Others}})
	}
	return nil
}

// competition returns the entry of a report's competition and creates it if necessary.
func (c *collector) competition(r grading.Report) *Competition {
	for i := range c.data.Competitions {
		if c.data.Competitions[i].ID == r.CompetitionID {
			return &c.data.Competitions[i]
		}
	}
	comp := Competition{Title: r.CompetitionID, External: r.MetricExternal, AmongPeople: page.AmongPeople{People: page.PeopleOf(r)}}
	if def, err := c.Catalog.Get(r.CompetitionID); err == nil {
		comp.Title, comp.Metric, comp.Human, comp.Note = def.Title, def.Facts.MetricName, def.Medals.Scores, def.Medals.Note
	}
	c.data.Competitions = append(c.data.Competitions, comp)
	return &c.data.Competitions[len(c.data.Competitions)-1]
}

// addScores adds the graded attempts to their competitions, with the reasons that are
// known of steps by address.
func (c *collector) addScores(list []*results.Attempt, reasons map[string]string) {
	list = slices.DeleteFunc(list, func(a *results.Attempt) bool { _, read := c.reports[a.GradeAddress]; return !read })
	results.Sort(list)
	classes := results.Classes(list)
	for _, a := range list {
		r := &a.Report
		s := Score{Agent: a.Agent, Seed: a.Seed, Isolation: conditions.Described(r.Conditions), Reason: cmp.Or(reasons[a.Address], reasons[a.GradeAddress], a.Reason()), Teams: r.Teams, AboveMedian: r.AboveMedian}
		if len(classes) > 1 {
			s.Isolation += ", class " + results.Letter(slices.Index(classes, a.Class()))
		}
		if a.WithoutMedals() == "" {
			s.Medal = results.Medal(*r)
		}
		if r.ExactScore != nil {
			s.Value, s.Scored = float64(*r.ExactScore), true
		}
		if r.Rank != nil && !math.IsNaN(s.Value) {
			s.Rank = *r.Rank
		}
		comp := c.competition(*r)
		comp.Scores = append(comp.Scores, s)
	}
}
