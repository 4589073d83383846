package transform

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
)

// again reads a file again whose lines a table has not kept in memory. Its Close tells
// whether these were the lines that the table was made of.
type again struct {
	fs.File
	at  io.ReaderAt
	was fs.FileInfo

	mu  sync.Mutex
	err error // the first
}

// leastAgain is the size of the smallest files that are read again. That takes a fifth
// more time, and small files may be too many to be open at once.
const leastAgain = 256 << 20

// newAgain returns nil if the file is small, or cannot be read at any place.
func newAgain(f fs.File) *again {
	at, ok := f.(io.ReaderAt)
	if !ok {
		return nil
	}
	was, err := f.Stat()
	if err != nil || was.Size() < leastAgain {
		return nil
	}
	return &again{File: f, at: at, was: was}
}

// ReadAt implements io.ReaderAt.
func (a *again) ReadAt(p []byte, off int64) (int, error) {
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
func (a *again) Close() error {
	is, err := a.Stat()
	if err == nil && (is.Size() != a.was.Size() || !is.ModTime().Equal(a.was.ModTime())) {
		err = fmt.Errorf("%s has changed while it was read", a.was.Name())
	}
	return errors.Join(a.err, err, a.File.Close())
}
