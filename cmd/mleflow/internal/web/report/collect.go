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
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/export"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/engine/ledger"
	"github.com/mleflow/mleflow/engine/plan"
	"github.com/mleflow/mleflow/plugins/sandbox/shim"
	"github.com/mleflow/mleflow/steps/aggregate"
)

// maxDocument is the largest grading report or leaderboard that is read.
const maxDocument = 64 << 20

// tailLines is the number of last lines of a log that are shown, tailsShown the number of
// such logs.
const (
	tailLines  = 20
	tailsShown = 100
)

// Source provides the data of a report.
type Source struct {
	Run     *ledger.Past
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
	c := &collector{Source: src, ctx: ctx, sum: sum, data: Data{Run: headOf(sum), Steps: stepsOf(pl, sum), Nodes: nodesOf(sum)}}
	var attempts conditions.Tally
	var outcomes view.Outcomes
	for _, s := range sum.Steps {
		attempts.Add(s.Kind, s.Conditions)
		outcomes.Add(s.Finished(), sum.ID, nil)
	}
	c.problems(&outcomes)
	c.data.Run.NotIsolated = attempts.NotIsolated("were not isolated")
	for _, w := range sum.Warnings {
		if w.Address == "" {
			c.data.Run.Warnings = append(c.data.Run.Warnings, w.Message)
		}
	}
	outputs, err := DrawBoards(ctx, src.Store, sum, WithLabels)
	if err != nil {
		return Data{}, err
	}
	for _, o := range outputs {
		c.data.Outputs = append(c.data.Outputs, page.Fact{Name: o.Name, Value: o.Value})
	}
	if err := c.read(); err != nil {
		return Data{}, err
	}
	if len(c.data.Boards) == 0 && sum.State == ledger.Running {
		c.data.Outputs = append(c.data.Outputs, SoFar(c.reports, src.Catalog, sum)...)
	}
	c.data.Environment = c.environment()
	return c.data, nil
}

// SoFar returns the leaderboard of a running run's graded attempts, or the reason why
// there is none; both are empty before the first grade.
func SoFar(reports []grading.Graded, catalog *competitions.Catalog, sum *ledger.Summary) []page.Fact {
	if len(reports) == 0 {
		return nil
	}
	so := page.Fact{Name: "Leaderboard so far"}
	if b, err := aggregate.BoardOf(reports, catalog); err != nil {
		so.Value = err.Error()
	} else {
		so.Value = b.Compact(view.PartialText(len(reports), view.ToGrade(sum.Start)), aggregate.Layout{Width: aggregate.Stored.Width, Labels: true})
	}
	return []page.Fact{so}
}

// problems adds the attempts with problems, the first of them with the end of their logs.
func (c *collector) problems(o *view.Outcomes) {
	c.data.Outcomes = o.Lines()
	if c.Tail != nil {
		o.Explain(rowsShown, c.Tail)
	}
	for i, p := range o.Problems[:min(len(o.Problems), rowsShown)] {
		told := Problem{Address: p.Address, What: p.What(), Command: p.Command()}
		if c.Tail != nil && i < tailsShown {
			told.Tail = strings.Join(c.Tail(p.Run, p.Address, tailLines), "\n")
		}
		c.data.Problems = append(c.data.Problems, told)
	}
}

func headOf(sum *ledger.Summary) Run {
	r := Run{ID: sum.ID, Pipeline: sum.Pipeline, Started: sum.Started, Version: sum.Version, Duration: sum.Last.Sub(sum.Started)}
	if sum.Start != nil {
		r.Pipeline = sum.Start.Pipeline
	}
	r.Pipeline = filepath.Base(r.Pipeline)
	if sum.Finish != nil {
		r.Status = sum.Finish.Status
	}
	return r
}

