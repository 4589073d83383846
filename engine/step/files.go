package step

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/tree"
)

// CheckFiles rejects invalid and conflicting paths. Each must be clean and
// relative, "." is the folder itself, and none may be in taken.
func CheckFiles(files map[string]*Artifact, taken ...string) error {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		switch {
		case name == ".":
		case name == "" || path.IsAbs(name) || path.Clean(name) != name || name == ".." || len(name) > 2 && name[:3] == "../":
			return fmt.Errorf("%q is not a clean relative path; write one such as \"src/train.py\"", name)
		case slices.Contains(taken, name):
			return fmt.Errorf("%q is taken; choose another name", name)
		}
	}
	return nil
}

// CheckEnv rejects invalid names of environment variables, and those that mleflow sets itself.
func CheckEnv(env map[string]string, own func(name string) bool) error {
	for _, name := range slices.Sorted(maps.Keys(env)) {
		switch {
		case name == "" || strings.ContainsAny(name, "=\x00"):
			return fmt.Errorf("%q is not a valid name of an environment variable", name)
		case own(name):
			return fmt.Errorf("the environment variable %s is set by mleflow itself; choose another name", name)
		}
	}
	return nil
}

// FilesTree makes one tree of content by path. A tree at "." provides the top
// level. Content with a name replaces content in that tree.
func FilesTree(ctx context.Context, store cache.Building, files map[string]*Artifact) (cache.Ref, error) {
	b := tree.NewBuilder(store)
	named := func(path string) bool { return path != "." && files[path] != nil }
	if all := files["."]; all != nil {
		if all.Ref.Kind != cache.Tree {
			return cache.Ref{}, fmt.Errorf("combine files: %s is a file; give it a name instead of \".\"", all.Name())
		}
		err := tree.Walk(ctx, store, all.Ref, func(path string, e tree.Entry) error {
			switch {
			case named(path):
				return nil
			case e.IsDir():
				return b.AddDir(path)
			}
			return b.Add(path, e.Ref(), e.Type == tree.Executable)
		})
		if err != nil {
			return cache.Ref{}, fmt.Errorf("lay files: %w", err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if a := files[name]; named(name) {
			if err := b.Add(name, a.Ref, a.Local != nil && a.Local.Executable()); err != nil {
				return cache.Ref{}, fmt.Errorf("lay files: %w", err)
			}
		}
	}
	return b.Build(ctx, store)
}
