package metric

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mleflow/mleflow/plugins/data/pytext"
	"github.com/mleflow/mleflow/plugins/data/table"
)

// A Mask is a set of pixels, numbered from 0, of a picture with Size pixels:
// ascending runs [from, to) that do not touch twice.
type mask struct {
	Size int
	Runs [][2]int
}

// decodeRLE reads a mask written as pairs "start length" in white space,
// counted from 1. Blank text is the empty mask. Numbers are read as Python's
// int() reads them. Starts must not descend, starts and lengths be positive,
// and runs not overlap; runs are cut at the picture's end. Of an odd number of
// words, one gives the empty mask, three use the only length for both starts,
// and more are refused, as arrays of those lengths combine in numpy.
func decodeRLE(text string, size int) (mask, error) {
	starts, lengths, err := readRuns(text)
	if err != nil {
		return mask{}, err
	}
	out := mask{Size: size, Runs: make([][2]int, 0, len(starts))}
	end := 0
	for i, start := range starts {
		lo := start - 1
		hi := size
		if lengths[i] < size-lo {
			hi = lo + lengths[i]
		}
		if lo >= size || lengths[i] == 0 {
			continue
		}
		if lo < end {
			return mask{}, fmt.Errorf("runs overlap at %d", start)
		}
		out.Runs = append(out.Runs, [2]int{lo, hi})
		end = hi
	}
	return out, nil
}

func readRuns(text string) (starts, lengths []int, err error) {
	if starts, lengths, ok := plainRuns(text); ok {
		return starts, lengths, nil
	}
	var widths [2]width
	for i, w := range pytext.Fields(text) {
		n, bits, ok := pixelNumber(w)
		if !ok {
			return nil, nil, fmt.Errorf("%s is not an integer", quote(w))
		}
		if n <= 0 {
			return nil, nil, fmt.Errorf("%d is not positive", n)
		}
		if widths[i%2] |= bits; i%2 == 0 {
			starts = append(starts, int(n))
		} else {
			lengths = append(lengths, int(n))
		}
	}
	switch {
	case !slices.IsSorted(starts):
		return nil, nil, fmt.Errorf("starts are not ascending")
	case len(starts) == 1 && len(lengths) == 0:
		return nil, nil, nil
	case len(starts) == 2 && len(lengths) == 1:
		lengths = append(lengths, lengths[0])
	case len(starts) != len(lengths):
		return nil, nil, fmt.Errorf("a start has no length")
	}
	return starts, lengths, wrapRuns(starts, lengths, widths)
}

// width is a set: what the numbers of a list need in numpy.
type width int

const (
	int64s  width = 1 << iota
	uint64s       // more than an int64 holds
	longs         // more than 64 bits hold
)

// wrapRuns does to numbers beyond any picture what numpy does. An int64 and a
// uint64 meet as floats, which cannot number pixels; a run whose end is more
// than an int64 holds is empty.
func wrapRuns(starts, lengths []int, widths [2]width) error {
	switch a, b := widths[0], widths[1]; {
	case len(starts) == 0:
	case a == int64s|uint64s, b == int64s|uint64s, (a|b)&longs == 0 && a != b:
		return fmt.Errorf("a number is beyond 63 bits")
	case a == int64s && b == int64s:
		for i, start := range starts {
			if lengths[i] > math.MaxInt64-(start-1) {
				lengths[i] = 0
			}
		}
	}
	return nil
}

// plainRuns reads what nearly all masks are: pairs of digits and single
// blanks, starts ascending. Anything else is left to readRuns.
func plainRuns(text string) (starts, lengths []int, ok bool) {
	pairs := (strings.Count(text, " ") + 1) / 2
	both := make([]int, 2*pairs)
	starts, lengths = both[:0:pairs], both[pairs:pairs:2*pairs]
	n, last, count := 0, 0, 0
	for i := 0; i <= len(text); i++ {
		if i < len(text) && '0' <= text[i] && text[i] <= '9' {
			if n = n*10 + int(text[i]-'0'); n > 1<<50 {
				return nil, nil, false
			}
			continue
		}
		if n == 0 || i < len(text) && text[i] != ' ' || count == len(both) {
			return nil, nil, false
		}
		if count++; count%2 == 0 {
			lengths = append(lengths, n)
		} else if n < last {
			return nil, nil, false
		} else {
			starts, last = append(starts, n), n
		}
		n = 0
	}
	return starts, lengths, len(starts) == len(lengths)
}

