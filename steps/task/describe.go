package task

import (
	"cmp"
	"context"
	"io"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/engine/step"
)

// Describer gets the reference's descriptions outside a pipeline, for example
// to lay out data for its tools.
type Describer struct {
	deps  Deps
	asked *answers
}

// NewDescriber returns a describer that waits at most this long for a server.
func NewDescriber(deps Deps, patience time.Duration) *Describer {
	deps.Repository = cmp.Or(deps.Repository, competitions.Reference())
	return &Describer{deps, &answers{patience: patience}}
}

// Describe returns the reference's description of a competition, from the place where a
// step of the kind would take it. It returns nil if the competition has none. A text
// that does not match its pin is a step.ErrMismatch. Any other error means that no
// place has the text.
func (d *Describer) Describe(ctx context.Context, store cache.Cache, def *competitions.Definition) ([]byte, error) {
	pins, err := d.deps.Repository.Texts(def, competitions.TaskReference)
	if err != nil {
		return nil, nil //nolint:nilerr,nilnil // it has none
	}
	t := &texts{def: def, task: competitions.TaskReference, pins: pins, deps: d.deps, asked: d.asked}
	if _, ok := stored(ctx, store, pins.Description); !ok {
		// Ask first, so that Describe does not wait again for a silent server.
		if _, _, err := t.ask(ctx, pins.Description); err != nil {
			return nil, t.explain(err)
		}
	}
	ref, err := t.fetch(ctx, &step.Env{Store: store, Log: io.Discard}, pins.Description)
	if err != nil {
		return nil, t.explain(err)
	}
	return cache.Get(ctx, store, ref.ID, maxText)
}

// explain lists the ways to get a missing text.
func (t *texts) explain(err error) error {
	var lack lacking
	if lack.add(err) {
		return lack.error(t)
	}
	return err
}
