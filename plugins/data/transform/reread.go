package transform

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
)

// rereadFile reads a file again whose lines a table has not kept in memory. Its Close tells
// whether these were the lines that the table was made of.
type rereadFile struct {
	fs.File
	at  io.ReaderAt
	was fs.FileInfo

	mu  sync.Mutex
	err error // the first
}

// leastReread is the size of the smallest files that are read again. That takes a fifth
// more time, and small files may be too many to be open at once.
const leastReread = 256 << 20

// newRereadFile returns nil if the file is small, or cannot be read at any place.
func newRereadFile(f fs.File) *rereadFile {
	at, ok := f.(io.ReaderAt)
	if !ok {
		return nil
	}
	was, err := f.Stat()
	if err != nil || was.Size() < leastReread {
		return nil
	}
	return &rereadFile{File: f, at: at, was: was}
}

// ReadAt implements io.ReaderAt.
func (a *rereadFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := a.at.ReadAt(p, off)
	if n < len(p) {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.err == nil {
			a.err = fmt.Errorf("read %s again: %w", a.was.Name(), err)
		}
	}
	return n, err
}

// Close implements io.Closer.
func (a *rereadFile) Close() error {
	is, err := a.Stat()
	if err == nil && (is.Size() != a.was.Size() || !is.ModTime().Equal(a.was.ModTime())) {
		err = fmt.Errorf("%s has changed while it was read", a.was.Name())
	}
	return errors.Join(a.err, err, a.File.Close())
}
