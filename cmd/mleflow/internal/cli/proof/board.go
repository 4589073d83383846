package proof

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache/disk"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/leaderboard"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/proof/bundle"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/proof/verify"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/site"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
)

// NewBoard returns the command board.
func NewBoard(a *app.App) *cobra.Command {
	return app.Group(a, "board", "Publish a leaderboard that anyone can check: build", newBoardBuild(a))
}

type boardOptions struct {
	output, dataDir, title, lock, runsDir string
	reported                              []string
	seeds                                 int
	timeout                               time.Duration
	at                                    []time.Duration
	rules                                 leaderboard.RuleFlags
}

func newBoardBuild(a *app.App) *cobra.Command {
	var o boardOptions
	cmd := a.Command("build BUNDLE... -o DIR",
		"Build a public board from bundles, as a folder of static pages", app.Needs(app.Takes(1, -1), "output"),
		func(cmd *cobra.Command, args []string) error {
			if path, found := bundleToJudge(a, args); found {
				return judgeHere(cmd.Context(), a, o, path)
			}
			return buildBoard(cmd.Context(), a, o, args)
		}, &o.rules)
	flags := cmd.Flags()
	flags.StringVarP(&o.output, "output", "o", "", "write the board to `DIR`")
	flags.StringVar(&o.dataDir, "data-dir", "", "`DIR` as mleflow prepare writes it")
	flags.StringVar(&o.title, "title", "Leaderboard", "the `TITLE` of the board")
	flags.StringArrayVar(&o.reported, "reported", nil, "add published rows from `FILE`, CSV or JSON, as not verified; repeatable")
	flags.StringVar(&o.runsDir, "runs-dir", "", "recompute published rows from the grading reports below `DIR`, the folder runs of a clone of MLE-bench")
	flags.DurationSliceVar(&o.at, "at", nil, "add columns with what stopping every attempt after `TIMES` such as 1h,6h would have given, by graded snapshots")
	flags.StringVar(&o.lock, "lock", "", "keep in `FILE` the order in which the board took its bundles")
	flags.DurationVar(&o.timeout, "bundle-timeout", 6*time.Hour, "check no bundle for longer than `TIME` (default: 6h)")
	flags.IntVar(&o.seeds, "seeds", 0, "name agents with fewer than `N` seeds at a competition")
	return cmd
}

func buildBoard(ctx context.Context, a *app.App, o boardOptions, paths []string) (err error) {
	if o.seeds < 0 {
		return app.Usagef("--seeds %d: it is 0 or more", o.seeds)
	}
	if err := errors.Join(leaderboard.CheckStops(o.at), o.rules.Check()); err != nil {
		return err
	}
	slices.Sort(o.at)
	q := site.Request{Title: o.title, Stops: o.at, Exclude: o.rules.Exclude, Seeds: o.seeds, Version: app.ThisVersion().Version}
	slices.Sort(o.reported)
	for _, path := range o.reported {
		rows, err := site.ReadReported(path)
		if err != nil {
			return app.Wrong(err)
		}
		q.Reported = append(q.Reported, rows...)
	}
	if o.lock != "" {
		if q.Lock, err = site.ReadLock(o.lock); err != nil {
			return app.Wrong(err)
		}
	}
	if q.Catalog, err = a.Catalog(); err != nil {
		return err
	}
	if o.runsDir != "" {
		if err := recomputeReported(a, o, q); err != nil {
			return err
		}
	}
	if err := a.WithCache(func(*disk.Cache) error { return nil }); err != nil { // to say so once if it cannot be opened
		return err
	}
	if q.Bundles, err = judge(ctx, a, o, paths); err != nil {
		return err
	}
	built, err := site.Build(q)
	if errors.Is(err, conditions.ErrMixedData) {
		return app.Wrong(err)
	}
	if err != nil {
		return fmt.Errorf("build board: %w", err)
	}
	if err := built.Write(o.output); err != nil {
		if errors.Is(err, site.ErrOccupied) {
			return app.Usagef("%w; move it away, or write elsewhere", err)
		}
		return err
	}
	if o.lock != "" {
		if err := app.ReplaceFile(o.lock, built.Lock.Text()); err != nil {
			return err
		}
	}
	return showBuilt(a, o, built)
}

