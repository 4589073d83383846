package pyenv

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

// Place lays out a stored environment below dir, for programs that see the machine's
// files, and returns the virtual environment. If the cache can share, its packages are
// one read-only copy for all programs. Otherwise it has its own copy. release ends its
// use.
func Place(ctx context.Context, store cache.Cache, ref cache.Ref, dir string) (venv string, release func() error, err error) {
	venv, release = filepath.Join(dir, "venv"), func() error { return nil }
	packages := filepath.Join(dir, "packages")
	shared, err := store.Share(ctx, ref, nil)
	switch {
	case err == nil:
		packages, release = shared.Dir(), shared.Close
	case errors.Is(err, errors.ErrUnsupported):
		_, err = tree.Materialise(ctx, store, ref, packages, tree.Options{Mode: tree.Copy})
	}
	if err == nil {
		err = link(ctx, venv, packages)
	}
	if err != nil {
		return "", nil, errors.Join(fmt.Errorf("place the Python environment: %w", err), release())
	}
	return venv, release, nil
}

// link creates a virtual environment for packages that are elsewhere.
func link(ctx context.Context, venv, packages string) error {
	i, err := For(ctx, packages)
	if err != nil {
		return err
	}
	place, err := Venv(venv, packages, i)
	if err != nil {
		return err
	}
	at := filepath.Join(venv, place)
	return errors.Join(os.Remove(at), os.Symlink(filepath.Join(packages, "site-packages"), at))
}

// Mounts are the files outside of a placed environment that it needs, at their paths on
// this machine.
func Mounts(venv string) []executor.Mount {
	var list []executor.Mount
	found, _ := filepath.Glob(filepath.Join(venv, "lib", "python*", "site-packages"))
	for _, at := range found {
		if packages, err := filepath.EvalSymlinks(at); err == nil {
			list = append(list, executor.Mount{Host: packages, Guest: packages, ReadOnly: true})
		}
	}
	if i, err := read(filepath.Join(venv, "bin", "python3")); err == nil {
		list = append(list, i.mounts()...)
	}
	return list
}

// Activate returns the variables of a program for which a virtual environment is
// activated.
func Activate(vars map[string]string, venv string) map[string]string {
	vars = maps.Clone(vars)
	vars["VIRTUAL_ENV"] = venv
	vars["PATH"] = strings.TrimSuffix(filepath.Join(venv, "bin")+":"+vars["PATH"], ":")
	return vars
}
