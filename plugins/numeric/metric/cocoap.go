package metric

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/lists"
)

var cocoAP = Metric{
	Name: "coco_ap", Better: Higher,
	Doc: `COCO's average precision of boxes at one overlap, averaged over the answers' classes.
The answers have one box per row (class, x_min, y_min, x_max, y_max). The submission has a row per image with a list "class confidence x_min y_min x_max y_max", split at every single space. Images are matched by id (align = "position"), repeated rows merged, classes truncated to integers, other classes ignored.
Per image and class, the 100 most confident detections (ties in order) each take the free true box of the greatest overlap, at least the threshold, the later of equals; NaN suffices. Without one it is false, unless the product of its sides, which may be negative, is outside 0 to 10^10. Precision, made monotone from the right, is taken at the recalls 0, 0.01 … 1.
Unless corners = true, two flaws of the source stay. A box's last two numbers are compared as width and height. Boxes are numbered from 0, which also means "none": a match with the first true box is false, and a true box that the first detection took can be taken again.
Lists of another length, words that are not numbers and missing cells have no score.`,
	Source: "pycocotools 2.0 COCOeval; metric of the VinBigData competition",
	Params: []Param{
		{Name: "class", Kind: TextParam, Default: "class_id", Doc: "the column of the answers with the class"},
		{Name: "overlap", Kind: NumberParam, Default: 0.4, Doc: "the smallest intersection over union of a match"},
		{Name: "corners", Kind: BoolParam, Default: false, Doc: "compare boxes by their corners and number them from 1, as COCO intends"},
	},
	Placeholders: Placeholders{"class": {"0", "1", "2"}, "x_min": {"0"}, "y_min": {"0"}, "x_max": {"1"}, "y_max": {"1"}},
	Kaggle:       Aliases{"Mean Average Precision (boxes at an IoU)": {"overlap": 0.5, "corners": true}},
	New: func(a Args) (Scorer, error) {
		c := coco{class: a.text("class"), least: a.number("overlap"), corners: a.bool("corners")}
		return c.score, nil
	},
}

// coco are the parameters of the metric.
type coco struct {
	class   string
	least   float64
	corners bool
}

// cocoBox is a true box or a detection.
type cocoBox struct {
	number int // in the order of the file, from 0 or 1
	class  int64
	score  float64
	box    [4]float64 // x y and what is used as width and height
	area   float64    // by corners
}

// newBox makes the box of two corners.
func (c coco) newBox(number int, class int64, score float64, at [4]float64) cocoBox {
	b := cocoBox{number: number, class: class, score: score, box: at, area: float64((at[2] - at[0]) * (at[3] - at[1]))}
	if c.corners {
		b.number++
		b.box[2], b.box[3] = at[2]-at[0], at[3]-at[1]
	}
	return b
}

// outside reports whether the area by corners is outside COCO's range.
func (b cocoBox) outside() bool { return b.area < 0 || b.area > 1e10 }

func (c coco) score(in Input) (Score, error) {
	pictures, truth, err := c.truth(in)
	if err != nil {
		return Score{}, err
	}
	found, err := c.detections(in)
	if err != nil {
		return Score{}, err
	}
	all := slices.Concat(slices.Collect(maps.Values(truth))...)
	var curves [][]float64
	for _, class := range slices.Compact(slices.Sorted(slices.Values(lists.Of(all, func(b cocoBox) int64 { return b.class })))) {
		if curve := cocoClass(class, pictures, truth, found, c.least); curve != nil {
			curves = append(curves, curve)
		}
	}
	if len(curves) == 0 {
		return Score{Value: -1}, nil
	}
	var values []float64
	for r := range curves[0] {
		for _, curve := range curves {
			values = append(values, curve[r])
		}
	}
	return Score{Value: Mean(values)}, nil
}

// truth returns the pictures in the order of the answers and their boxes,
// numbered picture by picture.
func (c coco) truth(in Input) (pictures []string, boxes map[string][]cocoBox, err error) {
	columns, err := in.answers(in.ID, c.class, "x_min", "y_min", "x_max", "y_max")
	if err != nil {
		return nil, nil, err
	}
	boxes = map[string][]cocoBox{}
	number := 0
	for _, rows := range lists.Grouped(rowsOf(in.Truth.Len()), columns[0].Text) {
		id := columns[0].Text(rows[0])
		pictures = append(pictures, id)
		for _, i := range rows {
			var at [4]float64
			for k := range at {
				at[k] = columns[2+k].Float(i)
			}
			boxes[id] = append(boxes[id], c.newBox(number, columns[1].Int(i), 0, at))
			number++
		}
	}
	return pictures, boxes, nil
}

