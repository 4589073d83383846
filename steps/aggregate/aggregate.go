package aggregate

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/export"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/data/table"
)

// maxReportBytes is the largest report that is read.
const maxReportBytes = 16 << 20

// comparison is the version of how agents are compared. It is in the keys of boards
// with a comparison only, so that the others keep theirs.
const comparison = "2"

// classes is the version of how agents are split by class. It is in the keys of boards with
// several classes only.
const classes = "1"

// The ways to group competitions, the values of group_by.
const (
	byComplexity  = "complexity"
	byCategory    = "category"
	byCompetition = "competition"
	byNothing     = "none"
)

// Kind returns the step kind "aggregate" over the competitions of a catalog.
func Kind(catalog *competitions.Catalog) step.Kind {
	once := sync.OnceValue(func() digest.ContentID { return Leaderboards(catalog) })
	return step.Kind{
		Name:    "aggregate",
		Version: "11",
		Doc:     "Makes grading reports a leaderboard of agents: scores as mean and standard error over seeds, medals, and the share of competitions with one.",
		Args: step.Attrs(arguments{GroupBy: byComplexity, Resamples: 10000, Title: "Leaderboard"},
			step.OneOf{"group_by": {byCategory, byCompetition, byComplexity, byNothing}}),
		Results: true,
		Outputs: []step.Output{
			{Name: "board", Type: step.ArtifactType, Doc: "The leaderboard and what it was computed from, JSON."},
			{Name: "files", Type: step.ArtifactType, Doc: "The leaderboard as a tree: board.json, board.md, board.txt, and the tables figures and runs as .csv, .parquet and .arrow."},
			{Name: "markdown", Type: cty.String, Doc: "A row per agent for the table in the reference's README."},
			{Name: "table", Type: cty.String, Doc: "The leaderboard as text, a line an agent; board.txt has all tables."},
		},
		New: func(args step.Args) (step.Step, error) { return newAggregation(args, catalog, once) },
	}
}

// arguments are the block's arguments.
type arguments struct {
	Reports    []*step.Artifact  `cty:"reports" is:"required" doc:"Reports of grade steps with the labels agent and seed."`
	GroupBy    string            `cty:"group_by" doc:"How competitions are grouped for the percentages."`
	PadMissing bool              `cty:"pad_missing" doc:"Counts a missing report as no submission. Otherwise percentages are over complete seeds, as many as the competition with the fewest reports has."`
	Version    *string           `cty:"version" doc:"Only reports of this version of the competitions."`
	Benchmark  *step.Benchmark   `cty:"benchmark" doc:"A benchmark block, such as benchmark.mine: the board is of its competitions, by its rule, and leaves out reports at others."`
	Labels     map[string]string `cty:"labels" doc:"Display names of agents, by their label agent."`
	Compare    []string          `cty:"compare" doc:"Compares the first of these agents with the others: difference, intervals, and exact permutation test."`
	Resamples  int               `cty:"resamples" doc:"No effect: intervals are computed. It stays because it is in keys."`
	Attempts   []attempt         `cty:"attempts" doc:"The reports' agent-run steps, in order, such as values(step.agent-run.solve). Adds times, requests to the validity server, tokens and cost: the gateway's, or those of logs/usage.json without model blocks. These, and so the board, differ from run to run."`
	Title      string            `cty:"title" doc:"The first line of the table."`
}

type aggregation struct {
	args         arguments
	benchmark    *board.Benchmark
	catalog      *competitions.Catalog
	leaderboards func() digest.ContentID
}

