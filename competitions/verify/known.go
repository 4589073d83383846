package verify

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/plugins/data/compare"
)

// knownFolder is what a manifest says was there, with what the store still
// holds of it.
type knownFolder struct {
	manifest *Manifest
	store    cache.Files // nil without one
}

func (k knownFolder) identity(ctx context.Context, name string) (node, error) {
	if f, ok := k.manifest.Folders[name]; ok {
		return node{name: path.Base(name), dir: true, id: parse(f.SHA256), size: f.Size, files: f.Files}, nil
	}
	if s, ok := k.manifest.Files[name]; ok {
		return node{name: path.Base(name), id: parse(s.SHA256), size: s.Size}, nil
	}
	return k.stored(ctx, name)
}

// stored looks for a path in the nearest folder that is listed as a whole and
// still in the store.
func (k knownFolder) stored(ctx context.Context, name string) (node, error) {
	for dir := path.Dir(name); dir != "." && k.store != nil; dir = path.Dir(dir) {
		f, ok := k.manifest.Folders[dir]
		if !ok {
			continue
		}
		if f.Listed {
			break
		}
		below := strings.TrimPrefix(name, dir+"/")
		return treeFolder{k.store, f.ref()}.identity(ctx, below)
	}
	return node{}, fs.ErrNotExist
}

func (f Folder) ref() cache.Ref {
	return cache.Ref{Kind: cache.Tree, ID: parse(f.SHA256), Size: f.Size, Files: f.Files}
}

func (n node) ref() cache.Ref {
	if n.dir {
		return cache.Ref{Kind: cache.Tree, ID: n.id, Size: n.size, Files: n.files}
	}
	return cache.Ref{Kind: cache.Blob, ID: n.id, Size: n.size}
}

// parse reads a digest; the zero one, which nothing has, if it is none.
func parse(text string) digest.ContentID {
	id, _ := digest.ParseContentID(text)
	return id
}

func (k knownFolder) open(name string) compare.Opener {
	return func(ctx context.Context) (fs.File, error) {
		n, err := k.identity(ctx, name)
		if err != nil {
			return nil, err
		}
		return tree.NewFS(ctx, k.store, n.ref()).Open(".")
	}
}

// holds reports whether the bytes of a file are still in the store.
func (k knownFolder) holds(ctx context.Context, name string) bool {
	n, err := k.identity(ctx, name)
	if err != nil || n.dir || k.store == nil {
		return false
	}
	_, err = k.store.Has(ctx, n.id)
	return err == nil
}

func (k knownFolder) list(ctx context.Context, dir string) iter.Seq2[node, error] {
	f, ok := k.manifest.Folders[dir]
	if dir == "." || ok && f.Listed {
		return k.listed(dir)
	}
	return func(yield func(node, error) bool) {
		n, err := k.identity(ctx, dir)
		if err == nil && k.store == nil {
			err = errSealed
		}
		if err == nil {
			_, err = k.store.Has(ctx, n.id)
		}
		if errors.Is(err, cache.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
			err = errSealed
		}
		if err != nil {
			yield(node{}, err)
			return
		}
		eachEntry(ctx, k.store, n.ref(), yield)
	}
}

// listed yields what the manifest lists in a folder.
func (k knownFolder) listed(dir string) iter.Seq2[node, error] {
	nodes := map[string]node{}
	for name, f := range k.manifest.Folders {
		if path.Dir(name) == dir {
			nodes[path.Base(name)] = node{name: path.Base(name), dir: true, id: parse(f.SHA256), size: f.Size, files: f.Files}
		}
	}
	for name, s := range k.manifest.Files {
		if path.Dir(name) == dir {
			nodes[path.Base(name)] = node{name: path.Base(name), id: parse(s.SHA256), size: s.Size}
		}
	}
	return func(yield func(node, error) bool) {
		for _, name := range slices.Sorted(maps.Keys(nodes)) {
			if !yield(nodes[name], nil) {
				return
			}
		}
	}
}
