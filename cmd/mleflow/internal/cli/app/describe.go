package app

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/mleflow/mleflow/cache/disk"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/transfer/source"
	"github.com/mleflow/mleflow/steps/task"
)

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
		sources, err := a.sources()
		if err != nil {
			return nil, err
		}
		adopt, err := a.Network.adopted()
		if err != nil {
			return nil, err
		}
		if d.store, err = a.OpenCache(); err != nil {
			return nil, err
		}
		return task.NewDescriber(task.Deps{Sources: source.NewRegistry(sources...), Adopt: adopt, Mirror: a.mirror()}, textPatience), nil
	})
	return d
}

// While prepares data and lays prepared/public/description.md into them, which
// it fetches meanwhile. A text that cannot be had is noted; only one that is not
// the pinned one is an error.
func (d *Describer) While(ctx context.Context, def *competitions.Definition, prepare func() (prepared string, err error)) error {
	fetch, stop := context.WithCancel(ctx)
	defer stop()
	var text []byte
	var textErr error
	var fetching sync.WaitGroup
	fetching.Go(func() { text, textErr = d.Text(fetch, def) })
	prepared, err := prepare()
	if err != nil {
		stop()
	}
	fetching.Wait()
	if err != nil {
		return err
	}
	return d.lay(def, prepared, text, textErr)
}

// lay writes the description, or notes why there is none.
func (d *Describer) lay(def *competitions.Definition, prepared string, text []byte, err error) error {
	switch {
	case errors.Is(err, step.ErrMismatch):
		return err
	case err != nil:
		d.mu.Lock()
		defer d.mu.Unlock()
		d.without, d.why = append(d.without, def.ID), err
		return nil
	case text == nil:
		return nil
	}
	return ReplaceFile(filepath.Join(prepared, "public", "description.md"), text)
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
