package tree

import (
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
)

// header starts every encoding and carries its version.
const header = "mleflow tree 1\n"

// IsEncoding reports whether a file starts like the encoding of a tree. Such a file has
// the digest of the tree.
func IsEncoding(r io.Reader) (bool, error) {
	head := make([]byte, len(header))
	n, err := io.ReadFull(r, head)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = nil
	}
	return string(head[:n]) == header, err
}

// Encode returns the canonical encoding of a directory and its reference. It
// sorts entries in place; two with the same name are an error.
func Encode(entries []Entry) ([]byte, cache.Ref, error) {
	sortEntries(entries)
	buf := make([]byte, 0, len(header)+len(entries)*112)
	enc := NewEncoder(bufferWriter{&buf})
	for _, e := range entries {
		if err := enc.Write(e); err != nil {
			return nil, cache.Ref{}, err
		}
	}
	ref, err := enc.Finish()
	return buf, ref, err
}

func sortEntries(entries []Entry) {
	byName := func(a, b Entry) int { return strings.Compare(a.Name, b.Name) }
	if !slices.IsSortedFunc(entries, byName) {
		slices.SortFunc(entries, byName)
	}
}

type bufferWriter struct{ buf *[]byte }

func (w bufferWriter) Write(p []byte) (int, error) {
	*w.buf = append(*w.buf, p...)
	return len(p), nil
}

// appendEntry appends the line of e, which must be valid.
func appendEntry(buf []byte, e Entry) []byte {
	buf = append(buf, byte(e.Type), ' ')
	buf = strconv.AppendInt(buf, e.Size, 10)
	if e.IsDir() {
		buf = append(buf, ' ')
		buf = strconv.AppendInt(buf, e.Files, 10)
	}
	buf = append(buf, ' ')
	buf = hex.AppendEncode(buf, e.ID[:])
	buf = append(buf, ' ')
	buf = appendName(buf, e.Name)
	return append(buf, '\n')
}

func appendName(buf []byte, name string) []byte {
	if !strings.ContainsAny(name, "\\\n") {
		return append(buf, name...)
	}
	for i := range len(name) {
		switch c := name[i]; c {
		case '\\':
			buf = append(buf, `\\`...)
		case '\n':
			buf = append(buf, `\n`...)
		default:
			buf = append(buf, c)
		}
	}
	return buf
}

// Encoder writes the encoding of a directory entry by entry, in bounded
// memory.
type Encoder struct {
	w       io.Writer
	hash    *digest.Writer
	buf     []byte
	last    string
	n       int64
	total   total
	started bool
}

// NewEncoder returns an Encoder that writes to w.
func NewEncoder(w io.Writer) *Encoder { return &Encoder{w: w, hash: digest.NewWriter()} }

// Write adds the next entry; names must come in strictly ascending order.
func (e *Encoder) Write(entry Entry) error {
	if err := entry.check(); err != nil {
		return err
	}
	if e.n > 0 && entry.Name <= e.last {
		return fmt.Errorf("entry %q: %w: not after %q", entry.Name, ErrInvalid, e.last)
	}
	if !e.total.add(entry) {
		return fmt.Errorf("entry %q: %w: the total size overflows", entry.Name, ErrInvalid)
	}
	e.last = entry.Name
	e.n++
	e.start()
	e.buf = appendEntry(e.buf, entry)
	if len(e.buf) < 32<<10 {
		return nil
	}
	return e.flush()
}

// Finish writes the rest and returns the directory's reference.
func (e *Encoder) Finish() (cache.Ref, error) {
	e.start()
	if err := e.flush(); err != nil {
		return cache.Ref{}, err
	}
	return cache.Ref{Kind: cache.Tree, ID: e.hash.ID(), Size: e.total.size, Files: e.total.files}, nil
}

func (e *Encoder) start() {
	if !e.started {
		e.buf = append(e.buf, header...)
		e.started = true
	}
}

func (e *Encoder) flush() error {
	_, _ = e.hash.Write(e.buf)
	_, err := e.w.Write(e.buf)
	e.buf = e.buf[:0]
	if err != nil {
		return fmt.Errorf("write tree: %w", err)
	}
	return nil
}
