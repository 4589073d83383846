package attempts

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/steps/agentrun"
)

const (
	// maxLogBytes is the largest log in which a cause is sought, logLines the number of its
	// last lines.
	maxLogBytes = 4 << 20
	logLines    = 60
)

// log enters what the end of the agent's output tells about an attempt that left nothing to
// grade. A log that is too large or not there says nothing.
func (c *collector) log(r *results.Attempt, rec *cache.Record) error {
	logs := rec.Outputs["logs"].Ref
	if _, mood := r.Ended(); mood != results.Bad || r.Report.SubmissionExists || logs.Kind != cache.Tree {
		return nil
	}
	e, err := tree.Find(c.ctx, c.Store, logs, agentrun.OutputLog)
	if err == nil && !e.IsDir() && e.Size <= maxLogBytes {
		var text []byte
		if text, err = cache.Get(c.ctx, c.Store, e.ID, maxLogBytes); err == nil {
			lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
			r.Log, _ = view.Excerpt(lines[max(0, len(lines)-logLines):])
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, cache.ErrNotFound) {
		return fmt.Errorf("read %s: %w", agentrun.OutputLog, err)
	}
	return nil
}