// pixelNumber is pytext.Int with numbers beyond an int64 cut to it, and what a
// number needs.
func pixelNumber(w string) (int64, width, bool) {
	digits, ok := pytext.Digits(w)
	if !ok {
		return 0, 0, false
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err == nil || n < 0 {
		return n, int64s, true
	}
	if _, err := strconv.ParseUint(strings.TrimPrefix(digits, "+"), 10, 64); err != nil {
		return n, longs, true
	}
	return n, uint64s, true
}

// Area returns the number of pixels.
func (m mask) Area() int {
	n := 0
	for _, r := range m.Runs {
		n += r[1] - r[0]
	}
	return n
}

// Shared returns the number of pixels that both masks have.
func (m mask) Shared(o mask) int {
	n, i, j := 0, 0, 0
	for i < len(m.Runs) && j < len(o.Runs) {
		a, b := m.Runs[i], o.Runs[j]
		if lo, hi := max(a[0], b[0]), min(a[1], b[1]); hi > lo {
			n += hi - lo
		}
		if a[1] < b[1] {
			i++
		} else {
			j++
		}
	}
	return n
}

// maskSize says how large the pictures are: by columns of the answers or, for
// all alike, by a number.
type maskSize struct {
	height, width string
	pixels        int
}

var maskSizeParams = []Param{
	{Name: "height", Kind: TextParam, Default: "", Doc: "the answers' column of image heights"},
	{Name: "width", Kind: TextParam, Default: "", Doc: "the answers' column of image widths"},
	{Name: "pixels", Kind: NumberParam, Default: 0.0, Doc: "the pixels, if all images have one size"},
}

// maskStand makes pictures large enough for most masks.
var maskStand = Placeholders{"height": {"1000"}, "width": {"1000"}}

func newMaskSize(a Args) (maskSize, error) {
	s := maskSize{height: a.text("height"), width: a.text("width"), pixels: int(a.number("pixels"))}
	if (s.height == "" || s.width == "") && s.pixels <= 0 {
		return s, fmt.Errorf("give height and width, or pixels")
	}
	return s, nil
}

// sizes returns height and width of every row.
func (s maskSize) sizes(answers *table.Table) ([][2]int, error) {
	out := make([][2]int, answers.Len())
	if s.pixels > 0 {
		for i := range out {
			out[i] = [2]int{s.pixels, 1}
		}
		return out, nil
	}
	for k, name := range []string{s.height, s.width} {
		c, err := answers.Column(name)
		if err != nil {
			return nil, fmt.Errorf("answers: %w", err)
		}
		for i := range out {
			out[i][k] = int(c.Int(i))
		}
	}
	return out, nil
}

// maskPair is one picture.
type maskPair struct{ truth, pred mask }

// masks decodes both sides of the only target. Empty is a word that stands
// for an empty mask, if not "".
func (s maskSize) masks(in Input, empty string) ([]maskPair, error) {
	truth, pred, err := textPair(in)
	if err != nil {
		return nil, err
	}
	sizes, err := s.sizes(in.Truth)
	if err != nil {
		return nil, err
	}
	out := make([]maskPair, len(truth))
	for i := range out {
		if empty != "" && pred[i] == empty {
			pred[i] = ""
		}
		if empty != "" && truth[i] == empty {
			truth[i] = ""
		}
		pixels := sizes[i][0] * sizes[i][1]
		if out[i].pred, err = decodeRLE(pred[i], pixels); err != nil {
			return nil, unscorable("column %q: row %d: mask: %v", in.Targets[0], i+1, err)
		}
		if out[i].truth, err = decodeRLE(truth[i], pixels); err != nil {
			return nil, unscorable("the answers of row %d are no mask", i+1)
		}
	}
	return out, nil
}