// stepsOf combines the plan, for blocks and reasons, with the events.
func stepsOf(pl *plan.Plan, sum *ledger.Summary) []Step {
	happened := make(map[string]*ledger.StepSummary, len(sum.Steps))
	for i := range sum.Steps {
		happened[sum.Steps[i].Address] = &sum.Steps[i]
	}
	steps := make([]Step, len(pl.Steps))
	for i := range pl.Steps {
		p := &pl.Steps[i]
		s := Step{Address: p.Name, Kind: p.Kind, Block: p.Address.Step.String()}
		for _, r := range p.Reasons {
			s.Reasons = append(s.Reasons, r.Text)
		}
		for _, before := range p.After {
			if block := pl.Steps[before].Address.Step.String(); !slices.Contains(s.After, block) {
				s.After = append(s.After, block)
			}
		}
		if h := happened[p.Name]; h != nil {
			s.take(h)
		}
		steps[i] = s
	}
	return view.InOrder(steps, func(s Step) string { return s.Address })
}

func (s *Step) take(h *ledger.StepSummary) {
	s.Status, s.Started, s.Duration, s.Attempts, s.Error, s.Action = h.Status, h.Started, h.Duration, h.Attempts, h.Error, h.Action
	if !h.Started.IsZero() && h.Ended.After(h.Started) {
		s.Duration = h.Ended.Sub(h.Started)
	}
}

// collector reads the content that the run's steps gave.
type collector struct {
	Source
	ctx     context.Context
	sum     *ledger.Summary
	data    Data
	missing int
	reports []grading.Graded
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
			if err := c.document(s, name, sum); err != nil {
				return err
			}
		}
	}
	slices.SortStableFunc(c.data.Competitions, func(a, b Competition) int { return strings.Compare(a.ID, b.ID) })
	for i := range c.data.Competitions {
		slices.SortStableFunc(c.data.Competitions[i].Scores, compareScores)
	}
	return nil
}

// compareScores orders by agent and seed.
func compareScores(a, b Score) int {
	return cmp.Or(board.CompareNames(a.Agent, b.Agent), aggregate.CompareSeeds(a.Seed, b.Seed))
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

// document reads an output that the report shows: the report of a grade step
// or the leaderboard of an aggregate step.
func (c *collector) document(s *ledger.StepSummary, output, sum string) error {
	read := map[string]func([]byte) error{
		"grade report": c.addReport, "aggregate board": c.addBoard,
		"agent-run shim_log": func(text []byte) error { return c.addRefused(s.Address, text) },
	}[s.Kind+" "+output]
	if read == nil {
		return nil
	}
	id, err := digest.ParseContentID(sum)
	if err != nil {
		return fmt.Errorf("read %s of %s: %w", output, s.Address, err)
	}
	text, err := cache.Get(c.ctx, c.Store, id, maxDocument)
	if errors.Is(err, cache.ErrNotFound) || errors.Is(err, cache.ErrCorrupt) {
		c.missing++
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s of %s: %w", output, s.Address, err)
	}
	if err := read(text); err != nil {
		return fmt.Errorf("read %s of %s: %w", output, s.Address, err)
	}
	return nil
}

// addModels adds an attempt's use of models.
func (c *collector) addModels(s *ledger.StepSummary) {
	var stats struct{ Models map[string]export.ModelUse }
	if s.Kind != conditions.AttemptKind || json.Unmarshal([]byte(s.Outputs["stats"]), &stats) != nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(stats.Models)) {
		if u := stats.Models[name]; len(c.data.Models) < rowsShown {
			c.data.Models = append(c.data.Models, ModelUse{s.Address, name, u, strings.Join(u.Models, " "), time.Duration(u.WaitedSeconds * float64(time.Second))})
		}
	}
}

// addRefused adds the calls of an attempt that the package mlebench refused.
func (c *collector) addRefused(address string, text []byte) error {
	var told shim.Tally
	for line := range bytes.Lines(text) {
		var r shim.Record
		if json.Unmarshal(line, &r) == nil {
			told.Add(r)
		}
	}
	for _, g := range told.Groups() {
		c.data.Refused = append(c.data.Refused, Refused{Address: address, Kind: string(g.Kind), Call: g.Call, Place: g.Place(), Times: g.Times})
	}
	if told.Others > 0 {
		c.data.Refused = append(c.data.Refused, Refused{Address: address, Call: "others", Times: told.Others})
	}
	return nil
}

func (c *collector) addReport(text []byte) error {
	var r grading.Graded
	if err := json.Unmarshal(text, &r); err != nil {
		return err
	}
	c.reports = append(c.reports, r)
	comp := c.competition(r.Report)
	comp.Scores = append(comp.Scores, scoreOf(r.Report, cmp.Or(r.Labels["agent"], board.Unlabelled), r.Labels["seed"]))
	return nil
}

