package compare

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"
)

// Opener opens a file from its beginning.
type Opener func(ctx context.Context) (fs.File, error)

// Difference describes how a file differs from the expected one.
type Difference struct {
	// Same says that the content is equal though the bytes differ.
	Same bool
	// Text says all that is known in one line.
	Text string
}

// Files says how the file got differs from the file want.
func Files(ctx context.Context, name string, want, got Opener) (Difference, error) {
	w, err := Summarise(ctx, name, want)
	if err != nil {
		return Difference{}, err
	}
	g, err := Summarise(ctx, name, got)
	if err != nil {
		return Difference{}, err
	}
	d := w.against(g)
	if d.Same {
		return d, nil
	}
	if w.Table == nil || g.Table == nil {
		err = pair(ctx, want, got, func(want, got io.Reader) error {
			d.Text, err = firstByte(want, got)
			return err
		})
		return d, err
	}
	walk, err := walkTables(ctx, tableFormat(name), want, got)
	if err != nil {
		return d, err
	}
	d.Text = strings.Join(slices.Concat(walk.news(w.Table.Rows, g.Table.Rows), tableNews(w.Table, g.Table)), "; ")
	return d, nil
}

// WithSummary says how a file differs from the one that a summary was made of.
func WithSummary(ctx context.Context, name string, want Summary, got Opener) (Difference, error) {
	found, err := Summarise(ctx, name, got)
	if err != nil {
		return Difference{}, err
	}
	return want.against(found), nil
}

// against describes the difference of two files of one name by their summaries.
func (s Summary) against(got Summary) Difference {
	switch {
	case s.SHA256 == got.SHA256:
		return Difference{Same: true, Text: "the bytes are equal"}
	case s.Table != nil && got.Table != nil:
		return s.Table.against(got.Table)
	case s.Table != nil || got.Table != nil:
		return Difference{Text: "one of the files cannot be read as a table"}
	}
	return Difference{Text: "where they differ is not known"}
}

// pair opens two files and closes them after use.
func pair(ctx context.Context, want, got Opener, use func(want, got io.Reader) error) error {
	w, err := want(ctx)
	if err != nil {
		return err
	}
	defer w.Close()
	g, err := got(ctx)
	if err != nil {
		return err
	}
	defer g.Close()
	return use(&stopper{ctx, w}, &stopper{ctx, g})
}

// firstByte finds the first byte that differs.
func firstByte(want, got io.Reader) (string, error) {
	a, b := make([]byte, 1<<16), make([]byte, 1<<16)
	var at int64
	for {
		n, err := full(want, a)
		if err != nil {
			return "", err
		}
		m, err := full(got, b)
		if err != nil {
			return "", err
		}
		short := min(n, m)
		if !bytes.Equal(a[:short], b[:short]) {
			i := 0
			for a[i] == b[i] {
				i++
			}
			return fmt.Sprintf("the first byte that differs is at offset %s: want 0x%02x, got 0x%02x", humanize.Comma(at+int64(i)), a[i], b[i]), nil
		}
		at += int64(short)
		switch {
		case n > m:
			return fmt.Sprintf("the file ends too early, at offset %s; all before is equal", humanize.Comma(at)), nil
		case n < m:
			return fmt.Sprintf("bytes follow after offset %s, where it should end; all before is equal", humanize.Comma(at)), nil
		case n == 0:
			return "the bytes are equal", nil
		}
	}
}

// full reads until buf is full or the file ends.
func full(r io.Reader, buf []byte) (int, error) {
	n, err := io.ReadFull(r, buf)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = nil
	}
	return n, err
}

// stopper reads until its context is cancelled.
type stopper struct {
	ctx context.Context
	r   io.Reader
}

func (s *stopper) Read(p []byte) (int, error) {
	if s.ctx.Err() != nil {
		return 0, context.Cause(s.ctx)
	}
	return s.r.Read(p)
}
