package app

import (
	"context"
	"os"

	"github.com/mleflow/mleflow/plugins/sandbox/breach"
)

// forbidden lists what is tried from inside agents' sandboxes before they start.
// It is nil where mleflow is neither a worker nor in a container: then the
// network around it is the person's own.
func (a *App) forbidden() (func(context.Context) (*breach.Targets, func() error, error), error) {
	m, err := a.Machine()
	if err != nil || !a.IsWorker && !m.InContainer() {
		return nil, err
	}
	loc, err := a.RemoteLocation("")
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (*breach.Targets, func() error, error) {
		return breach.Around(ctx, breach.Machine{Env: os.Environ(), Remote: loc.Server()})
	}, nil
}
