package compare

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
)

// Files says how the file got differs from the file want. That their bytes
// differ is known to the caller; if they do not, the text says so.
func Files(ctx context.Context, name string, want, got Opener) (Difference, error) {
	return files(ctx, name, want, got, 0)
}

func files(ctx context.Context, name string, want, got Opener, depth int) (Difference, error) {
	switch {
	case tableFormat(name) != "":
		d, err := tables(ctx, tableFormat(name), want, got)
		if !errors.Is(err, errNotTable) {
			return d, err
		}
	case innerName(name) != "" && depth < deepest:
		d, err := gzips(ctx, name, want, got, depth)
		if !errors.Is(err, errNotGzip) {
			return d, err
		}
	case archiveFormat(name) != "":
		if d, err := archives(ctx, name, want, got); err == nil || ctx.Err() != nil {
			return d, err
		}
	}
	return plain(ctx, want, got)
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

// plain finds the first byte that differs.
func plain(ctx context.Context, want, got Opener) (d Difference, err error) {
	err = pair(ctx, want, got, func(want, got io.Reader) error {
		d.Text, err = firstByte(want, got)
		return err
	})
	return d, err
}

func firstByte(want, got io.Reader) (string, error) {
	a, b := make([]byte, page), make([]byte, page)
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
			return fmt.Sprintf("the first byte that differs is at offset %s: want 0x%02x, got 0x%02x", Thousands(at+int64(i)), a[i], b[i]), nil
		}
		at += int64(short)
		switch {
		case n > m:
			return fmt.Sprintf("the file ends too early, at offset %s; all before is equal", Thousands(at)), nil
		case n < m:
			return fmt.Sprintf("bytes follow after offset %s, where it should end; all before is equal", Thousands(at)), nil
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