func newAggregation(args step.Args, catalog *competitions.Catalog, leaderboards func() digest.ContentID) (step.Step, error) {
	a := &aggregation{catalog: catalog, leaderboards: leaderboards}
	if err := args.Decode(&a.args); err != nil {
		return nil, err
	}
	if len(a.args.Reports) == 0 {
		return nil, step.WrongArg("reports", errors.New("reports is empty, so there is nothing to build a leaderboard from"))
	}
	if len(a.args.Compare) == 1 {
		return nil, step.WrongArg("compare", fmt.Errorf("compare names one agent, %q; it must name two or more", a.args.Compare[0]))
	}
	if a.args.Benchmark != nil {
		b, _, err := board.NewBenchmark(*a.args.Benchmark, catalog)
		if err != nil {
			return nil, step.WrongArg("benchmark", err)
		}
		a.benchmark = &b
	}
	if err := a.checkAttempts(); err != nil {
		return nil, step.WrongArg("attempts", err)
	}
	return a, nil
}

// Fingerprint implements step.Fingerprinter. Groups and places depend on the
// definitions.
func (a *aggregation) Fingerprint(h *digest.Hasher) error {
	w := digest.NewWriter()
	for _, id := range a.catalog.IDs() {
		fmt.Fprintf(w, "%s %s\n", id, a.group(id))
	}
	h.Content("groups", w.ID())
	h.Content("leaderboards", a.leaderboards())
	if len(a.args.Compare) > 0 || a.several(taskOf) { // splitTasks compares the forms of a task
		h.String("comparison", comparison)
	}
	if a.several(func(set []string) string { return conditions.Class(set) }) {
		h.String("classes", classes)
	}
	if a.benchmark != nil { // the anchors are of the definitions
		text, _ := json.Marshal(a.benchmark) // strings and finite numbers
		h.String("benchmark 1", string(text))
	}
	if anyUnranked(a.catalog) {
		h.String("ranking", ranking)
	}
	return nil
}

// several reports whether the reports differ in what a function gives of their conditions.
func (a *aggregation) several(of func([]string) string) bool {
	first := a.args.Reports[0].Conditions
	return slices.ContainsFunc(a.args.Reports, func(r *step.Artifact) bool {
		return !slices.Equal(r.Conditions, first) && of(r.Conditions) != of(first)
	})
}

// Leaderboards is a digest of the human leaderboards of a catalog, which decide
// places. Definitions that cannot be read are left out.
func Leaderboards(catalog *competitions.Catalog) digest.ContentID {
	w := digest.NewWriter()
	for _, id := range catalog.IDs() {
		def, err := catalog.Get(id)
		if err != nil {
			continue
		}
		for _, version := range def.Versions() {
			at, err := def.At(version)
			if err != nil {
				continue
			}
			fmt.Fprintf(w, "%s %s\n", id, version)
			_ = binary.Write(w, binary.LittleEndian, at.Medals.Scores)
		}
	}
	return w.ID()
}

// group returns the group of a competition.
func (a *aggregation) group(id string) string {
	switch {
	case a.args.GroupBy == byCompetition:
		return id
	case a.args.GroupBy == byNothing || a.catalog.Complexity(id) == "":
		return "all"
	case a.args.GroupBy == byCategory:
		return a.catalog.Category(id)
	}
	return string(a.catalog.Complexity(id))
}

// Run implements step.Step.
func (a *aggregation) Run(ctx context.Context, env *step.Env) (cache.Outputs, error) {
	b, markdown, err := a.board(ctx, env)
	if err != nil {
		return nil, fmt.Errorf("aggregate: %w", err)
	}
	return a.outputs(ctx, env, b, markdown)
}

// board makes the leaderboard and its rows for the reference's README.
func (a *aggregation) board(ctx context.Context, env *step.Env) (*Board, string, error) {
	entries, err := a.entries(ctx, env)
	if err != nil {
		return nil, "", err
	}
	forms := splitTasks(entries)
	splitBudgets(entries)
	b, err := NewBoard(entries, Grouping{By: a.args.GroupBy, Of: a.group, PadMissing: a.args.PadMissing, Benchmark: a.benchmark})
	if err == nil {
		err = b.Compare(append([][]string{a.args.Compare}, forms...))
	}
	if err != nil {
		return nil, "", err
	}
	markdown, err := a.markdown(b)
	return b, markdown, err
}

