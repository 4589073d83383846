package archive

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/tree"
)

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

// unpackBytes unpacks a nested archive in memory.
func (u *unpacker) unpackBytes(index int64, e Entry, data []byte) error {
	return u.unpackNested(index, e, Source{bytes.NewReader(data), int64(len(data))}, func() error {
		ref, err := cache.PutBytes(u.ctx, u.store, data)
		if err != nil {
			return err
		}
		return u.finish(finished{index, e.Name, ref, e.Executable})
	})
}

// unpackStream unpacks a nested archive that is too large for memory: it is
// first written to an ingest and read from there.
func (u *unpacker) unpackStream(index int64, e Entry, r io.Reader) error {
	in, err := u.store.Ingest(u.ctx, "")
	if err != nil {
		return fmt.Errorf("%q: %w", e.Name, err)
	}
	defer in.Close()
	if err := pipe(u.ctx, in, r); err != nil {
		return fmt.Errorf("%q: %w", e.Name, err)
	}
	return u.unpackNested(index, e, Source{in, in.Offset()}, func() error {
		ref, err := in.Commit(u.ctx, cache.Ref{})
		if err != nil {
			return err
		}
		return u.finish(finished{index, e.Name, ref, e.Executable})
	})
}

func (u *unpacker) nestedKey(index int64) string {
	return u.o.Key + "-" + strconv.FormatInt(index, 10)
}

// unpackNested turns a nested archive into a tree. If it turns out not to be an
// archive, it is kept as a file.
func (u *unpacker) unpackNested(index int64, e Entry, src Source, keep func() error) error {
	format, err := FormatIn(src, e.Name)
	if err != nil {
		return fmt.Errorf("%q: %w", e.Name, err)
	}
	if format == "" {
		return keep()
	}
	u.nesting.Lock()
	defer u.nesting.Unlock()
	b := tree.NewBuilder(u.store)
	o := IntoOptions{Format: format, Limits: u.left(), Workers: u.o.Workers, Progress: func(p Progress) { u.reportNested(p, e.Size) }}
	if u.o.Key != "" {
		o.Key = u.nestedKey(index)
	}
	inner, err := Into(u.ctx, u.store, src, b, o)
	if err != nil {
		return fmt.Errorf("%q: %w", e.Name, err)
	}
	defer inner.Close()
	ref, err := b.Build(u.ctx, u.store)
	if err != nil {
		return fmt.Errorf("%q: %w", e.Name, err)
	}
	if err := u.settle(finished{index, e.Name, ref, false}, func(c *counts) { c.unpackedNested(ref, e.Size) }); err != nil {
		return err
	}
	return inner.Drop()
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
