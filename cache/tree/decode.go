package tree

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
)

// bufferSize holds the longest line: every byte of a name escaped, two numbers
// of 19 digits, a digest and separators are under 700 bytes.
const bufferSize = 16 << 10

// Decoder reads the encoding of a directory entry by entry, in bounded
// memory. It accepts exactly what an Encoder writes.
type Decoder struct {
	r       *bufio.Reader
	last    string
	n       int64
	total   total
	started bool
	err     error
}

// NewDecoder returns a Decoder that reads from r.
func NewDecoder(r io.Reader) *Decoder {
	return &Decoder{r: bufio.NewReaderSize(r, bufferSize)}
}

// Next returns the next entry, or io.EOF after the last one. Invalid bytes are
// an error that wraps ErrInvalid; an error of the reader is returned as it is.
func (d *Decoder) Next() (Entry, error) {
	if d.err != nil {
		return Entry{}, d.err
	}
	e, err := d.next()
	d.err = err
	return e, err
}

// Totals returns the bytes and the number of files of the entries so far.
func (d *Decoder) Totals() (size, files int64) { return d.total.size, d.total.files }

func (d *Decoder) next() (Entry, error) {
	if !d.started {
		if err := d.readHeader(); err != nil {
			return Entry{}, err
		}
	}
	line, err := d.readLine()
	if err != nil {
		return Entry{}, err
	}
	e, err := parseEntry(line)
	if err != nil {
		return Entry{}, fmt.Errorf("entry %d: %w", d.n+1, err)
	}
	if d.n > 0 && e.Name <= d.last {
		return Entry{}, fmt.Errorf("entry %d: %w: %q is not after %q", d.n+1, ErrInvalid, e.Name, d.last)
	}
	if !d.total.add(e) {
		return Entry{}, fmt.Errorf("entry %d: %w: the total size overflows", d.n+1, ErrInvalid)
	}
	d.last = e.Name
	d.n++
	return e, nil
}

func (d *Decoder) readHeader() error {
	d.started = true
	line, err := d.readLine()
	if err == nil && string(line)+"\n" == header {
		return nil
	}
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, ErrInvalid) {
		return err
	}
	return fmt.Errorf("header: %w: not %q", ErrInvalid, strings.TrimSpace(header))
}

// readLine returns the next line without its line feed; io.EOF means that the
// encoding ended at a place where it may.
func (d *Decoder) readLine() ([]byte, error) {
	line, err := d.r.ReadSlice('\n')
	switch {
	case err == nil:
		return line[:len(line)-1], nil
	case errors.Is(err, io.EOF) && len(line) == 0:
		return nil, io.EOF
	case errors.Is(err, io.EOF) || errors.Is(err, bufio.ErrBufferFull):
		return nil, fmt.Errorf("entry %d: %w: the line is incomplete", d.n+1, ErrInvalid)
	}
	return nil, err
}

func parseEntry(line []byte) (Entry, error) {
	var e Entry
	if len(line) < 2 || line[1] != ' ' {
		return e, fmt.Errorf("%w: no type", ErrInvalid)
	}
	e.Type = Type(line[0])
	rest := line[2:]
	var err error
	if e.Size, rest, err = parseNumber(rest); err != nil {
		return e, err
	}
	if e.IsDir() {
		if e.Files, rest, err = parseNumber(rest); err != nil {
			return e, err
		}
	}
	if e.ID, rest, err = parseID(rest); err != nil {
		return e, err
	}
	if e.Name, err = parseName(rest); err != nil {
		return e, err
	}
	return e, e.check()
}

// parseNumber reads a canonical decimal number and the space after it.
func parseNumber(b []byte) (int64, []byte, error) {
	i := bytes.IndexByte(b, ' ')
	if i < 1 || i > 19 || (b[0] == '0' && i > 1) || b[0] == '+' || b[0] == '-' {
		return 0, nil, fmt.Errorf("%w: not a canonical number", ErrInvalid)
	}
	n, err := strconv.ParseInt(string(b[:i]), 10, 64)
	if err != nil {
		return 0, nil, fmt.Errorf("%w: number %q", ErrInvalid, b[:i])
	}
	return n, b[i+1:], nil
}

