package metric

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"strings"
)

var diceHausdorff = Metric{
	Name: "dice_hausdorff", Better: Higher, Costly: true,
	Doc: `0.4·Dice + 0.6·(1 - Hausdorff distance).
Rows are paired by position up to the shorter table's end; a mask has the size given in its row. Dice is the mean over these rows without those of two empty masks. For the distance, masks of one id are joined, and ids equal before "_slice_" stacked in order into a volume of slices, rows and columns; volumes are paired by the order of names. Equal volumes have distance 0. It is 1 if only one is empty or the prediction has more than ten times the true pixels; two empty volumes are left out. Otherwise it is the greater directed Hausdorff distance of coordinates divided by the volume's shape, divided by √3. Pixels run down the columns. Slices of one volume that differ in size have no score.` + maskDoc,
	Source:       "metric of the UW-Madison GI tract competition; scipy 1.13 directed_hausdorff",
	Params:       maskSizeParams,
	Placeholders: maskStand,
	New: func(a Args) (Scorer, error) {
		size, err := newMaskSize(a)
		return func(in Input) (Score, error) { return scoreDiceHausdorff(in, size) }, err
	},
}

func scoreDiceHausdorff(in Input, size maskSize) (Score, error) {
	n := min(in.Truth.Len(), in.Prediction.Len())
	in.Prediction = in.Prediction.Slice(0, n) // What is in further rows does not matter.
	sizes, err := size.sizes(in)
	if err != nil {
		return Score{}, err
	}
	pred, err := slicesOf(in, n, sizes, false)
	if err != nil {
		return Score{}, err
	}
	truth, err := slicesOf(in, in.Truth.Len(), sizes, true)
	if err != nil {
		return Score{}, err
	}
	var dices []float64
	for i := range n {
		if total := truth[i].mask.Area() + pred[i].mask.Area(); total > 0 {
			dices = append(dices, diceOf(truth[i].mask.Shared(pred[i].mask), total, 0))
		}
	}
	distances, err := volumeDistances(truth, pred)
	return Score{Value: float64(0.4*Mean(dices)) + float64(0.6*(1-Mean(distances)))}, err
}

// sliceMask is the mask of one row.
type sliceMask struct {
	id            string
	mask          mask
	height, width int
}

func slicesOf(in Input, n int, sizes [][2]int, truth bool) ([]sliceMask, error) {
	if truth {
		in.Prediction, in.Targets = in.Truth, in.TruthNames
	}
	columns, err := in.submitted(in.Targets[0], in.ID)
	if err != nil {
		return nil, err
	}
	var cells [2][]string
	for k, c := range columns {
		if cells[k], err = textCells(c); err != nil {
			return nil, err
		}
	}
	out := make([]sliceMask, n)
	for i := range out {
		h, w := sizes[i][0], sizes[i][1]
		mask, err := decodeRLE(cells[0][i], h*w)
		if err != nil {
			return nil, unscorable("row %d: mask: %v", i+1, err)
		}
		out[i] = sliceMask{id: cells[1][i], mask: mask, height: h, width: w}
	}
	return out, nil
}

// volume is a stack of slices of one size, each a set of bits down the
// columns.
type volume struct {
	height, width int
	slices        [][]uint64
}

// volumes joins the masks of every id and stacks the ids of a group.
func volumes(rows []sliceMask) ([]volume, error) {
	sorted := slices.Clone(rows)
	slices.SortStableFunc(sorted, func(a, b sliceMask) int { return cmp.Compare(a.id, b.id) })
	at := map[string]int{}
	var out []volume
	last := ""
	for i, row := range sorted {
		group, _, _ := strings.Cut(row.id, "_slice_")
		k, ok := at[group]
		if !ok {
			k = len(out)
			at[group] = k
			out = append(out, volume{height: row.height, width: row.width})
		}
		v := &out[k]
		if v.height != row.height || v.width != row.width {
			return nil, unscorable("the slices of %s differ in size", quote(group))
		}
		if i == 0 || row.id != last {
			v.slices = append(v.slices, make([]uint64, (row.mask.Size+63)/64))
		}
		last = row.id
		set := v.slices[len(v.slices)-1]
		for _, run := range row.mask.Runs {
			for p := run[0]; p < run[1]; p++ {
				set[p/64] |= 1 << (p % 64)
			}
		}
	}
	return out, nil
}