func (c coco) detections(in Input) (map[string][]cocoBox, error) {
	if len(in.Targets) != 1 {
		return nil, fmt.Errorf("coco_ap has one target")
	}
	columns, err := in.submitted(in.Targets[0], in.ID)
	if err != nil {
		return nil, err
	}
	cells, ids := columns[0], columns[1]
	texts, err := textCells(cells)
	if err != nil {
		return nil, err
	}
	out := map[string][]cocoBox{}
	number := 0
	for i, text := range texts {
		v, bad := parseFloats(strings.Split(text, " "))
		if bad != "" || len(v)%6 != 0 {
			return nil, unscorable("column %q: row %d: expected groups of six numbers, separated by single spaces", cells.Name(), i+1)
		}
		for at := 0; at < len(v); at += 6 {
			if math.IsNaN(v[at]) || math.IsInf(v[at], 0) {
				return nil, unscorable("column %q: row %d: a class is not a number", cells.Name(), i+1)
			}
			if math.Abs(v[at]) < 0x1p63 { // any other is a class that the answers cannot have
				b := c.newBox(number, int64(v[at]), v[at+1], [4]float64(v[at+2:at+6]))
				out[ids.Text(i)] = append(out[ids.Text(i)], b)
			}
			number++
		}
	}
	return out, nil
}

// cocoMatch is a detection that counts.
type cocoMatch struct {
	score float64
	right bool
}

// cocoClass returns the precision of a class at the 101 recalls, nil if it has
// no true box that counts.
func cocoClass(class int64, pictures []string, truth, found map[string][]cocoBox, least float64) []float64 {
	ofClass := func(b cocoBox) bool { return b.class == class }
	var matches []cocoMatch
	boxes := 0
	for _, id := range pictures {
		t, d := lists.Where(truth[id], ofClass), lists.Where(found[id], ofClass)
		slices.SortStableFunc(t, func(a, b cocoBox) int { return cmp.Compare(count(a.outside()), count(b.outside())) })
		slices.SortStableFunc(d, func(a, b cocoBox) int { return cmp.Compare(b.score, a.score) })
		for _, b := range t {
			boxes += 1 - count(b.outside())
		}
		matches = append(matches, cocoPicture(t, d[:min(100, len(d))], least)...)
	}
	if boxes == 0 {
		return nil
	}
	slices.SortStableFunc(matches, func(a, b cocoMatch) int { return cmp.Compare(b.score, a.score) })
	return cocoCurve(matches, boxes)
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// cocoPicture matches the detections of one picture and class, the most
// confident first, with its true boxes, those out of range last.
func cocoPicture(truth, found []cocoBox, least float64) []cocoMatch {
	takenBy := make([]int, len(truth)) // number of the detection; 0 is none
	var out []cocoMatch
	for _, d := range found {
		best, overlap := -1, min(least, 1-1e-10)
		for k, t := range truth {
			if takenBy[k] > 0 {
				continue
			}
			if best >= 0 && !truth[best].outside() && t.outside() {
				break
			}
			if v := cocoOverlap(d.box, t.box); !(v < overlap) { // NaN matches, and whatever comes after it
				best, overlap = k, v
			}
		}
		match, ignored := 0, false
		if best >= 0 {
			match, ignored = truth[best].number, truth[best].outside()
			takenBy[best] = d.number
		}
		if !ignored && (match != 0 || !d.outside()) {
			out = append(out, cocoMatch{d.score, match != 0})
		}
	}
	return out
}

// cocoOverlap is the intersection over union of boxes x, y, width, height.
func cocoOverlap(d, t [4]float64) float64 {
	w := lesser(d[2]+d[0], t[2]+t[0]) + lesser(-d[0], -t[0])
	h := lesser(d[3]+d[1], t[3]+t[1]) + lesser(-d[1], -t[1])
	if w <= 0 || h <= 0 {
		return 0
	}
	shared := float64(w * h)
	return shared / (float64(d[2]*d[3]) + float64(t[2]*t[3]) - shared)
}

// lesser is C's fmin: of a number and NaN it is the number.
func lesser(a, b float64) float64 {
	if a < b || math.IsNaN(b) {
		return a
	}
	return b
}

func cocoCurve(matches []cocoMatch, boxes int) []float64 {
	recall, precision := make([]float64, len(matches)), make([]float64, len(matches))
	right := 0.0
	for i, m := range matches {
		right += float64(count(m.right))
		recall[i] = right / float64(boxes)
		precision[i] = right / (float64(i+1) + 0x1p-52)
	}
	for i := len(precision) - 1; i > 0; i-- {
		precision[i-1] = max(precision[i-1], precision[i])
	}
	curve := make([]float64, 101)
	for r := range curve {
		at := float64(float64(r) * 0.01)
		if r == 100 {
			at = 1
		}
		if i, _ := slices.BinarySearch(recall, at); i < len(precision) {
			curve[r] = precision[i]
		}
	}
	return curve
}
