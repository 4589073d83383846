package table

import (
	"errors"
	"io"
	"os"
)

// Pandas types a column again in each chunk of some hundred thousand rows. Most
// large files of few columns need no such chunks: each record has a field for each column, and
// all cells of a column have one kind, whichever of them are looked at together.
// Such a file is read in pieces that fit the processor's cache, in a few buffers
// that are used again and again. Any other file is read a second time, in chunks.

const (
	piecesFile = 1 << 20 // the least file that is read so
	pieceBytes = 1 << 19 // about the size of a piece
	pieceRead  = 1 << 17 // read at once
	// pieceColumns is the greatest number of columns: each has a vector in each piece.
	pieceColumns = 8
	// pieceRows is the least number of rows of a piece: a vector has a header.
	pieceRows   = 1 << 11
	pieceSample = 1 << 8 // rows from which kinds are guessed
)

// errUneven says that a file is to be read in chunks.
var errUneven = errors.New("not all pieces of the file are alike")

// readPieces reads a large regular file in pieces. It returns no table, and the
// file as it was, unless the table is that of the chunks.
func readPieces(f *os.File, o ReadOptions) (*Table, error) {
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() < piecesFile {
		return nil, nil // the file says so itself when it is read
	}
	at, err := f.Seek(0, io.SeekCurrent)
	if err != nil {
		return nil, err
	}
	o.pieces = true
	t, err := o.read(f)
	if err == nil {
		return t, nil
	}
	_, err = f.Seek(at, io.SeekStart)
	return nil, err
}

// uneven reports whether some record of a piece lacks fields or has too many, or
// some line is blank.
func (c *chunk) uneven() bool {
	return c.fields != len(c.cols) || len(c.long) > 0 || c.filled > 0 || c.cols[0].len() != c.rows
}

// sameKinds reports whether two pieces may be parts of one chunk of their kinds.
func sameKinds(a, b *chunk) bool {
	for i, v := range a.cols {
		if v.kind != b.cols[i].kind {
			return false
		}
	}
	return true
}