// area returns the number of pixels.
func (v volume) area() int {
	n := 0
	for _, words := range v.slices {
		for _, w := range words {
			n += bits.OnesCount64(w)
		}
	}
	return n
}

func (v volume) equal(o volume) bool {
	return v.height == o.height && v.width == o.width && slices.EqualFunc(v.slices, o.slices, slices.Equal[[]uint64])
}

// word returns 64 pixels, none where the volume has no such place.
func (v volume) word(slice, i int) uint64 {
	if slice < len(v.slices) && i < len(v.slices[slice]) {
		return v.slices[slice][i]
	}
	return 0
}

func volumeDistances(truth, pred []sliceMask) ([]float64, error) {
	t, err := volumes(truth)
	if err != nil {
		return nil, err
	}
	p, err := volumes(pred)
	if err != nil {
		return nil, err
	}
	var out []float64
	for i := range min(len(t), len(p)) {
		if d := volumeDistance(t[i], p[i]); d == d {
			out = append(out, d)
		}
	}
	return out, nil
}

// volumeDistance returns the distance from 0 to 1, NaN for two empty volumes.
func volumeDistance(truth, pred volume) float64 {
	t, p := truth.area(), pred.area()
	switch {
	case t == 0 && p == 0:
		return math.NaN()
	case truth.equal(pred):
		return 0
	case t == 0 || p == 0 || p > 10*t:
		return 1
	}
	all := volume{height: truth.height, width: truth.width}
	a, b := truth.points(all, truth), pred.points(all, truth)
	if truth.height != pred.height { // pixels at equal places are no equal pixels
		return max(directedHausdorff(a, b), directedHausdorff(b, a)) / math.Sqrt(3)
	}
	return max(directedHausdorff(truth.points(pred, truth), b), directedHausdorff(pred.points(truth, truth), a)) / math.Sqrt(3)
}

// points returns the coordinates of the pixels that o does not have, divided
// by the shape of a volume, in order. Those that both have are at distance 0
// and decide nothing.
func (v volume) points(o, shape volume) [][3]float64 {
	var out [][3]float64
	for s, words := range v.slices {
		for i, w := range words {
			for w &^= o.word(s, i); w != 0; w &= w - 1 {
				p := 64*i + bits.TrailingZeros64(w)
				out = append(out, [3]float64{
					float64(s) / float64(len(shape.slices)),
					float64(p%v.height) / float64(shape.height),
					float64(p/v.height) / float64(shape.width),
				})
			}
		}
	}
	return out
}

// directedHausdorff returns the directed Hausdorff distance of two sets of
// points: the greatest distance from a point of a to the nearest
// point of b. It looks at b from the place of the last nearest point on and
// gives a point up as soon as it cannot be the farthest (Taha and Hanbury
// 2015).
func directedHausdorff(a, b [][3]float64) float64 {
	farthest, from := 0.0, 0
	for _, p := range a {
		nearest := math.Inf(1)
		for k := range b {
			j := from + k
			if j >= len(b) {
				j -= len(b)
			}
			d := squaredDistance(p, b[j])
			if d < nearest {
				nearest = d
				if k > 0 && d <= farthest {
					from = j
				}
			}
			if d <= farthest {
				break
			}
		}
		farthest = max(farthest, nearest)
	}
	return math.Sqrt(farthest)
}

func squaredDistance(a, b [3]float64) float64 {
	sum := 0.0
	for k := range a {
		d := a[k] - b[k]
		sum += float64(d * d)
	}
	return sum
}
