package bundle

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/secret"
	"github.com/mleflow/mleflow/plugins/transfer/archive"
)

var errLeak = errors.New("it contains the value of a secret")

// leaks searches the files of agents for secrets.
type leaks struct {
	secrets *secret.Set
	store   cache.Store
	// why are the reasons to omit the files that were searched.
	why map[digest.ContentID]string
}

// refuse returns the reason why a file is omitted: "" if no secret is in it.
func (l *leaks) refuse(ctx context.Context, id digest.ContentID) string {
	why, known := l.why[id]
	if known || l.secrets.Empty() {
		return why
	}
	open := func() (io.ReadCloser, error) { return l.store.Open(ctx, id) }
	switch err := archive.Search(open, l.secrets); {
	case errors.Is(err, secret.ErrFound):
		why = errLeak.Error()
	case err != nil:
		why = fmt.Sprintf("it cannot be searched for secrets: %v", err)
	}
	l.why[id] = why
	return why
}