// recomputeReported computes the published rows from their grading reports.
func recomputeReported(a *app.App, o boardOptions, q site.Request) error {
	left := site.Recompute(q.Reported, o.runsDir, q.Catalog)
	if len(left) == len(q.Reported) {
		return app.Usagef("--runs-dir %s: no published row can be recomputed: %s", o.runsDir, append(left, "--reported names none")[0])
	}
	for _, why := range left {
		a.Note("Not recomputed:", "%s", view.OneLine(why))
	}
	return nil
}

// public is a text for the board, which must not say where data are on this
// machine.
func public(a *app.App, o boardOptions, text string) string {
	if o.dataDir != "" {
		text = strings.ReplaceAll(text, o.dataDir, "a data folder")
	}
	if dir, err := a.CacheFolder(); err == nil {
		text = strings.ReplaceAll(text, dir, "the cache")
	}
	return text
}

// maxRows and maxOutput limit the bytes of a bundle's rows, and of its checker's output.
const (
	maxRows   = 256 << 20
	maxOutput = 64 << 10
)

// judge checks the bundles, each in a process of its own.
func judge(ctx context.Context, a *app.App, o boardOptions, paths []string) (list []*site.Bundle, err error) {
	work, stop := a.MeterWork("board")
	defer stop()
	work.Begin("checking bundles", int64(len(paths)), 0)
	for i, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, fmt.Errorf("check bundle: %w", err)
		}
		b := &site.Bundle{File: filepath.Base(path), Refused: "it is not a file"}
		if info.Mode().IsRegular() {
			b, err = judgeApart(ctx, a, o, i, path)
		}
		if err != nil {
			return nil, err
		}
		list = append(list, b)
		work.Add(1, 0)
	}
	return list, nil
}

// judgeApart has a process check one bundle. Whatever becomes of that process is a
// reason why the bundle counts for nothing.
func judgeApart(ctx context.Context, a *app.App, o boardOptions, i int, path string) (*site.Bundle, error) {
	limit, err := checkMemory(a.Terminal, true)
	if err != nil {
		return nil, err
	}
	timed, stop := context.WithTimeout(ctx, o.timeout)
	defer stop()
	out, says := &grading.Head{Most: maxRows}, &grading.Head{Most: maxOutput}
	err = confinedRun{limit: limit, stdout: out, stderr: says, environ: []string{fmt.Sprintf("%s=%d", bundleVariable, i)}}.run(timed, a.Terminal)
	why, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(says.String()), "Error: "), "\n")
	var status app.StatusError
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case timed.Err() != nil:
		why = fmt.Sprintf("checking it takes more than %s: it is hostile, or very large; --bundle-timeout allows more", o.timeout)
	case err == nil:
		b, err := site.Receive(out.Bytes())
		if err == nil {
			return b, nil
		}
		why = err.Error()
	case why == "" || !errors.As(err, &status):
		why = err.Error()
	}
	file := filepath.Base(path)
	return &site.Bundle{File: file, Refused: "it could not be checked: " + public(a, o, strings.ReplaceAll(why, path, file))}, nil
}

// bundleToJudge is the argument that this process was started to judge, and false if
// it builds the board.
func bundleToJudge(a *app.App, args []string) (string, bool) {
	i, err := strconv.Atoi(a.Env(bundleVariable))
	if a.Env(confinedVariable) == "" || err != nil || i < 0 || i >= len(args) {
		return "", false
	}
	return args[i], true
}

// judgeHere checks one bundle and writes what was found for the process that builds
// the board.
func judgeHere(ctx context.Context, a *app.App, o boardOptions, path string) (err error) {
	if err := confineReading(a.Terminal); err != nil {
		return err
	}
	catalog, err := a.Catalog()
	if err != nil {
		return err
	}
	own := verify.Request{Rounds: app.Evaluate, Metrics: metric.All(), Grader: a.Grader(), Catalog: catalog, Done: func(engine.Verified) {}}
	closeOwn, err := ownData(a.Store, verifyOptions{bundle: bundleChecks{dataDir: o.dataDir}}, &own)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeOwn()) }()
	b, err := checkBundle(ctx, a, o, path, own)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := b.Carry(&text); err != nil {
		return err
	}
	// A board of this bundle alone shows whether one can be made of its rows.
	trial, err := site.Build(site.Request{Bundles: []*site.Bundle{b}, Seeds: o.seeds, Stops: o.at, Catalog: catalog})
	if err == nil {
		_, err = trial.Files()
	}
	if err != nil {
		return fmt.Errorf("make a board of its rows: %w", err)
	}
	_, err = a.Stdout.Write(text.Bytes())
	return err
}

