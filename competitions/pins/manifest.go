package pins

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"path"
	"slices"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/plugins/data/compare"
)

// manifestFormat is the first field of a manifest file.
const manifestFormat = "mleflow manifest 1"

// MaxListed is the number of entries up to which a folder's are listed one by
// one, and maxAll how many files and folders a manifest lists in all, but for
// those of folders that are being listed when it is reached.
const (
	MaxListed = 100
	maxAll    = 1000
)

// Manifest is a competition's manifest file.
type Manifest struct {
	Format string `json:"format"`
	// Tree is the digest that checksums.manifest pins.
	Tree string `json:"tree"`
	// Folders and Files are by their path below the prepared folder.
	Folders map[string]Folder          `json:"folders"`
	Files   map[string]compare.Summary `json:"files"`
}

// Folder is a manifest's entry for a folder as a whole.
type Folder struct {
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"`
	Files  int64  `json:"files"`
	// Listed reports whether the folder's entries are listed too, all of them.
	Listed bool `json:"listed,omitempty"`
}

// ReadManifest reads a competition's manifest file; nil when it has none.
func ReadManifest(def *competitions.Definition) (*Manifest, error) {
	data, err := fs.ReadFile(def.Folder(), def.ManifestName())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read manifest of %s: %w", def.ID, err)
	}
	m := &Manifest{}
	if err := json.Unmarshal(data, m); err != nil {
		return nil, fmt.Errorf("read manifest of %s: %w", def.ID, err)
	}
	if m.Format != manifestFormat {
		return nil, fmt.Errorf("read manifest of %s: it has format %q, but this version of mleflow reads %q; write it again with %s", def.ID, m.Format, manifestFormat, lockCommand(def))
	}
	return m, nil
}

// describe makes the manifest of a prepared folder.
func describe(ctx context.Context, data *Data) (*Manifest, error) {
	root, err := data.folder.identity(ctx, ".")
	if err != nil {
		return nil, err
	}
	m := &Manifest{Format: manifestFormat, Tree: root.ID.String(), Folders: map[string]Folder{}, Files: map[string]compare.Summary{}}
	return m, m.addFolder(ctx, data.folder, ".", root)
}

// addFolder adds a folder and its content; of a folder that is too large, only the
// tables.
func (m *Manifest) addFolder(ctx context.Context, f folder, dir string, n tree.Entry) error {
	whole, err := m.fits(ctx, f, dir)
	if err != nil {
		return err
	}
	if dir != "." {
		m.Folders[dir] = Folder{SHA256: n.ID.String(), Size: n.Size, Files: n.Files, Listed: whole}
	}
	for child, err := range f.list(ctx, dir) {
		if err != nil {
			return err
		}
		name := path.Join(dir, child.Name)
		switch {
		case child.IsDir() && whole:
			if child, err = f.identity(ctx, name); err == nil {
				err = m.addFolder(ctx, f, name, child)
			}
		case !child.IsDir() && (whole || compare.IsTable(name) && m.left() > 0):
			m.Files[name], err = compare.Summarise(ctx, name, f.open(name))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// left is the number of entries that the manifest may still list.
func (m *Manifest) left() int { return maxAll - len(m.Files) - len(m.Folders) }

// fits reports whether a folder's entries can all be listed.
func (m *Manifest) fits(ctx context.Context, f folder, dir string) (bool, error) {
	count := 0
	for _, err := range f.list(ctx, dir) {
		if err != nil {
			return false, err
		}
		if count++; count > min(MaxListed, m.left()) {
			return false, nil
		}
	}
	return true, nil
}

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
