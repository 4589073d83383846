package tree

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/cache/leaf/wholefile"
)

// Mode is the way in which files are made from the store.
type Mode int

const (
	// Link makes read-only files that share the store's own bytes if the file
	// system can: by hard link, otherwise reflink, otherwise copy. It is for
	// processes that are trusted not to write to them.
	Link Mode = iota
	// Copy makes files that share nothing with the store (at most by
	// copy-on-write), for untrusted processes.
	Copy
)

// Options configure Materialise.
type Options struct {
	Mode Mode
	// Writable makes files and folders that may be written to. It needs Copy.
	Writable bool
	// OwnerOnly makes a file, or a folder, that only its owner can read. A file is then
	// no link.
	OwnerOnly bool
	// Group makes folders that their group may change, so that each of its members can
	// remove them. Their owner cannot write to them.
	Group bool
	// Progress, if set, is called with the progress, at most ten times a second
	// and at the end, by one goroutine at a time.
	Progress func(Result)
}

// Result counts the files that Materialise made.
type Result struct {
	// Files and Bytes count everything that was written, in whatever way.
	Files, Bytes int64
	// Linked, Cloned and Copied count the files by the way they were made.
	Linked, Cloned, Copied int64
	// BytesCopied is the new space taken on disk.
	BytesCopied int64
	// Folders are the subfolders by their path below the tree, with a slash before it.
	Folders []string
}

// Count returns a function for Options.Progress, for one call, that adds the
// written files and bytes to work.
func Count(work *progress.Work) func(Result) {
	var last Result
	return func(r Result) {
		work.Add(r.Files-last.Files, r.Bytes-last.Bytes)
		last = r
	}
}

// Materialise writes the tree or blob that ref names to dst: all of it or
// nothing. The parent folder of dst must exist; dst itself must not, or be an
// empty folder. Files get mode 0444 or 0555 and folders 0555, or 0644 and
// 0755 with Writable.
//
// A read-only folder is removed with Remove.
func Materialise(ctx context.Context, store cache.Files, ref cache.Ref, dst string, opts Options) (Result, error) {
	return materialise(ctx, store, ref, dst, opts, true)
}

// Write is Materialise for a caller that moves the content to its place. dst must not
// exist. After an error it holds a part of the content, which the caller removes.
// Until a tree is complete, only its owner can read it.
func Write(ctx context.Context, store cache.Files, ref cache.Ref, dst string, opts Options) (Result, error) {
	return materialise(ctx, store, ref, dst, opts, false)
}

func materialise(ctx context.Context, store cache.Files, ref cache.Ref, dst string, opts Options, whole bool) (Result, error) {
	if opts.Writable && opts.Mode == Link {
		return Result{}, errors.New("materialise: writable files cannot be links into the store")
	}
	m := &materialiser{store: store, opts: opts}
	if err := m.make(ctx, ref, dst, whole); err != nil {
		return m.done, fmt.Errorf("materialise %s at %s: %w", ref.ID.Short(), dst, err)
	}
	if opts.Progress != nil {
		opts.Progress(m.done)
	}
	return m.done, nil
}

type materialiser struct {
	store cache.Files
	opts  Options
	// folders are Result.Folders.
	folders []string

	mu   sync.Mutex
	done Result
	told time.Time
}

// A job has at most jobFiles files, and ends with the file with which it has
// jobBytes.
const (
	jobFiles = 4096
	jobBytes = 16 << 20
)

// make makes the content at dst or, if it must be whole, next to dst, and moves it there.
func (m *materialiser) make(ctx context.Context, ref cache.Ref, dst string, whole bool) (err error) {
	part := dst
	if whole {
		part = filepath.Join(filepath.Dir(dst), "."+filepath.Base(dst)+".part-"+rand.Text()[:8])
		defer func() {
			if removeErr := Remove(part); err == nil {
				err = removeErr
			}
		}()
	}
	if err = m.write(ctx, ref, part); err == nil && whole {
		err = wholefile.Move(part, dst)
	}
	if err == nil && ref.Kind == cache.Tree {
		err = os.Chmod(dst, m.dirMode())
	}
	return err
}

