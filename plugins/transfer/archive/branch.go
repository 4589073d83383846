package archive

import (
	"encoding/binary"
	"fmt"
	"io"
	"sync"
)

// deltaReader undoes the Delta filter, which 7-Zip applies to sound before
// compression: each byte is stored as its difference from the byte at a fixed
// distance before it.
type deltaReader struct {
	r        io.Reader
	last     [256]byte
	at       int
	distance int
}

func newDeltaReader(r io.Reader, props []byte) (io.Reader, error) {
	if len(props) != 1 {
		return nil, fmt.Errorf("the Delta filter has %d bytes of properties, not 1", len(props))
	}
	return &deltaReader{r: r, distance: int(props[0]) + 1}, nil
}

// Read implements io.Reader.
func (d *deltaReader) Read(p []byte) (int, error) {
	n, err := d.r.Read(p)
	for i, b := range p[:n] {
		d.last[d.at] += b
		p[i] = d.last[d.at]
		if d.at++; d.at == d.distance {
			d.at = 0
		}
	}
	return n, err
}

// branchReader undoes the x86 branch filter (BCJ), which py7zr applies to
// everything before compression: targets of calls and jumps are absolute in the
// packed bytes and relative in the plain ones.
type branchReader struct {
	r   io.Reader
	err error
	buf []byte
	// The bytes up to ready are plain; those from there to end are still to be
	// decoded.
	from, ready, end int
	branch           branchFilter
}

var branchBuffers = sync.Pool{New: func() any { return new([1 << 16]byte) }}

func openBranch(r io.Reader) (io.Reader, func()) {
	buf := branchBuffers.Get().(*[1 << 16]byte)
	return &branchReader{r: r, buf: buf[:]}, func() { branchBuffers.Put(buf) }
}

// Read implements io.Reader.
func (b *branchReader) Read(p []byte) (int, error) {
	for len(p) > 0 && b.from == b.ready {
		switch {
		case b.err == nil:
			b.fill()
		case b.err == io.EOF && b.ready < b.end:
			b.ready = b.end // anything shorter than a branch is plain
		default:
			return 0, b.err
		}
	}
	n := copy(p, b.buf[b.from:b.ready])
	b.from += n
	return n, nil
}

func (b *branchReader) fill() {
	b.end = copy(b.buf, b.buf[b.ready:b.end])
	var n int
	n, b.err = b.r.Read(b.buf[b.end:])
	b.end += n
	b.from, b.ready = 0, b.branch.decode(b.buf[:b.end])
}

// branchBytes is the length of a call or jump: an opcode and a target.
const branchBytes = 5

// branchFilter is the state of the x86 filter between two calls of decode. A
// target is only changed if its high byte is 0 or 255 and the opcodes among the
// four bytes before it, each with a bit in recent, show that it is not inside
// another branch.
type branchFilter struct {
	at     uint32 // the position of the next byte
	last   uint32 // the position of the last opcode
	any    bool   // there was one
	recent uint32
}

// maskBytes has, for each pattern of recent opcodes, how many high bytes of the
// target belong to another branch; -1 if the target is left alone.
var maskBytes = [8]int{0, 1, 2, -1, 3, -1, -1, -1}

// decode changes data in place and returns how many bytes are final.
func (f *branchFilter) decode(data []byte) int {
	i := 0
	for i+branchBytes <= len(data) {
		if data[i]&0xfe != 0xe8 {
			i++
			continue
		}
		here := f.at + uint32(i)
		f.age(here)
		if high := data[i+4]; !outer(high) || maskBytes[f.recent>>1&7] < 0 || f.recent>>1 >= 0x10 {
			if f.recent |= 1; outer(high) {
				f.recent |= 0x10
			}
			i++
			continue
		}
		target := f.relative(binary.LittleEndian.Uint32(data[i+1:]), here+branchBytes)
		binary.LittleEndian.PutUint32(data[i+1:], target)
		f.recent = 0
		i += branchBytes
	}
	f.at += uint32(i)
	return i
}

// age shifts the recent opcodes by the number of bytes since the last one.
func (f *branchFilter) age(here uint32) {
	since := here - f.last
	if !f.any || since > branchBytes {
		f.recent = 0
	} else {
		for range since {
			f.recent = f.recent & 0x77 << 1
		}
	}
	f.last, f.any = here, true
}

// relative returns the target of a branch that ends at end, its high byte the
// sign.
func (f *branchFilter) relative(target, end uint32) uint32 {
	for {
		plain := target - end
		if f.recent != 0 {
			shift := 24 - 8*maskBytes[f.recent>>1&7]
			if outer(byte(plain >> shift)) {
				target = plain ^ (1<<(shift+8) - 1)
				continue
			}
		}
		return plain&0x1ffffff | -(plain>>24&1)<<24
	}
}

func outer(b byte) bool { return b == 0 || b == 0xff }
