package leaderboard

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/boards"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/export"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/competitions/rungroup"
	"github.com/mleflow/mleflow/engine/step"
)

type leaderboardOptions struct {
	set                        app.SetFlags
	experiment, runsDir, agent string
	seeds                      int
	padMissing                 bool
	// against are reports of another agent, and againstAgent its name.
	against      []string
	againstAgent string
	// version is the version of the competitions whose reports count, and
	// againstVersion that of the other agent's.
	version, againstVersion string
	// class are the conditions of the reports that count.
	class []string
	// at are the times of early stopping to show.
	at    []time.Duration
	rules RuleFlags
	// withoutFlagged lets attempts in which a rule found something count as invalid.
	withoutFlagged bool
	// benchmark is one of the pipeline's, and aggregate the rule over the competitions of set.
	benchmark, aggregate string
	show                 showOptions
}

// resampling are flags of earlier versions, which drew intervals.
var resampling = []string{"resamples", "resampling-seed"}

// NewLeaderboard returns the command leaderboard.
func NewLeaderboard(a *app.App) *cobra.Command {
	var o leaderboardOptions
	cmd := a.Command("leaderboard RUN|REPORT.json...",
		"Show the leaderboard of a run, or aggregate reports as the reference does", app.Takes(0, -1),
		func(cmd *cobra.Command, args []string) error {
			for _, name := range resampling {
				if cmd.Flags().Changed(name) {
					fmt.Fprintf(a.Stderr, "--%s has no effect: intervals are computed, not drawn\n", name)
				}
			}
			reports, err := reportsToRead(a.Terminal, o, args)
			if err != nil {
				return app.Wrong(err)
			}
			if err := errors.Join(o.rules.Check(), o.check(a)); err != nil {
				return err
			}
			first, err := Gather(cmd.Context(), a, reports, o.rules)
			if err != nil {
				return app.Wrong(err)
			}
			second := first
			if len(o.against) > 0 {
				if second, err = Gather(cmd.Context(), a, o.against, o.rules); err != nil {
					return app.Wrong(err)
				}
			}
			return runLeaderboard(a, o, first, second)
		}, &o.set, &o.rules, &o.show)
	flags := cmd.Flags()
	flags.StringVar(&o.experiment, "experiment-id", "", "take the run groups of the experiment `ID` instead of REPORTs")
	flags.StringVar(&o.runsDir, "runs-dir", "runs", "of --experiment-id: `DIR` with run_group_experiments.csv and the run groups")
	flags.IntVar(&o.seeds, "seeds", 0, "use `N` seeds (0: all that are complete)")
	flags.BoolVar(&o.padMissing, "pad-missing", false, "count a missing report as no submission")
	flags.StringVar(&o.agent, "agent", "", "only reports of the agent `NAME`")
	flags.StringArrayVar(&o.against, "against", nil, "compare with the agent of `REPORT` or folder; repeatable")
	flags.StringVar(&o.againstAgent, "against-agent", "", "compare with the reports of the agent `NAME`")
	flags.StringVar(&o.version, "version", "", "only reports of competitions at `VERSION`, such as v1")
	flags.StringVar(&o.againstVersion, "against-version", "", "compare with the reports at `VERSION`, such as v1m, by default of the same agent")
	flags.StringSliceVar(&o.class, "class", nil, "only attempts under `CONDITIONS` such as time=24h,gpus=1, or any")
	flags.DurationSliceVar(&o.at, "at", nil, "show also what stopping every attempt after `TIMES` such as 1h,6h would have given, by graded snapshots")
	flags.BoolVar(&o.withoutFlagged, "without-flagged", false, "count attempts in which a rule check found something as no valid submission")
	flags.StringVar(&o.benchmark, "benchmark", "", "rank by the benchmark block `NAME` of the run's pipeline; by default the only one")
	flags.StringVar(&o.aggregate, "aggregate", "", "rank by the `RULE` over --split, --list or all that was tried: "+strings.Join(board.Rules(), ", "))
	for _, name := range resampling {
		flags.Uint64(name, 0, "`N` has no effect: intervals are computed")
		_ = flags.MarkHidden(name) // the flag is there
	}
	return cmd
}

