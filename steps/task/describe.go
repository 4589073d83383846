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

// Describer gets descriptions of the reference outside of a pipeline, such as
// for those who lay data out for its tools.
type Describer struct {
	deps  Deps
	asked *answers
}

// NewDescriber returns a describer that waits so long for a server.
func NewDescriber(deps Deps, patience time.Duration) *Describer {
	deps.Repository = cmp.Or(deps.Repository, competitions.Reference())
	return &Describer{deps, &answers{patience: patience}}
}

// Describe returns the reference's description of a competition, from where a
// step of the kind would take it; nil if the competition has none. A text that
// is not the pinned one is a step.ErrMismatch; any other error says that no
// place has it.
func (d *Describer) Describe(ctx context.Context, store cache.Cache, def *competitions.Definition) ([]byte, error) {
	pins, err := d.deps.Repository.Texts(def, competitions.TaskReference)
	if err != nil {
		return nil, nil //nolint:nilerr,nilnil // it has none
	}
	t := &texts{def: def, task: competitions.TaskReference, pins: pins, deps: d.deps, asked: d.asked}
	if _, ok := stored(ctx, store, pins.Description); !ok {
		// Asked first, so that a server that is silent is not waited for again.
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

// explain names the ways to get a text that is missing.
func (t *texts) explain(err error) error {
	var lack lacking
	if lack.add(err) {
		return lack.error(t)
	}
	return err
}
