package competition

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/dataset"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/mask"
	"github.com/mleflow/mleflow/competitions/pins"
	"github.com/mleflow/mleflow/competitions/program"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/step"
)

type prepareOptions struct {
	data             app.DataFlags
	set              app.SetFlags
	only             []string
	lite, all        bool
	raw, salt        string
	keepRaw          bool
	skipVerification bool
}

// NewPrepare returns the command prepare.
func NewPrepare(a *app.App) *cobra.Command {
	var o prepareOptions
	cmd := a.Command("prepare", "Prepare competitions' public and private data", app.Takes(0, 0),
		func(cmd *cobra.Command, _ []string) error { return runPrepare(cmd.Context(), a, o) }, &o.set, &o.data, &a.Network)
	flags := cmd.Flags()
	flags.StringArrayVarP(&o.only, "competition", "c", nil, "prepare the competition `ID`; repeatable")
	flags.BoolVar(&o.lite, "lite", false, "prepare the low-complexity competitions")
	flags.BoolVarP(&o.all, "all", "a", false, "prepare all competitions")
	flags.StringVar(&o.raw, "raw", "", "take the unpacked download from `DIR`")
	flags.BoolVar(&o.keepRaw, "keep-raw", false, "write or keep DIR/<id>/raw")
	flags.BoolVar(&o.skipVerification, "skip-verification", false, "do not check pins")
	o.data.RegisterVersion(cmd, "prepare `VERSION`: v1 (default), one with errata such as v2, or a masked one such as v1m")
	flags.StringVar(&o.salt, "salt", "", "salt of a masked version, from `FILE`")
	flags.BoolVar(&o.data.Rehearsal, "rehearsal", false, "prepare the synthetic data of a rehearsal, in DIR/rehearsal")
	cmd.MarkFlagsMutuallyExclusive("raw", "rehearsal")
	return cmd
}

func runPrepare(ctx context.Context, a *app.App, o prepareOptions) error {
	app.SpareMemory()
	defs, errDefs := o.selected(a)
	layout, errLayout := o.data.Layout(a)
	err := cmp.Or(errDefs, errLayout, o.data.CheckVersion(a))
	if err != nil {
		return err
	}
	var salt mask.Salt
	plain, masked := competitions.Unmasked(o.data.Version)
	if masked {
		salt, _, err = readSalt(o.salt)
	} else if o.salt != "" {
		err = app.Usagef("--salt is for masked versions, such as --version v1m")
	}
	if err != nil {
		return err
	}
	jobs := make([]dataset.Job, len(defs))
	for i, def := range defs {
		values, err := o.data.Values(def, defs...)
		if err != nil {
			return err
		}
		if jobs[i], err = o.job(a.ProgramMachine(), def, plain, layout, o.rawOf(def.ID, len(defs))); err != nil {
			return err
		}
		jobs[i].Params = values
		if masked {
			of := jobs[i]
			if jobs[i], err = o.job(a.ProgramMachine(), def, o.data.Version, layout, ""); err != nil {
				return err
			}
			jobs[i].Masks, jobs[i].Salt = &of, salt
		}
	}
	return prepareAll(ctx, a, jobs)
}

// job returns what is to be done for a competition in a version.
func (o prepareOptions) job(machine program.Machine, def *competitions.Definition, version string, layout dataset.Layout, raw string) (dataset.Job, error) {
	if len(o.only) == 0 {
		version = def.Amended(version)
	}
	at, err := def.At(cmp.Or(version, "v1"))
	if err != nil {
		return dataset.Job{}, app.Wrong(err)
	}
	if o.data.Rehearsal {
		at = at.Rehearsed()
	}
	to := layout.At(at)
	if shared := layout.Raw(def.ID); raw == "" && to != layout && app.IsFolder(shared) {
		raw = shared
	}
	return dataset.Job{Def: at, Layout: to, Raw: raw, KeepRaw: o.keepRaw, SkipVerification: o.skipVerification, Machine: machine}, nil
}

// selected returns the competitions that the flags choose; one way of choosing
// is needed.
func (o prepareOptions) selected(a *app.App) ([]*competitions.Definition, error) {
	catalog, err := a.Catalog()
	if err != nil {
		return nil, err
	}
	ids, err := o.ids(catalog)
	if err != nil {
		return nil, app.Wrong(err)
	}
	defs, err := catalog.List(competitions.Filter{IDs: ids})
	same := lists.Grouped(defs, func(d *competitions.Definition) string { return d.ID })
	return lists.Of(same, func(same []*competitions.Definition) *competitions.Definition { return same[0] }), app.Wrong(err)
}

func (o prepareOptions) ids(catalog *competitions.Catalog) ([]string, error) {
	given := []bool{len(o.only) > 0, o.set.Split != "", o.lite, o.all, o.set.List != ""}
	switch ways := slices.DeleteFunc(given, func(given bool) bool { return !given }); {
	case len(ways) != 1:
		return nil, errors.New("choose competitions by one of -c ID, --split SET, --lite, --all, --list FILE")
	case len(o.only) > 0:
		return o.only, nil
	case o.lite:
		return catalog.Set("lite")
	case o.all:
		return catalog.Set("all")
	}
	return o.set.Ids(catalog)
}

// rawOf returns the raw folder of one of n competitions: the folder of its name
// below the given one, which a single competition need not have.
func (o prepareOptions) rawOf(id string, n int) string {
	named := filepath.Join(o.raw, id)
	if o.raw == "" || n == 1 && !app.IsFolder(named) {
		return o.raw
	}
	return named
}

