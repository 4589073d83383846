package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/audit"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/bundle"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/site"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
)

func newBoard(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "board",
		Short: "Publish a leaderboard that anyone can check: build",
		Args:  subCommand,
		RunE:  a.action(func(cmd *cobra.Command, _ []string) error { return cmd.Help() }),
	}
	cmd.AddCommand(newBoardBuild(a))
	return cmd
}

type boardOptions struct {
	output, dataDir, title string
	reported               []string
	seeds                  int
	at                     []time.Duration
	rules                  ruleFlags
}

func newBoardBuild(a *app) *cobra.Command {
	var o boardOptions
	cmd := &cobra.Command{
		Use:   "build BUNDLE... -o DIR",
		Short: "Build a public board from bundles, as a folder of static pages",
		Long: `Check every BUNDLE as verify --regrade does, and write a leaderboard of all of them to
DIR: pages without scripts that work from a disk and from any web server, the board as
JSON, and its rows as CSV and Parquet. Each row says whether it was recomputed, matched
by digest, or is only claimed. The same bundles give the same bytes.

Submissions are graded again with the answers that you prepared in the cache, or in
--data-dir. Bundles that are damaged, or of another version of mleflow, are named and count for
nothing. The page also
names duplicates, signs that attempts were selected by their scores, and agents with
mixed tasks. DIR may be a board that this command wrote before, which is replaced.

--at adds columns with what stopping every attempt early would have given, from the
graded snapshots in the bundles, to the pages and to the tables.

--exclude-rule leaves out the attempts in which a rule found something, and says so on the
first page; see docs/checks.md.

--reported adds rows that others published, from CSV or JSON, marked as not verified.
docs/board.md has the rules, the format, and an example for CI.

The exit status is 3 if a bundle or score is refused, 6 if there is another finding,
and 5 if scores are only claimed. The board is written all the same.`,
		Example: `  mleflow board build *.bundle -o site
  mleflow board build *.bundle -o site --data-dir data --reported published.csv --seeds 3`,
		Args: needs(takes(1, -1), "output"),
		RunE: a.action(func(cmd *cobra.Command, args []string) error {
			if done, err := rerunConfined(cmd.Context(), a.terminal, true); done || err != nil {
				return err
			}
			return a.buildBoard(cmd.Context(), o, args)
		}),
	}
	flags := cmd.Flags()
	flags.StringVarP(&o.output, "output", "o", "", "write the board to `DIR`")
	flags.StringVar(&o.dataDir, "data-dir", "", "`DIR` with the competitions' data, as mleflow prepare writes it")
	flags.StringVar(&o.title, "title", "Leaderboard", "the `TITLE` of the board")
	flags.StringArrayVar(&o.reported, "reported", nil, "add the published rows of `FILE`, CSV or JSON; may be repeated")
	flags.DurationSliceVar(&o.at, "at", nil, "add columns with what stopping every attempt after `TIMES` such as 1h,6h would have given")
	o.rules.register(flags)
	flags.IntVar(&o.seeds, "seeds", 0, "name agents that have fewer than `N` seeds at a competition")
	return cmd
}

func (a *app) buildBoard(ctx context.Context, o boardOptions, paths []string) (err error) {
	if o.seeds < 0 {
		return usagef("--seeds %d: it is 0 or more", o.seeds)
	}
	if err := errors.Join(checkStops(o.at), o.rules.check()); err != nil {
		return err
	}
	slices.Sort(o.at)
	q := site.Request{Title: o.title, Stops: o.at, Exclude: o.rules.exclude, Seeds: o.seeds, Version: thisVersion().Version}
	slices.Sort(o.reported)
	for _, path := range o.reported {
		rows, err := site.ReadReported(path)
		if err != nil {
			return usageError{err}
		}
		q.Reported = append(q.Reported, rows...)
	}
	if q.Catalog, err = a.catalog(); err != nil {
		return err
	}
	own := audit.Request{Metrics: metric.All(), Done: func(engine.Verified) {}}
	closeOwn, err := a.ownData(verifyOptions{bundle: bundleChecks{dataDir: o.dataDir}}, &own)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeOwn()) }()
	for _, path := range paths {
		b, err := a.boardBundle(ctx, o, path, own, q.Catalog)
		if err != nil {
			return err
		}
		q.Bundles = append(q.Bundles, b)
	}
	built, err := site.Build(q)
	if err != nil {
		return fmt.Errorf("build board: %w", err)
	}
	if err := built.Write(o.output); err != nil {
		if errors.Is(err, site.ErrOccupied) {
			return usagef("%w; move it away, or write elsewhere", err)
		}
		return err
	}
	return a.showBuilt(o, built)
}

