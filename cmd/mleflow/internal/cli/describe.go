package cli

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

// describer lays the reference's descriptions next to prepared data, as the
// reference does.
type describer struct {
	app *app
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

func (a *app) newDescriber() *describer {
	d := &describer{app: a}
	d.open = sync.OnceValues(func() (*task.Describer, error) {
		sources, err := a.sources()
		if err != nil {
			return nil, err
		}
		adopt, err := a.network.adopted()
		if err != nil {
			return nil, err
		}
		if d.store, err = a.openCache(); err != nil {
			return nil, err
		}
		return task.NewDescriber(task.Deps{Sources: source.NewRegistry(sources...), Adopt: adopt, Mirror: a.mirror()}, textPatience), nil
	})
	return d
}

// while prepares data and lays prepared/public/description.md into them, which
// it fetches meanwhile. A text that cannot be had is noted; only one that is not
// the pinned one is an error.
func (d *describer) while(ctx context.Context, def *competitions.Definition, prepare func() (prepared string, err error)) error {
	fetch, stop := context.WithCancel(ctx)
	defer stop()
	var text []byte
	var textErr error
	var fetching sync.WaitGroup
	fetching.Go(func() { text, textErr = d.text(fetch, def) })
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
func (d *describer) lay(def *competitions.Definition, prepared string, text []byte, err error) error {
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
	return replaceFile(filepath.Join(prepared, "public", "description.md"), text)
}

func (d *describer) text(ctx context.Context, def *competitions.Definition) ([]byte, error) {
	finder, err := d.open()
	if err != nil {
		return nil, err
	}
	return finder.Describe(ctx, d.store, def)
}

// close ends it and says how many competitions have no description, and why the
// last of them has none.
func (d *describer) close() error {
	if len(d.without) > 0 {
		fmt.Fprintf(d.app.stderr, "Without description.md, which agents of MLE-bench read: %s. %v.\n", view.Plural(len(d.without), "competition"), d.why)
	}
	if d.store == nil {
		return nil
	}
	return d.store.Close()
}