func (a *aggregation) outputs(ctx context.Context, env *step.Env, made *Board, markdown string) (cache.Outputs, error) {
	text, err := json.MarshalIndent(made, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode leaderboard: %w", err)
	}
	shown := made.Compact(a.args.Title, Stored)
	files := map[string][]byte{"board.json": append(text, '\n'), "board.md": []byte(markdown), "board.txt": []byte(made.Text(a.args.Title, StoredFull))}
	if err := made.tables(files); err != nil {
		return nil, err
	}
	out := cache.Outputs{}
	var b tree.Builder
	for name, data := range files {
		ref, err := cache.PutBytes(ctx, env.Store, data)
		if err != nil {
			return nil, err
		}
		if err := b.Add(name, ref, false); err != nil {
			return nil, err
		}
		if name == "board.json" {
			out["board"] = cache.Value{Ref: ref}
		}
	}
	all, err := b.Build(ctx, env.Store)
	if err != nil {
		return nil, fmt.Errorf("keep files: %w", err)
	}
	out["files"] = cache.Value{Ref: all}
	return out, out.Encode(map[string]any{"table": shown, "markdown": markdown})
}

// tables adds the tables in every format.
func (b *Board) tables(files map[string][]byte) error {
	var groups []export.Group
	for _, a := range b.Agents {
		for _, g := range a.shown() {
			one := export.Group{Agent: a.Name, Name: g.Name, Figures: g.Percentages, Seeds: g.Seeds, Competitions: len(g.Competitions), Under: g.Under, Class: a.Class}
			if len(g.Competitions) == len(b.Competitions()) {
				one.Rule, one.Ruled = b.RuleName(), a.Ruled
			}
			groups = append(groups, one)
		}
	}
	figures, errFigures := export.Figures(groups)
	all, err := export.Runs(b.attempts(""))
	if err := cmp.Or(errFigures, err); err != nil {
		return err
	}
	for name, t := range map[string]*table.Table{"figures": figures, "runs": all} {
		for _, f := range export.Formats() {
			var data bytes.Buffer
			if err := export.WriteTexts(&data, t, f); err != nil {
				return err
			}
			files[name+"."+string(f)] = data.Bytes()
		}
	}
	return nil
}

// markdown returns the rows of the reference's README: percentages by
// complexity, whatever the board is grouped by, and over all competitions of
// the board.
func (a *aggregation) markdown(whole *Board) (string, error) {
	byComplexity := aggregation{args: arguments{GroupBy: byComplexity}, catalog: a.catalog}
	b, err := NewBoard(whole.Entries, Grouping{By: "complexity", Of: byComplexity.group, PadMissing: a.args.PadMissing, Benchmark: a.benchmark})
	if err != nil {
		return "", err
	}
	var rows []export.Row
	for _, agent := range b.Agents {
		own := whole.of(agent.Name)
		row := export.Row{Agent: agent.Name, Splits: map[string]board.Split{}, Under: agent.Overall.Under, Class: agent.Class, Hours: conditions.Hours(conditionsOf(own)...), Figure: agent.Ruled.Cell()}
		for _, g := range append(agent.Groups, agent.Overall) {
			if len(g.Percentages) > 0 {
				row.Splits[g.Name] = g.Percentages
			}
		}
		for _, e := range own {
			if e.Attempt != nil && e.Attempt.Usage != nil && e.Attempt.Usage.Model != "" {
				row.Models = e.Attempt.Usage.Model
			}
		}
		rows = append(rows, row)
	}
	notes := append(conditions.Notes(b.UnderConditions()), b.externalNotes()...)
	return export.Markdown(rows, append(notes, b.RuleNotes()...), b.RuleName()), nil
}

// shown returns the agent's groups and, if there are several, the group of all
// competitions.
func (a Agent) shown() []Group {
	if len(a.Groups) == 1 {
		return a.Groups
	}
	return append(a.Groups[:len(a.Groups):len(a.Groups)], a.Overall)
}
