package pins

import (
	"context"
	"io/fs"
	"iter"
	"maps"
	"path"
	"slices"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/plugins/data/compare"
)

// knownFolder is a folder as a manifest records it.
type knownFolder struct{ *Manifest }

func (k knownFolder) identity(_ context.Context, name string) (tree.Entry, error) {
	if f, ok := k.Folders[name]; ok {
		return tree.Entry{Name: path.Base(name), Type: tree.Directory, ID: parse(f.SHA256), Size: f.Size, Files: f.Files}, nil
	}
	if s, ok := k.Files[name]; ok {
		return tree.Entry{Name: path.Base(name), ID: parse(s.SHA256), Size: s.Size}, nil
	}
	return tree.Entry{}, fs.ErrNotExist
}

// parse reads a digest; the zero one, which nothing has, if it is none.
func parse(text string) digest.ContentID {
	id, _ := digest.ParseContentID(text)
	return id
}

func (k knownFolder) open(string) compare.Opener {
	return func(context.Context) (fs.File, error) { return nil, fs.ErrNotExist }
}

func (k knownFolder) list(ctx context.Context, dir string) iter.Seq2[tree.Entry, error] {
	return func(yield func(tree.Entry, error) bool) {
		if dir != "." && !k.Folders[dir].Listed {
			yield(tree.Entry{}, errSealed)
			return
		}
		names := slices.AppendSeq(slices.Collect(maps.Keys(k.Folders)), maps.Keys(k.Files))
		slices.Sort(names)
		for _, name := range names {
			if path.Dir(name) != dir {
				continue
			}
			if n, err := k.identity(ctx, name); !yield(n, err) {
				return
			}
		}
	}
}
