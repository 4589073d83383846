package modelblock

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/models/gateway"
	"github.com/mleflow/mleflow/plugins/models/transcript"
)

// Recordings opens the recordings from which a model answers. They are placed at prefix
// followed by their number, unless they are there. The caller closes the readers, also those
// that come with an error.
func Recordings(ctx context.Context, store cache.Files, of step.Model, prefix string) (list []*transcript.Reader, err error) {
	for n, a := range of.Replay {
		if a.Ref.Kind != cache.Tree {
			return list, fmt.Errorf("%s is no recording: it is a file, and a recording is a folder", a.Name())
		}
		at := fmt.Sprintf("%s%d", prefix, n)
		if _, err := os.Lstat(at); errors.Is(err, fs.ErrNotExist) {
			if _, err := tree.Materialise(ctx, store, a.Ref, at, tree.Options{Mode: tree.Link}); err != nil {
				return list, fmt.Errorf("place the recording %s: %w", a.Name(), err)
			}
		}
		r, err := transcript.OpenReader(os.DirFS(at))
		if err != nil {
			return list, fmt.Errorf("%s is no recording: %w", a.Name(), err)
		}
		list = append(list, r)
	}
	return list, nil
}

// OnMiss is what happens to a request that no recording of a model has.
func OnMiss(of step.Model) gateway.OnMiss {
	if of.OnMiss == MissLive {
		return gateway.Live
	}
	return gateway.Fail
}
