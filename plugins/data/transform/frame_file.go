package transform

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"runtime"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/mleflow/mleflow/plugins/data/pytext"
	"github.com/mleflow/mleflow/plugins/data/table/ujson"
)

// frameFile is a file of JSON lines with the places of its lines and the columns
// of every chunk of them.
type frameFile struct {
	in    *Input
	path  string
	chunk int // lines typed together; 0: all

	starts, ends []int64
	columns      []*ujson.Columns
}

// lot is a run of lines of one chunk that are read together.
type lot struct {
	chunk   int
	first   int // number of its first line
	text    []byte
	ends    []int
	columns ujson.Columns
	err     error
}

// lotBytes is how much text a lot holds before it is read.
const lotBytes = 4 << 20

func openFrame(in *Input, path string, o *frameOptions) (*Frame, error) {
	if o.Chunk < 0 {
		return nil, fmt.Errorf("chunk = %d is negative", o.Chunk)
	}
	f := &frameFile{in: in, path: path, chunk: o.Chunk}
	if err := f.scan(); err != nil {
		return nil, err
	}
	for _, c := range f.columns {
		if err := c.Check(); err != nil {
			return nil, err
		}
		for _, name := range slices.Sorted(maps.Keys(o.Types)) {
			if o.Types[name] != "text" {
				return nil, fmt.Errorf("type %q of column %q: write \"text\"", o.Types[name], name)
			}
			if err := c.Texts(name); err != nil {
				return nil, err
			}
		}
	}
	return &Frame{file: f}, nil
}

// scan finds the lines and types the columns. Several goroutines read the lines;
// the first mistake in the file is reported.
func (f *frameFile) scan() (err error) {
	file, err := f.in.Raw.Open(f.path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	var lots []*lot
	var failed atomic.Bool
	err = f.lines(file, func(l *lot) error {
		lots = append(lots, l)
		group.Go(func() error {
			if l.read(); l.err != nil {
				failed.Store(true)
			}
			return nil
		})
		if failed.Load() {
			return errStopped
		}
		return f.in.Context.Err()
	})
	_ = group.Wait()
	for _, l := range lots {
		if l.err != nil {
			return l.err
		}
		if l.chunk == len(f.columns) {
			f.columns = append(f.columns, &ujson.Columns{})
		}
		f.columns[l.chunk].Merge(&l.columns)
	}
	return err
}

var errStopped = errors.New("stopped")

// lines finds the lines of the file and passes them on in lots.
func (f *frameFile) lines(file fs.File, pass func(*lot) error) error {
	r := bufio.NewReaderSize(file, 1<<20)
	at, space := int64(0), int64(lotBytes)
	if info, err := file.Stat(); err == nil {
		space = min(space, info.Size()) + 1<<16
	}
	now := &lot{text: make([]byte, 0, space)}
	for end := false; !end; {
		start := len(now.text)
		size, err := readLine(r, &now.text)
		if end = errors.Is(err, io.EOF); err != nil && !end {
			return err
		}
		if size == 0 {
			break
		}
		line := bytes.TrimFunc(now.text[start:], pytext.IsSpace)
		lead := bytes.Index(now.text[start:], line)
		if err := f.check(line); err != nil {
			return fmt.Errorf("line %d: %w", len(f.starts)+1, err)
		}
		if len(line) > 0 {
			f.starts, f.ends = append(f.starts, at+int64(lead)), append(f.ends, at+int64(lead+len(line)))
			now.ends = append(now.ends, start+copy(now.text[start:], line))
			now.text = now.text[:start+len(line)]
		} else {
			now.text = now.text[:start]
		}
		at += int64(size)
		if next := f.chunkOf(len(f.starts)); next != now.chunk || len(now.text) >= lotBytes {
			if err := pass(now); err != nil {
				return err
			}
			now = &lot{chunk: next, first: len(f.starts), text: make([]byte, 0, space)}
		}
	}
	if len(now.ends) == 0 {
		return nil
	}
	return pass(now)
}

// readLine appends a line with its end to b and returns its size; io.EOF says
// that it is the last one.
func readLine(r *bufio.Reader, b *[]byte) (size int, err error) {
	for {
		part, err := r.ReadSlice('\n')
		*b = append(*b, part...)
		size += len(part)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return size, err
		}
	}
}

// check refuses lines that would shift the chunks of pandas, which counts lines
// with any line end, empty ones too.
func (f *frameFile) check(line []byte) error {
	switch {
	case len(f.starts) == math.MaxInt32:
		return fmt.Errorf("more than %d lines", math.MaxInt32)
	case f.chunk > 0 && len(line) == 0:
		return errors.New("empty line; with chunk, no line may be empty")
	case f.chunk > 0 && bytes.IndexByte(line, '\r') >= 0:
		return errors.New("carriage return in the line; with chunk, no line may contain one")
	}
	return nil
}

func (f *frameFile) chunkOf(line int) int {
	if f.chunk == 0 {
		return 0
	}
	return line / f.chunk
}

// read reads the lines of the lot.
func (l *lot) read() {
	var r ujson.Record
	start := 0
	for i, end := range l.ends {
		if err := r.Read(l.text[start:end]); err != nil {
			l.err = fmt.Errorf("line %d: %w", l.first+i+1, err)
			return
		}
		l.columns.Add(&r)
		start = end
	}
	l.text = nil
}
