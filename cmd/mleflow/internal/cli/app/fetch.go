package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache/disk"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/dataset"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/outputs"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/config"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/transfer/source"
	"github.com/mleflow/mleflow/steps/download"
	"github.com/mleflow/mleflow/steps/task"
)

// Fetcher gets the raw data of competitions into the cache: it applies a
// pipeline with one download step each, so that space is reserved for it and it is
// resumed, checked and cached as those of any pipeline.
type Fetcher struct {
	Backend *Backend
	// kinds replace those of the backend, if set.
	kinds *step.Registry
	// ids maps the address of a step to its competition.
	ids map[string]string
	// pipeline has a step for each competition.
	pipeline *hclwrite.File
	// Sink is called with what happens, with competitions for addresses.
	Sink func(event.Event)
	// Ready is called once for each competition that has its data, or an
	// error.
	Ready func(id string, raw *dataset.Fetched, err error)
}

// Add asks for a competition. An archive that is where the reference puts it
// in the data folder is taken instead of a download. With keepArchives, archives in the
// download stay files.
func (f *Fetcher) Add(def *competitions.Definition, layout dataset.Layout, keepArchives bool) {
	if f.ids == nil {
		f.ids, f.pipeline = map[string]string{}, hclwrite.NewEmptyFile()
	}
	name := "d" + strconv.Itoa(len(f.ids))
	f.ids["step.download."+name] = def.ID
	spec := f.pipeline.Body().AppendNewBlock("step", []string{conditions.DownloadKind, name}).Body()
	spec.SetAttributeValue("competition", cty.StringVal(def.ID))
	if keepArchives {
		spec.SetAttributeValue("keep_archives", cty.True)
	}
	folder := layout.Competition(def.ID)
	main, ok := def.Download()
	if def.Rehearsal {
		spec.SetAttributeValue("data", cty.StringVal(conditions.Rehearsal))
	} else if taken := (source.Reference{}).Taken(source.Spec{Path: folder}); strings.HasSuffix(taken, ".zip") && ok {
		from := spec.AppendNewBlock("source", nil).Body()
		from.SetAttributeValue("kind", cty.StringVal("reference"))
		from.SetAttributeValue("path", cty.StringVal(folder))
		if main.MD5 != "" {
			from.SetAttributeValue("md5", cty.StringVal(main.MD5))
		}
		if main.SHA256 != "" {
			from.SetAttributeValue("sha256", cty.StringVal(main.SHA256))
		}
	}
}

// Run fetches all that was asked for, and calls ready for each.
func (f *Fetcher) Run(ctx context.Context) {
	open := maps.Clone(f.ids)
	finish := func(address string, raw *dataset.Fetched, err error) {
		if id, ok := open[address]; ok {
			delete(open, address)
			f.Ready(id, raw, err)
		}
	}
	opts := f.Backend.Options
	opts.History = nil // it is not a run of a pipeline that people know
	if f.kinds != nil {
		opts.Kinds = f.kinds
	}
	failures, err := f.apply(ctx, engine.New(opts), func(ev event.StepFinished) {
		raw, err := f.fetched(ctx, ev.Action)
		finish(ev.Address, raw, err)
	})
	for _, fail := range failures {
		finish(fail.Address, nil, fail.Err)
	}
	for _, address := range slices.Sorted(maps.Keys(open)) {
		finish(address, nil, cmp.Or(err, context.Cause(ctx), context.Canceled))
	}
}

// apply runs the pipeline, calls done for each step that has a result, and returns the failures.
func (f *Fetcher) apply(ctx context.Context, e *engine.Engine, done func(event.StepFinished)) ([]engine.Failure, error) {
	p, diags := e.Parse("prepare", f.pipeline.Bytes(), config.Inputs{})
	if diags.HasErrors() {
		return nil, diags
	}
	res, diags := e.Apply(ctx, p, engine.ApplyOptions{KeepGoing: true, Sink: event.SinkFunc(func(ev event.Event) {
		if end, ok := ev.(event.StepFinished); ok && end.Status.Succeeded() {
			done(end)
		}
		f.tell(ev)
	})})
	if diags.HasErrors() {
		return nil, diags
	}
	return res.Failures, nil
}

// fetched is the raw data that an action gave.
func (f *Fetcher) fetched(ctx context.Context, action string) (*dataset.Fetched, error) {
	rec, err := outputs.Lookup(ctx, f.Backend.Cache, action)
	if err != nil {
		return nil, fmt.Errorf("fetch raw data: %w", err)
	}
	return &dataset.Fetched{Store: f.Backend.Cache, Tree: rec.Outputs["tree"].Ref}, nil
}

