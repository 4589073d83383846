package random

import "math/bits"

// Generator is numpy's Generator as default_rng(seed) makes it, on PCG XSL-RR 128/64
// (O'Neill 2014) seeded by SeedSequence. numpy has not changed its stream of doubles
// since 1.18. It is not safe for use by several goroutines at once.
type Generator struct {
	high, low       uint64 // state
	incHigh, incLow uint64
}

// NewGenerator is numpy.random.default_rng(seed).
func NewGenerator(seed uint64) *Generator {
	w := seedSequence(seed) // the state and the stream, high word first
	g := &Generator{incHigh: w[2]<<1 | w[3]>>63, incLow: w[3]<<1 | 1}
	g.step()
	var carry uint64
	g.low, carry = bits.Add64(g.low, w[1], 0)
	g.high, _ = bits.Add64(g.high, w[0], carry)
	g.step()
	return g
}

// Uniform is uniform(low, high).
func (g *Generator) Uniform(low, high float64) float64 {
	g.step()
	word := bits.RotateLeft64(g.high^g.low, -int(g.high>>58))
	return low + float64((high-low)*(float64(word>>11)/(1<<53)))
}

const (
	pcgMultHigh = 2549297995355413924
	pcgMultLow  = 4865540595714422341
)

func (g *Generator) step() {
	high, low := bits.Mul64(g.low, pcgMultLow)
	high += g.high*pcgMultLow + g.low*pcgMultHigh
	var carry uint64
	g.low, carry = bits.Add64(low, g.incLow, 0)
	g.high, _ = bits.Add64(high, g.incHigh, carry)
}

// SeedSequence constants, from numpy.random.bit_generator and, before it,
// O'Neill's randutils (2015).
const (
	poolWords = 4
	hashInitA = 0x43b0d7e5
	hashMultA = 0x931e8875
	hashInitB = 0x8b51f9dd
	hashMultB = 0x58f38ded
	mixMultL  = 0xca01f9dd
	mixMultR  = 0x4973f715
	mixShift  = 16
)

// seedSequence is numpy's SeedSequence(seed).generate_state(4, uint64): it spreads an
// integer over a pool of words, from which generators are seeded.
func seedSequence(seed uint64) (out [4]uint64) {
	hash := uint32(hashInitA) // the running multiplier of hashmix
	hashmix := func(v uint32) uint32 {
		v ^= hash
		hash *= hashMultA
		v *= hash
		return v ^ v>>mixShift
	}
	pool := [poolWords]uint32{uint32(seed), uint32(seed >> 32)}
	for i, word := range pool {
		pool[i] = hashmix(word)
	}
	for src := range pool {
		for dst := range pool {
			if src != dst {
				pool[dst] = mix(pool[dst], hashmix(pool[src]))
			}
		}
	}
	hash = hashInitB
	for i := range 2 * len(out) {
		v := pool[i%poolWords] ^ hash
		hash *= hashMultB
		v *= hash
		v ^= v >> mixShift
		out[i/2] |= uint64(v) << (32 * (i % 2))
	}
	return out
}

func mix(x, y uint32) uint32 {
	v := mixMultL*x - mixMultR*y
	return v ^ v>>mixShift
}
