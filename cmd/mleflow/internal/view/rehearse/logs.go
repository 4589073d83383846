package rehearse

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/steps/agentrun"
)

// logs is what an attempt left in its output "logs".
type logs struct {
	// printed is the end of the agent's output.
	printed string
	// opened says which data the agent opened; nil if that is not known.
	opened *agentrun.Opened
}

// maxLog is how much of the end of a log is read.
const maxLog = 1 << 20

// logs reads what an attempt left; nothing if the submission is not of an attempt.
func (q Request) logs(ctx context.Context, action string) (l logs, err error) {
	id, err := digest.ParseActionID(action)
	if err != nil {
		return l, nil //nolint:nilerr // a submission of a file has no attempt
	}
	made, err := q.Run.Index.Lookup(ctx, id)
	if err != nil {
		return l, err
	}
	in := made.Outputs["logs"].Ref
	printed, err := end(ctx, q.Run.Store, in, agentrun.OutputLog)
	if err != nil {
		return l, err
	}
	l.printed = string(printed)
	opened, err := end(ctx, q.Run.Store, in, agentrun.OpenedFile)
	if err == nil && len(opened) > 0 {
		_ = json.Unmarshal(opened, &l.opened) // an agent may have written another file of that name
	}
	return l, err
}

// end returns the end of a file of a tree; nil if there is no such file.
func end(ctx context.Context, store cache.Store, in cache.Ref, name string) ([]byte, error) {
	e, err := tree.Find(ctx, store, in, name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && e.IsDir() {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	f, err := store.Open(ctx, e.ID)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if _, err := io.CopyN(io.Discard, f, max(0, e.Size-maxLog)); err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(f, maxLog))
}