// reportsToRead returns the reports named by arguments or by an experiment.
func reportsToRead(t *app.Terminal, o leaderboardOptions, args []string) ([]string, error) {
	switch {
	case o.experiment == "" && len(args) == 0:
		return nil, errors.New("name the reports, or an experiment with --experiment-id")
	case o.experiment == "":
		return args, nil
	case len(args) > 0:
		return nil, errors.New("name reports or an experiment, not both")
	}
	found, err := rungroup.ReadExperiment(o.runsDir, o.experiment)
	if err != nil {
		return nil, err
	}
	for _, group := range found.Missing {
		t.Note("Left out:", "%s has no grading report below %s", group, o.runsDir)
	}
	return found.Reports, nil
}

func runLeaderboard(a *app.App, o leaderboardOptions, own, other Gathered) error {
	catalog, err := a.Catalog()
	if err != nil {
		return err
	}
	file := own.File(a.Terminal, o.version)
	splits, err := o.splits(catalog, own, file.Reports)
	if err != nil {
		return err
	}
	r := boards.Result{Splits: splits, Catalog: catalog}
	if r.Benchmark, err = o.ranking(catalog, own, file.Reports); err != nil {
		return app.Wrong(err)
	}
	if r.Benchmark != nil || own.ofRuns() && o.whole() {
		if err := r.Whole(file.Reports, o.class); err != nil {
			return app.Wrong(err)
		}
		return showLeaderboard(a.Terminal, r, o.show)
	}
	q := board.Selection{
		Agent: o.agent, Version: o.version, Class: o.class, Unflagged: o.withoutFlagged, Mixed: o.experiment != "",
		Splits: splits, Seeds: board.Seeds{Count: o.seeds, PadMissing: o.padMissing}, Partial: o.compares(),
	}
	first, err := o.standing(q, file, own)
	if err != nil {
		return app.Wrong(err)
	}
	if o.experiment != "" {
		first.Name = o.experiment
	}
	r.Agents = []board.Standing{first}
	if r.Stopped, err = q.Stopped(first, o.at); err != nil {
		return app.Wrong(err)
	}
	if o.compares() {
		if q.Version = cmp.Or(o.againstVersion, o.version); o.againstAgent != "" || o.againstVersion == "" || len(o.against) > 0 {
			q.Agent = o.againstAgent // else the versions of one agent are compared
		}
		if len(o.against) > 0 || o.againstVersion != "" {
			file = other.File(a.Terminal, q.Version)
		}
		second, err := o.standing(q, file, other)
		if err != nil {
			return app.Wrong(fmt.Errorf("compare: %w", err))
		}
		if err := r.Compare(second); err != nil {
			return app.Wrong(err)
		}
	}
	sets := lists.Of(r.Agents, func(s board.Standing) [][]string { return s.Conditions(nil) })
	if err := conditions.CheckData(slices.Concat(sets...)...); err != nil {
		return app.Wrong(err)
	}
	return showLeaderboard(a.Terminal, r, o.show)
}

