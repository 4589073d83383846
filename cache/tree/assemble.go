package tree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/mleflow/mleflow/cache"
)

// assembler builds directories from sorted records. It holds only the
// directories from the root to the latest record.
type assembler struct {
	ctx   context.Context // of one Build
	store cache.Store
	// open are the directories that are not complete, starting at the root. path
	// is the key of the last of them, and ends with a zero byte.
	open []*dirWriter
	path []byte
}

func assemble(ctx context.Context, store cache.Store, records cursor) (cache.Ref, error) {
	a := &assembler{ctx: ctx, store: store, open: []*dirWriter{{}}}
	defer a.close()
	for {
		r, err := records()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = a.add(r)
		}
		if err != nil {
			return cache.Ref{}, fmt.Errorf("build tree: %w", err)
		}
	}
	for len(a.open) > 1 {
		if err := a.pop(); err != nil {
			return cache.Ref{}, fmt.Errorf("build tree: %w", err)
		}
	}
	return a.open[0].finish(ctx, store)
}

func (a *assembler) add(r record) error {
	cut := bytes.LastIndexByte(r.key, 0) + 1
	dir, name := r.key[:cut], r.key[cut:]
	for !bytes.HasPrefix(dir, a.path) {
		if err := a.pop(); err != nil {
			return err
		}
	}
	for rest := dir[len(a.path):]; len(rest) > 0; {
		end := bytes.IndexByte(rest, 0)
		a.open = append(a.open, &dirWriter{name: string(rest[:end])})
		a.path = append(a.path, rest[:end+1]...)
		rest = rest[end+1:]
	}
	if r.entry.Type == marker {
		return nil
	}
	e := r.entry
	e.Name = string(name)
	return a.put(e)
}

// put adds an entry to the last directory.
func (a *assembler) put(e Entry) error {
	d := a.open[len(a.open)-1]
	if d.n > 0 && d.last == e.Name {
		path := bytes.ReplaceAll(a.path, []byte{0}, []byte("/"))
		return fmt.Errorf("%w: %q occurs twice", ErrInvalid, string(path)+e.Name)
	}
	return d.add(a.ctx, a.store, e)
}

// pop completes the last directory and adds it to the one above.
func (a *assembler) pop() error {
	d := a.open[len(a.open)-1]
	ref, err := d.finish(a.ctx, a.store)
	if err != nil {
		return err
	}
	a.open = a.open[:len(a.open)-1]
	a.path = a.path[:len(a.path)-len(d.name)-1]
	return a.put(NewEntry(d.name, ref, false))
}

func (a *assembler) close() {
	for _, d := range a.open {
		d.close()
	}
}

// heldEntries is the number of entries of a directory that are held before they are
// written to the store. There is such a list for every level of the path.
const heldEntries = 256

// dirWriter writes one directory, whose entries arrive in order.
type dirWriter struct {
	name string
	n    int64
	last string
	held []Entry
	in   cache.Ingest
	enc  *Encoder
}

func (d *dirWriter) add(ctx context.Context, store cache.Store, e Entry) error {
	d.n++
	d.last = e.Name
	d.held = append(d.held, e)
	if len(d.held) < heldEntries {
		return nil
	}
	return d.write(ctx, store)
}

// write encodes the held entries.
func (d *dirWriter) write(ctx context.Context, store cache.Store) (err error) {
	if d.in == nil {
		if d.in, err = store.Ingest(ctx, ""); err != nil {
			return err
		}
		d.enc = NewEncoder(d.in)
	}
	for _, e := range d.held {
		if err := d.enc.Write(e); err != nil {
			return fmt.Errorf("store tree: %w", err)
		}
	}
	d.held = d.held[:0]
	return nil
}

// finish stores the directory.
func (d *dirWriter) finish(ctx context.Context, store cache.Store) (cache.Ref, error) {
	if err := ctx.Err(); err != nil {
		return cache.Ref{}, err
	}
	if err := d.write(ctx, store); err != nil {
		return cache.Ref{}, err
	}
	ref, err := d.enc.Finish()
	if err == nil {
		_, err = d.in.Commit(ctx, cache.Ref{Kind: cache.Blob, ID: ref.ID})
	}
	if err != nil {
		return cache.Ref{}, fmt.Errorf("store tree: %w", err)
	}
	d.in = nil
	return ref, nil
}

func (d *dirWriter) close() {
	if d.in != nil {
		_ = d.in.Close() // it was not committed
	}
}