// checkBundle checks one bundle. What is known to be wrong with the bundle is said in
// it.
func checkBundle(ctx context.Context, a *app.App, o boardOptions, path string, q verify.Request) (*site.Bundle, error) {
	out := &site.Bundle{File: filepath.Base(path)}
	refuse := func(err error) (*site.Bundle, error) {
		var bad *bundle.Damage
		var other *verify.OtherVersion
		var diags *app.DiagError
		refused := &site.Bundle{File: out.File, OtherVersion: errors.As(err, &other)}
		switch {
		case errors.As(err, &bad):
			refused.Refused = bad.Error()
		case errors.As(err, &other):
			refused.Refused = other.Error()
		case errors.As(err, &diags):
			refused.Refused = "its pipeline is not valid here: " + diags.Error()
		case errors.Is(err, step.ErrMismatch):
			refused.Refused = public(a, o, err.Error())
		default:
			return nil, err
		}
		return refused, nil
	}
	b, x, err := bundle.OpenExamined(ctx, path, nil, nil)
	if err != nil {
		return refuse(err)
	}
	defer b.Close()
	q.Bundle, q.Chain, q.Summary = b, x.Chain, x.Summary
	report, err := recompute(ctx, a, verifyOptions{}, x, q)
	if err != nil {
		return refuse(err)
	}
	for i := range report.Rows {
		report.Rows[i].Why = public(a, o, report.Rows[i].Why)
	}
	if err := out.Take(ctx, b, x, report, q.Catalog); err != nil {
		return refuse(err)
	}
	return out, nil
}

// BuiltJSON is what board build --json prints.
type BuiltJSON struct {
	Path      string                  `json:"path"`
	Agents    int                     `json:"agents"`
	Standings map[verify.Standing]int `json:"standings"`
	Findings  []site.Finding          `json:"findings"`
	Status    int                     `json:"exit_status"`
}

func showBuilt(a *app.App, o boardOptions, s *site.Site) error {
	err := builtError(s)
	agents := 0
	for _, t := range s.Tables {
		agents += len(t.Agents)
	}
	result := BuiltJSON{o.output, agents, s.Standings, append([]site.Finding{}, s.Findings...), app.ExitStatus(err)}
	return errors.Join(a.Show(result, func() {
		for _, f := range s.Findings {
			fmt.Fprintf(a.Stderr, "%s %s: %s\n", a.ErrStyle().Bad(string(f.Kind)), view.OneLine(f.About), view.OneLine(f.Text))
		}
		fmt.Fprintf(a.Stdout, "%s holds the board of %s from %s: %d recomputed, %d matched by digest, %d only claimed.\n",
			filepath.Join(o.output, "index.html"), view.Plural(agents, "agent"), view.Plural(len(s.Bundles), "bundle"),
			s.Standings[verify.Recomputed], s.Standings[site.Matched], s.Standings[verify.Claimed])
	}), err)
}

// builtError is the outcome of a board that was written.
func builtError(s *site.Site) error {
	refused := number(s.Findings, func(f site.Finding) bool { return f.Kind == site.Refused })
	others, claimed := len(s.Findings)-refused, s.Standings[verify.Claimed]
	switch {
	case refused > 0:
		return step.Mismatch(fmt.Errorf("%s refused; the board names them", view.Verb(refused, "bundle or score", "is", "are")))
	case others > 0:
		return fmt.Errorf("%w: %s; the board names them", app.ErrFindings, view.Plural(others, "finding"))
	case claimed > 0:
		return fmt.Errorf("%w: %s only claimed, because there are no answers here to grade them with", app.ErrClaimed, view.Verb(claimed, "score", "is", "are"))
	case slices.ContainsFunc(s.Tables, func(t *site.Table) bool { return t.Unchecked }):
		return fmt.Errorf("%w: there are no public data here to compare those of some attempts with; they are on tables of their own", app.ErrClaimed)
	}
	return nil
}