// write makes the content at path. The root of a tree is its owner's alone.
func (m *materialiser) write(ctx context.Context, ref cache.Ref, path string) error {
	if ref.Kind != cache.Tree {
		if m.opts.OwnerOnly {
			m.opts.Mode = Copy // the mode of a link is the store's
		}
		return m.file(ctx, NewEntry("part", ref, false), path)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		return err
	}
	if err := m.fill(ctx, ref, path); err != nil {
		return err
	}
	m.done.Folders = m.folders
	for _, below := range slices.Backward(m.folders) { // nothing more is put into them
		if err := os.Chmod(path+below, m.dirMode()); err != nil {
			return err
		}
	}
	return nil
}

// fill writes the tree below root, files in parallel. A job is files of one folder that one
// goroutine makes, since every new name locks its folder: two goroutines in one are not
// faster than one.
func (m *materialiser) fill(ctx context.Context, ref cache.Ref, root string) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	err := m.files(ctx, ref, root, "", func(dir string, entries []Entry) error {
		group.Go(func() error {
			return lists.Each(entries, func(e Entry) error { return m.file(ctx, e, dir+"/"+e.Name) })
		})
		return ctx.Err()
	})
	return cmp.Or(group.Wait(), err)
}

// files creates the folders of a folder, whose path below root begins with a slash, and
// passes its files to do, in jobs.
func (m *materialiser) files(ctx context.Context, ref cache.Ref, root, at string, do func(dir string, entries []Entry) error) error {
	var next []Entry
	var bytes int64
	err := Each(ctx, m.store, ref, func(e Entry) (err error) {
		if e.IsDir() {
			below := at + "/" + e.Name
			if err := os.Mkdir(root+below, 0o755); err != nil {
				return err
			}
			m.folders = append(m.folders, below)
			return m.files(ctx, e.Ref(), root, below, do)
		}
		next, bytes = append(next, e), bytes+e.Size
		if len(next) == jobFiles || bytes >= jobBytes {
			err, next, bytes = do(root+at, next), nil, 0
		}
		return err
	})
	if err == nil && len(next) > 0 {
		err = do(root+at, next)
	}
	return err
}

// file writes one file.
func (m *materialiser) file(ctx context.Context, e Entry, path string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	p := cache.Placement{
		Executable: e.Type == Executable,
		Private:    m.opts.Mode == Copy,
		Writable:   m.opts.Writable,
		OwnerOnly:  m.opts.OwnerOnly,
	}
	var copied int64
	if m.opts.Progress != nil {
		p.Copied = func(n int64) {
			copied += n
			m.count(func(done *Result) { done.Bytes += n })
		}
	}
	how, err := m.store.Place(ctx, e.Ref(), path, p)
	if err != nil {
		return err
	}
	m.count(func(done *Result) { done.add(e.Size, copied, how) })
	return nil
}

// add counts a file, of whose size a part is counted already.
func (r *Result) add(size, counted int64, how cache.Placed) {
	r.Files++
	r.Bytes += size - counted
	switch how {
	case cache.Linked:
		r.Linked++
	case cache.Cloned:
		r.Cloned++
	case cache.Copied:
		r.Copied++
		r.BytesCopied += size
	}
}

// count changes what is done, and tells it now and then.
func (m *materialiser) count(change func(*Result)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change(&m.done)
	if m.opts.Progress == nil {
		return
	}
	if now := time.Now(); now.Sub(m.told) >= 100*time.Millisecond {
		m.told = now
		m.opts.Progress(m.done)
	}
}

func (m *materialiser) dirMode() fs.FileMode {
	if m.opts.Group {
		return 0o575 | fs.ModeSetgid
	}
	return cache.Placement{Executable: true, Writable: m.opts.Writable, OwnerOnly: m.opts.OwnerOnly}.FileMode()
}
