package checkpoint

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/tree"
)

// Details are the facts about an agent's files that a tree of the cache cannot hold. A
// nil Details collects nothing.
type Details struct{ list []detail }

// detail describes a file or folder, or a link.
type detail struct {
	Path string `json:"path"`
	// Link is the target of a link.
	Link string `json:"link,omitempty"`
	// Mode are the permissions, and Modified the time in nanoseconds since 1970.
	Mode     fs.FileMode `json:"mode,omitempty"`
	Modified int64       `json:"modified,omitempty"`
}

// File adds a file or folder.
func (d *Details) File(path string, info fs.FileInfo) {
	if d != nil {
		d.list = append(d.list, detail{Path: path, Mode: info.Mode().Perm(), Modified: info.ModTime().UnixNano()})
	}
}

// Link adds a link.
func (d *Details) Link(path, target string) {
	if d != nil {
		d.list = append(d.list, detail{Path: path, Link: target})
	}
}

// Put stores the details.
func (d *Details) Put(ctx context.Context, store cache.Store) (cache.Ref, error) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	for _, one := range d.list {
		if err := enc.Encode(one); err != nil {
			return cache.Ref{}, err
		}
	}
	return cache.PutBytes(ctx, store, text.Bytes())
}

// maxDetails limits the size of the details that are read.
const maxDetails = 1 << 30

// LayOut replaces the folders in home that the checkpoint has, with their links, modes
// and times. own gives a path to the agent's user. Nothing outside home is touched,
// whatever the checkpoint has.
func (c *Checkpoint) LayOut(ctx context.Context, store cache.Files, home string, own func(path string) error) error {
	temp := filepath.Join(home, ".checkpoint")
	if err := tree.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	_, err := tree.Materialise(ctx, store, c.Files, temp, tree.Options{Mode: tree.Copy, Writable: true})
	if err != nil {
		return fmt.Errorf("lay out checkpoint: %w", err)
	}
	folders, err := os.ReadDir(temp)
	if err != nil {
		return err
	}
	for _, f := range folders {
		to := filepath.Join(home, f.Name())
		if err := tree.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := os.Rename(filepath.Join(temp, f.Name()), to); err != nil {
			return err
		}
	}
	if err := errors.Join(os.Remove(temp), c.detail(ctx, store, home)); err != nil {
		return fmt.Errorf("lay out checkpoint: %w", err)
	}
	for _, f := range folders {
		err := filepath.WalkDir(filepath.Join(home, f.Name()), func(path string, _ fs.DirEntry, err error) error {
			return errors.Join(err, own(path))
		})
		if err != nil {
			return fmt.Errorf("lay out checkpoint: %w", err)
		}
	}
	return nil
}

// detail makes the links and sets the modes and times, those of a folder after those of
// its files.
func (c *Checkpoint) detail(ctx context.Context, store cache.Store, dir string) error {
	text, err := cache.Get(ctx, store, c.Details.ID, maxDetails)
	if err != nil {
		return err
	}
	home, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer home.Close()
	var list []detail
	for dec := json.NewDecoder(bytes.NewReader(text)); ; {
		var one detail
		if err := dec.Decode(&one); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return fmt.Errorf("read details: %w", err)
		}
		list = append(list, one)
	}
	for _, one := range slices.Backward(list) {
		if err := one.apply(home); err != nil {
			return err
		}
	}
	return nil
}

func (d detail) apply(home *os.Root) error {
	if d.Link != "" {
		return home.Symlink(d.Link, d.Path)
	}
	at := time.Unix(0, d.Modified)
	return errors.Join(home.Chmod(d.Path, d.Mode.Perm()), home.Chtimes(d.Path, at, at))
}
