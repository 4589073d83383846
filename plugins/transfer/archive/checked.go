package archive

import (
	"fmt"
	"hash"
	"io"
)

// checkedReader reads one file's bytes and checks their length and checksum. It
// returns io.EOF only if both are right.
type checkedReader struct {
	r    io.Reader
	name string
	left int64
	want szStream
	sum  hash.Hash32
	// end says that r must end there as well.
	end bool
}

// Read implements io.Reader.
func (c *checkedReader) Read(p []byte) (int, error) {
	if c.left == 0 {
		return 0, c.finish()
	}
	n, err := c.r.Read(p[:min(int64(len(p)), c.left)])
	_, _ = c.sum.Write(p[:n])
	c.left -= int64(n)
	switch {
	case c.left == 0:
		err = nil
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		err = fmt.Errorf("%w: %q: %w", ErrFormat, c.name, errShort)
	case err != nil:
		err = fmt.Errorf("%w: %q: %w", ErrFormat, c.name, err)
	}
	return n, err
}

// finish returns io.EOF if everything is right.
func (c *checkedReader) finish() error {
	if c.want.hasCRC && c.sum.Sum32() != c.want.crc {
		return fmt.Errorf("%w: %q: wrong checksum", ErrFormat, c.name)
	}
	if !c.end {
		return io.EOF
	}
	var one [1]byte
	switch n, err := io.ReadFull(c.r, one[:]); {
	case n > 0:
		return fmt.Errorf("%w: %q: %w", ErrFormat, c.name, errLong)
	case err != io.EOF:
		return fmt.Errorf("%w: %q: %w", ErrFormat, c.name, err)
	}
	return io.EOF
}
