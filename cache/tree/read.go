package tree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/mleflow/mleflow/cache"
)

// Reader reads one directory of a store entry by entry.
type Reader struct {
	*Decoder
	ref cache.Ref
	rc  io.ReadCloser
}

// Open starts reading the directory that ref names.
func Open(ctx context.Context, store cache.Store, ref cache.Ref) (*Reader, error) {
	if ref.Kind != cache.Tree {
		return nil, fmt.Errorf("open tree %s: it is a %s", ref.ID.Short(), ref.Kind)
	}
	rc, err := store.Open(ctx, ref.ID)
	if err != nil {
		return nil, fmt.Errorf("open tree %s: %w", ref.ID.Short(), err)
	}
	return &Reader{Decoder: NewDecoder(rc), ref: ref, rc: rc}, nil
}

// Next returns the next entry, or io.EOF after the last one. If the sums of a
// directory differ from its reference, the error wraps ErrInvalid.
func (r *Reader) Next() (Entry, error) {
	e, err := r.Decoder.Next()
	switch {
	case err == nil:
		return e, nil
	case !errors.Is(err, io.EOF):
		return e, fmt.Errorf("read tree %s: %w", r.ref.ID.Short(), err)
	}
	if size, files := r.Totals(); size != r.ref.Size || files != r.ref.Files {
		return e, fmt.Errorf("read tree %s: %w: it contains %d files of %d bytes, not %d of %d",
			r.ref.ID.Short(), ErrInvalid, files, size, r.ref.Files, r.ref.Size)
	}
	return e, io.EOF
}

// Close ends the reading.
func (r *Reader) Close() error { return r.rc.Close() }

// Read returns all entries of the directory that ref names.
func Read(ctx context.Context, store cache.Store, ref cache.Ref) ([]Entry, error) {
	var entries []Entry
	err := Each(ctx, store, ref, func(e Entry) error {
		entries = append(entries, e)
		return nil
	})
	return entries, err
}

// Each calls fn for every entry of one directory.
func Each(ctx context.Context, store cache.Store, ref cache.Ref, fn func(Entry) error) error {
	r, err := Open(ctx, store, ref)
	if err != nil {
		return err
	}
	defer r.Close()
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := fn(e); err != nil {
			return err
		}
	}
}

// Walk calls fn for every entry below ref with its slash-separated path:
// directories before their content, names in byte order. If fn returns
// fs.SkipDir for a directory, its content is left out; fs.SkipAll ends the walk
// without an error. The memory needed does not depend on the number of files.
func Walk(ctx context.Context, store cache.Store, ref cache.Ref, fn func(path string, e Entry) error) error {
	err := walk(ctx, store, ref, "", fn)
	if errors.Is(err, fs.SkipAll) {
		return nil
	}
	return err
}

func walk(ctx context.Context, store cache.Store, ref cache.Ref, dir string, fn func(string, Entry) error) error {
	return Each(ctx, store, ref, func(e Entry) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		name := path.Join(dir, e.Name)
		err := fn(name, e)
		if err != nil || !e.IsDir() {
			if e.IsDir() && errors.Is(err, fs.SkipDir) {
				return nil
			}
			return err
		}
		return walk(ctx, store, e.Ref(), name, fn)
	})
}

// Find returns the entry at a slash-separated path below ref. A path that does
// not exist is an error that wraps fs.ErrNotExist. "." is the tree itself.
func Find(ctx context.Context, store cache.Store, ref cache.Ref, name string) (Entry, error) {
	at := NewEntry(".", ref, false)
	if name == "." {
		return at, nil
	}
	for part := range strings.SplitSeq(name, "/") {
		if CheckName(part) != nil {
			return Entry{}, &fs.PathError{Op: "find", Path: name, Err: fs.ErrInvalid}
		}
		if !at.IsDir() {
			return Entry{}, &fs.PathError{Op: "find", Path: name, Err: fs.ErrNotExist}
		}
		next, err := findIn(ctx, store, at.Ref(), part)
		if errors.Is(err, fs.ErrNotExist) {
			return Entry{}, &fs.PathError{Op: "find", Path: name, Err: fs.ErrNotExist}
		}
		if err != nil {
			return Entry{}, err
		}
		at = next
	}
	return at, nil
}

func findIn(ctx context.Context, store cache.Store, ref cache.Ref, name string) (Entry, error) {
	var found Entry
	err := Each(ctx, store, ref, func(e Entry) error {
		if e.Name == name {
			found = e
			return fs.SkipAll
		}
		return nil
	})
	switch {
	case errors.Is(err, fs.SkipAll):
		return found, nil
	case err != nil:
		return Entry{}, err
	}
	return Entry{}, fs.ErrNotExist
}
