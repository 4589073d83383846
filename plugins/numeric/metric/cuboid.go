package metric

import (
	"maps"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/plugins/data/pytext"
	"github.com/mleflow/mleflow/plugins/numeric/libm"
)

var cuboidAP = Metric{
	Name: "cuboid_ap", Better: Higher, Costly: true,
	Doc: `Mean over rows and thresholds 0.5, 0.55 … 0.95 of the mean average precision of upright boxes in space.
A cell lists "confidence x y z width length height yaw class", split at every single space. A row's classes are those of its true boxes; one without predictions has precision 0, and other classes are ignored. By falling confidence, a prediction is correct if the true box of the greatest intersection over union exceeds the threshold and is free. Average precision is the area below the envelope of precision over recall. The intersection is that of the ground rectangles times that of the heights.
Lists of another length, words that are not numbers and infinite angles have no score; nor, in the row's classes, have NaN, sizes that are not positive, and boxes whose corners are not at right angles. There the product of two sides must be 0 within 10^-8, which rounding spoils where numbers are huge or infinite. A row without true boxes gives NaN.`,
	Source:       "lyft_dataset_sdk mAP_evaluation; metric of the Lyft 3D object detection competition",
	Placeholders: Placeholders{"": {"1 0 0 0 1 1 1 0 car"}},
	New:          func(Args) (Scorer, error) { return ofTexts(scoreCuboids), nil },
}

// cuboid is a box standing on the ground, turned by an angle.
type cuboid struct {
	class      string
	confidence float64
	center     [3]float64
	size       [3]float64 // width across, length along the heading, height
	yaw        float64
}

func scoreCuboids(truth, pred []string) (Score, error) {
	var each []float64
	for i := range truth {
		p, err := cuboids(pred[i], i)
		if err != nil {
			return Score{}, err
		}
		t, err := cuboids(truth[i], i)
		if err != nil {
			return Score{}, unscorable("the answers of row %d cannot be read", i+1)
		}
		row, err := cuboidRow(t, p, i)
		if err != nil {
			return Score{}, err
		}
		each = append(each, row...)
	}
	return Score{Value: Mean(each)}, nil
}

func cuboids(cell string, row int) ([]cuboid, error) {
	if pytext.Strip(cell) == "" {
		return nil, nil
	}
	list, bad := labelledGroups(strings.Split(cell, " "), 9, 8)
	if bad != "" {
		return nil, unscorable("row %d: %s", row+1, bad)
	}
	var out []cuboid
	for _, g := range list {
		v := g.values
		if math.IsInf(v[7], 0) {
			return nil, unscorable("row %d: an angle is infinite", row+1)
		}
		out = append(out, cuboid{
			class: g.label, confidence: v[0], center: [3]float64(v[1:4]), size: [3]float64(v[4:7]), yaw: v[7],
		})
	}
	return out, nil
}

// cuboidRow returns the mean average precision of one row at each threshold.
func cuboidRow(truth, pred []cuboid, row int) ([]float64, error) {
	classes := slices.Sorted(maps.Keys(wordSet(lists.Of(truth, func(c cuboid) string { return c.class }))))
	precision := make([][]float64, 10) // by threshold and class
	for _, class := range classes {
		t, p := ofClass(truth, class), ofClass(pred, class)
		for _, c := range p {
			if !c.sound() {
				return nil, unscorable("row %d: a %s has a value that is NaN, a size that is not positive, or numbers so large that its corners are not at right angles", row+1, class)
			}
		}
		overlaps := bestOverlaps(t, p)
		for k := range precision {
			precision[k] = append(precision[k], cuboidPrecision(overlaps, len(t), float64(50+5*k)/100))
		}
	}
	return lists.Of(precision, Mean), nil
}

// ofClass returns the boxes of a class by falling confidence.
func ofClass(list []cuboid, class string) []cuboid {
	out := lists.Where(list, func(c cuboid) bool { return c.class == class })
	slices.Reverse(out)
	pythonSort(out, func(a, b cuboid) bool { return a.confidence < b.confidence })
	slices.Reverse(out)
	return out
}

// sound reports whether the source takes the box.
func (c cuboid) sound() bool {
	for i, v := range c.size {
		if !(v > 0) || math.IsNaN(c.center[i]) {
			return false
		}
	}
	corners := c.ground()
	for i, p := range corners {
		a, b := corners[(i+1)%4], corners[(i+3)%4]
		product := float64((a.x-p.x)*(b.x-p.x)) + float64((a.y-p.y)*(b.y-p.y))
		if !(math.Abs(product) <= 1e-8) {
			return false
		}
	}
	return true
}

// overlap is the true box that a prediction overlaps most.
type overlap struct {
	box   int
	index float64
}

func bestOverlaps(truth, pred []cuboid) []overlap {
	out := make([]overlap, len(pred))
	for i, p := range pred {
		out[i] = overlap{-1, math.Inf(-1)}
		for j, t := range truth {
			if v := p.overlap(t); v > out[i].index {
				out[i] = overlap{j, v}
			}
		}
	}
	return out
}

