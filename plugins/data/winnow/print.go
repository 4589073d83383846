package winnow

// Method are the numbers that fingerprints depend on.
type Method struct {
	// Gram is the number of tokens of a hash, Window the number of hashes of
	// which one is kept.
	Gram   int `json:"gram"`
	Window int `json:"window"`
	// Distinct is how many different tokens a gram must have.
	Distinct int `json:"distinct"`
}

// Default is the method of new databases.
var Default = Method{Gram: 20, Window: 12, Distinct: 7}

// DefaultCommon is the share of documents from which on a fingerprint is
// boilerplate.
const DefaultCommon = 0.25

// print is a fingerprint and where its gram begins.
type print struct {
	hash uint64
	at   int32 // index of the token
}

// base of the rolling hash, an odd number without structure.
const base = 0x9E3779B97F4A7C15

// prints returns the fingerprints of a stream, in its order.
func (m Method) prints(tokens []token) []print {
	n := len(tokens) - m.Gram + 1
	if n <= 0 {
		return nil
	}
	grams := m.grams(tokens)
	var out []print
	best := -1 // index of the smallest in the window
	for i := range n {
		// The window ends at i. Short streams are one window.
		first := max(i-m.Window+1, 0)
		switch {
		case best < first:
			best = first
			for j := first + 1; j <= i; j++ {
				if grams[j] <= grams[best] {
					best = j
				}
			}
		case grams[i] <= grams[best]:
			best = i
		}
		full := i >= m.Window-1 || i == n-1
		if full && grams[best] != none && (len(out) == 0 || out[len(out)-1].at != int32(best)) {
			out = append(out, print{grams[best], int32(best)})
		}
	}
	return out
}

// none is the hash of a gram that says nothing. It is the largest, so that it is
// chosen only where there is no other.
const none = ^uint64(0)

// grams hashes every run of Gram tokens. The hashes of neighbors are mixed, so that
// the choice of the smallest does not depend on the kind of code.
func (m Method) grams(tokens []token) []uint64 {
	out := make([]uint64, len(tokens)-m.Gram+1)
	counts := map[uint32]int{}
	var hash, top uint64 = 0, 1
	for range m.Gram {
		top *= base
	}
	for i, t := range tokens {
		hash = hash*base + uint64(t.code)
		counts[t.code]++
		if i >= m.Gram {
			old := tokens[i-m.Gram].code
			hash -= top * uint64(old)
			if counts[old]--; counts[old] == 0 {
				delete(counts, old)
			}
		}
		if at := i - m.Gram + 1; at >= 0 {
			out[at] = none
			if len(counts) >= m.Distinct {
				out[at] = min(mix(hash), none-1)
			}
		}
	}
	return out
}

// mix is the finaliser of SplitMix64.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}
