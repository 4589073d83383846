package soak

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/config"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/plan"
	"github.com/mleflow/mleflow/engine/sched"
	"github.com/mleflow/mleflow/engine/step"
)

// outcome is how a run on paper went.
type outcome struct {
	Forecast *plan.Forecast
	Result   *engine.Result
	// Order are the steps as they ended.
	Order []string
	// Asked is what the preflight found.
	Asked event.PreflightFinished
}

// run downloads and prepares competitions on a disk, at most parallel at a
// time.
func run(ctx context.Context, d *disk, list []competition, parallel int) (*outcome, error) {
	d.NextRun()
	e := engine.New(engine.Options{
		Options: config.Options{Kinds: step.NewRegistry(kind(d, "download", list), kind(d, "prepare", list)), Version: "0.1.0"}, Cache: d,
		Capacity: sched.Capacity{CPUs: float64(parallel)},
		Space: func(context.Context) (plan.Space, error) {
			s := plan.Space{FreeBytes: -1, FreeFiles: -1, QuotaBytes: d.Quota, UsedBytes: d.Used()}
			if d.Size > 0 {
				s.FreeBytes = d.Size - d.Used()
			}
			return s, nil
		},
	})
	p, diags := e.Parse("soak.hcl", []byte(pipeline(list)), config.Inputs{})
	if diags.HasErrors() {
		return nil, diags
	}
	pl, diags := e.Plan(ctx, p, engine.PlanOptions{})
	if diags.HasErrors() {
		return nil, diags
	}
	out := &outcome{Forecast: pl.Forecast}
	var mu sync.Mutex
	out.Result, diags = e.Apply(ctx, p, engine.ApplyOptions{KeepGoing: true, Sink: event.SinkFunc(func(ev event.Event) {
		mu.Lock()
		defer mu.Unlock()
		switch ev := ev.(type) {
		case event.PreflightFinished:
			out.Asked = ev
		case event.StepFinished:
			if ev.Status == event.Ran {
				out.Order = append(out.Order, ev.Address)
			}
		}
	})})
	if diags.HasErrors() {
		return nil, diags
	}
	return out, nil
}

// pipeline is the part of the shipped pipelines that fills the cache.
func pipeline(list []competition) string {
	ids := make([]string, len(list))
	for i, c := range list {
		ids[i] = fmt.Sprintf("%q", c.ID)
	}
	return `locals { ids = toset([` + strings.Join(ids, ", ") + `]) }
step "download" "raw" {
  for_each    = local.ids
  competition = each.key
}
step "prepare" "data" {
  for_each    = local.ids
  competition = each.key
  raw         = step.download.raw[each.key].out
}
`
}

// kind is a step kind that stores nothing but sizes.
func kind(d *disk, name string, list []competition) step.Kind {
	return step.Kind{
		Name: name, Version: "1",
		Args: []step.Attr{
			{Name: "competition", Type: cty.String, Required: true},
			{Name: "raw", Type: step.ArtifactType},
		},
		Outputs: []step.Output{{Name: "out", Type: step.ArtifactType}},
		New: func(args step.Args) (step.Step, error) {
			p := &paper{disk: d, kind: name}
			if err := args.Decode(&p.args); err != nil {
				return nil, err
			}
			i := slices.IndexFunc(list, func(c competition) bool { return c.ID == p.args.Competition })
			if i < 0 {
				return nil, fmt.Errorf("no competition %q", p.args.Competition)
			}
			p.of = list[i]
			if name == "download" {
				return &download{p}, nil
			}
			return p, nil
		},
	}
}

// paper is a step on paper.
type paper struct {
	disk *disk
	kind string
	of   competition
	args struct {
		Competition string         `cty:"competition"`
		Raw         *step.Artifact `cty:"raw"`
	}
}

// Estimate implements step.Estimator.
func (p *paper) Estimate() step.Estimate {
	if p.kind == "download" {
		return step.Estimate{CacheBytes: p.of.Raw(), PeakBytes: p.of.Raw(), Files: p.of.Files, Known: true, Basis: "size_gb"}
	}
	return step.Estimate{CacheBytes: p.of.prepared(), Known: true, Basis: "size_gb"}
}

// Run implements step.Step.
func (p *paper) Run(ctx context.Context, env *step.Env) (cache.Outputs, error) {
	ref, err := cache.PutBytes(ctx, env.Store, []byte(p.kind+" "+p.of.ID))
	if err != nil {
		return nil, err
	}
	p.disk.settle(ref.ID, p.Estimate())
	return cache.Outputs{"out": {Ref: ref}}, nil
}

// download is a paper that is asked for before.
type download struct{ *paper }

// Preflight implements step.Preflighter.
func (d *download) Preflight(context.Context) (step.Preflight, error) {
	return step.Preflight{Subject: d.of.ID, Place: "paper", Bytes: d.of.Raw(), Estimate: d.Estimate()}, nil
}
