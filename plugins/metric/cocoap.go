package metric

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/plugins/table"
)

var cocoAP = Metric{
	Name:   "coco_ap",
	Better: Higher,
	Doc: `Average precision of detected boxes at one overlap, in the way of COCO, mean over the classes of the answers.
The answers have a box a row (class, x_min, y_min, x_max, y_max); the submission has a row a picture with a list "class confidence x_min y_min x_max y_max" split at every single blank. Rows are not paired beforehand (align = "position"); pictures are matched by id, repeated rows add up, classes are cut to whole numbers, predictions of other classes do not count.
Per picture and class the 100 most confident detections (ties in order) take each the untaken true box of the greatest overlap of at least the threshold, the later of equals. A detection without one is false, unless the product of its sides, which may be negative, is outside 0 to 10^10. Precision, made monotone from the right, is read at the 101 recalls 0, 0.01 … 1.
Two flaws of the source are kept: the last two numbers of a box are used as width and height when boxes are compared; and boxes are numbered from 0 on both sides, where 0 means "none", so that a match with the first true box counts as false and a true box taken by the first detection can be taken again.
A list of another length, a word that is no number and a missing cell have no score.`,
	Source: "pycocotools 2.0 COCOeval; metric of the VinBigData competition",
	Params: []Param{
		{Name: "class", Kind: TextParam, Default: "class_id", Doc: "the column of the answers with the class"},
		{Name: "overlap", Kind: NumberParam, Default: 0.4, Doc: "the smallest intersection over union of a match"},
	},
	New: func(a Args) (Scorer, error) {
		class, least := a.text("class"), a.number("overlap")
		return scorerFunc(func(in Input) (Score, error) { return scoreCOCO(in, class, least) }), nil
	},
}

// cocoBox is a true box or a detection.
type cocoBox struct {
	number int // in the order of the file, from 0
	class  int64
	score  float64
	box    [4]float64 // x y and what is used as width and height
}

// outside reports whether the area by corners is outside COCO's range.
func (b cocoBox) outside() bool {
	area := float64((b.box[2] - b.box[0]) * (b.box[3] - b.box[1]))
	return area < 0 || area > 1e10
}

func scoreCOCO(in Input, class string, least float64) (Score, error) {
	pictures, truth, err := cocoTruth(in, class)
	if err != nil {
		return Score{}, err
	}
	found, err := cocoDetections(in)
	if err != nil {
		return Score{}, err
	}
	classes := map[int64]bool{}
	for _, boxes := range truth {
		for _, b := range boxes {
			classes[b.class] = true
		}
	}
	list := make([]int64, 0, len(classes))
	for c := range classes {
		list = append(list, c)
	}
	slices.Sort(list)
	var curves [][]float64
	for _, c := range list {
		if curve := cocoClass(c, pictures, truth, found, least); curve != nil {
			curves = append(curves, curve)
		}
	}
	if len(curves) == 0 {
		return Score{Value: -1}, nil
	}
	var all []float64
	for r := range curves[0] {
		for _, curve := range curves {
			all = append(all, curve[r])
		}
	}
	return Score{Value: Mean(all)}, nil
}

// cocoTruth returns the pictures in the order of the answers and their boxes,
// numbered picture by picture.
func cocoTruth(in Input, class string) (pictures []string, boxes map[string][]cocoBox, err error) {
	var columns [6]*table.Column
	for i, name := range []string{in.ID, class, "x_min", "y_min", "x_max", "y_max"} {
		if columns[i], err = in.Truth.Column(name); err != nil {
			return nil, nil, fmt.Errorf("answers: %w", err)
		}
	}
	boxes = map[string][]cocoBox{}
	for i := range in.Truth.Len() {
		id := columns[0].Text(i)
		if boxes[id] == nil {
			pictures = append(pictures, id)
		}
		b := cocoBox{class: columns[1].Int(i)}
		for k := range b.box {
			b.box[k] = columns[2+k].Float(i)
		}
		boxes[id] = append(boxes[id], b)
	}
	number := 0
	for _, id := range pictures {
		for k := range boxes[id] {
			boxes[id][k].number = number
			number++
		}
	}
	return pictures, boxes, nil
}

func cocoDetections(in Input) (map[string][]cocoBox, error) {
	if len(in.Targets) != 1 {
		return nil, fmt.Errorf("coco_ap has one target")
	}
	cells, err := in.Prediction.Column(in.Targets[0])
	if err != nil {
		return nil, &Unscorable{Column: in.Targets[0], Reason: "is missing"}
	}
	ids, err := in.Prediction.Column(in.ID)
	if err != nil {
		return nil, &Unscorable{Column: in.ID, Reason: "is missing"}
	}
	texts, err := textCells(cells)
	if err != nil {
		return nil, err
	}
	out := map[string][]cocoBox{}
	number := 0
	for i, text := range texts {
		v, bad := parseFloats(strings.Split(text, " "))
		if bad != "" || len(v)%6 != 0 {
			return nil, unscorable("column %q: row %d: not a list of groups of six numbers at single blanks", cells.Name(), i+1)
		}
		for at := 0; at < len(v); at += 6 {
			if !(v[at] > -0x1p63 && v[at] < 0x1p63) {
				return nil, unscorable("column %q: row %d: a class is not a number", cells.Name(), i+1)
			}
			b := cocoBox{number: number, class: int64(v[at]), score: v[at+1], box: [4]float64(v[at+2 : at+6])}
			out[ids.Text(i)] = append(out[ids.Text(i)], b)
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
	var matches []cocoMatch
	boxes := 0
	for _, id := range pictures {
		t, d := cocoOf(class, truth[id]), cocoOf(class, found[id])
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

func cocoOf(class int64, boxes []cocoBox) []cocoBox {
	var out []cocoBox
	for _, b := range boxes {
		if b.class == class {
			out = append(out, b)
		}
	}
	return out
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
			if v := cocoOverlap(d.box, t.box); v >= overlap {
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
	w := math.Min(d[2]+d[0], t[2]+t[0]) - math.Max(d[0], t[0])
	h := math.Min(d[3]+d[1], t[3]+t[1]) - math.Max(d[1], t[1])
	if w <= 0 || h <= 0 {
		return 0
	}
	shared := float64(w * h)
	return shared / (float64(d[2]*d[3]) + float64(t[2]*t[3]) - shared)
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
