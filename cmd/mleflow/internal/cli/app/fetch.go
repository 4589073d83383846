package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/dataset"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/config"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/transfer/source"
	"github.com/mleflow/mleflow/steps/download"
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
	// steps are those of the pipeline.
	steps []config.StepSpec
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
		f.ids = map[string]string{}
	}
	name := "d" + strconv.Itoa(len(f.ids))
	f.ids["step.download."+name] = def.ID
	spec := config.StepSpec{Kind: conditions.DownloadKind, Name: name, Args: map[string]cty.Value{"competition": cty.StringVal(def.ID)}}
	if keepArchives {
		spec.Args["keep_archives"] = cty.True
	}
	folder := layout.Competition(def.ID)
	main, ok := def.Download()
	if def.Rehearsal {
		spec.Args["data"] = cty.StringVal(conditions.Rehearsal)
	} else if taken := (source.Reference{}).Taken(source.Spec{Path: folder}); strings.HasSuffix(taken, ".zip") && ok {
		from := map[string]cty.Value{"kind": cty.StringVal("reference"), "path": cty.StringVal(folder)}
		if main.MD5 != "" {
			from["md5"] = cty.StringVal(main.MD5)
		}
		if main.SHA256 != "" {
			from["sha256"] = cty.StringVal(main.SHA256)
		}
		spec.Blocks = map[string]map[string]cty.Value{"source": from}
	}
	f.steps = append(f.steps, spec)
}

// Run fetches all that was asked for, and calls ready for each.
func (f *Fetcher) Run(ctx context.Context) {
	open := maps.Clone(f.ids)
	failed := map[string]error{}
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
	e := engine.New(opts)
	err := f.apply(ctx, e, func(ev event.StepFinished) {
		switch ev.Status {
		case event.Ran, event.Cached:
			raw, err := f.fetched(ctx, ev.Action)
			finish(ev.Address, raw, err)
		case event.Cancelled:
			failed[ev.Address] = context.Cause(ctx)
		}
	}, failed)
	for _, address := range slices.Sorted(maps.Keys(open)) {
		cause := failed[address]
		if cause == nil {
			cause = err
		}
		if cause == nil {
			cause = context.Canceled
		}
		finish(address, nil, cause)
	}
}

// apply runs the pipeline and collects why steps failed.
func (f *Fetcher) apply(ctx context.Context, e *engine.Engine, finished func(event.StepFinished), failed map[string]error) error {
	p, diags := e.Build("prepare", f.steps)
	if diags.HasErrors() {
		return diags
	}
	res, diags := e.Apply(ctx, p, engine.ApplyOptions{KeepGoing: true, Sink: event.SinkFunc(func(ev event.Event) {
		if end, ok := ev.(event.StepFinished); ok {
			finished(end)
			return
		}
		f.tell(ev)
	})})
	if diags.HasErrors() {
		return diags
	}
	for _, fail := range res.Failures {
		failed[fail.Address] = fail.Err
	}
	return nil
}

// fetched is the raw data that an action gave.
func (f *Fetcher) fetched(ctx context.Context, action string) (*dataset.Fetched, error) {
	id, err := digest.ParseActionID(action)
	if err != nil {
		return nil, fmt.Errorf("fetch raw data: %w", err)
	}
	rec, err := f.Backend.Cache.Lookup(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("fetch raw data: %w", err)
	}
	return &dataset.Fetched{Store: f.Backend.Cache, Tree: rec.Outputs["tree"].Ref}, nil
}

// tell passes on what is of interest to a person.
func (f *Fetcher) tell(ev event.Event) {
	switch ev := ev.(type) {
	case event.StepStarted:
		ev.Address = f.ids[ev.Address]
		f.Sink(ev)
	case event.StepProgress:
		ev.Address = f.ids[ev.Address]
		f.Sink(ev)
	case event.StepWaiting:
		ev.Address = f.ids[ev.Address]
		f.Sink(ev)
	case event.StepRetry:
		ev.Address = f.ids[ev.Address]
		f.Sink(ev)
	case event.StepLog:
		ev.Address = f.ids[ev.Address]
		f.Sink(ev)
	case event.Warning:
		ev.Address = f.ids[ev.Address]
		f.Sink(ev)
	case event.Preflight, event.PreflightFinished:
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
func (a *App) PrepareShipped(ctx context.Context, job dataset.Job) (_ string, err error) {
	b, err := a.OpenBackend()
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	sources, err := a.sources()
	if err != nil {
		return "", err
	}
	kind := download.Kind(download.Deps{Catalog: single{job.Def}, Sources: source.NewRegistry(sources...)})
	f := &Fetcher{Backend: b, kinds: step.NewRegistry(kind), Sink: func(event.Event) {}}
	f.Ready = func(_ string, got *dataset.Fetched, cause error) { job.Fetched, err = got, cause }
	f.Add(job.Def, dataset.Layout{}, false)
	if f.Run(ctx); err != nil {
		return "", err
	}
	outcome, err := dataset.Prepare(ctx, job)
	return outcome.Path, err
}
