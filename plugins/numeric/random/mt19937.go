package random

const (
	mtWords  = 624
	mtMiddle = 397
	mtMatrix = 0x9908b0df
	mtUpper  = 0x80000000
	mtLower  = 0x7fffffff
)

// mt19937 is the Mersenne Twister of Matsumoto and Nishimura (1998), the
// source behind both numpy's RandomState and Python's random. Its words are
// tempered block by block, so that long runs of draws read a plain array.
type mt19937 struct {
	state [mtWords]uint32 // untempered
	out   [mtWords]uint32 // tempered
	pos   int             // next word of out; mtWords asks for a new block
}

// seedWord starts the sequence from one word (init_genrand).
func (m *mt19937) seedWord(seed uint32) {
	m.state[0] = seed
	for i := 1; i < mtWords; i++ {
		prev := m.state[i-1]
		m.state[i] = 1812433253*(prev^prev>>30) + uint32(i)
	}
	m.pos = mtWords
}

// seedWords starts the sequence from a key of one word or more
// (init_by_array).
func (m *mt19937) seedWords(key []uint32) {
	m.seedWord(19650218)
	i, j := 1, 0
	for range max(mtWords, len(key)) {
		prev := m.state[i-1]
		m.state[i] = (m.state[i] ^ (prev^prev>>30)*1664525) + key[j] + uint32(j)
		i = m.wrap(i + 1)
		j = (j + 1) % len(key)
	}
	for range mtWords - 1 {
		prev := m.state[i-1]
		m.state[i] = (m.state[i] ^ (prev^prev>>30)*1566083941) - uint32(i)
		i = m.wrap(i + 1)
	}
	m.state[0] = mtUpper
	m.pos = mtWords
}

// wrap carries the last word over to the front when a seeding pass runs off
// the end of the state.
func (m *mt19937) wrap(i int) int {
	if i < mtWords {
		return i
	}
	m.state[0] = m.state[mtWords-1]
	return 1
}

// refill computes the next block of words.
func (m *mt19937) refill() {
	s := &m.state
	for i := range mtWords - mtMiddle {
		s[i] = s[i+mtMiddle] ^ twist(s[i], s[i+1])
	}
	for i := mtWords - mtMiddle; i < mtWords-1; i++ {
		s[i] = s[i+mtMiddle-mtWords] ^ twist(s[i], s[i+1])
	}
	s[mtWords-1] = s[mtMiddle-1] ^ twist(s[mtWords-1], s[0])
	for i, y := range s {
		y ^= y >> 11
		y ^= y << 7 & 0x9d2c5680
		y ^= y << 15 & 0xefc60000
		m.out[i] = y ^ y>>18
	}
	m.pos = 0
}

func twist(high, low uint32) uint32 {
	y := high&mtUpper | low&mtLower
	return y>>1 ^ -(y&1)&mtMatrix
}

func (m *mt19937) uint32() uint32 {
	if m.pos >= mtWords {
		m.refill()
	}
	y := m.out[m.pos]
	m.pos++
	return y
}

// uint64 takes the high word first.
func (m *mt19937) uint64() uint64 {
	high := uint64(m.uint32())
	return high<<32 | uint64(m.uint32())
}

// float64 is uniform on [0, 1) with 53 bits (genrand_res53).
func (m *mt19937) float64() float64 {
	a, b := m.uint32()>>5, m.uint32()>>6
	return float64(uint64(a)<<26|uint64(b)) / (1 << 53)
}
