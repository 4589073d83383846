package checksum

import (
	"context"
	"crypto/md5" //nolint:gosec // the reference's pins are MD5
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/engine/step"
)

// missing is what a file that is not there has for a digest.
const missing = "missing"

// compareFiles compares the pinned files, several at once.
func (c *check) compareFiles(ctx context.Context, env *step.Env, manifest cache.Ref, report *Report) error {
	pins := c.def.Checksums.Pinned()
	paths := slices.Sorted(maps.Keys(pins))
	got := make([]string, len(paths))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	var mu sync.Mutex
	var done int64
	for i, path := range paths {
		group.Go(func() (err error) {
			if got[i], err = md5Of(ctx, env.Store, manifest, path); err != nil {
				return fmt.Errorf("read %s: %w", path, err)
			}
			mu.Lock()
			defer mu.Unlock()
			done++
			env.Progress(step.Progress{What: path, Done: done, Total: int64(len(paths)), Unit: "files"})
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	report.Pinned += len(paths)
	for i, path := range paths {
		if got[i] == pins[path] {
			report.Matched++
		} else {
			report.Mismatches = append(report.Mismatches, Mismatch{path, pins[path], got[i]})
		}
	}
	return nil
}

// md5Of returns the MD5 of a file in hexadecimal, or missing.
func md5Of(ctx context.Context, store cache.Store, root cache.Ref, path string) (string, error) {
	e, err := tree.Find(ctx, store, root, path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && e.IsDir() {
		return missing, nil
	}
	if err != nil {
		return "", err
	}
	r, err := store.Open(ctx, e.ID)
	if err != nil {
		return "", err
	}
	defer r.Close()
	sum := md5.New() //nolint:gosec // the reference's pins are MD5
	if _, err := cache.Copy(ctx, sum, r); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
