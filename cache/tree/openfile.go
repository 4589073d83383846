package tree

import (
	"errors"
	"io"
	"io/fs"
	"sync"
	"sync/atomic"

	"github.com/mleflow/mleflow/cache"
)

// openFile opens a file that can be read at any offset. Reads are verified
// until the first seek or read at an offset; from then on they are not.
func (f *FS) openFile(name string, e Entry) (fs.File, error) {
	r, err := f.store.Open(f.ctx, e.ID)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	open := sync.OnceValues(func() (cache.RandomReader, error) { return f.store.OpenAt(f.ctx, e.ID) })
	return &openFile{verified: r, info: info{e}, open: open}, nil
}

// openFile is an open file. Most files are read from beginning to end, so the
// random reader is only created when it is needed.
type openFile struct {
	// verified reads from the beginning.
	verified io.ReadCloser
	info     info
	// open returns the one random reader; opened says that it exists.
	open   func() (cache.RandomReader, error)
	opened atomic.Bool
	// section is where Read continues once a seek was made.
	section *io.SectionReader
	read    int64
}

func (f *openFile) Stat() (fs.FileInfo, error) { return f.info, nil }

func (f *openFile) Read(p []byte) (int, error) {
	if f.section != nil {
		return f.section.Read(p)
	}
	n, err := f.verified.Read(p)
	f.read += int64(n)
	return n, err
}

// ReadAt implements io.ReaderAt.
func (f *openFile) ReadAt(p []byte, off int64) (int, error) {
	at, err := f.random()
	if err != nil {
		return 0, err
	}
	return at.ReadAt(p, off)
}

// Seek implements io.Seeker.
func (f *openFile) Seek(offset int64, whence int) (int64, error) {
	if f.section == nil {
		at, err := f.random()
		if err != nil {
			return 0, err
		}
		f.section = io.NewSectionReader(at, 0, f.info.e.Size)
		if _, err := f.section.Seek(f.read, io.SeekStart); err != nil {
			return 0, err
		}
	}
	return f.section.Seek(offset, whence)
}

func (f *openFile) random() (cache.RandomReader, error) {
	at, err := f.open()
	if err == nil {
		f.opened.Store(true)
	}
	return at, err
}

func (f *openFile) Close() error {
	err := f.verified.Close()
	if !f.opened.Load() {
		return err
	}
	at, openErr := f.open()
	if openErr != nil {
		return errors.Join(err, openErr)
	}
	return errors.Join(err, at.Close())
}
