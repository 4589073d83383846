package checkpoint

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/nolink"
	"github.com/mleflow/mleflow/cache/tree"
)

// Memo remembers the content of files that have been read, so that a file that has not
// changed is not read again. A nil Memo remembers nothing. Changes are known by size,
// times of modification and status, and the inode; no process can set the time of the
// status.
type Memo struct {
	mu    sync.Mutex
	files map[string]known
	// readFiles and readBytes count what was read.
	readFiles, readBytes int64
}

type known struct {
	stamp
	ref cache.Ref
}

// stamp identifies a state of a file.
type stamp struct {
	inode           uint64
	size            int64
	modified, state time.Time
}

// settled is the age from which a file's times tell later changes. Kernels stamp files
// with a clock that is up to 10 ms late.
const settled = 50 * time.Millisecond

// NewMemo returns an empty Memo.
func NewMemo() *Memo { return &Memo{files: map[string]known{}} }

// Find returns the content of the file at path, if it is known.
func (m *Memo) Find(path string, info fs.FileInfo) (cache.Ref, bool) {
	if m == nil {
		return cache.Ref{}, false
	}
	now, ok := stampOf(info)
	m.mu.Lock()
	defer m.mu.Unlock()
	was := m.files[path]
	if !ok || was.ref.IsZero() || !was.same(now) {
		return cache.Ref{}, false
	}
	return was.ref, true
}

// Read records the content that was read from the file at path. before and after
// describe the file before and after it was read, which began at the given time. It
// reports whether the file stayed the same.
func (m *Memo) Read(path string, ref cache.Ref, before, after fs.FileInfo, began time.Time) bool {
	was, ok := stampOf(before)
	now, _ := stampOf(after)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.readFiles++
	m.readBytes += ref.Size
	same := was.same(now)
	delete(m.files, path)
	if ok && same && began.Sub(was.state) > settled {
		m.files[path] = known{was, ref}
	}
	return same
}

// Forget forgets content that is gone.
func (m *Memo) Forget(gone map[digest.ContentID]bool) {
	if len(gone) == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.files, func(_ string, k known) bool { return gone[k.ref.ID] })
}

// Counts returns the number and size of the files read so far.
func (m *Memo) Counts() (files, bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.readFiles, m.readBytes
}

func (s stamp) same(o stamp) bool {
	return s.inode == o.inode && s.size == o.size && s.modified.Equal(o.modified) && s.state.Equal(o.state)
}

// pieceBytes is the size of the pieces of a file that only grows.
const pieceBytes = 8 << 20

// Growing stores files that only grow in pieces, so that a checkpoint reads only what
// was added since the one before.
type Growing struct{ full map[string][]cache.Ref }

// Add stores the first size bytes of a file, as a folder of pieces at path in a tree.
func (g *Growing) Add(ctx context.Context, store cache.Store, b *tree.Builder, path string, from io.ReaderAt, size int64) error {
	if g.full == nil {
		g.full = map[string][]cache.Ref{}
	}
	if err := b.AddDir(path); err != nil {
		return err
	}
	for n := 0; int64(n)*pieceBytes < size; n++ {
		ref, err := g.piece(ctx, store, path, io.NewSectionReader(from, int64(n)*pieceBytes, min(pieceBytes, size-int64(n)*pieceBytes)), n)
		if err != nil {
			return fmt.Errorf("keep %s: %w", path, err)
		}
		if err := b.Add(fmt.Sprintf("%s/%06d", path, n), ref, false); err != nil {
			return err
		}
	}
	return nil
}

// piece stores a piece, unless it is full and has been stored before.
func (g *Growing) piece(ctx context.Context, store cache.Store, path string, from *io.SectionReader, n int) (cache.Ref, error) {
	if full := g.full[path]; n < len(full) {
		return full[n], nil
	}
	ref, err := cache.Put(ctx, store, from, cache.Ref{})
	if err == nil && ref.Size == pieceBytes && n == len(g.full[path]) {
		g.full[path] = append(g.full[path], ref)
	}
	return ref, err
}

// Forget forgets pieces that are gone.
func (g *Growing) Forget(gone map[digest.ContentID]bool) {
	for path, full := range g.full {
		if n := slices.IndexFunc(full, func(ref cache.Ref) bool { return gone[ref.ID] }); n >= 0 {
			g.full[path] = full[:n]
		}
	}
}

// AddFile is Add for a file of mleflow's own. One that does not exist is left out.
func (g *Growing) AddFile(ctx context.Context, store cache.Store, b *tree.Builder, path, file string) error {
	f, err := nolink.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return g.Add(ctx, store, b, path, f, info.Size())
}

// Gates writes the files in a folder of the gates to dir, where they do not exist. A
// folder that the checkpoint lacks is empty.
func (c *Checkpoint) Gates(ctx context.Context, store cache.Store, folder, dir string) error {
	e, err := tree.Find(ctx, store, c.State, folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("lay out %s: %w", folder, err)
	}
	to, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer to.Close()
	err = tree.Walk(ctx, store, e.Ref(), func(path string, e tree.Entry) error {
		if e.IsDir() {
			return nil
		}
		return appendPiece(ctx, store, to, filepath.Dir(path), e)
	})
	if err != nil {
		return fmt.Errorf("lay out %s: %w", folder, err)
	}
	return nil
}

// appendPiece appends a piece to the file at path, with the folders above it.
func appendPiece(ctx context.Context, store cache.Store, to *os.Root, path string, e tree.Entry) error {
	if err := to.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	out, err := to.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	in, err := store.Open(ctx, e.ID)
	if err != nil {
		return errors.Join(err, out.Close())
	}
	_, err = cache.Copy(ctx, out, in)
	return errors.Join(err, in.Close(), out.Close())
}

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
	if err := c.layOut(ctx, store, home, own); err != nil {
		return fmt.Errorf("lay out checkpoint: %w", err)
	}
	return nil
}

func (c *Checkpoint) layOut(ctx context.Context, store cache.Files, home string, own func(path string) error) error {
	temp := filepath.Join(home, ".checkpoint")
	if err := tree.Remove(temp); err != nil {
		return err
	}
	if _, err := tree.Materialise(ctx, store, c.Files, temp, tree.Options{Mode: tree.Copy, Writable: true}); err != nil {
		return err
	}
	folders, err := os.ReadDir(temp)
	if err != nil {
		return err
	}
	for _, f := range folders {
		to := filepath.Join(home, f.Name())
		if err := tree.Remove(to); err != nil {
			return err
		}
		if err := os.Rename(filepath.Join(temp, f.Name()), to); err != nil {
			return err
		}
	}
	if err := errors.Join(os.Remove(temp), c.detail(ctx, store, home)); err != nil {
		return err
	}
	for _, f := range folders {
		err := filepath.WalkDir(filepath.Join(home, f.Name()), func(path string, _ fs.DirEntry, err error) error {
			return errors.Join(err, own(path))
		})
		if err != nil {
			return err
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
