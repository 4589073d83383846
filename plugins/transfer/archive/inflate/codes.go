package inflate

import (
	"math/bits"
	"sync"
)

// An entry of a table says in its lowest four bits how many bits of the input it
// takes, in the next two how many literals it gives, and then what else it is.
const (
	literals = 3 << 4

	kind       = 15 << 4 // with no literals
	length     = 0 << 6  // a base and the number of bits to add to it
	endOfBlock = 1 << 6
	subtable   = 2 << 6 // where it begins and how many bits it is looked up with
	invalid    = 3 << 6
)

// Literals are in the bytes above, the first lowest. A length has its base, and a
// table its begin, in bits 8 to 19, and a number of bits above. A distance has its
// base in bits 8 to 23 and its number of bits above; so has a table of distances.
const (
	litBits  = 11
	litMask  = 1<<litBits - 1
	distBits = 8
	distMask = 1<<distBits - 1
	// litSize and distSize are the largest tables with their subtables that complete
	// codes of at most 15 bits have, as zlib's enough.c counts them.
	litSize  = 2342
	distSize = 402

	maxLit, maxDist = 286, 30
	maxBits         = 15
)

// codes are the tables of a block.
type codes struct {
	lit  [litSize]uint32
	dist [distSize]uint32
}

var litSymbols, distSymbols = symbols()

// symbols returns the entries of all symbols without their number of bits.
func symbols() (lit [288]uint32, dist [32]uint32) {
	for i := range lit {
		switch {
		case i < 256:
			lit[i] = uint32(i)<<8 | 1<<4
		case i == 256:
			lit[i] = endOfBlock
		default:
			lit[i] = invalid
		}
	}
	base := uint32(3)
	for i := range uint32(28) {
		extra := uint32(0)
		if i >= 8 {
			extra = i/4 - 1
		}
		lit[257+i] = length | base<<8 | extra<<20
		base += 1 << extra
	}
	lit[285] = length | maxMatch<<8
	base = 1
	for i := range uint32(32) {
		if i >= maxDist {
			dist[i] = invalid
			continue
		}
		extra := uint32(0)
		if i >= 4 {
			extra = i/2 - 1
		}
		dist[i] = length | base<<8 | extra<<24
		base += 1 << extra
	}
	return lit, dist
}

var fixed = sync.OnceValue(func() *codes {
	var lengths [288]uint8
	for i := range lengths {
		switch {
		case i < 144:
			lengths[i] = 8
		case i < 256:
			lengths[i] = 9
		case i < 280:
			lengths[i] = 7
		default:
			lengths[i] = 8
		}
	}
	c := new(codes)
	build(c.lit[:], litBits, 20, lengths[:], litSymbols[:])
	join(&c.lit)
	var five [32]uint8
	for i := range five {
		five[i] = 5
	}
	build(c.dist[:], distBits, 24, five[:], distSymbols[:])
	return c
})

// order is that in which the lengths of the code of lengths come.
var order = [19]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

// preBits are the bits of the table of the code of lengths.
const preBits = 7

var preSymbols = func() (s [19]uint32) {
	for i := range s {
		s[i] = uint32(i) << 8
	}
	return s
}()

