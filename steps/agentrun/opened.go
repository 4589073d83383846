package agentrun

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/competitions/conditions"
)

// OpenedFile is the file in logs of a rehearsal that says which of the data the agent
// opened; see Opened.
const OpenedFile = "opened.json"

// Opened says which files of the data an agent opened in a rehearsal, from its start to
// its end. Attempts that share their data, as without isolation, cannot be told apart.
type Opened struct {
	// Bytes is the size of the data.
	Bytes int64 `json:"bytes"`
	// Formats has the files by the ending of their name, such as ".dcm"; "" is none.
	Formats map[string]OpenedFormat `json:"formats"`
}

// OpenedFormat counts the files of a format.
type OpenedFormat struct {
	Files  int `json:"files"`
	Opened int `json:"opened"`
}

// Sum adds up the formats.
func (o Opened) Sum() (all OpenedFormat) {
	for _, f := range o.Formats {
		all.Files, all.Opened = all.Files+f.Files, all.Opened+f.Opened
	}
	return all
}

// watchOpened watches, in a rehearsal, which files of the data the agent opens. It
// returns a function that ends the watch and sums up.
func (r *running) watchOpened() (stop func() *Opened) {
	none := func() *Opened { return nil }
	if !conditions.Rehearsed(r.raw.Conditions) {
		return none
	}
	w, err := newOpenWatch()
	if err != nil {
		return none // the report says that it does not know
	}
	inodes := map[string]uint64{} // by file
	sum := &Opened{Formats: map[string]OpenedFormat{}}
	root := r.dirs.data
	err = filepath.WalkDir(root, func(at string, e fs.DirEntry, err error) error {
		name, _ := filepath.Rel(root, at)
		switch {
		case err != nil:
			return err
		case e.IsDir():
			return w.add(at, filepath.ToSlash(name))
		case name != descriptionFile:
			info, err := os.Stat(at)
			if err != nil {
				return err
			}
			inodes[filepath.ToSlash(name)] = inode(info)
			sum.Bytes += info.Size()
		}
		return nil
	})
	seen := w.run()
	return func() *Opened {
		opened := seen()
		if err != nil {
			return nil
		}
		read := map[uint64]bool{}
		for name := range opened {
			read[inodes[name]] = true
		}
		for name, id := range inodes {
			ending := strings.ToLower(path.Ext(name))
			f := sum.Formats[ending]
			f.Files++
			if read[id] { // equal files are one file, and a sandbox may show only one of its names
				f.Opened++
			}
			sum.Formats[ending] = f
		}
		return sum
	}
}

// putOpened stores what the agent opened.
func (p *place) putOpened(ctx context.Context) (cache.Ref, error) {
	text, err := json.Marshal(p.opens)
	if err != nil {
		return cache.Ref{}, err
	}
	return cache.PutBytes(ctx, p.env.Store, text)
}
