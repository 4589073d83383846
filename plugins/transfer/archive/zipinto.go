package archive

import (
	"errors"
	"fmt"
	"io"
)

// Neighbouring small entries are read together, in one read of up to
// spanBytes, and unpacked by one worker.
const (
	spanBytes   = 512 << 10
	spanEntries = 64
)

// zipSpan is a run of neighbouring small entries.
type zipSpan struct {
	entries []zipHeader
	from    int64
	to      int64
}

// zip unpacks a zip file.
func (u *unpacker) zip() error {
	dir, err := openZip(u.src, u.guard)
	if err != nil {
		return err
	}
	u.list()
	var span zipSpan
	flush := func() error {
		if len(span.entries) == 0 {
			return nil
		}
		s := span
		span = zipSpan{}
		return u.do(func() error { return u.zipSpan(s) })
	}
	err = dir.each(func(h *zipHeader) error {
		switch {
		case h.Folder:
			return u.folder(h.Name)
		case u.done.has(h.index):
			return nil
		case !h.small():
			return u.do(func() error { return u.zipStream(h) })
		}
		if h.at < span.to || h.limit-span.from > spanBytes || len(span.entries) == spanEntries {
			if err := flush(); err != nil {
				return err
			}
		}
		if len(span.entries) == 0 {
			span.from = h.at
		}
		span.entries, span.to = append(span.entries, *h), h.limit
		return nil
	})
	if err != nil {
		return err
	}
	return flush()
}

// small reports whether an entry is unpacked in memory.
func (h *zipHeader) small() bool {
	return h.Size <= smallEntry && h.packed <= smallEntry && h.limit-h.at <= smallEntry+1<<17 && (h.method == methodStore || h.method == methodDeflate)
}

// zipStream unpacks a large entry.
func (u *unpacker) zipStream(h *zipHeader) error {
	r, err := h.openStream(u.src)
	if err != nil {
		return err
	}
	defer r.Close()
	return u.putStream(h.index, h.Entry, r)
}

// zipSpan unpacks small entries.
func (u *unpacker) zipSpan(s zipSpan) error {
	packed, plain := spanBuffers.Get().(*[]byte), smallBuffers.Get().(*smallBuffer)
	defer spanBuffers.Put(packed)
	defer smallBuffers.Put(plain)
	n := int(s.to - s.from)
	if cap(*packed) < n {
		*packed = make([]byte, n)
	}
	all := (*packed)[:n]
	if got, err := u.src.ReadAt(all, s.from); got < n {
		if errors.Is(err, io.EOF) {
			err = fmt.Errorf("%w: the file is truncated", ErrFormat)
		}
		return err
	}
	for i := range s.entries {
		h := &s.entries[i]
		if u.ctx.Err() != nil {
			return nil
		}
		own := all[h.at-s.from : h.limit-s.from]
		start, err := h.local(own)
		if err != nil {
			return err
		}
		data, err := h.plain(plain[:], own[start:start+int(h.packed)])
		if err != nil {
			return err
		}
		if err := u.putBytes(h.index, h.Entry, data); err != nil {
			return err
		}
	}
	return nil
}
