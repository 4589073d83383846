package winnow

import (
	"cmp"
	"math"
	"slices"

	"github.com/mleflow/mleflow/plugins/data/pysource"
)

// Match measures the code that a document of the database shares with the
// compared code.
type Match struct {
	// Document is that of the database.
	Document string `json:"document"`
	// Copied is the containment of the document in the code: how much of it is
	// there. Owed is that of the code in the document: how much of the code is
	// from it. Both are between 0 and 1.
	Copied float64 `json:"copied"`
	Owed   float64 `json:"owed"`
	// Shared are the fingerprints that both have, Theirs those of the document
	// and Ours those of the code, without boilerplate.
	Shared int `json:"shared"`
	Theirs int `json:"theirs"`
	Ours   int `json:"ours"`
	// Longest is the longest run of tokens that both have.
	Longest Fragment `json:"longest"`
}

// Containment is the larger of both.
func (m Match) Containment() float64 { return max(m.Copied, m.Owed) }

// Fragment is a run of tokens that two documents have in common.
type Fragment struct {
	Tokens int  `json:"tokens"`
	Ours   Side `json:"ours"`
	Theirs Side `json:"theirs"`
}

// Side is one of the two places of a fragment.
type Side struct {
	File  string `json:"file"`
	Place string `json:"place"` // of the first line, for people
	First int    `json:"first"` // line, from 1; of a notebook among the lines of all code cells
	Last  int    `json:"last"`
	// Text are the lines, shortened; empty if the database has no code.
	Text string `json:"text,omitempty"`
}

// Comparison is a piece of code compared with a database.
type Comparison struct {
	// Tokens are the tokens of the code, Prints its fingerprints, and Common
	// those of them that are boilerplate.
	Tokens int `json:"tokens"`
	Prints int `json:"fingerprints"`
	Common int `json:"boilerplate"`
	// Covered is the share of the code's fingerprints that any document has.
	Covered float64 `json:"covered"`
	// Matches are the documents that share something, the most copied first.
	Matches []Match `json:"matches"`
}

// place of a gram.
type place struct {
	file int32
	at   int32
}

// index are the places of the fingerprints of a document.
type index map[uint64][]place

// maxPlaces is how many places of one fingerprint are kept for the longest
// fragment. Code that repeats itself has many.
const maxPlaces = 8

func (m Method) index(d *Document) index {
	idx := index{}
	for i, f := range d.Files {
		for _, p := range m.prints(f.Tokens) {
			if len(idx[p.hash]) < maxPlaces {
				idx[p.hash] = append(idx[p.hash], place{int32(i), p.at})
			}
		}
	}
	return idx
}

// minCommon is the least number of documents that makes a fingerprint
// boilerplate, however few documents there are.
const minCommon = 4

// Comparer compares code with a database.
type Comparer struct {
	db      *Database
	indexes []index
	common  map[uint64]bool
}

// NewComparer indexes a database.
func NewComparer(db *Database) *Comparer {
	c := &Comparer{db: db, common: map[uint64]bool{}}
	counts := map[uint64]int{}
	for _, d := range db.Documents {
		idx := db.Method.index(d)
		for hash := range idx {
			counts[hash]++
		}
		c.indexes = append(c.indexes, idx)
	}
	least := max(minCommon, int(math.Ceil(float64(db.Common*float64(len(db.Documents))))))
	for hash, n := range counts {
		if n >= least {
			c.common[hash] = true
		}
	}
	for _, idx := range c.indexes {
		for hash := range idx {
			if c.common[hash] {
				delete(idx, hash)
			}
		}
	}
	return c
}

