package exec

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/nolink"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/engine/step"
)

// collect stores the declared outputs as one tree.
func collect(ctx context.Context, env *step.Env, dir string, outputs []string) (cache.Ref, error) {
	var b tree.Builder
	for _, path := range outputs {
		ref, executable, err := store(ctx, env, dir, path)
		if err != nil {
			return cache.Ref{}, err
		}
		if err := b.Add(path, ref, executable); err != nil {
			return cache.Ref{}, err
		}
	}
	return b.Build(ctx, env.Store)
}

func store(ctx context.Context, env *step.Env, dir, path string) (cache.Ref, bool, error) {
	full := filepath.Join(dir, path)
	if err := noLinks(dir, path); err != nil {
		return cache.Ref{}, false, err
	}
	info, err := os.Lstat(full)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return cache.Ref{}, false, fmt.Errorf("the command succeeded but did not create the output %q%s", path, found(dir))
	case err != nil:
		return cache.Ref{}, false, fmt.Errorf("collect output %q: %w", path, err)
	case info.IsDir():
		ref, err := tree.Import(ctx, env.Store, full, tree.ImportOptions{
			Progress: func(files, bytes int64) {
				env.Progress(step.Progress{What: path, Done: files, Unit: "files", Bytes: bytes})
			},
		})
		return ref, false, err
	case !info.Mode().IsRegular():
		return cache.Ref{}, false, fmt.Errorf("output %q is neither a file nor a folder but %s", path, nolink.Kind(info.Mode()))
	}
	f, err := os.OpenFile(full, os.O_RDONLY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return cache.Ref{}, false, fmt.Errorf("collect output %q: %w", path, err)
	}
	defer f.Close()
	ref, err := cache.Put(ctx, env.Store, f, cache.Ref{})
	return ref, info.Mode()&0o100 != 0, err
}

// noLinks rejects an output below a symbolic link.
func noLinks(dir, path string) error {
	for i, c := range path {
		if c != '/' {
			continue
		}
		if info, err := os.Lstat(filepath.Join(dir, path[:i])); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return fmt.Errorf("output %q is below the symbolic link %q", path, path[:i])
		}
	}
	return nil
}

// found lists the files that the command created instead, for the error.
func found(dir string) string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return ""
	}
	var names []string
	for _, e := range entries {
		if e.Name() != "inputs" && len(names) < 10 {
			names = append(names, e.Name())
		}
	}
	if len(names) == 0 {
		return "; its folder is empty"
	}
	return "; its folder contains " + strings.Join(names, ", ")
}
