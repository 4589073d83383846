package metric

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/lists"
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
		hi := lo + min(lengths[i], size-lo)
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
func (s maskSize) sizes(in Input) ([][2]int, error) {
	if s.pixels > 0 {
		return slices.Repeat([][2]int{{s.pixels, 1}}, in.Truth.Len()), nil
	}
	columns, err := in.answers(s.height, s.width)
	if err != nil {
		return nil, err
	}
	size := func(i int) [2]int { return [2]int{int(columns[0].Int(i)), int(columns[1].Int(i))} }
	return table.Collect(in.Truth.Len(), size), nil
}

// maskPair is one picture.
type maskPair struct{ truth, pred mask }

// masks decodes both sides of the only target. Empty is a word that stands
// for an empty mask, as "" does.
func (s maskSize) masks(in Input, empty string) ([]maskPair, error) {
	truth, pred, err := textPair(in)
	if err != nil {
		return nil, err
	}
	sizes, err := s.sizes(in)
	if err != nil {
		return nil, err
	}
	out := make([]maskPair, len(truth))
	for i := range out {
		for _, cells := range [][]string{pred, truth} {
			if cells[i] == empty {
				cells[i] = ""
			}
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

const maskDoc = ` Cells are run lengths: "start length" pairs at white space, from 1. A cell that cannot be decoded has no score.`

var dice = Metric{
	Name: "dice", Better: Higher,
	Doc: `Dice coefficient 2·|A∩B| / (|A|+|B|) of masks, of all images together (over = "all") or the mean over images ("rows").
Two empty masks give NaN (both_empty = "nan") or 1 ("one").` + maskDoc,
	Source: "Dice 1945",
	Params: append([]Param{
		{Name: "over", Kind: TextParam, Default: "rows", OneOf: []string{"rows", "all"}, Doc: "what one coefficient is computed over"},
		{Name: "both_empty", Kind: TextParam, Default: "nan", OneOf: []string{"nan", "one"}, Doc: "the coefficient of two empty masks"},
		{Name: "empty", Kind: TextParam, Default: "", Doc: "a cell that stands for an empty mask, such as -"},
	}, maskSizeParams...),
	Placeholders: maskStand,
	Kaggle:       Aliases{"Dice": {"pixels": 65536.0, "both_empty": "one"}},
	New: func(a Args) (Scorer, error) {
		size, err := newMaskSize(a)
		neither := math.NaN()
		if a.text("both_empty") == "one" {
			neither = 1
		}
		all, empty := a.text("over") == "all", a.text("empty")
		return func(in Input) (Score, error) {
			masks, err := size.masks(in, empty)
			return Score{Value: meanDice(masks, all, neither)}, err
		}, err
	},
}

func meanDice(masks []maskPair, all bool, neither float64) float64 {
	var shared, total int
	each := make([]float64, len(masks))
	for i, m := range masks {
		s, t := m.truth.Shared(m.pred), m.truth.Area()+m.pred.Area()
		shared, total = shared+s, total+t
		each[i] = diceOf(s, t, neither)
	}
	if all {
		return diceOf(shared, total, neither)
	}
	return Mean(each)
}

func diceOf(shared, total int, neither float64) float64 {
	if total == 0 {
		return neither
	}
	return float64(2*shared) / float64(total)
}

var maskPrecision = Metric{
	Name: "mask_precision", Better: Higher,
	Doc: `Mean over images of the share of thresholds 0.5, 0.55 … 0.95 (numpy.arange's) that the masks' intersection over union exceeds.
Two empty masks score 1, an empty truth against a mask 0. An empty mask against a truth counts as full, a flaw of the source's histograms.` + maskDoc,
	Source:       "metric of the TGS salt competition",
	Params:       maskSizeParams,
	Placeholders: maskStand,
	Kaggle:       Aliases{"IoU Object Segmentation": {"pixels": 10201.0}},
	New:          func(a Args) (Scorer, error) { return meanOfMasks(a, thresholdShare) },
}

// meanOfMasks returns the scorer of the mean over images.
func meanOfMasks(a Args, score func(maskPair) float64) (Scorer, error) {
	size, err := newMaskSize(a)
	return func(in Input) (Score, error) {
		masks, err := size.masks(in, "")
		return Score{Value: Mean(lists.Of(masks, score))}, err
	}, err
}

func thresholdShare(m maskPair) float64 {
	t, p, shared := m.truth.Area(), m.pred.Area(), m.truth.Shared(m.pred)
	switch {
	case t == 0 && p == 0:
		return 1
	case t == 0:
		return 0
	case p == 0:
		p, shared = m.truth.Size, t
	}
	index := float64(shared) / float64(t+p-shared)
	const start = 0.5
	step := start + 0.05 - start // as numpy.arange takes it
	return Mean(table.Collect(10, func(k int) float64 {
		return float64(count(index > start+float64(float64(k)*float64(step))))
	}))
}

var maskFBeta = Metric{
	Name: "mask_fbeta", Better: Higher,
	Doc:          `Mean over images of the F-beta of pixels: (1+β²)·TP / (β²·|truth| + |prediction|), 0 without a common pixel.` + maskDoc,
	Source:       "scikit-learn 1.5 fbeta_score",
	Params:       append([]Param{{Name: "beta", Kind: NumberParam, Default: 1.0, Doc: "the weight of recall relative to precision"}}, maskSizeParams...),
	Placeholders: maskStand,
	New: func(a Args) (Scorer, error) {
		square := a.number("beta") * a.number("beta")
		return meanOfMasks(a, func(m maskPair) float64 {
			shared := m.truth.Shared(m.pred)
			if shared == 0 {
				return 0
			}
			return float64((1+square)*float64(shared)) / (float64(square*float64(m.truth.Area())) + float64(m.pred.Area()))
		})
	},
}

var maskIoU = Metric{
	Name: "mask_iou", Better: Higher,
	Doc:          `Mean over images of the intersection over union of pixels; 1 for two empty masks.` + maskDoc,
	Source:       "scikit-learn 1.5 jaccard_score(zero_division=1)",
	Params:       maskSizeParams,
	Placeholders: maskStand,
	Kaggle:       Aliases{"Mean IoU of masks": {"pixels": 65536.0}},
	New: func(a Args) (Scorer, error) {
		return meanOfMasks(a, func(m maskPair) float64 {
			shared, total := m.truth.Shared(m.pred), m.truth.Area()+m.pred.Area()
			if total == 0 {
				return 1
			}
			return float64(shared) / float64(total-shared)
		})
	},
}