// readCodes reads the codes of a block.
func (d *decoder) readCodes() error {
	if err := d.need(14); err != nil {
		return err
	}
	nlit, ndist, npre := int(d.take(5))+257, int(d.take(5))+1, int(d.take(4))+4
	if nlit > maxLit || ndist > maxDist {
		return ErrCorrupt
	}
	var pre [19]uint8
	for _, i := range order[:npre] {
		if err := d.need(3); err != nil {
			return err
		}
		pre[i] = uint8(d.take(3))
	}
	table := d.own.lit[:1<<preBits]
	if !build(table, preBits, 0, pre[:], preSymbols[:]) {
		return ErrCorrupt
	}
	var all [maxLit + maxDist + 138]uint8
	for i := 0; i < nlit+ndist; {
		_ = d.need(preBits + 7)
		e := table[d.bits&(1<<preBits-1)]
		if e&kind == invalid {
			return ErrCorrupt
		}
		if err := d.consume(uint64(e & 15)); err != nil {
			return err
		}
		v := uint8(e >> 8)
		if v < 16 {
			all[i] = v
			i++
			continue
		}
		value, base, extra := uint8(0), 3, uint64(3)
		switch v {
		case 16:
			if i == 0 {
				return ErrCorrupt
			}
			value, extra = all[i-1], 2
		case 18:
			base, extra = 11, 7
		}
		n, err := d.number(base, extra)
		if err != nil {
			return err
		}
		if i+n > nlit+ndist {
			return ErrCorrupt
		}
		for range n {
			all[i] = value
			i++
		}
	}
	c := &d.own
	if !build(c.lit[:], litBits, 20, all[:nlit], litSymbols[:]) || !build(c.dist[:], distBits, 24, all[nlit:nlit+ndist], distSymbols[:]) {
		return ErrCorrupt
	}
	join(&c.lit)
	return nil
}

// build fills a table of a canonical code, which is looked up with width bits, and
// reports whether the code is complete, or one that compress/flate takes, too: no
// symbol, or one symbol of one bit. at is the place of a subtable's number of bits.
func build(table []uint32, width uint, at uint, lengths []uint8, symbols []uint32) bool {
	var counts, next [maxBits + 2]uint
	longest := uint(0)
	for _, n := range lengths {
		counts[n]++
		longest = max(longest, uint(n))
	}
	counts[0] = 0
	code := uint(0)
	for n := uint(1); n <= longest; n++ {
		code <<= 1
		next[n] = code
		code += counts[n]
	}
	switch {
	case code == 1<<longest && longest > 0:
	case longest == 0, code == 1 && longest == 1:
		for i := range table[:1<<width] {
			table[i] = invalid
		}
	default:
		return false
	}
	// Subtables follow the table, those of codes with the same first bits together:
	// canonical codes come in this order.
	end, prefix, room := uint(1)<<width, uint(0), uint(0)
	var sorted [288]uint16
	starts := [maxBits + 2]uint{}
	for n := uint(1); n <= longest; n++ {
		starts[n+1] = starts[n] + counts[n]
	}
	total := starts[longest+1]
	for s, n := range lengths {
		if n > 0 {
			sorted[starts[n]] = uint16(s)
			starts[n]++
		}
	}
	begin := uint(0)
	for _, s := range sorted[:total] {
		n := uint(lengths[s])
		c := next[n]
		next[n]++
		reversed := uint(bits.Reverse16(uint16(c))) >> (16 - n)
		if n <= width {
			e := symbols[s] | uint32(n)
			for i := reversed; i < 1<<width; i += 1 << n {
				table[i] = e
			}
			continue
		}
		low := reversed & (1<<width - 1)
		if room == 0 || low != prefix {
			// As many bits as it takes until all codes that begin like this fit.
			prefix, begin, room = low, end, n-width
			for left := 1 << room; ; left <<= 1 {
				if left -= int(counts[width+room]); left <= 0 || width+room == longest {
					break
				}
				room++
			}
			end = begin + 1<<room
			table[low] = subtable | uint32(width) | uint32(begin)<<8 | uint32(room)<<at
		}
		counts[n]-- // those that are left
		e := symbols[s] | uint32(n-width)
		for i := reversed >> width; i < 1<<room; i += 1 << (n - width) {
			table[begin+i] = e
		}
	}
	return true
}

// join puts literals together that one look can give.
func join(table *[litSize]uint32) {
	for i := litMask; i >= 0; i-- { // what is joined is below i, or i itself
		e := table[i]
		if e&literals == 0 {
			continue
		}
		used, n := e&15, uint32(1)
		out := e >> 8 & 0xff
		for n < 3 {
			next := table[uint32(i)>>used]
			if i>>used == i {
				next = e
			}
			if next&literals != 1<<4 || used+next&15 > litBits {
				break
			}
			out |= next >> 8 & 0xff << (8 * n)
			used += next & 15
			n++
		}
		table[i] = out<<8 | n<<4 | used
	}
}