// public is a text for the board, which must not say where data are on this
// machine.
func (o boardOptions) public(text string) string {
	if o.dataDir == "" {
		return text
	}
	return strings.ReplaceAll(text, o.dataDir, "a data folder")
}

// boardBundle checks one bundle. What is wrong with the bundle is said in it; an
// error is of this machine.
func (a *app) boardBundle(ctx context.Context, o boardOptions, path string, q audit.Request, catalog *competitions.Catalog) (*site.Bundle, error) {
	out := &site.Bundle{File: filepath.Base(path)}
	refuse := func(err error) (*site.Bundle, error) {
		var bad *bundle.Damage
		var other *audit.OtherVersion
		var diags *diagError
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.As(err, &bad):
			out.Refused = bad.Error()
		case errors.As(err, &other):
			out.Refused, out.OtherVersion = other.Error(), true
		case errors.As(err, &diags):
			out.Refused = "its pipeline is not valid here: " + diags.Error()
		case errors.Is(err, step.ErrMismatch):
			out.Refused = o.public(err.Error())
		default:
			return nil, fmt.Errorf("check bundle %s: %w", path, err)
		}
		return &site.Bundle{File: out.File, Refused: out.Refused, OtherVersion: out.OtherVersion}, nil
	}
	work, stop := a.meterWork("reading " + out.File)
	defer stop()
	b, err := bundle.Open(ctx, path, work)
	if err != nil {
		return refuse(err)
	}
	defer b.Close()
	x, err := b.Examine(ctx, nil)
	if err != nil {
		return refuse(err)
	}
	q.Bundle, q.Summary = b, x.Summary
	report, err := a.audit(ctx, verifyOptions{}, x, q)
	if err != nil {
		return refuse(err)
	}
	for i := range report.Rows {
		report.Rows[i].Why = o.public(report.Rows[i].Why)
	}
	if err := out.Take(ctx, b, x, report, catalog); err != nil {
		return refuse(err)
	}
	return out, nil
}

// builtJSON is what board build --json prints.
type builtJSON struct {
	Path      string                 `json:"path"`
	Agents    int                    `json:"agents"`
	Standings map[audit.Standing]int `json:"standings"`
	Findings  []site.Finding         `json:"findings"`
	Status    int                    `json:"exit_status"`
}

func (a *app) showBuilt(o boardOptions, s *site.Site) error {
	err := builtError(s)
	agents := 0
	for _, t := range s.Tables {
		agents += len(t.Agents)
	}
	if a.json {
		out := builtJSON{o.output, agents, s.Standings, s.Findings, exitStatus(err)}
		if out.Findings == nil {
			out.Findings = []site.Finding{}
		}
		return errors.Join(writeJSON(a.stdout, out), err)
	}
	for _, f := range s.Findings {
		fmt.Fprintf(a.stderr, "%s %s: %s\n", a.errStyle().Bad(string(f.Kind)), view.OneLine(f.About), view.OneLine(f.Text))
	}
	fmt.Fprintf(a.stdout, "%s holds the board of %s from %s: %d recomputed, %d matched by digest, %d only claimed.\n",
		filepath.Join(o.output, "index.html"), view.Plural(agents, "agent"), view.Plural(len(s.Bundles), "bundle"),
		s.Standings[audit.Recomputed], s.Standings[site.Matched], s.Standings[audit.Claimed])
	return err
}

// builtError is the outcome of a board that was written.
func builtError(s *site.Site) error {
	refused, others := 0, 0
	for _, f := range s.Findings {
		if f.Kind == site.Refused {
			refused++
		} else {
			others++
		}
	}
	claimed := s.Standings[audit.Claimed]
	switch {
	case refused > 0:
		return step.Mismatch(fmt.Errorf("%s refused; the board names them", are(refused, "bundle or score")))
	case others > 0:
		return fmt.Errorf("%w: %s; the board names them", errFindings, view.Plural(others, "finding"))
	case claimed > 0:
		return fmt.Errorf("%w: %s only claimed, because there are no answers here to grade them with", errClaimed, are(claimed, "score"))
	case slices.ContainsFunc(s.Tables, func(t *site.Table) bool { return t.Unchecked }):
		return fmt.Errorf("%w: there are no public data here to compare those of some attempts with; they are on tables of their own", errClaimed)
	}
	return nil
}
