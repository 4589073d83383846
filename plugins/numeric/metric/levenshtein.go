package metric

import (
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/mleflow/mleflow/plugins/data/pytext"
)

var levenshtein = Metric{
	Name: "levenshtein", Better: Lower, Costly: true,
	Doc:    `Mean Levenshtein distance: the fewest code points to insert, delete or replace.`,
	Source: "Levenshtein 1966; Python package Levenshtein 0.25 distance",
	Kaggle: Aliases{"Levenshtein Mean": nil},
	New:    func(Args) (Scorer, error) { return ofTexts(scoreLevenshtein), nil },
}

var sequenceErrorRate = Metric{
	Name: "sequence_error_rate", Better: Lower, Costly: true,
	Doc: `Sum of the Levenshtein distances of lists of integers, divided by the total length of the true lists; it can exceed 1.
Numbers are split at white space and read by Python's int(), of any size: 7 equals +07. Numbers with one hash in Python, a multiple of 2⁶¹-1 apart, are equal. A value that int() refuses has no score.`,
	Source: "Levenshtein 1966; error rate of the ChaLearn gesture challenge 2013; Python package Levenshtein 0.25 distance",
	Kaggle: Aliases{"Levenshtein error rate": nil},
	New:    func(Args) (Scorer, error) { return scoreSequenceErrorRate, nil },
}

var wordErrorRate = Metric{
	Name: "word_error_rate", Better: Lower, Costly: true,
	Doc: `Sum of the Levenshtein distances of words, split at white space, divided by the number of true words; it can exceed 1. With unit = "characters" it is that of code points, without white space at the ends.
With group, it is the mean over groups without weights. Missing cells have no score; cells = "filled_text" makes them empty. A group of the answers without a word is a fault of the answers.`,
	Source: "jiwer 3.0 wer, cer; metric of the Bengali.AI speech competition",
	Params: []Param{
		{Name: "unit", Kind: TextParam, Default: "words", OneOf: []string{"words", "characters"}, Doc: "what is compared"},
		{Name: "group", Kind: TextParam, Default: "", Doc: "the column of the answers whose values are the groups"},
	},
	Placeholders: Placeholders{"group": {"a"}},
	Kaggle:       Aliases{"Word Error Rate": nil, "Word Error Rate (mean over domains)": {"group": "domain"}, "Character Error Rate": {"unit": "characters"}},
	New: func(a Args) (Scorer, error) {
		return func(in Input) (Score, error) { return scoreWordErrorRate(in, a) }, nil
	},
}

func scoreWordErrorRate(in Input, a Args) (Score, error) {
	truth, pred, err := textPair(in)
	if err != nil {
		return Score{}, err
	}
	edits, lengths := make([]int, len(truth)), make([]int, len(truth))
	inParallel(len(truth), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			edits[i], lengths[i] = editsOf(truth[i], pred[i], a.text("unit") == "words")
		}
	})
	groups := map[string][]int{"": rowsOf(len(truth))}
	if name := a.text("group"); name != "" {
		if groups, err = rowsByGroup(in.answers(name)); err != nil {
			return Score{}, err
		}
	}
	var rates []float64
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		wrong, length := 0, 0
		for _, i := range groups[name] {
			wrong, length = wrong+edits[i], length+lengths[i]
		}
		if length == 0 {
			return Score{}, fmt.Errorf("answers: there is no word in group %s", strconv.Quote(name))
		}
		rates = append(rates, float64(wrong)/float64(length))
	}
	return Score{Value: Mean(rates)}, nil
}

// editsOf returns the distance of two texts by words or characters, and the first one's length.
func editsOf(truth, pred string, words bool) (edits, length int) {
	if words {
		t := pytext.Fields(truth)
		return levenshteinOf(t, pytext.Fields(pred)), len(t)
	}
	t := []rune(pytext.Strip(truth))
	return levenshteinOf(t, []rune(pytext.Strip(pred))), len(t)
}

func scoreLevenshtein(truth, pred []string) (Score, error) {
	each := make([]float64, len(truth))
	inParallel(len(truth), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			each[i] = float64(levenshteinOf([]rune(truth[i]), []rune(pred[i])))
		}
	})
	return Score{Value: Mean(each)}, nil
}