// ranking is the benchmark of a board of all agents; nil without one, and for other boards.
func (o leaderboardOptions) ranking(catalog *competitions.Catalog, own Gathered, reports []grading.Graded) (*board.Benchmark, error) {
	one := o
	one.set = app.SetFlags{}
	switch asked := o.benchmark + o.aggregate; {
	case asked != "" && !one.whole():
		return nil, errors.New("--benchmark and --aggregate rank all agents by complete seeds; leave out --agent, --against, --seeds, --pad-missing, --without-flagged and --at")
	case o.benchmark != "" && (o.aggregate != "" || o.set.Given()):
		return nil, errors.New("--benchmark NAME has its competitions and rule; leave out --aggregate, --split and --list")
	case o.aggregate == "" && (!own.ofRuns() || !o.whole() || o.set.Given() && o.benchmark == ""):
		return nil, nil
	case o.aggregate == "":
		return results.Benchmark(own.declared, o.benchmark, catalog)
	}
	b := step.Benchmark{Name: cmp.Or(o.set.Name(), string(competitions.Own)), Aggregate: o.aggregate}
	if o.asRun() {
		b.Competitions = lists.Of(reports, func(g grading.Graded) string { return g.CompetitionID })
		slices.Sort(b.Competitions)
		b.Competitions = slices.Compact(b.Competitions)
	} else if ids, err := o.set.Ids(catalog); err != nil {
		return nil, err
	} else {
		b.Competitions = ids
	}
	out, arg, err := board.NewBenchmark(b, catalog)
	if arg == "sample" || arg == "best" {
		err = fmt.Errorf("%w; a benchmark block can say it", err)
	}
	return &out, err
}

// whole reports whether the board is that of all agents of a run, as it stands.
func (o leaderboardOptions) whole() bool {
	return o.agent == "" && !o.compares() && o.asRun() && o.seeds == 0 && !o.padMissing && !o.withoutFlagged && len(o.at) == 0
}

// asRun reports whether the competitions of a run are its own: without a choice, or by the
// name that its figures have.
func (o leaderboardOptions) asRun() bool {
	return !o.set.Given() || o.set == app.SetFlags{Split: string(competitions.Own)}
}

func (o *leaderboardOptions) check(a *app.App) error {
	if o.againstVersion != "" && o.version == "" {
		return app.Usagef("--against-version needs --version, the version to compare it with")
	}
	if err := conditions.CheckClass(o.class); err != nil {
		return app.Usagef("--class: %w", err)
	}
	if err := errors.Join(o.show.check(a.JSON), CheckStops(o.at)); err != nil {
		return err
	}
	if len(o.at) > 0 && (o.show.table != "figures" || o.show.format != "text" && o.show.format != "json") {
		return app.Usagef("--at is shown with the table of figures, as text or JSON")
	}
	return nil
}

// splits are the sets of competitions to show. Those of runs are their own competitions and,
// without a flag, the named sets that are complete.
func (o leaderboardOptions) splits(catalog *competitions.Catalog, of Gathered, reports []grading.Graded) ([]board.SplitIDs, error) {
	sets := []app.SetFlags{o.set}
	if !o.set.Given() {
		sets = []app.SetFlags{{Split: "low"}, {Split: "medium"}, {Split: "high"}, {Split: "all"}}
	}
	var splits []board.SplitIDs
	var tried []string
	own := of.ofRuns() && o.asRun()
	if own {
		tried = lists.Of(reports, func(g grading.Graded) string { return g.CompetitionID })
		slices.Sort(tried)
		splits = []board.SplitIDs{{Name: string(competitions.Own), IDs: slices.Compact(tried)}}
		if o.set.Given() {
			return splits, nil
		}
	}
	for _, set := range sets {
		ids, err := set.Ids(catalog)
		if err != nil {
			return nil, app.Wrong(err)
		}
		if !own || !slices.ContainsFunc(ids, func(id string) bool { return !slices.Contains(tried, id) }) {
			splits = append(splits, board.SplitIDs{Name: set.Name(), IDs: ids})
		}
	}
	return splits, nil
}

// standing reads the reports of one agent, and names the version if that is what
// differs.
func (o leaderboardOptions) standing(q board.Selection, file board.File, from Gathered) (board.Standing, error) {
	s, err := q.Of(file, from.Paths)
	if o.againstVersion != "" {
		s.Name += " " + q.Version
	}
	return s, err
}

func (o leaderboardOptions) compares() bool {
	return len(o.against) > 0 || o.againstAgent != "" || o.againstVersion != ""
}

