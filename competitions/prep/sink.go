package prep

import (
	"context"
	"io"
	"io/fs"
	"sync/atomic"
)

// Sink is where outputs go. Paths are slash-separated and start with public/
// or private/. All methods may be called from several goroutines at once. A
// path is written once; writing it again is an error.
type Sink interface {
	// Create starts a file.
	Create(ctx context.Context, path string) (File, error)
	// Copy puts a file with the bytes of a raw one; a store that holds those
	// bytes already need not read them.
	Copy(ctx context.Context, path string, from Source) error
	// Folder makes sure that a folder exists, even if it stays empty.
	Folder(ctx context.Context, path string) error
}

// File is an output file being written.
type File interface {
	io.Writer
	// Commit makes the file part of the output.
	Commit() error
	// Close frees the file's resources. Without Commit the file is dropped.
	Close() error
}

// Source is a raw file.
type Source struct {
	FS   fs.FS
	Name string
	// Copied, if set, counts the bytes that are copied.
	Copied *atomic.Int64
}

// CountCopied counts bytes that were copied.
func (s Source) CountCopied(n int64) {
	if s.Copied != nil {
		s.Copied.Add(n)
	}
}
