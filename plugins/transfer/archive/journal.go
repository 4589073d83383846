package archive

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strconv"
	"sync"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
)

// journal remembers in a keyed ingest which entries of an archive are in the
// store, one line an entry, so that another process can go on:
//
//	<CRC-32 of the rest> <entry> f|x|d <size> <files> <digest> <quoted name>
//
// A line that was torn by a crash fails its checksum and costs that entry.
type journal struct {
	in cache.Ingest

	mu      sync.Mutex
	waiting []byte // lines for the next write
}

// openJournal opens the journal of a key; with "" there is none.
func openJournal(ctx context.Context, store cache.Store, key string) (*journal, error) {
	if key == "" {
		return &journal{}, nil
	}
	in, err := store.Ingest(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("open journal: %w", err)
	}
	return &journal{in: in}, nil
}

// finished is a line of a journal.
type finished struct {
	index      int64
	name       string
	ref        cache.Ref
	executable bool
}

// read passes the lines of earlier processes to visit.
func (j *journal) read(visit func(finished) error) error {
	if j.in == nil || j.in.Offset() == 0 {
		return nil
	}
	r := bufio.NewReaderSize(io.NewSectionReader(j.in, 0, j.in.Offset()), 64<<10)
	for {
		line, err := r.ReadSlice('\n')
		switch {
		case err == io.EOF:
			if len(line) > 0 {
				// A line feed separates the next line from a torn one.
				j.waiting = append(j.waiting, '\n')
			}
			return nil
		case err == bufio.ErrBufferFull:
			continue // not one of our lines
		case err != nil:
			return fmt.Errorf("read journal: %w", err)
		}
		if f, ok := parseFinished(line[:len(line)-1]); ok {
			if err := visit(f); err != nil {
				return err
			}
		}
	}
}

func parseFinished(line []byte) (f finished, ok bool) {
	if len(line) < 9 {
		return f, false
	}
	sum, err := strconv.ParseUint(string(line[:8]), 16, 32)
	if err != nil || uint32(sum) != crc32.ChecksumIEEE(line[9:]) {
		return f, false
	}
	parts := bytes.SplitN(line[9:], []byte(" "), 6)
	if len(parts) < 6 || len(parts[1]) != 1 {
		return f, false
	}
	var errs [5]error
	f.index, errs[0] = strconv.ParseInt(string(parts[0]), 10, 64)
	f.ref.Size, errs[1] = strconv.ParseInt(string(parts[2]), 10, 64)
	f.ref.Files, errs[2] = strconv.ParseInt(string(parts[3]), 10, 64)
	f.ref.ID, errs[3] = digest.ParseContentID(string(parts[4]))
	f.name, errs[4] = strconv.Unquote(string(parts[5]))
	f.ref.Kind, f.executable = cache.Blob, parts[1][0] == 'x'
	if parts[1][0] == 'd' {
		f.ref.Kind = cache.Tree
	}
	return f, errors.Join(errs[:]...) == nil && f.index >= 0
}

func (f *finished) append(b []byte) []byte {
	at := len(b)
	b = append(b, "00000000 "...)
	b = strconv.AppendInt(b, f.index, 10)
	switch {
	case f.ref.Kind == cache.Tree:
		b = append(b, " d "...)
	case f.executable:
		b = append(b, " x "...)
	default:
		b = append(b, " f "...)
	}
	b = append(strconv.AppendInt(b, f.ref.Size, 10), ' ')
	b = append(strconv.AppendInt(b, f.ref.Files, 10), ' ')
	b = hex.AppendEncode(b, f.ref.ID[:])
	b = strconv.AppendQuote(append(b, ' '), f.name)
	var sum [4]byte
	binary.BigEndian.PutUint32(sum[:], crc32.ChecksumIEEE(b[at+9:]))
	hex.Encode(b[at:], sum[:])
	return append(b, '\n')
}

// journalBytes are written at once: ten lines or so, whose small entries are
// unpacked again after a kill.
const journalBytes = 1 << 10

// write adds a line. That of a large entry is in the ingest when it returns.
func (j *journal) write(f finished) error {
	if j.in == nil {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.waiting = f.append(j.waiting)
	if len(j.waiting) < journalBytes && f.ref.Size <= smallEntry {
		return nil
	}
	return j.flush()
}

// flush writes the waiting lines. The caller holds the lock.
func (j *journal) flush() error {
	if len(j.waiting) == 0 {
		return nil
	}
	_, err := j.in.Write(j.waiting)
	if j.waiting = j.waiting[:0]; err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	return nil
}

// close keeps the journal for another process.
func (j *journal) close() error {
	if j.in == nil {
		return nil
	}
	_ = j.flush() // without these lines their entries are unpacked again
	return j.in.Close()
}

// drop deletes the journal.
func (j *journal) drop() error {
	if j.in == nil {
		return nil
	}
	return errors.Join(j.in.Reset(), j.in.Close())
}

// smallBuffer holds a small entry.
type smallBuffer [smallEntry]byte

var smallBuffers = sync.Pool{New: func() any { return new(smallBuffer) }}

// pipeBuffers hold a piece of a large one, as large as those of cache.Copy.
var pipeBuffers = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, 128<<10) }}

// pipe copies while reading and writing in parallel, since both are CPU-bound:
// one side decompresses, the other hashes and writes.
func pipe(ctx context.Context, w io.Writer, r io.Reader) error {
	from, to := io.Pipe()
	var reading sync.WaitGroup
	reading.Go(func() {
		buf := pipeBuffers.Get().(*bufio.Writer)
		defer pipeBuffers.Put(buf)
		buf.Reset(to)
		_, err := buf.ReadFrom(r)
		_ = to.CloseWithError(cmp.Or(err, buf.Flush()))
	})
	defer reading.Wait() // r is valid only until then
	defer from.Close()
	_, err := cache.Copy(ctx, w, from)
	return err
}

// bitmap is a growing set of small integers.
type bitmap []uint64

func (b bitmap) has(i int64) bool { return i/64 < int64(len(b)) && b[i/64]>>(i%64)&1 != 0 }

func (b *bitmap) set(i int64) {
	for i/64 >= int64(len(*b)) {
		*b = append(*b, make([]uint64, max(64, len(*b)))...)
	}
	(*b)[i/64] |= 1 << (i % 64)
}

func (b bitmap) clear(i int64) {
	if i/64 < int64(len(b)) {
		b[i/64] &^= 1 << (i % 64)
	}
}
