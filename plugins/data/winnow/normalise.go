package winnow

import (
	"hash/fnv"
	"slices"

	"github.com/mleflow/mleflow/plugins/data/pysource"
)

// token is a normalised token.
type token struct {
	code uint32 // hash of what it is
	line int32  // index of its line in the file
}

// codes of what is normalised.
var (
	nameCode    = code("name")
	literalCode = code("literal")
	commaCode   = code("op ,")
)

func code(text string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(text))
	return h.Sum32()
}

// normalise returns the tokens that stand for a file.
//
// Names are all the same, but for an attribute that the code does not define
// (local): that is what a library is asked for. Literals are the same, and a
// list of them is one. Left out are line breaks, imports, strings that are
// statements (docstrings), calls of print that are statements, and commas
// before a closing bracket.
func normalise(tokens []pysource.Token, local map[string]bool) []token {
	var out []token
	for len(tokens) > 0 {
		n := 0
		for n < len(tokens) && tokens[n].Kind != pysource.Newline {
			n++
		}
		if statement := tokens[:n]; !idle(statement) {
			out = appendStatement(out, statement, local)
		}
		tokens = tokens[min(n+1, len(tokens)):]
	}
	return out
}

// idle reports whether a logical line is left out.
func idle(s []pysource.Token) bool {
	if len(s) == 0 {
		return true
	}
	switch first := s[0]; {
	case first.Kind == pysource.Keyword && (first.Text == "import" || first.Text == "from"):
		return true
	case first.Kind == pysource.Name && first.Text == "print":
		return len(s) > 1 && s[1].Text == "(" && s[len(s)-1].Text == ")"
	}
	return !slices.ContainsFunc(s, func(t pysource.Token) bool { return t.Kind != pysource.String })
}

func appendStatement(out []token, s []pysource.Token, local map[string]bool) []token {
	begin := len(out)
	for i, t := range s {
		c := codeOf(s, i, local)
		if t.Kind == pysource.Op && len(out) > begin && out[len(out)-1].code == commaCode && (t.Text == ")" || t.Text == "]" || t.Text == "}") {
			out = out[:len(out)-1]
		}
		if n := len(out) - begin; c == literalCode && n > 0 {
			last := out[len(out)-1].code
			if last == literalCode {
				continue // strings side by side are one
			}
			if n > 1 && last == commaCode && out[len(out)-2].code == literalCode {
				out = out[:len(out)-1]
				continue
			}
		}
		out = append(out, token{c, int32(t.Line)})
	}
	return out
}

func codeOf(s []pysource.Token, i int, local map[string]bool) uint32 {
	switch t := s[i]; t.Kind {
	case pysource.Number, pysource.String:
		return literalCode
	case pysource.Name:
		if i > 0 && s[i-1].Text == "." && s[i-1].Kind == pysource.Op && !local[t.Text] {
			return code("." + t.Text)
		}
		return nameCode
	case pysource.Keyword:
		if t.Text == "True" || t.Text == "False" || t.Text == "None" {
			return literalCode
		}
		return code("keyword " + t.Text)
	default:
		return code("op " + t.Text)
	}
}

// define adds the names that code gives itself: functions, classes, and
// attributes that it assigns.
func define(local map[string]bool, tokens []pysource.Token) {
	for i, t := range tokens {
		if t.Kind != pysource.Name || i == 0 {
			continue
		}
		before := tokens[i-1]
		switch {
		case before.Kind == pysource.Keyword && (before.Text == "def" || before.Text == "class"):
			local[t.Text] = true
		case before.Text == "." && i+1 < len(tokens) && tokens[i+1].Kind == pysource.Op && assigns(tokens[i+1].Text):
			local[t.Text] = true
		}
	}
}

func assigns(op string) bool { return op == "=" || op == ":" || op == "+=" || op == "-=" }

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
