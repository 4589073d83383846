package aggregate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/engine/step"
)

// maxReportBytes is the largest report that is read.
const maxReportBytes = 16 << 20

// The ways to group competitions, the values of group_by.
const (
	byComplexity  = "complexity"
	byCategory    = "category"
	byCompetition = "competition"
	byNothing     = "none"
)

// Kind returns the step kind "aggregate" over the competitions of a catalog.
func Kind(catalog *competitions.Catalog) step.Kind {
	return step.Kind{
		Name:    "aggregate",
		Version: "1",
		Doc: "Makes grading reports into a leaderboard of agents: scores as mean and standard error over seeds, medals, and the share of " +
			"competitions with a medal.",
		Args: []step.Attr{
			{Name: "reports", Type: cty.List(step.ArtifactType), Required: true, Doc: "Reports of grade steps, labelled with agent and seed."},
			{Name: "group_by", Type: cty.String, Default: cty.StringVal(byComplexity), OneOf: []string{byCategory, byCompetition, byComplexity, byNothing}, Doc: "What competitions are grouped by for the percentages."},
			{Name: "title", Type: cty.String, Default: cty.StringVal("Leaderboard"), Doc: "The first line of the table."},
		},
		Outputs: []step.Output{
			{Name: "board", Type: step.ArtifactType, Doc: "The leaderboard with everything it was made from, JSON."},
			{Name: "table", Type: cty.String, Doc: "The leaderboard as text."},
		},
		New: func(args step.Args) (step.Step, error) { return newAggregation(args, catalog) },
	}
}

// arguments are the block's arguments.
type arguments struct {
	Reports []*step.Artifact `cty:"reports"`
	GroupBy string           `cty:"group_by"`
	Title   string           `cty:"title"`
}

type aggregation struct {
	args    arguments
	catalog *competitions.Catalog
}

func newAggregation(args step.Args, catalog *competitions.Catalog) (step.Step, error) {
	a := &aggregation{catalog: catalog}
	if err := args.Decode(&a.args); err != nil {
		return nil, err
	}
	if len(a.args.Reports) == 0 {
		return nil, step.WrongArg("reports", errors.New("reports is empty, so there is nothing to make a leaderboard of"))
	}
	return a, nil
}

// Fingerprint implements step.Fingerprinter: groups come from the definitions.
func (a *aggregation) Fingerprint(h *digest.Hasher) error {
	w := digest.NewWriter()
	for _, id := range a.catalog.IDs() {
		fmt.Fprintf(w, "%s %s\n", id, a.group(id))
	}
	h.Content("groups", w.ID())
	return nil
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
	entries, err := readEntries(ctx, env.Store, a.args.Reports)
	if err != nil {
		return nil, fmt.Errorf("aggregate: %w", err)
	}
	board, err := NewBoard(entries, a.args.GroupBy, a.group)
	if err != nil {
		return nil, fmt.Errorf("aggregate: %w", err)
	}
	text, err := json.MarshalIndent(board, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode leaderboard: %w", err)
	}
	ref, err := cache.PutBytes(ctx, env.Store, append(text, '\n'))
	if err != nil {
		return nil, err
	}
	table, err := json.Marshal(board.Text(a.args.Title))
	if err != nil {
		return nil, fmt.Errorf("encode table: %w", err)
	}
	return cache.Outputs{"board": {Ref: ref}, "table": {JSON: table}}, nil
}

func readEntries(ctx context.Context, store cache.Store, reports []*step.Artifact) ([]Entry, error) {
	entries := make([]Entry, len(reports))
	for i, r := range reports {
		data, err := cache.Get(ctx, store, r.Ref.ID, maxReportBytes)
		if err != nil {
			return nil, fmt.Errorf("read report of %s: %w", r.From, err)
		}
		var report struct {
			grading.Report
			Labels map[string]string `json:"labels"`
		}
		if err := json.Unmarshal(data, &report); err != nil || report.CompetitionID == "" {
			return nil, fmt.Errorf("read output %q of %s: it is not a grading report", r.Output, r.From)
		}
		entries[i] = Entry{Agent: report.Labels["agent"], Seed: report.Labels["seed"], Labels: report.Labels, Report: report.Report}
		if entries[i].Agent == "" {
			entries[i].Agent = Unlabelled
		}
	}
	slices.SortStableFunc(entries, compareEntries)
	return entries, nil
}
