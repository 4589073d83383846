package dataset

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/competitions/prep"
)

// Fetched is raw data in a cache.
type Fetched struct {
	Store cache.Files
	Tree  cache.Ref
}

// errNoRaw says that there is no raw data and nobody fetched any.
var errNoRaw = errors.New("no raw data")

// NeedsRaw reports whether the raw data has to be fetched: none is named, and
// the layout has none. It has not if Prepare refuses the folder.
func (j Job) NeedsRaw() (bool, error) {
	if j.Masks != nil {
		has, err := filled(j.Masks.Layout.Prepared(j.Def.ID))
		if err != nil || has {
			return false, err
		}
		return j.Masks.NeedsRaw()
	}
	if j.Raw != "" || j.fits() != nil {
		return false, nil
	}
	has, err := filled(j.Layout.Raw(j.Def.ID))
	return !has, err
}

// raw returns the unpacked download: the given folder, the layout's if it
// holds something, else what was fetched. own says that it is the layout's.
func (j Job) raw(ctx context.Context) (raw fs.FS, own bool, err error) {
	if j.Raw != "" {
		if has, err := filled(j.Raw); err != nil {
			return nil, false, err
		} else if !has {
			return nil, false, fmt.Errorf("the raw folder %s is empty or missing", j.Raw)
		}
		return prep.DirFS(j.Raw), false, nil
	}
	dir := j.Layout.Raw(j.Def.ID)
	if has, err := filled(dir); err != nil || has {
		return prep.DirFS(dir), true, err
	}
	if j.Fetched == nil {
		return nil, false, fmt.Errorf("%w: name a folder with --raw, or put it at %s", errNoRaw, dir)
	}
	if err := j.checkFetched(ctx); err != nil {
		return nil, false, err
	}
	if !j.KeepRaw {
		return tree.NewFS(ctx, j.Fetched.Store, j.Fetched.Tree), false, nil
	}
	if err := j.materialise(ctx, dir); err != nil {
		return nil, false, err
	}
	return prep.DirFS(dir), true, nil
}

// checkFetched refuses prepared data instead of raw data.
func (j Job) checkFetched(ctx context.Context) error {
	names, err := fs.ReadDir(tree.NewFS(ctx, j.Fetched.Store, j.Fetched.Tree), ".")
	if err != nil {
		return fmt.Errorf("read raw data: %w", err)
	}
	if len(names) == 1 && names[0].Name() == "prepared" && names[0].IsDir() {
		return errors.New("there are prepared data but no raw data; to use the prepared data, name their data directory with --data-dir")
	}
	return nil
}

// materialise writes the raw data, which hold the answers, as files of their own, which
// may be changed without harm to the cache; where the file system can, they share its
// blocks.
func (j Job) materialise(ctx context.Context, dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o777); err != nil {
		return fmt.Errorf("make raw folder: %w", err)
	}
	_, err := tree.Materialise(ctx, j.Fetched.Store, j.Fetched.Tree, dir, tree.Options{Mode: tree.Copy, Writable: true, OwnerOnly: true, Progress: func(r tree.Result) {
		if j.Progress != nil {
			j.Progress(progress.State{What: "copying raw data", Files: r.Files, TotalFiles: j.Fetched.Tree.Files, Bytes: r.Bytes, TotalBytes: j.Fetched.Tree.Size})
		}
	}})
	if err != nil {
		return fmt.Errorf("make raw folder: %w", err)
	}
	return nil
}
