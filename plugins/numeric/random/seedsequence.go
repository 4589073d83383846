package random

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

// seedSequence is numpy's SeedSequence(entropy) without spawn keys: it
// spreads an integer over a pool of words from which generators are seeded.
type seedSequence struct {
	pool [poolWords]uint32
	hash uint32 // the running multiplier of hashmix
}

// newSeedSequence mixes entropy, the seed in 32-bit words, least significant
// first, into the pool.
func newSeedSequence(entropy []uint32) *seedSequence {
	s := &seedSequence{hash: hashInitA}
	for i := range s.pool {
		var word uint32
		if i < len(entropy) {
			word = entropy[i]
		}
		s.pool[i] = s.hashmix(word)
	}
	for src := range s.pool {
		for dst := range s.pool {
			if src != dst {
				s.pool[dst] = mix(s.pool[dst], s.hashmix(s.pool[src]))
			}
		}
	}
	for _, word := range entropy[min(poolWords, len(entropy)):] {
		for dst := range s.pool {
			s.pool[dst] = mix(s.pool[dst], s.hashmix(word))
		}
	}
	return s
}

func (s *seedSequence) hashmix(v uint32) uint32 {
	v ^= s.hash
	s.hash *= hashMultA
	v *= s.hash
	return v ^ v>>mixShift
}

func mix(x, y uint32) uint32 {
	v := mixMultL*x - mixMultR*y
	return v ^ v>>mixShift
}

// generate is generate_state(n, uint64).
func (s *seedSequence) generate(n int) []uint64 {
	out := make([]uint64, n)
	hash := uint32(hashInitB)
	for i := range 2 * n {
		v := s.pool[i%poolWords] ^ hash
		hash *= hashMultB
		v *= hash
		v ^= v >> mixShift
		out[i/2] |= uint64(v) << (32 * (i % 2))
	}
	return out
}

// words32 is seed in 32-bit words, least significant first; 0 has one word.
func words32(seed uint64) []uint32 {
	if seed>>32 == 0 {
		return []uint32{uint32(seed)}
	}
	return []uint32{uint32(seed), uint32(seed >> 32)}
}