// tell passes on what is of interest to a person.
func (f *Fetcher) tell(ev event.Event) {
	switch ev.(type) {
	case event.StepStarted, event.StepProgress, event.StepWaiting, event.StepRetry, event.StepLog, event.Warning, event.Preflight:
		f.Sink(event.Readdressed(ev, func(address string) string { return f.ids[address] }))
	case event.PreflightFinished:
		f.Sink(ev)
	}
}

// single is a catalog of one competition, which need not ship.
type single struct{ def *competitions.Definition }

// Get implements download.Definitions.
func (s single) Get(id string) (*competitions.Definition, error) {
	if id != s.def.ID {
		return nil, fmt.Errorf("no competition %q", id)
	}
	return s.def, nil
}

// PrepareShipped prepares data that ship with the program, telling nobody, and returns
// the folder.
func (a *App) PrepareShipped(ctx context.Context, job dataset.Job) (path string, err error) {
	sources, _, err := a.sources(nil)
	if err != nil {
		return "", err
	}
	kind := download.Kind(download.Deps{Catalog: single{job.Def}, Sources: sources})
	err = a.WithBackend(func(b *Backend) (err error) {
		f := &Fetcher{Backend: b, kinds: step.NewRegistry(kind), Sink: func(event.Event) {}}
		f.Ready = func(_ string, got *dataset.Fetched, cause error) { job.Fetched, err = got, cause }
		f.Add(job.Def, dataset.Layout{}, false)
		if f.Run(ctx); err != nil {
			return err
		}
		job.Machine = a.ProgramMachine()
		outcome, err := dataset.Prepare(ctx, job)
		path = outcome.Path
		return err
	})
	return path, err
}

// Describer lays the reference's descriptions next to prepared data, as the
// reference does.
type Describer struct {
	app *App
	// open makes what it needs when the first is asked for; store is then open.
	open  func() (*task.Describer, error)
	store *disk.Cache

	mu      sync.Mutex
	without []string
	why     error
}

// textPatience is how long a server of descriptions may take to answer: the
// data are there, and a description is only an addition to them.
const textPatience = 5 * time.Second

// NewDescriber starts to fetch descriptions while data are prepared.
func NewDescriber(a *App) *Describer {
	d := &Describer{app: a}
	d.open = sync.OnceValues(func() (*task.Describer, error) {
		sources, adopt, err := a.sources(nil)
		if err != nil {
			return nil, err
		}
		if d.store, err = a.OpenCache(); err != nil {
			return nil, err
		}
		return task.NewDescriber(task.Deps{Sources: sources, Adopt: adopt, Mirror: a.mirror()}, textPatience), nil
	})
	return d
}

// While prepares data and fetches their description meanwhile, for which prepare asks with
// a function. A text that cannot be had is noted; only one that is not the pinned one is an
// error.
func (d *Describer) While(ctx context.Context, def *competitions.Definition, prepare func(text func() ([]byte, error)) error) error {
	fetch, stop := context.WithCancel(ctx)
	var text []byte
	var textErr error
	var fetching sync.WaitGroup
	fetching.Go(func() { text, textErr = d.Text(fetch, def) })
	defer fetching.Wait()
	defer stop()
	return prepare(func() ([]byte, error) {
		fetching.Wait()
		if textErr == nil || errors.Is(textErr, step.ErrMismatch) {
			return text, textErr
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		d.without, d.why = append(d.without, def.ID), textErr
		return nil, nil
	})
}

// Text returns the reference's description of a competition, nil if it has none, and of
// a rehearsal our own.
func (d *Describer) Text(ctx context.Context, def *competitions.Definition) ([]byte, error) {
	if def.Rehearsal { // it uses no network
		return def.OwnDescription(), nil
	}
	finder, err := d.open()
	if err != nil {
		return nil, err
	}
	return finder.Describe(ctx, d.store, def)
}

// Close ends it and says how many competitions have no description, and why the
// last of them has none.
func (d *Describer) Close() error {
	if len(d.without) > 0 {
		fmt.Fprintf(d.app.Stderr, "Without description.md, which agents of MLE-bench read: %s. %v.\n", view.Plural(len(d.without), "competition"), d.why)
	}
	if d.store == nil {
		return nil
	}
	return d.store.Close()
}
