package random

import "math/bits"

// pcg64 is PCG XSL-RR 128/64 (O'Neill 2014) with numpy's buffering: a 64-bit
// word serves two 32-bit draws, low half first, and 64-bit draws in between
// leave the waiting half in place.
type pcg64 struct {
	high, low       uint64 // state
	incHigh, incLow uint64
	half            uint32
	hasHalf         bool
}

const (
	pcgMultHigh = 2549297995355413924
	pcgMultLow  = 4865540595714422341
)

// seed takes four words: the state and the stream, high word first.
func (p *pcg64) seed(w []uint64) {
	*p = pcg64{incHigh: w[2]<<1 | w[3]>>63, incLow: w[3]<<1 | 1}
	p.step()
	var carry uint64
	p.low, carry = bits.Add64(p.low, w[1], 0)
	p.high, _ = bits.Add64(p.high, w[0], carry)
	p.step()
}

func (p *pcg64) step() {
	high, low := bits.Mul64(p.low, pcgMultLow)
	high += p.high*pcgMultLow + p.low*pcgMultHigh
	var carry uint64
	p.low, carry = bits.Add64(low, p.incLow, 0)
	p.high, _ = bits.Add64(high, p.incHigh, carry)
}

func (p *pcg64) uint64() uint64 {
	p.step()
	return bits.RotateLeft64(p.high^p.low, -int(p.high>>58))
}

func (p *pcg64) uint32() uint32 {
	if p.hasHalf {
		p.hasHalf = false
		return p.half
	}
	w := p.uint64()
	p.half, p.hasHalf = uint32(w>>32), true
	return uint32(w)
}

func (p *pcg64) float64() float64 {
	return float64(p.uint64()>>11) / (1 << 53)
}
