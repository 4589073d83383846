package results

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/competitions/grading"
)

// UsageFile is the path below its logs where an agent may record its usage.
const UsageFile = "usage.json"

// MaxUsageBytes is the largest usage file that is read.
const MaxUsageBytes = 64 << 10

// Usage is an attempt's use of models.
type Usage = grading.Usage

// ErrUsage is the error of a usage file that says nothing, which is the agent's doing.
var ErrUsage = errors.New("ignored")

// Claimed is what an agent says of its usage below its logs; nil if it says nothing. A file
// that is too large or in another form is ErrUsage.
func Claimed(ctx context.Context, store cache.Store, logs cache.Ref) (*Usage, error) {
	if logs.Kind != cache.Tree {
		return nil, nil
	}
	e, err := tree.Find(ctx, store, logs, UsageFile)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && e.IsDir():
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("find %s: %w", UsageFile, err)
	case e.Size > MaxUsageBytes:
		return nil, fmt.Errorf("%w: %s has %d bytes, which is too many", ErrUsage, UsageFile, e.Size)
	}
	data, err := cache.Get(ctx, store, e.ID, MaxUsageBytes)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", UsageFile, err)
	}
	u, err := ReadUsage(data)
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrUsage, err)
	}
	return u, err
}

// ReadUsage reads a usage file. See Usage.Check for its numbers; the
// name of the model has at most 200 bytes.
func ReadUsage(data []byte) (*Usage, error) {
	var u *Usage
	if err := json.Unmarshal(data, &u); err != nil {
		return nil, fmt.Errorf("read %s: %w", UsageFile, err)
	}
	if u == nil {
		return nil, fmt.Errorf("read %s: it is not an object", UsageFile)
	}
	u.Source = grading.FromAgent
	if len(u.Model) > 200 {
		return nil, fmt.Errorf("read %s: the name of the model has %d bytes", UsageFile, len(u.Model))
	}
	if err := u.Check(); err != nil {
		return nil, fmt.Errorf("read %s: %w", UsageFile, err)
	}
	return u, nil
}