// CheckStops checks times of early stopping.
func CheckStops(at []time.Duration) error {
	for i, t := range at {
		switch {
		case t <= 0:
			return app.Usagef("--at %s: it takes times such as 1h or 90m", t)
		case slices.Contains(at[:i], t):
			return app.Usagef("--at names %s twice", t)
		}
	}
	return nil
}

// showOptions say how a leaderboard is written.
type showOptions struct {
	format, table, output, name string
	labels                      boards.Labels
	// full shows every figure and, of comparisons, every test.
	full bool
}

// Register adds the flags.
func (o *showOptions) Register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&o.format, "format", "text", "`FORMAT`: text, markdown, json, csv, parquet or arrow")
	flags.StringVar(&o.table, "table", "figures", "which `TABLE`: figures, or runs with scores, margins and places")
	flags.StringVarP(&o.output, "output", "o", "", "write to `FILE` instead of standard output")
	flags.BoolVar(&o.full, "full", false, "show every figure, interval and test")
	flags.StringVar(&o.name, "name", "", "show the agent under this `NAME`")
	flags.StringVar(&o.labels.Models, "model", "", "the `MODELS` for the Markdown row")
	flags.StringVar(&o.labels.Hours, "hours", "", "the `HOURS` of the Markdown row")
	flags.StringVar(&o.labels.Date, "date", "", "the `DATE` of the Markdown row (default: the newest report's)")
}

func (o *showOptions) check(json bool) error {
	if json {
		o.format = "json"
	}
	if !slices.Contains([]string{"text", "markdown", "json", "csv", "parquet", "arrow"}, o.format) {
		return app.Usagef("--format %s: it is text, markdown, json, csv, parquet or arrow", o.format)
	}
	if o.table != "figures" && o.table != "runs" {
		return app.Usagef("--table %s: it is figures or runs", o.table)
	}
	return nil
}

func showLeaderboard(t *app.Terminal, r boards.Result, o showOptions) error {
	if o.name != "" {
		if r.Board != nil && len(r.Agents) > 1 {
			return app.Usagef("--name names one agent; choose one with --agent")
		}
		r.Agents[0].Name = o.name
	}
	var out bytes.Buffer
	if err := renderLeaderboard(t, &out, r, o); err != nil {
		return err
	}
	if r.Board == nil || o.format != "text" || o.table == "runs" { // else the board's notes say it
		r.Warn(t.Note)
	}
	if o.output == "" {
		_, err := t.Stdout.Write(out.Bytes())
		return err
	}
	return app.ReplaceFile(o.output, out.Bytes())
}

func renderLeaderboard(term *app.Terminal, out *bytes.Buffer, r boards.Result, o showOptions) error {
	layout := boards.Layout{Style: term.OutStyle(), Width: app.BoardWidth(term), Full: o.full}
	switch o.format {
	case "text":
		switch {
		case o.table == "runs":
			layout.Runs(out, r)
		case r.Board != nil:
			out.WriteString(app.Drawn(term, r.Board, "Leaderboard", o.full))
		default:
			layout.Text(out, r)
		}
		return nil
	case "json":
		if r.Board != nil && len(r.Agents) > 1 {
			return app.WriteJSON(out, r.All())
		}
		return app.WriteJSON(out, r.JSON())
	case "markdown":
		out.WriteString(r.Markdown(o.labels))
		return nil
	}
	t, err := r.Table(o.table)
	if err != nil {
		return err
	}
	return export.Write(out, t, export.Format(o.format))
}

// NewAudit returns the command audit.
func NewAudit(a *app.App) *cobra.Command {
	at := []time.Duration{time.Hour, 6 * time.Hour, 12 * time.Hour}
	cmd := a.Command("audit RESULT", "Show what a result would be had something been otherwise", app.Takes(1, 1),
		func(cmd *cobra.Command, args []string) error {
			if err := CheckStops(at); err != nil {
				return err
			}
			return runAudit(cmd.Context(), a, args[0], at)
		})
	cmd.Flags().DurationSliceVar(&at, "at", at, "the `TIMES` of early stopping, such as 1h,6h")
	return cmd
}

