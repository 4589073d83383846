package archive

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/tree"
)

// Sink receives the entries of an archive, as a tree.Builder does. It is called
// by one goroutine at a time, in no particular order. It must reject names that
// are already taken.
type Sink interface {
	Add(path string, ref cache.Ref, executable bool) error
	AddDir(path string) error
}

// IntoOptions configure Into.
type IntoOptions struct {
	Format Format
	Limits Limits
	// Key identifies the archive's content. With a key, progress is recorded in a
	// journal in the store, and a later Into with the same key and archive skips
	// entries that are already in the store. Without it, nothing is remembered.
	Key string
	// Nested reports which entries are archives to unpack as well. Such an entry
	// becomes a folder of the same name. Archives inside it stay files.
	Nested func(name string) bool
	// Workers is the number of entries unpacked at once; 0 means one per
	// processor.
	Workers int
	// Progress, if set, is called with how far it is, by one goroutine at a time.
	Progress func(Progress)
	// Resumed, if set, is called before work begins with the number of entries
	// that an earlier process has stored, unless that is 0.
	Resumed func(entries int64)
}

// Unpacked is an archive whose entries are in a store.
type Unpacked struct {
	// Files and Bytes count the archive's content, including nested archives.
	Files, Bytes int64
	// Continued is how many of its entries an earlier process had stored.
	Continued int64

	journal *journal
}

// Drop ends the work and deletes its journal, once the entries are in their
// final place.
func (u *Unpacked) Drop() error { return u.journal.drop() }

// Close ends the work and keeps its journal.
func (u *Unpacked) Close() error { return u.journal.close() }

// smallEntry is the size up to which an entry is unpacked in memory.
const smallEntry = 1 << 20

// Into unpacks an archive into a store, several entries at once, and passes
// them to a sink. Its memory depends neither on the number of entries nor on
// their sizes. If the format lists its entries up front, names, limits and the
// structure of the archive are checked before anything is stored. Duplicate
// names are left to the sink.
//
// If it fails, the stored entries belong to no tree, and the journal is kept.
func Into(ctx context.Context, store cache.Building, src Source, sink Sink, o IntoOptions) (*Unpacked, error) {
	u, err := newUnpacker(ctx, store, src, sink, o)
	if err != nil {
		return nil, fmt.Errorf("unpack %s archive: %w", o.Format, err)
	}
	u.tasks.Go(func() error {
		switch o.Format {
		case Zip:
			return u.zip()
		case Tar, TarGzip, TarZstd:
			return u.tar(o.Format)
		case SevenZip:
			return u.sevenZip()
		}
		return fmt.Errorf("%w: unknown format %q", ErrFormat, o.Format)
	})
	// After a cancellation entries may be missing, though nothing failed.
	if err = cmp.Or(u.tasks.Wait(), context.Cause(ctx)); err != nil {
		return nil, fmt.Errorf("unpack %s archive: %w", o.Format, errors.Join(err, u.journal.close()))
	}
	return &Unpacked{Files: u.files, Bytes: u.bytes, Continued: u.continued, journal: u.journal}, nil
}

// unpacker is the work of one Into.
type unpacker struct {
	ctx   context.Context // of one call; cancelled by the first failure
	store cache.Building
	src   Source
	guard *guard
	o     IntoOptions
	// tasks are the entries that are being stored, and the reading of the archive.
	tasks *errgroup.Group

	journal *journal
	// done are the entries that an earlier process stored.
	done bitmap
	// nesting allows only one nested archive at a time to be unpacked, which
	// limits the memory.
	nesting sync.Mutex

	mu   sync.Mutex
	sink Sink
	counts
}

func newUnpacker(ctx context.Context, store cache.Building, src Source, sink Sink, o IntoOptions) (*unpacker, error) {
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	key := ""
	if o.Key != "" {
		key = "unpack-2-" + string(o.Format) + "-" + o.Key
	}
	journal, err := openJournal(ctx, store, key)
	if err != nil {
		return nil, err
	}
	u := &unpacker{ctx: ctx, store: store, src: src, sink: sink, o: o, journal: journal, guard: &guard{limits: o.Limits, packed: src.Size}}
	if err := journal.read(u.restore); err != nil {
		return nil, errors.Join(err, journal.close())
	}
	if u.continued > 0 {
		u.report() // from here on it takes time
	}
	if u.continued > 0 && o.Resumed != nil {
		o.Resumed(u.continued)
	}
	u.tasks, u.ctx = errgroup.WithContext(ctx)
	u.tasks.SetLimit(o.Workers + 1) // one reads
	return u, nil
}

// do starts a task, once a worker is free. After a failure there are no more.
func (u *unpacker) do(task func() error) error {
	u.tasks.Go(func() error {
		if u.ctx.Err() != nil {
			return nil
		}
		return task()
	})
	return context.Cause(u.ctx)
}

// restore takes over an entry from an earlier process if it is still in the
// store.
func (u *unpacker) restore(f finished) error {
	if u.done.has(f.index) || !u.holds(f.ref) {
		return nil
	}
	u.done.set(f.index)
	u.mu.Lock()
	defer u.mu.Unlock()
	u.continued++
	if f.ref.Kind == cache.Tree {
		u.inner.Files += max(f.ref.Files, 1) - 1
		u.unsized = true
	}
	return u.count(f)
}

