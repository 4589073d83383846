package leaderboard

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/boards"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/export"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/rungroup"
)

type leaderboardOptions struct {
	set        app.SetFlags
	experiment string
	runsDir    string
	seeds      int
	padMissing bool
	agent      string
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
	show           showOptions
}

// resampling are flags of earlier versions, which drew intervals.
var resampling = []string{"resamples", "resampling-seed"}

// NewLeaderboard returns the command leaderboard.
func NewLeaderboard(a *app.App) *cobra.Command {
	var o leaderboardOptions
	cmd := &cobra.Command{
		Use:   "leaderboard RUN|REPORT.json...",
		Short: "Show the leaderboard of a run, or aggregate reports as the reference does",
		Args:  app.Takes(0, -1),
		RunE: a.Action(func(cmd *cobra.Command, args []string) error {
			for _, name := range resampling {
				if cmd.Flags().Changed(name) {
					fmt.Fprintf(a.Stderr, "--%s has no effect: intervals are computed, not drawn\n", name)
				}
			}
			reports, err := reportsToRead(a.Terminal, o, args)
			if err != nil {
				return app.Wrong(err)
			}
			if err := o.rules.Check(); err != nil {
				return err
			}
			if err := o.check(a); err != nil {
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
		}),
	}
	flags := cmd.Flags()
	o.set.Register(cmd)
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
	o.rules.Register(flags)
	for _, name := range resampling {
		flags.Uint64(name, 0, "`N` has no effect: intervals are computed")
		_ = flags.MarkHidden(name) // the flag is there
	}
	o.show.register(flags)
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
		fmt.Fprintf(t.Stderr, "%s %s has no grading report below %s\n", t.ErrStyle().Warn("Left out:"), view.Text(group), o.runsDir)
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
	if own.ofRuns() && o.whole() {
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
		q.Agent, q.Version = cmp.Or(o.againstAgent, o.sameAgent()), cmp.Or(o.againstVersion, o.version)
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
	var sets [][]string
	for _, s := range r.Agents {
		sets = append(sets, s.Conditions(nil)...)
	}
	if err := conditions.CheckData(sets...); err != nil {
		return app.Wrong(err)
	}
	return showLeaderboard(a.Terminal, r, o.show)
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
	if err := o.show.check(a.JSON); err != nil {
		return err
	}
	return o.checkAt()
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
		for _, g := range reports {
			tried = append(tried, g.CompetitionID)
		}
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

// sameAgent is the agent of both sides where only the versions differ.
func (o leaderboardOptions) sameAgent() string {
	if o.againstVersion != "" && len(o.against) == 0 {
		return o.agent
	}
	return ""
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

func (o *leaderboardOptions) checkAt() error {
	if err := CheckStops(o.at); err != nil {
		return err
	}
	if len(o.at) > 0 && (o.show.table != "figures" || o.show.format != "text" && o.show.format != "json") {
		return app.Usagef("--at is shown with the table of figures, as text or JSON")
	}
	return nil
}

// showOptions say how a leaderboard is written.
type showOptions struct {
	format, table, output string
	name                  string
	labels                boards.Labels
	// full shows every figure and, of comparisons, every test.
	full bool
}

func (o *showOptions) register(flags *pflag.FlagSet) {
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
		r.Warn(func(title, format string, args ...any) {
			fmt.Fprintf(t.Stderr, "%s %s\n", t.ErrStyle().Warn(title), view.Text(fmt.Sprintf(format, args...)))
		})
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
