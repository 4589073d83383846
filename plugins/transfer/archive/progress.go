package archive

import (
	"io"

	"github.com/mleflow/mleflow/cache"
)

// Progress is how far the unpacking of an archive is.
type Progress struct {
	// Files and Bytes are what is in the store, with that of nested archives, and
	// Bytes also what is there of large files.
	Files, Bytes int64
	// Total and TotalBytes are the number and the size of all files, 0 while they are
	// unknown: a tar file has no directory. An archive that is still to be unpacked
	// counts as one file.
	Total, TotalBytes int64
}

// counts is how far an unpacker is.
type counts struct {
	files, bytes, continued int64
	// under are the bytes in the store of large files that are not whole yet.
	under int64
	// listed is what is in the directory, Files and Bytes of it, 0 if unknown; inner is
	// how much more is in nested archives that are unpacked.
	listed, inner Progress
	// unsized says that an earlier process unpacked a nested archive, so that inner is
	// not known.
	unsized bool
	// nested is how far the nested archive under way is, and nestedSize its size.
	nested     Progress
	nestedSize int64
}

// progress returns how far it is.
func (c *counts) progress() Progress {
	p := Progress{Files: c.files + c.nested.Files, Bytes: c.bytes + c.under + c.nested.Bytes}
	if c.listed.Files == 0 || c.nested.Files > 0 && c.nested.Total == 0 {
		return p
	}
	p.Total = c.listed.Files + c.inner.Files + max(c.nested.Total, 1) - 1
	if !c.unsized {
		p.TotalBytes = c.listed.Bytes + c.inner.Bytes + c.nested.TotalBytes - c.nestedSize
	}
	return p
}

// list records what is in the archive's directory, as the guard saw it.
func (u *unpacker) list() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.listed = Progress{Files: u.guard.files, Bytes: u.guard.bytes}
}

// report reports how far it is. The caller holds the lock, or is alone.
func (u *unpacker) report() {
	if u.o.Progress != nil {
		u.o.Progress(u.progress())
	}
}

// reportNested reports how far a nested archive of a size is.
func (u *unpacker) reportNested(p Progress, size int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.nested, u.nestedSize = p, size
	u.report()
}

// unpackedNested counts a nested archive of a size as what was in it.
func (c *counts) unpackedNested(ref cache.Ref, size int64) {
	c.inner.Files += max(ref.Files, 1) - 1
	c.inner.Bytes += ref.Size - size
	c.nested, c.nestedSize = Progress{}, 0
}

// largeFile counts the bytes that are written to a large file.
type largeFile struct {
	io.Writer
	u *unpacker
	n int64
}

// Write implements io.Writer.
func (l *largeFile) Write(p []byte) (int, error) {
	n, err := l.Writer.Write(p)
	l.n += int64(n)
	l.u.mu.Lock()
	defer l.u.mu.Unlock()
	l.u.under += int64(n)
	l.u.report()
	return n, err
}