// holds reports whether an object is in the store with everything below it.
func (u *unpacker) holds(ref cache.Ref) bool {
	if ref.Kind == cache.Blob {
		size, err := u.store.Has(u.ctx, ref.ID)
		return err == nil && size == ref.Size
	}
	return tree.Walk(u.ctx, u.store, ref, func(_ string, e tree.Entry) error {
		_, err := u.store.Has(u.ctx, e.ID)
		return err
	}) == nil
}

// finish adds an entry that is in the store to the sink and the journal.
func (u *unpacker) finish(f finished) error { return u.settle(f, func(*counts) {}) }

// settle is finish with another change of the counts at the same time.
func (u *unpacker) settle(f finished, change func(*counts)) error {
	u.mu.Lock()
	change(&u.counts)
	err := u.count(f)
	if err == nil {
		u.report()
	}
	u.mu.Unlock()
	if err != nil {
		return fmt.Errorf("%q: %w", f.name, err)
	}
	return u.journal.write(f)
}

// count adds an entry to the sink and to the sums. The caller holds the lock.
func (u *unpacker) count(f finished) error {
	if err := u.sink.Add(f.name, f.ref, f.executable); err != nil {
		return err
	}
	u.files += max(f.ref.Files, 1)
	u.bytes += f.ref.Size
	return nil
}

// folder adds a folder to the sink.
func (u *unpacker) folder(name string) error {
	if name == "." {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.sink.AddDir(name)
}

// unpacks reports whether an entry is an archive to unpack as well.
func (u *unpacker) unpacks(name string) bool { return u.o.Nested != nil && u.o.Nested(name) }

// putBytes stores an entry that is in memory.
func (u *unpacker) putBytes(index int64, e Entry, data []byte) error {
	if u.unpacks(e.Name) {
		if done, err := u.unpackNested(index, e, Source{bytes.NewReader(data), int64(len(data))}); done || err != nil {
			return err
		}
	}
	ref, err := cache.PutBytes(u.ctx, u.store, data)
	if err != nil {
		return fmt.Errorf("%q: %w", e.Name, err)
	}
	return u.finish(finished{index, e.Name, ref, e.Executable})
}

// putStream stores an entry as it is read.
func (u *unpacker) putStream(index int64, e Entry, r io.Reader) error {
	if u.unpacks(e.Name) {
		return u.putSpooled(index, e, r)
	}
	out := &largeFile{u: u}
	ref, err := cache.PutWritten(u.ctx, u.store, cache.Ref{}, func(w io.Writer) error {
		out.Writer = w
		return pipe(u.ctx, out, r)
	})
	if err != nil {
		return fmt.Errorf("%q: %w", e.Name, err)
	}
	return u.settle(finished{index, e.Name, ref, e.Executable}, func(c *counts) { c.under -= out.n })
}

// FormatIn returns the format that an archive's first bytes indicate, or else
// its name, or "".
func FormatIn(src Source, name string) (Format, error) {
	head := make([]byte, min(512, max(src.Size, 0)))
	n, err := src.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	if format := Sniff(head[:n]); format != "" {
		return format, nil
	}
	return FormatOf(name), nil
}

// putSpooled stores a large entry that may be an archive: it is first written to an ingest
// and read from there.
func (u *unpacker) putSpooled(index int64, e Entry, r io.Reader) error {
	in, err := u.store.Ingest(u.ctx, "")
	if err != nil {
		return fmt.Errorf("%q: %w", e.Name, err)
	}
	defer in.Close()
	if err := pipe(u.ctx, in, r); err != nil {
		return fmt.Errorf("%q: %w", e.Name, err)
	}
	if done, err := u.unpackNested(index, e, Source{in, in.Offset()}); done || err != nil {
		return err
	}
	ref, err := in.Commit(u.ctx, cache.Ref{})
	if err != nil {
		return err
	}
	return u.finish(finished{index, e.Name, ref, e.Executable})
}

// unpackNested turns a nested archive into a tree. It does nothing, and reports so, if the
// entry turns out not to be an archive.
func (u *unpacker) unpackNested(index int64, e Entry, src Source) (done bool, err error) {
	format, err := FormatIn(src, e.Name)
	if err != nil {
		return false, fmt.Errorf("%q: %w", e.Name, err)
	}
	if format == "" {
		return false, nil
	}
	u.nesting.Lock()
	defer u.nesting.Unlock()
	b := tree.NewBuilder(u.store)
	o := IntoOptions{Format: format, Limits: u.left(), Workers: u.o.Workers, Progress: func(p Progress) { u.reportNested(p, e.Size) }}
	if u.o.Key != "" {
		o.Key = u.o.Key + "-" + strconv.FormatInt(index, 10)
	}
	inner, err := Into(u.ctx, u.store, src, b, o)
	if err != nil {
		return false, fmt.Errorf("%q: %w", e.Name, err)
	}
	defer inner.Close()
	ref, err := b.Build(u.ctx, u.store)
	if err != nil {
		return false, fmt.Errorf("%q: %w", e.Name, err)
	}
	if err := u.settle(finished{index, e.Name, ref, false}, func(c *counts) { c.unpackedNested(ref, e.Size) }); err != nil {
		return false, err
	}
	return true, inner.Drop()
}

// left returns the limits that remain for a nested archive after the outer one's
// use.
func (u *unpacker) left() Limits {
	l := u.o.Limits
	u.mu.Lock()
	defer u.mu.Unlock()
	l.Entries -= int(u.files)
	l.Bytes -= u.bytes
	return l
}
