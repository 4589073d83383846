package checkpoint

import (
	"io/fs"
	"maps"
	"sync"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
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
