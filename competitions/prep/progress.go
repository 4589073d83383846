package prep

import (
	"io"
	"io/fs"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/progress"
)

// counts holds the amounts that a preparation has read and written. Outputs add
// to it; a sampler reports it.
type counts struct {
	// unpacking is the work on archives that cannot be read in place.
	unpacking progress.Work
	// files and bytes were put into the sink.
	files, bytes atomic.Int64
	// read bytes of raw files, of total in those that were opened.
	read, readable atomic.Int64
	// total files are expected, of all outputs but unknown ones.
	total, unknown atomic.Int64
}

// newCounts expects one file of each output but those that copy, which say how
// many when they know it.
func newCounts(outputs []*item) *counts {
	c := &counts{}
	for _, it := range outputs {
		if it.kind.name == filesOutput.name || it.kind.name == copyOutput.name {
			c.unknown.Add(1)
		} else {
			c.total.Add(1)
		}
	}
	return c
}

// expect sets the number of files of an unknown output.
func (c *counts) expect(files int) {
	c.total.Add(int64(files))
	c.unknown.Add(-1)
}

// written is the progress of the outputs.
func (c *counts) written() progress.State {
	out := progress.State{What: "writing", Files: c.files.Load(), Bytes: c.bytes.Load()}
	if c.unknown.Load() == 0 {
		out.TotalFiles = c.total.Load()
	}
	return out
}

// reading is the progress of reading raw files.
func (c *counts) reading() progress.State {
	return progress.State{What: "reading", Bytes: c.read.Load(), TotalBytes: c.readable.Load()}
}

// sampleEvery is the interval between two reports of progress.
const sampleEvery = 100 * time.Millisecond

// sample reports progress until stop is called: the bytes written or, while
// nothing is written, those read or unpacked.
func (c *counts) sample(to func(progress.State)) (stop func(ok bool)) {
	if to == nil {
		return func(bool) {}
	}
	var mu sync.Mutex
	tell := func(s progress.State) {
		mu.Lock()
		defer mu.Unlock()
		to(s)
	}
	c.unpacking.Ended = tell
	var wrote, read, unpacked, told progress.State // told of what is read
	over := progress.Every(sampleEvery, func() {
		w, r, u := c.written(), c.reading(), c.unpacking.Now()
		switch {
		case w.Files > wrote.Files || w.Bytes > wrote.Bytes:
			tell(w)
		case r.Bytes > read.Bytes:
			tell(r)
			told = r
		case u != unpacked && u.What != "":
			tell(u)
		}
		wrote, read, unpacked = w, r, u
	})
	return func(ok bool) {
		over()
		if !ok {
			return
		}
		if r := c.reading(); r != told && r.Bytes > 0 {
			tell(r)
		}
		tell(c.written())
	}
}

// countedFS counts the bytes that are read from a file system's files.
type countedFS struct {
	fs.FS
	counts *counts
}

// Open implements fs.FS.
func (c countedFS) Open(name string) (fs.File, error) {
	f, err := c.FS.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil || info.IsDir() {
		return f, nil //nolint:nilerr // who reads it will see
	}
	c.counts.readable.Add(info.Size())
	counted := &countedFile{File: f, counts: c.counts, size: info.Size()}
	if at, ok := f.(io.ReaderAt); ok {
		return countedAt{counted, at}, nil
	}
	return counted, nil
}

// Stat implements fs.StatFS.
func (c countedFS) Stat(name string) (fs.FileInfo, error) { return fs.Stat(c.FS, name) }

// ReadDir implements fs.ReadDirFS.
func (c countedFS) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(c.FS, name) }

// countedFile is a file of a countedFS. When it is closed, its unread bytes no
// longer count as still to read.
type countedFile struct {
	fs.File
	counts *counts
	size   int64
	read   atomic.Int64
}

// count counts bytes. Those that are read again do not count.
func (f *countedFile) count(n int) {
	if left := f.size - f.read.Load(); left > 0 {
		f.read.Add(min(left, int64(n)))
		f.counts.read.Add(min(left, int64(n)))
	}
}

// Read implements fs.File.
func (f *countedFile) Read(p []byte) (int, error) {
	n, err := f.File.Read(p)
	f.count(n)
	return n, err
}

// Close implements fs.File.
func (f *countedFile) Close() error {
	f.counts.readable.Add(f.read.Load() - f.size)
	f.size = f.read.Load()
	return f.File.Close()
}

// countedAt is a file that can be read anywhere.
type countedAt struct {
	*countedFile
	at io.ReaderAt
}

// ReadAt implements io.ReaderAt.
func (f countedAt) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.at.ReadAt(p, off)
	f.count(n)
	return n, err
}
