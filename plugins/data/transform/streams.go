package transform

import (
	"errors"
	"io"
	"io/fs"

	"github.com/mleflow/mleflow/plugins/data/table"
)

// streamVerbs give rows that are read again when they are written, since they are too large to hold.
var streamVerbs = []Verb{bsonVerb, parquetVerb, streamLinesVerb, drawClozeVerb, removeWordVerb, omitVerb}

// stream holds the numbers of rows that stay in their file. Verbs that choose rows
// or fields return streams again; any other verb reads the rows into a table.
type stream interface {
	Rows
	Columned
	// Select returns the fields of those names in that order, as a table or as
	// a stream.
	Select(names ...string) (Rows, error)
	// Where returns the rows for whose field of that name keep holds.
	Where(name string, keep func(table.Value) bool) (Rows, error)
}

// Tabular is rows that can be read into memory as a table.
type Tabular interface {
	Table() (*table.Table, error)
}

// Picker is rows of which some can be chosen without a list of their numbers.
type Picker interface {
	// Pick returns the rows for whose position keep holds.
	Pick(keep func(position int) bool) Rows
}

// pickRows returns the rows for whose position keep holds.
func pickRows(rows Rows, keep func(position int) bool) Rows {
	if p, ok := rows.(Picker); ok {
		return p.Pick(keep)
	}
	return rows.Take(where(rows.Len(), keep))
}

// openAt opens a file of the raw folder to be read at any place. A file that
// is read from its beginning on only (one in an archive) gives an error when a
// place before the last one is asked for.
func (in *Input) openAt(path string) (io.ReaderAt, io.Closer, error) {
	f, err := in.Raw.Open(path)
	if err != nil {
		return nil, nil, err
	}
	if at, ok := f.(io.ReaderAt); ok {
		return at, f, nil
	}
	return &forward{f: f}, f, nil
}

// forward reads a file at ascending places.
type forward struct {
	f  fs.File
	at int64
}

// ReadAt implements io.ReaderAt for ascending places.
func (r *forward) ReadAt(p []byte, offset int64) (int, error) {
	if offset < r.at {
		return 0, errors.New("a file in an archive can only be read in its order; unpack it first")
	}
	if _, err := io.CopyN(io.Discard, r.f, offset-r.at); err != nil {
		return 0, err
	}
	n, err := io.ReadFull(r.f, p)
	r.at = offset + int64(n)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = io.EOF
	}
	return n, err
}