// prepareAll prepares competitions side by side and shows progress as events.
func prepareAll(ctx context.Context, a *app.App, jobs []dataset.Job) error {
	p := &preparation{app: a, texts: app.NewDescriber(a), results: make([]Prepared, len(jobs)), display: app.NewDisplayOn(a, a.Stderr, false, nil)}
	p.emit(event.RunStarted{At: now(), Pipeline: view.Plural(len(jobs), "competition"), Steps: len(jobs), ToRun: len(jobs)})
	workers := max(1, min(len(jobs), runtime.GOMAXPROCS(0)))
	slots := make(chan struct{}, workers)
	var group sync.WaitGroup
	start := func(i int, raw *dataset.Fetched, missing error) {
		group.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			jobs[i].Fetched = raw
			jobs[i].Parallelism = max(1, runtime.GOMAXPROCS(0)/workers)
			p.do(ctx, i, jobs[i], missing)
		})
	}
	waiting := map[string]int{}
	f := &app.Fetcher{Sink: p.emit, Ready: func(id string, raw *dataset.Fetched, err error) { start(waiting[id], raw, err) }}
	err := p.fetch(f, jobs, waiting)
	if err != nil {
		p.display.Close()
		return err
	}
	for i, job := range jobs {
		if _, waits := waiting[job.Def.ID]; !waits {
			start(i, nil, nil)
		}
	}
	if f.Backend != nil {
		f.Run(ctx)
	}
	group.Wait() // failures are in p.results
	p.display.Close()
	err = errors.Join(p.texts.Close(), p.conclude(ctx))
	if f.Backend != nil {
		err = errors.Join(err, f.Backend.Close())
	}
	return err
}

// fetch asks for the raw data that jobs lack, which wait for it by competition.
func (p *preparation) fetch(f *app.Fetcher, jobs []dataset.Job, waiting map[string]int) (err error) {
	for i, job := range jobs {
		needs, err := job.NeedsRaw()
		if err != nil {
			return err
		}
		if needs {
			waiting[job.Def.ID] = i
			f.Add(job.Def, job.Layout, job.KeepRaw)
		}
	}
	if len(waiting) > 0 {
		f.Backend, err = p.app.OpenBackend()
	}
	return err
}

// preparation is what prepareAll keeps: one result a job.
type preparation struct {
	app     *app.App
	display *app.Display
	results []Prepared
	texts   *app.Describer

	mu sync.Mutex
}

type Prepared struct {
	dataset.Outcome
	Error string `json:"error,omitempty"`
	err   error
}

func now() event.At { return event.At{Time: time.Now()} }

// emit passes an event on, one at a time.
func (p *preparation) emit(e event.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.display.Emit(e)
}

// do prepares one competition, or tells why its raw data did not come.
func (p *preparation) do(ctx context.Context, i int, job dataset.Job, missing error) {
	address, start := job.Def.ID, time.Now()
	p.emit(event.StepStarted{At: now(), Address: address, Kind: conditions.PrepareKind, Try: 1})
	job.Progress = func(c progress.State) {
		p.emit(event.StepProgress{At: now(), Address: address, Progress: step.ProgressOf(c)})
	}
	outcome, err := dataset.Outcome{Competition: job.Def.ID}, missing
	if err == nil {
		err = p.texts.While(ctx, job.Def, func(text func() ([]byte, error)) error {
			job.Description = text
			outcome, err = dataset.Prepare(ctx, job)
			return err
		})
	}
	if err == nil && outcome.Report.Verdict == pins.Differs {
		err = step.Mismatch(fmt.Errorf("the files do not match the pins (%s)%s", outcome.Report.Counts(), view.When(outcome.Kept, "; "+outcome.Path+" keeps the earlier ones")))
	}
	p.results[i] = Prepared{Outcome: outcome, err: err}
	done := event.StepFinished{At: now(), Address: address, Kind: conditions.PrepareKind, Status: event.Ran, DurationMillis: time.Since(start).Milliseconds()}
	if err != nil {
		p.results[i].Error = err.Error()
		done.Status, done.Error = event.Failed, err.Error()
	}
	p.emit(done)
}

// conclude prints the results and returns the gravest error: an interruption,
// a failure, a mismatch.
func (p *preparation) conclude(ctx context.Context) error {
	err := p.app.Show(map[string]any{"competitions": p.results}, func() {})
	if err != nil {
		return err
	}
	var worst error
	for _, r := range p.results {
		p.show(r)
		if r.err != nil && (worst == nil || errors.Is(worst, step.ErrMismatch)) {
			worst = r.err
		}
	}
	switch {
	case worst == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("%w: %w", app.ErrSilent, ctx.Err())
	}
	return fmt.Errorf("%w: %w", app.ErrSilent, worst)
}

func (p *preparation) show(r Prepared) {
	a := p.app
	var diags hcl.Diagnostics
	switch {
	case errors.As(r.err, &diags):
		var files diag.Sources
		if def, err := a.Definition(r.Competition); err == nil {
			files = def.Files()
		}
		a.ShowDiagnostics(diags, files)
	case r.err != nil || a.JSON: // the progress view has told of failures
	case r.Verified:
		fmt.Fprintf(a.Stdout, "%s: %s (%s verified)\n", r.Competition, r.Path, view.Plural(r.Checked, "file"))
	default:
		fmt.Fprintf(a.Stdout, "%s: %s (not verified: %s)\n", r.Competition, r.Path, r.Why)
	}
	if r.Report.Verdict == pins.Differs {
		for _, line := range r.Report.Lines(view.Either(a.Verbose, 0, 20)) {
			fmt.Fprintf(a.Stderr, "  %s\n", view.OneLine(line))
		}
	}
}