// competition returns the entry of a report's competition and creates it if necessary.
func (c *collector) competition(r grading.Report) *Competition {
	for i := range c.data.Competitions {
		if c.data.Competitions[i].ID == r.CompetitionID {
			return &c.data.Competitions[i]
		}
	}
	comp := Competition{Title: r.CompetitionID, External: r.MetricExternal, People: page.PeopleOf(r)}
	if def, err := c.Catalog.Get(r.CompetitionID); err == nil {
		comp.Title, comp.Metric, comp.Human, comp.Note = def.Title, def.Facts.MetricName, def.Medals.Scores, def.Medals.Note
	}
	c.data.Competitions = append(c.data.Competitions, comp)
	return &c.data.Competitions[len(c.data.Competitions)-1]
}

func scoreOf(r grading.Report, agent, seed string) Score {
	s := Score{Agent: agent, Seed: seed, Isolation: conditions.Described(r.Conditions), Reason: r.Reason, Teams: r.Teams, AboveMedian: r.AboveMedian}
	switch {
	case r.GoldMedal:
		s.Medal = "gold"
	case r.SilverMedal:
		s.Medal = "silver"
	case r.BronzeMedal:
		s.Medal = "bronze"
	}
	if r.ExactScore != nil {
		s.Value, s.Scored = float64(*r.ExactScore), true
	}
	if r.Rank != nil && !math.IsNaN(s.Value) {
		s.Rank = *r.Rank
	}
	return s
}

func (c *collector) addBoard(text []byte) error {
	var b aggregate.Board
	if err := json.Unmarshal(text, &b); err != nil {
		return err
	}
	c.data.Boards = append(c.data.Boards, boardsOf(b)...)
	return nil
}

// boardsOf makes one leaderboard per group, and one of all attempts if there are several
// groups.
func boardsOf(b aggregate.Board) []Board {
	var boards []Board
	labels := b.Labels(false)
	of := func(row int) (cells []string) {
		for _, column := range labels {
			cells = append(cells, column[row])
		}
		return cells
	}
	add := func(title string, at int, g aggregate.Group) {
		if len(g.Percentages) == 0 {
			return // no complete seed
		}
		i := slices.IndexFunc(boards, func(b Board) bool { return b.Title == title })
		if i < 0 {
			i = len(boards)
			boards = append(boards, Board{Title: title, By: "Agent", Labels: of(0)})
		}
		boards[i].Rows = append(boards[i].Rows, rowOf(b.Agents[at], of(at+1), g))
	}
	for at, a := range b.Agents {
		if len(a.Groups) != 1 {
			add("All competitions", at, a.Overall)
		}
		for _, g := range a.Groups {
			add(capitalize(b.GroupBy)+": "+g.Name, at, g)
		}
	}
	return boards
}

func capitalize(s string) string {
	if s == "" || s == "none" {
		return "Group"
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

func rowOf(a aggregate.Agent, labels []string, g aggregate.Group) BoardRow {
	rate := func(name string) page.Rate { return page.RateOf(g.Percentages, name, g.Seeds) }
	return BoardRow{Name: a.Name, Labels: labels, Isolation: cmp.Or(g.Isolation, conditions.Unknown) + g.Repeats.String(), Class: cmp.Or(a.Class, conditions.Unknown), Seeds: g.Seeds, Competitions: len(g.Competitions),
		AnyMedal: rate("any_medal_percentage"), Gold: rate("gold_medal_percentage"), Silver: rate("silver_medal_percentage"),
		Bronze: rate("bronze_medal_percentage"), AboveMedian: rate("above_median_percentage"), Valid: rate("valid_submissions_percentage")}
}

// environment lists the inputs of the run and its machine, and the facts that are no
// longer known.
func (c *collector) environment() []page.Fact {
	facts := page.Environment(c.sum.Info)
	if c.missing > 0 {
		facts = append(facts, page.Fact{Name: "left out", Value: view.Plural(c.missing, "document") + " evicted from the cache since"})
	}
	return facts
}