// parseID reads a lower-case digest and the space after it.
func parseID(b []byte) (id digest.ContentID, rest []byte, err error) {
	const n = 2 * digest.Size
	if len(b) < n+1 || b[n] != ' ' {
		return id, nil, fmt.Errorf("%w: no digest", ErrInvalid)
	}
	for _, c := range b[:n] {
		if c >= 'A' && c <= 'F' {
			return id, nil, fmt.Errorf("%w: digest in upper case", ErrInvalid)
		}
	}
	if _, err := hex.Decode(id[:], b[:n]); err != nil {
		return id, nil, fmt.Errorf("%w: digest: %w", ErrInvalid, err)
	}
	return id, b[n+1:], nil
}

func parseName(b []byte) (string, error) {
	if bytes.IndexByte(b, '\\') < 0 {
		return string(b), nil
	}
	name := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		if b[i] != '\\' {
			name = append(name, b[i])
			continue
		}
		i++
		switch {
		case i < len(b) && b[i] == '\\':
			name = append(name, '\\')
		case i < len(b) && b[i] == 'n':
			name = append(name, '\n')
		default:
			return "", fmt.Errorf("%w: unknown escape in a name", ErrInvalid)
		}
	}
	return string(name), nil
}

// Read returns all entries of the directory that ref names.
func Read(ctx context.Context, store cache.Store, ref cache.Ref) ([]Entry, error) {
	var entries []Entry
	err := Each(ctx, store, ref, func(e Entry) error {
		entries = append(entries, e)
		return nil
	})
	return entries, err
}

// Each calls fn for every entry of the directory that ref names. If the sums of
// the directory differ from its reference, the error wraps ErrInvalid.
func Each(ctx context.Context, store cache.Store, ref cache.Ref, fn func(Entry) error) error {
	if ref.Kind != cache.Tree {
		return fmt.Errorf("open tree %s: it is a %s", ref.ID.Short(), ref.Kind)
	}
	r, err := store.Open(ctx, ref.ID)
	if err != nil {
		return fmt.Errorf("open tree %s: %w", ref.ID.Short(), err)
	}
	defer r.Close()
	d := NewDecoder(r)
	for {
		e, err := d.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("read tree %s: %w", ref.ID.Short(), err)
		}
		if err := fn(e); err != nil {
			return err
		}
	}
	if size, files := d.Totals(); size != ref.Size || files != ref.Files {
		return fmt.Errorf("read tree %s: %w: it contains %d files of %d bytes, not %d of %d",
			ref.ID.Short(), ErrInvalid, files, size, ref.Files, ref.Size)
	}
	return nil
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
	return find("find", NewEntry(".", ref, false), name, func(dir cache.Ref, name string) (found Entry, err error) {
		if CheckName(name) != nil {
			return found, fs.ErrInvalid
		}
		err = Each(ctx, store, dir, func(e Entry) error {
			if e.Name == name {
				found = e
				return fs.SkipAll
			}
			return nil
		})
		if err = cmp.Or(err, fs.ErrNotExist); errors.Is(err, fs.SkipAll) {
			err = nil
		}
		return found, err
	})
}

// find returns the entry at a path below root; in returns the entry of a name in a folder.
func find(op string, root Entry, name string, in func(dir cache.Ref, name string) (Entry, error)) (at Entry, err error) {
	at = root
	for part := range strings.SplitSeq(name, "/") {
		switch {
		case err != nil || name == ".":
		case at.IsDir():
			at, err = in(at.Ref(), part)
		default:
			err = fs.ErrNotExist
		}
	}
	if err != nil {
		return Entry{}, &fs.PathError{Op: op, Path: name, Err: err}
	}
	return at, nil
}