// AuditedJSON is what audit --json prints of an agent.
type AuditedJSON struct {
	Agent        string   `json:"agent"`
	Competitions []string `json:"competitions"`
	// NotCounted are the attempts that are not final or forks.
	NotCounted int          `json:"not_counted"`
	Cases      []board.Case `json:"cases"`
}

func runAudit(ctx context.Context, a *app.App, arg string, at []time.Duration) error {
	records, err := RecordsOf(ctx, a, arg)
	if err != nil {
		return err
	}
	graded := lists.Where(records, func(r *results.Attempt) bool { return r.Graded })
	if len(graded) == 0 {
		return app.Usagef("%s holds no graded attempt", arg)
	}
	var audited []AuditedJSON
	by := lists.By(graded, func(r *results.Attempt) string { return r.Agent })
	ids := slices.Sorted(maps.Keys(lists.By(graded, (*results.Attempt).Competition)))
	for _, agent := range slices.SortedFunc(maps.Keys(by), board.CompareNames) {
		cases := board.WhatIf(lists.Of(by[agent], (*results.Attempt).AsGraded), ids, at)
		audited = append(audited, AuditedJSON{agent, ids, len(by[agent]) - cases[0].Attempts, cases})
	}
	return a.Show(audited, func() { writeAudit(a.Terminal, audited) })
}

func writeAudit(term *app.Terminal, audited []AuditedJSON) {
	style := term.OutStyle()
	for _, one := range audited {
		left := view.When(one.NotCounted > 0, "; "+view.Verb(one.NotCounted, "attempt", "does", "do")+" not count: not final, or a fork")
		fmt.Fprintf(term.Stdout, "%s, %s%s\n\n", style.Bold(view.Text(one.Agent)), view.Plural(len(one.Competitions), "competition"), left)
		t := view.NewTable("If", ">Attempts", ">Seeds", ">Any medal %", ">95 %, other runs", ">Other competitions", ">Change", ">Above median %", ">Valid %", ">Choices of seeds")
		t.Fit(0, app.BoardWidth(term))
		var notes []string
		for _, c := range one.Cases {
			row := []string{view.OneLine(c.Name), fmt.Sprint(c.Attempts), fmt.Sprint(c.Seeds), "–", "–", "–", "–", "–", "–", "–"}
			if e, ok := c.Figures["any_medal_percentage"]; ok {
				m := c.Measures["any_medal_percentage"]
				row[3], row[4], row[5] = e.Text(c.Seeds), m.Runs.Text(), m.Competitions.Text()
			}
			if c.Change != nil {
				row[6] = fmt.Sprintf("%+.2f", float64(*c.Change))
			}
			for i, name := range []string{"above_median_percentage", "valid_submissions_percentage"} {
				if e, ok := c.Figures[name]; ok {
					row[7+i] = fmt.Sprintf("%.2f", float64(e.Mean))
				}
			}
			if s := c.Choices; s != nil {
				row[9] = fmt.Sprintf("%.2f to %.2f, SD %.2f", float64(s.Lowest), float64(s.Highest), float64(s.SD))
			}
			if c.Why != "" {
				notes = append(notes, c.Name+": "+c.Why)
			}
			t.Row(row...)
		}
		term.Table(t)
		for _, note := range notes {
			fmt.Fprintf(term.Stdout, "%s\n", style.Dim("– is not known. "+view.OneLine(note)))
		}
		fmt.Fprintln(term.Stdout)
	}
	fmt.Fprintln(term.Stdout, "Mean ± standard error over seeds, and 95 % intervals. Choices of seeds: the lowest and highest\nchoice, and their standard deviation; they say nothing of other runs.")
}