func cuboidPrecision(found []overlap, boxes int, threshold float64) float64 {
	taken := make([]bool, boxes)
	recall, precision := []float64{0}, []float64{0}
	right := 0.0
	for i, o := range found {
		if o.index > threshold && !taken[o.box] {
			taken[o.box] = true
			right++
		}
		recall = append(recall, right/float64(boxes))
		precision = append(precision, right/float64(i+1))
	}
	recall, precision = append(recall, 1), append(precision, 0)
	for i := len(precision) - 1; i > 0; i-- {
		precision[i-1] = max(precision[i-1], precision[i])
	}
	var steps []float64
	for i := 1; i < len(recall); i++ {
		if recall[i] != recall[i-1] {
			steps = append(steps, float64((recall[i]-recall[i-1])*precision[i]))
		}
	}
	return Sum(steps)
}

// overlap returns the intersection over union of two boxes.
func (c cuboid) overlap(o cuboid) float64 {
	// The conversions keep halving, which is exact, from being fused. An infinite
	// height may make an end NaN.
	half, other := float64(c.size[2]/2), float64(o.size[2]/2)
	low := pythonMaxOf(o.center[2]-other, c.center[2]-half)
	high := pythonMin(o.center[2]+other, c.center[2]+half)
	height, area := pythonMax0(high-low), 0.0
	if !c.apart(o) {
		area = sharedArea(c.ground(), o.ground())
	}
	shared := float64(height * area)
	volume := func(v [3]float64) float64 { return float64(float64(v[0]*v[1]) * v[2]) }
	return clip(shared/(volume(c.size)+volume(o.size)-shared), 0, 1)
}

// apart reports whether the rectangles of two boxes are too far from each
// other to have a point in common, with some tolerance for rounding.
func (c cuboid) apart(o cuboid) bool {
	x, y := c.center[0]-o.center[0], c.center[1]-o.center[1]
	reach := (math.Hypot(c.size[0], c.size[1]) + math.Hypot(o.size[0], o.size[1])) / 2
	return math.Hypot(x, y) > 1.001*reach
}

type point struct{ x, y float64 }

// ground returns the corners of the box's rectangle, anticlockwise. The angle
// takes the way through a unit quaternion, as the source's does.
func (c cuboid) ground() []point {
	sin, cos := libm.Sincos(c.yaw / 2)
	cosine, sine := float64(cos*cos)-float64(sin*sin), 2*float64(sin*cos)
	along, across := c.size[1]/2, c.size[0]/2
	corner := func(l, w float64) point {
		return point{
			c.center[0] + float64(l*cosine) + float64(w*sine),
			c.center[1] + float64(l*sine) - float64(w*cosine),
		}
	}
	return []point{corner(along, across), corner(along, -across), corner(-along, -across), corner(-along, across)}
}

// sharedArea clips one convex polygon by the edges of another (Sutherland and
// Hodgman 1974) and returns the area that is left. Both run anticlockwise.
func sharedArea(a, b []point) float64 {
	origin := a[0] // small numbers lose fewer digits
	a, b = moved(a, origin), moved(b, origin)
	var space [2][16]point
	for i := range b {
		if a = clipHalf(space[i%2][:0], a, b[i], b[(i+1)%len(b)]); len(a) == 0 {
			return 0
		}
	}
	area := 0.0
	for i, p := range a {
		q := a[(i+1)%len(a)]
		area += float64(p.x*q.y) - float64(q.x*p.y)
	}
	return math.Abs(area) / 2
}

func moved(polygon []point, by point) []point {
	return lists.Of(polygon, func(p point) point { return point{p.x - by.x, p.y - by.y} })
}

// clipHalf appends the part of a polygon on the left of the line from one
// point to another.
func clipHalf(out, polygon []point, from, to point) []point {
	side := func(p point) float64 {
		return float64((to.x-from.x)*(p.y-from.y)) - float64((to.y-from.y)*(p.x-from.x))
	}
	for i, p := range polygon {
		q := polygon[(i+1)%len(polygon)]
		sp, sq := side(p), side(q)
		if sp >= 0 {
			out = append(out, p)
		}
		if sp >= 0 != (sq >= 0) {
			t := sp / (sp - sq)
			out = append(out, point{p.x + float64(t*(q.x-p.x)), p.y + float64(t*(q.y-p.y))})
		}
	}
	return out
}

// pythonSort sorts as Python's list.sort does. The order of elements that less
// does not order, such as NaN, is Python's for lists of fewer than 64.
func pythonSort[T any](list []T, less func(a, b T) bool) {
	if len(list) < 2 {
		return
	}
	if len(list) >= 64 {
		slices.SortStableFunc(list, func(a, b T) int { return count(less(b, a)) - count(less(a, b)) })
		return
	}
	// Binary insertion behind the first run, which is turned if it descends.
	run, descends := 2, less(list[1], list[0])
	for run < len(list) && less(list[run], list[run-1]) == descends {
		run++
	}
	if descends {
		slices.Reverse(list[:run])
	}
	for ; run < len(list); run++ {
		next := list[run]
		at := sort.Search(run, func(i int) bool { return less(next, list[i]) })
		copy(list[at+1:run+1], list[at:run])
		list[at] = next
	}
}
