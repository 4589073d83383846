package metric

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

var diceHausdorff = Metric{
	Name:   "dice_hausdorff",
	Better: Higher,
	Doc: `0.4·Dice + 0.6·(1 - Hausdorff distance).
Rows are paired by position up to the end of the shorter table, and a row's mask has the size given there. Dice is the mean over these rows, rows with two empty masks left out. For the distance the masks of one id are joined, the ids before "_slice_" stacked in their order to a volume of slices, rows and columns, and volumes paired in the order of their names on each side: 0 for equal volumes, 1 if just one is empty or the predicted one has more than ten times the true one's pixels, left out if both are empty; otherwise the greater of both directed Hausdorff distances of the coordinates divided by the volume's shape, by √3. Pixels run down the columns. Volumes of different shapes have no score.` + maskDoc,
	Source: "metric of the UW-Madison GI tract competition; scipy 1.13 directed_hausdorff",
	Params: maskSizeParams,
	New: func(a Args) (Scorer, error) {
		size, err := newMaskSize(a)
		return scorerFunc(func(in Input) (Score, error) { return scoreDiceHausdorff(in, size) }), err
	},
}

func scoreDiceHausdorff(in Input, size maskSize) (Score, error) {
	n := min(in.Truth.Len(), in.Prediction.Len())
	sizes, err := size.sizes(in.Truth)
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
	if err != nil {
		return Score{}, err
	}
	return Score{Value: float64(0.4*Mean(dices)) + float64(0.6*(1-Mean(distances)))}, nil
}

// sliceMask is the mask of one row.
type sliceMask struct {
	id            string
	mask          Mask
	height, width int
}

func slicesOf(in Input, n int, sizes [][2]int, truth bool) ([]sliceMask, error) {
	tab, target := in.Prediction, in.Targets[0]
	if truth {
		tab, target = in.Truth, in.TruthNames[0]
	}
	cells, err := tab.Column(target)
	if err != nil {
		return nil, &Unscorable{Column: target, Reason: "is missing"}
	}
	ids, err := tab.Column(in.ID)
	if err != nil {
		return nil, &Unscorable{Column: in.ID, Reason: "is missing"}
	}
	texts, err := textCells(cells)
	if err != nil {
		return nil, err
	}
	names, err := textCells(ids)
	if err != nil {
		return nil, err
	}
	out := make([]sliceMask, n)
	for i := range out {
		h, w := sizes[i][0], sizes[i][1]
		mask, err := DecodeRLE(texts[i], h*w)
		if err != nil {
			return nil, unscorable("row %d: mask: %v", i+1, err)
		}
		out[i] = sliceMask{id: names[i], mask: mask, height: h, width: w}
	}
	return out, nil
}

// volume is a stack of slices of one size.
type volume struct {
	slices, height, width int
	pixels                map[[3]int]bool
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
			out = append(out, volume{height: row.height, width: row.width, pixels: map[[3]int]bool{}})
		}
		v := &out[k]
		if v.height != row.height || v.width != row.width {
			return nil, unscorable("the slices of %s differ in size", quote(group))
		}
		if i == 0 || row.id != last {
			v.slices++
		}
		last = row.id
		for _, run := range row.mask.Runs {
			for p := run[0]; p < run[1]; p++ {
				v.pixels[[3]int{v.slices - 1, p % row.height, p / row.height}] = true
			}
		}
	}
	return out, nil
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
		d, err := volumeDistance(t[i], p[i])
		if err != nil {
			return nil, err
		}
		if d == d {
			out = append(out, d)
		}
	}
	return out, nil
}

// volumeDistance returns the distance from 0 to 1, NaN for two empty volumes.
func volumeDistance(truth, pred volume) (float64, error) {
	same := truth.slices == pred.slices && truth.height == pred.height && truth.width == pred.width
	switch {
	case len(truth.pixels) == 0 && len(pred.pixels) == 0:
		return math.NaN(), nil
	case same && equalPixels(truth.pixels, pred.pixels):
		return 0, nil
	case len(truth.pixels) == 0 || len(pred.pixels) == 0 || len(pred.pixels) > 10*len(truth.pixels):
		return 1, nil
	}
	a, b := truth.points(truth), pred.points(truth)
	onlyA, onlyB := truth.without(pred, truth), pred.without(truth, truth)
	return max(directed(onlyA, b), directed(onlyB, a)) / math.Sqrt(3), nil
}

func equalPixels(a, b map[[3]int]bool) bool {
	if len(a) != len(b) {
		return false
	}
	for p := range a {
		if !b[p] {
			return false
		}
	}
	return true
}

// points returns the coordinates divided by the shape of a volume, in order.
func (v volume) points(shape volume) [][3]float64 { return v.without(volume{}, shape) }

// without returns the coordinates that o does not have. Those that it has are
// at distance 0 and decide nothing.
func (v volume) without(o, shape volume) [][3]float64 {
	var pixels [][3]int
	for p := range v.pixels {
		if !o.pixels[p] {
			pixels = append(pixels, p)
		}
	}
	slices.SortFunc(pixels, func(a, b [3]int) int { return slices.Compare(a[:], b[:]) })
	out := make([][3]float64, len(pixels))
	for i, p := range pixels {
		out[i] = [3]float64{
			float64(p[0]) / float64(shape.slices), float64(p[1]) / float64(shape.height), float64(p[2]) / float64(shape.width),
		}
	}
	return out
}

// directed returns the greatest distance from a point of a to the nearest
// point of b. It looks at b from the place of the last nearest point on and
// gives a point up as soon as it cannot be the farthest (Taha and Hanbury
// 2015).
func directed(a, b [][3]float64) float64 {
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
