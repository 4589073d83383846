package leaderboard

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/export"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/steps/aggregate"
)

// showOptions say how a leaderboard is written.
type showOptions struct {
	format, table, output    string
	name, model, hours, date string
	// full shows every figure and, of comparisons, every test.
	full bool
}

func (o *showOptions) register(flags *pflag.FlagSet) {
	flags.StringVar(&o.format, "format", "text", "`FORMAT`: text, markdown, json, csv, parquet or arrow")
	flags.StringVar(&o.table, "table", "figures", "which `TABLE`: figures, or runs with scores, margins and places")
	flags.StringVarP(&o.output, "output", "o", "", "write to `FILE` instead of standard output")
	flags.BoolVar(&o.full, "full", false, "show every figure, interval and test")
	flags.StringVar(&o.name, "name", "", "show the agent under this `NAME`")
	flags.StringVar(&o.model, "model", "", "the `MODELS` for the Markdown row")
	flags.StringVar(&o.hours, "hours", "", "the `HOURS` of the Markdown row")
	flags.StringVar(&o.date, "date", "", "the `DATE` of the Markdown row (default: the newest report's)")
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

// leaderboardResult is what the verb shows: one agent, or two with their
// comparisons by split.
type leaderboardResult struct {
	agents      []standing
	comparisons map[string]board.Comparison
	splits      []board.SplitIDs
	catalog     *competitions.Catalog
	// stopped are the first agent's boards had its attempts been stopped early.
	stopped []stoppedBoard
}

// BoardJSON is the leaderboard as JSON: the fields of the first agent's board,
// which are fixed, and what goes beyond.
type BoardJSON struct {
	Agent     string `json:"agent"`
	Isolation string `json:"isolation"` // see conditions.Shown
	Untrusted bool   `json:"untrusted"` // see conditions.Untrusted
	Task      string `json:"task"`      // see conditions.Told
	board.Board
	// MetricExternal are the competitions whose scores a program computed.
	MetricExternal []string          `json:"metric_external,omitempty"`
	Failures       []grading.Failure `json:"failures,omitempty"` // runs that could not be graded
	// RuleChecks sums up what rules found; nil if that is not known.
	RuleChecks *ruleTally `json:"rule_checks,omitempty"`
	// At are the boards had every attempt been stopped early, by --at.
	At         []stoppedBoard  `json:"at,omitempty"`
	Against    *BoardJSON      `json:"against,omitempty"`
	Comparison *comparisonJSON `json:"comparison,omitempty"`
}

type comparisonJSON struct {
	First  string                      `json:"first"`
	Second string                      `json:"second"`
	Splits map[string]board.Comparison `json:"splits"`
}

func showLeaderboard(t *app.Terminal, r leaderboardResult, o showOptions) error {
	if o.name != "" {
		r.agents[0].name = o.name
	}
	var out bytes.Buffer
	if err := renderLeaderboard(t, &out, r, o); err != nil {
		return err
	}
	warnLeaderboard(t, r)
	if o.output == "" {
		_, err := t.Stdout.Write(out.Bytes())
		return err
	}
	return app.ReplaceFile(o.output, out.Bytes())
}

func renderLeaderboard(term *app.Terminal, out *bytes.Buffer, r leaderboardResult, o showOptions) error {
	switch o.format {
	case "text":
		if o.table == "runs" {
			return renderRuns(term, out, r)
		}
		return renderText(term, out, r, o.full)
	case "json":
		return app.WriteJSON(out, r.json())
	case "markdown":
		out.WriteString(export.Markdown(r.rows(o), r.notes()))
		return nil
	}
	t, err := r.table(o.table)
	if err != nil {
		return err
	}
	return export.Write(out, t, export.Format(o.format))
}

func (r leaderboardResult) json() BoardJSON {
	of := func(s standing) BoardJSON {
		return BoardJSON{Agent: s.name, Isolation: s.isolation(nil), Untrusted: conditions.Untrusted(s.conditions(nil)...), Task: s.task(nil), Board: s.board, Failures: s.file.Failures, MetricExternal: export.External(s.reports()), RuleChecks: s.ruleTally()}
	}
	out := of(r.agents[0])
	out.At = r.stopped
	if len(r.agents) > 1 {
		other := of(r.agents[1])
		out.Against, out.Comparison = &other, &comparisonJSON{r.agents[0].name, r.agents[1].name, r.comparisons}
	}
	return out
}

func (r leaderboardResult) rows(o showOptions) []export.Row {
	var rows []export.Row
	for i, s := range r.agents {
		row := export.Row{Agent: s.name, Splits: s.board.Splits, Hours: o.hours, Isolation: s.isolation(nil), Task: s.task(nil)}
		for _, g := range s.file.Reports {
			row.Date = max(row.Date, strings.SplitN(g.CreatedAt, "T", 2)[0])
		}
		if i == 0 {
			row.Models = o.model
			if o.date != "" {
				row.Date = o.date
			}
		}
		rows = append(rows, row)
	}
	return rows
}

func (r leaderboardResult) table(name string) (*table.Table, error) {
	if name == "runs" {
		return export.Runs(r.runs())
	}
	var groups []export.Group
	for _, s := range r.agents {
		for _, split := range r.splits {
			if figures, ok := s.board.Splits[split.Name]; ok {
				groups = append(groups, export.Group{Agent: s.name, Name: split.Name, Figures: figures, Seeds: s.board.SeedsPerSplit[split.Name], Competitions: len(split.IDs), Isolation: s.isolation(split.IDs), Untrusted: conditions.Untrusted(s.conditions(split.IDs)...), Task: s.task(split.IDs)})
			}
		}
	}
	return export.Figures(groups)
}

// isolation says how the attempts at competitions were isolated; none are all.
func (s standing) isolation(ids []string) string { return conditions.Shown(s.conditions(ids)...) }

// task is what agents were told at competitions; none are all.
func (s standing) task(ids []string) string { return conditions.Told(s.conditions(ids)...) }

// conditions are those of the attempts at competitions; none are all.
func (s standing) conditions(ids []string) [][]string {
	var sets [][]string
	for _, g := range s.file.Reports {
		if ids == nil || slices.Contains(ids, g.CompetitionID) {
			sets = append(sets, g.Conditions)
		}
	}
	return sets
}

// reports are the reports of the agent's attempts.
func (s standing) reports() []grading.Report {
	reports := make([]grading.Report, len(s.file.Reports))
	for i, g := range s.file.Reports {
		reports[i] = g.Report
	}
	return reports
}

// notes say what a reader of the scores must know.
func (r leaderboardResult) notes() []string {
	var all []conditions.Attempts
	for _, s := range r.agents {
		all = append(all, conditions.Attempts{Agent: s.name, Sets: s.conditions(nil)})
	}
	var reports []grading.Report
	for _, s := range r.agents {
		reports = append(reports, s.reports()...)
	}
	notes := append(conditions.Notes(all), export.ExternalNotes(reports)...)
	for _, s := range r.agents {
		if t := s.ruleTally(); t != nil {
			notes = append(notes, t.sentence(s.name))
		}
	}
	return notes
}

// runs returns the runs at the competitions of the splits, in report order.
func (r leaderboardResult) runs() []export.Run {
	var runs []export.Run
	for _, s := range r.agents {
		for _, g := range s.file.Reports {
			if slices.ContainsFunc(r.splits, func(split board.SplitIDs) bool { return slices.Contains(split.IDs, g.CompetitionID) }) {
				run := aggregate.NewEntry(g, r.catalog).Run()
				run.Agent = s.name
				runs = append(runs, run)
			}
		}
	}
	return runs
}

// renderRuns shows every run with how far it is from the next medal.
func renderRuns(term *app.Terminal, out *bytes.Buffer, r leaderboardResult) error {
	columns := []string{"Agent", "Competition", "Seed", "Isolation", "Task", ">Score", "Medal", ">Place", ">To gold", ">To silver", ">To bronze"}
	runs := r.runs()
	used := slices.ContainsFunc(runs, func(run export.Run) bool { return run.Attempt.Usage != nil })
	if used {
		columns = append(columns, ">Tokens", ">Cost (USD)")
	}
	t := view.NewTable(columns...)
	t.Fit(2, app.BoardWidth(term))
	for _, run := range runs {
		score, place := cmp.Or(export.Unscored(run.Report, run.Attempt), "-"), "-"
		if s := run.Report.Score; s != nil && !math.IsNaN(float64(*s)) {
			score = view.Score(float64(*s))
		}
		if run.Report.Rank != nil && score != export.NaN {
			place = export.Place(*run.Report.Rank, run.Report.Teams)
		}
		row := []string{view.Text(run.Agent), run.Report.CompetitionID, view.Text(run.Seed), conditions.Shown(run.Report.Conditions), conditions.Told(run.Report.Conditions), score, export.Medal(run.Report), place}
		for _, name := range []grading.Threshold{grading.Gold, grading.Silver, grading.Bronze} {
			row = append(row, marginText(run.Margins, name))
		}
		if used {
			row = append(row, aggregate.TokensText(run.Attempt.Usage), aggregate.CostText(run.Attempt.Usage))
		}
		t.Row(row...)
	}
	return t.Write(out, term.OutStyle())
}

// marginText is what is missing to a threshold, or that it is reached.
func marginText(margins map[grading.Threshold]grading.Margin, name grading.Threshold) string {
	m, ok := margins[name]
	switch {
	case !ok:
		return "-"
	case m.Score >= 0:
		return "reached"
	case m.Places == nil:
		return fmt.Sprintf("%.5f", -float64(m.Score))
	}
	return fmt.Sprintf("%.5f, %d up", -float64(m.Score), -*m.Places)
}

// warnLeaderboard warns about what was left out and what depends on rounding.
func warnLeaderboard(t *app.Terminal, r leaderboardResult) {
	warn := func(title, format string, args ...any) {
		fmt.Fprintf(t.Stderr, "%s %s\n", t.ErrStyle().Warn(title), view.Text(fmt.Sprintf(format, args...)))
	}
	for _, s := range r.agents {
		for _, split := range r.splits {
			if why := s.board.Skipped[split.Name]; why != "" {
				warn("Left out:", "%s: %s", split.Name, why)
			}
		}
		for _, f := range s.file.Failures {
			warn("Not graded:", "line %d: %s: %s; it is not counted", f.Line, f.CompetitionID, f.Reason)
		}
	}
	for _, run := range r.runs() {
		if run.Report.MedalOnNonFinite() {
			warn("Check:", "%s, %s: the medal is based on a score that is not finite", run.Agent, run.Report.CompetitionID)
		}
		if decided := run.Report.RoundingDecides(); len(decided) > 0 {
			warn("Check:", "%s, %s: the exact score %v is on the other side of %s than the rounded one, which counts",
				run.Agent, run.Report.CompetitionID, float64(*run.Report.ExactScore), export.Join(decided))
		}
	}
}