// Compare compares code with every document of the database.
func (c *Comparer) Compare(code *Document) Comparison {
	ours := c.db.Method.index(code)
	out := Comparison{Tokens: code.Tokens(), Prints: len(ours), Matches: []Match{}}
	for hash := range ours {
		if c.common[hash] {
			delete(ours, hash)
			out.Common++
		}
	}
	covered := map[uint64]bool{}
	for i, theirs := range c.indexes {
		var shared []uint64
		for hash := range theirs {
			if _, ok := ours[hash]; ok {
				shared = append(shared, hash)
				covered[hash] = true
			}
		}
		if len(shared) > 0 {
			out.Matches = append(out.Matches, c.match(code, ours, i, shared))
		}
	}
	if len(ours) > 0 {
		out.Covered = float64(len(covered)) / float64(len(ours))
	}
	slices.SortFunc(out.Matches, func(a, b Match) int {
		return cmp.Or(cmp.Compare(b.Containment(), a.Containment()), cmp.Compare(b.Shared, a.Shared), cmp.Compare(a.Document, b.Document))
	})
	return out
}

func (c *Comparer) match(code *Document, ours index, document int, shared []uint64) Match {
	d, theirs := c.db.Documents[document], c.indexes[document]
	m := Match{Document: d.Name, Shared: len(shared), Theirs: len(theirs), Ours: len(ours)}
	m.Copied, m.Owed = float64(m.Shared)/float64(m.Theirs), float64(m.Shared)/float64(m.Ours)
	slices.Sort(shared) // so that of fragments of one length always the same is told
	m.Longest = longest(code, ours, d, theirs, shared)
	return m
}

// diagonal are the alignments of two files that are the same shift.
type diagonal struct{ ours, theirs, shift int32 }

// longest extends every shared fingerprint as far as the tokens agree.
func longest(code *Document, ours index, d *Document, theirs index, shared []uint64) Fragment {
	var best run
	done := map[diagonal][][2]int32{} // what was found there, by our tokens
	for _, hash := range shared {
		for _, a := range ours[hash] {
		next:
			for _, b := range theirs[hash] {
				on := diagonal{a.file, b.file, a.at - b.at}
				for _, seen := range done[on] {
					if a.at >= seen[0] && a.at < seen[1] {
						continue next
					}
				}
				r := extend(code.Files[a.file].Tokens, d.Files[b.file].Tokens, a, b)
				done[on] = append(done[on], [2]int32{r.a.at, r.a.at + int32(r.n)})
				if r.n > best.n || r.n == best.n && (r.a.file < best.a.file || r.a.file == best.a.file && r.a.at < best.a.at) {
					best = r
				}
			}
		}
	}
	return Fragment{Tokens: best.n, Ours: side(code, best.a, best.n), Theirs: side(d, best.b, best.n)}
}

// run is a common run of n tokens.
type run struct {
	a, b place
	n    int
}

func extend(x, y []token, a, b place) run {
	r := run{a: a, b: b}
	for r.a.at > 0 && r.b.at > 0 && x[r.a.at-1].code == y[r.b.at-1].code {
		r.a.at--
		r.b.at--
	}
	for int(r.a.at)+r.n < len(x) && int(r.b.at)+r.n < len(y) && x[int(r.a.at)+r.n].code == y[int(r.b.at)+r.n].code {
		r.n++
	}
	return r
}

// shownLines is how many lines of a fragment are shown.
const shownLines = 12

func side(d *Document, at place, n int) Side {
	f := &d.Files[at.file]
	if n == 0 || len(f.Tokens) == 0 {
		return Side{File: f.Name}
	}
	first, last := int(f.Tokens[at.at].line), int(f.Tokens[int(at.at)+n-1].line)
	s := Side{File: f.Name, Place: f.Place(first), First: first + 1, Last: last + 1}
	if len(f.Lines) > 0 {
		s.Text = (&pysource.Source{Lines: f.Lines}).Excerpt(first, last, shownLines)
	}
	return s
}

// The thresholds of Suspicious.
const (
	// leastContainment is well above that of unrelated code, and half of that
	// of half a document copied with changes.
	leastContainment = 0.20
	leastShared      = 8
	leastRun         = 40 // tokens, about five lines
)

// Suspicious reports whether a match deserves a look: a fifth of one side is in
// the other, with at least 8 fingerprints and a run of 40 tokens. It is a
// threshold of attention, not a verdict.
func (m Match) Suspicious() bool {
	return m.Containment() >= leastContainment && m.Shared >= leastShared && m.Longest.Tokens >= leastRun
}