func scoreSequenceErrorRate(in Input) (Score, error) {
	truth, pred, err := textPair(in)
	if err != nil {
		return Score{}, err
	}
	edits, length := 0, 0
	for i := range truth {
		t, bad := pythonInts(truth[i])
		if bad != "" {
			return Score{}, unscorable("the answers of row %d are not a list of integers", i+1)
		}
		p, bad := pythonInts(pred[i])
		if bad != "" {
			return Score{}, unscorable("column %q: row %d: %s is not an integer", in.Targets[0], i+1, quote(bad))
		}
		edits += levenshteinOf(hashes(t), hashes(p))
		length += len(t)
	}
	return Score{Value: float64(edits) / float64(length)}, nil
}

// hashModulus is the prime by which 64-bit CPython takes the hash of a number.
const hashModulus = 1<<61 - 1

// hashes returns what the package Levenshtein compares numbers by: their hash in
// Python, but -1 for -1, whose hash is that of -2.
func hashes(list []string) []int64 {
	out := make([]int64, len(list))
	for i, number := range list {
		digits := strings.TrimPrefix(number, "-")
		rest := uint64(0)
		for _, d := range []byte(digits) {
			hi, lo := bits.Mul64(rest, 10)
			lo, carry := bits.Add64(lo, uint64(d-'0'), 0)
			rest = bits.Rem64(hi+carry, lo, hashModulus)
		}
		if out[i] = int64(rest); digits != number {
			out[i] = -out[i]
		}
		if out[i] == -1 && number != "-1" {
			out[i] = -2
		}
	}
	return out
}

// pythonInts reads a list of Python ints as their shortest decimal texts;
// bad is the first word that is none.
func pythonInts(cell string) (list []string, bad string) {
	for _, w := range pytext.Fields(cell) {
		digits, ok := pytext.Digits(w)
		if !ok {
			return nil, w
		}
		sign := ""
		if strings.HasPrefix(digits, "-") {
			sign = "-"
		}
		digits = strings.TrimLeft(strings.TrimLeft(digits, "+-"), "0")
		if digits == "" {
			sign, digits = "", "0"
		}
		list = append(list, sign+digits)
	}
	return list, ""
}

// levenshteinOf returns the smallest number of elements to insert, delete or
// replace that turns a into b. It works on 64 elements of a at a time (Myers
// 1999, in the form of Hyyrö 2003), after equal ends are cut off.
func levenshteinOf[T comparable](a, b []T) int {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(a) == 0 {
		return len(b)
	}
	blocks := (len(a) + 63) / 64
	places := make(map[T][]uint64, len(a))
	for i, x := range a {
		if places[x] == nil {
			places[x] = make([]uint64, blocks)
		}
		places[x][i/64] |= 1 << (i % 64)
	}
	return bitParallel(len(a), blocks, b, places)
}

// bitParallel runs down the table of distances column by column. Bit i of up
// (down) says that the distance grows (falls) by one from row i-1 to row i.
func bitParallel[T comparable](length, blocks int, b []T, places map[T][]uint64) int {
	up, down := slices.Repeat([]uint64{^uint64(0)}, blocks), make([]uint64, blocks)
	none := make([]uint64, blocks)
	last := uint64(1) << ((length - 1) % 64)
	distance := length
	for _, x := range b {
		match := places[x]
		if match == nil {
			match = none
		}
		step := 1 // from the left along the top row: it always grows
		for k := range blocks {
			bottom := uint64(1) << 63
			if k == blocks-1 {
				bottom = last
			}
			step = advance(&up[k], &down[k], match[k], bottom, step)
		}
		distance += step
	}
	return distance
}

// advance moves one block a column to the right; step is the change along its
// upper edge, the result that along its lower edge.
func advance(up, down *uint64, match, bottom uint64, step int) int {
	across := match | *down
	if step < 0 {
		match |= 1
	}
	diagonal := (((match & *up) + *up) ^ *up) | match
	grow := *down | ^(diagonal | *up)
	fall := *up & diagonal
	out := 0
	if grow&bottom != 0 {
		out = 1
	}
	if fall&bottom != 0 {
		out = -1
	}
	grow, fall = grow<<1, fall<<1
	if step < 0 {
		fall |= 1
	}
	if step > 0 {
		grow |= 1
	}
	*up = fall | ^(across | grow)
	*down = grow & across
	return out
}
