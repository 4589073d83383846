package metric

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/plugins/data/pytext"
	"github.com/mleflow/mleflow/plugins/data/table"
)

var detectionAP = Metric{
	Name: "detection_ap", Better: Higher,
	Doc: `Mean over classes of the average precision of boxes at an intersection over union above 0.5.
A cell lists "class confidence xmin ymin xmax ymax", split at white space. Classes are the answers'. In a row, by falling confidence, a detection is true if it finds an unused true box of its class with overlap above 0.5; it takes that of the greatest, the first of equals. A box left counts as a true detection of confidence 0, a row without any as a false one. Average precision sums recall steps times precision over the distinct confidences. Missing cells, incomplete groups, words that are not numbers and confidences that are not finite have no score.`,
	Source: "scikit-learn 1.5 average_precision_score; metric of the SIIM COVID-19 competition",
	New:    func(Args) (Scorer, error) { return ofTexts(scoreDetectionAP), nil },
}

// detection is a box with a class and a confidence.
type detection struct {
	class      string
	confidence float64
	box        [4]float64 // xmin ymin xmax ymax
}

func scoreDetectionAP(truth, pred []string) (Score, error) {
	trueRows, predRows := make([][]detection, len(truth)), make([][]detection, len(pred))
	classes := map[string]bool{}
	var err error
	for i := range truth {
		if predRows[i], err = detections(pred[i], i); err != nil {
			return Score{}, err
		}
		if trueRows[i], err = detections(truth[i], i); err != nil {
			return Score{}, unscorable("the answers of row %d cannot be read", i+1)
		}
		for _, d := range trueRows[i] {
			classes[d.class] = true
		}
		slices.SortStableFunc(predRows[i], func(a, b detection) int { return cmp.Compare(b.confidence, a.confidence) })
	}
	var each []float64
	for _, class := range slices.Sorted(maps.Keys(classes)) {
		hits, scores := matchClass(class, trueRows, predRows)
		area, err := averagePrecision(hits, scores)
		if err != nil {
			return Score{}, err
		}
		each = append(each, area)
	}
	if len(each) == 0 {
		return Score{}, nil
	}
	return Score{Value: Mean(each)}, nil
}

func detections(cell string, row int) ([]detection, error) {
	list, bad := labelledGroups(pytext.Fields(cell), 6, 0)
	if bad != "" {
		return nil, unscorable("row %d: %s", row+1, bad)
	}
	return lists.Of(list, func(g labelledNumbers) detection {
		return detection{g.label, g.values[0], [4]float64(g.values[1:])}
	}), nil
}

// matchClass returns for every detection of a class, and every box that none
// found, whether it is right and its confidence.
func matchClass(class string, truth, pred [][]detection) (hits []bool, scores []float64) {
	ofClass := func(d detection) bool { return d.class == class }
	for i := range truth {
		begin := len(hits)
		boxes := lists.Where(truth[i], ofClass)
		used := make([]bool, len(boxes))
		for _, d := range lists.Where(pred[i], ofClass) {
			best := bestBox(d, boxes, used)
			if best >= 0 {
				used[best] = true
			}
			hits, scores = append(hits, best >= 0), append(scores, d.confidence)
		}
		for _, u := range used {
			if !u {
				hits, scores = append(hits, true), append(scores, 0)
			}
		}
		if len(hits) == begin {
			hits, scores = append(hits, false), append(scores, 0)
		}
	}
	return hits, scores
}

func bestBox(d detection, boxes []detection, used []bool) int {
	best, overlap := -1, 0.5
	for i, b := range boxes {
		if v := boxOverlap(d.box, b.box); !used[i] && v > overlap {
			best, overlap = i, v
		}
	}
	return best
}

// boxOverlap returns the intersection over union of two boxes; 0 where the
// union is not positive or not a number.
func boxOverlap(a, b [4]float64) float64 {
	width := pythonMax0(pythonMin(a[2], b[2]) - pythonMaxOf(a[0], b[0]))
	height := pythonMax0(pythonMin(a[3], b[3]) - pythonMaxOf(a[1], b[1]))
	shared := float64(width * height)
	area := func(v [4]float64) float64 { return float64((v[2] - v[0]) * (v[3] - v[1])) }
	if union := area(a) + area(b) - shared; union > 0 {
		return shared / union
	}
	return 0
}

// Python's min and max keep the first argument unless the second is smaller
// or greater, which decides what becomes of NaN.

func pythonMin(a, b float64) float64 {
	if b < a {
		return b
	}
	return a
}

func pythonMaxOf(a, b float64) float64 {
	if b > a {
		return b
	}
	return a
}

func pythonMax0(v float64) float64 { return pythonMaxOf(0, v) }

// averagePrecision is precisionArea where there must be a miss.
func averagePrecision(hits []bool, scores []float64) (float64, error) {
	switch {
	case slices.ContainsFunc(scores, func(v float64) bool { return v-v != 0 }):
		return 0, unscorable("a confidence is not a finite number")
	case !slices.Contains(hits, false):
		return 0, unscorable("average precision is undefined: every detection is correct")
	}
	return precisionArea(hits, scores), nil
}

// precisionArea returns Σ (R_n - R_{n-1})·P_n over the distinct scores,
// falling, without interpolation, as scikit-learn 1.5's
// average_precision_score does; 0 without a hit.
func precisionArea(hits []bool, scores []float64) float64 {
	order := rowsOf(len(scores))
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	var precision, recall []float64
	right := 0
	for i, at := range order {
		if hits[at] {
			right++
		}
		if i+1 == len(order) || scores[order[i+1]] != scores[at] {
			precision = append(precision, float64(right)/float64(i+1))
			recall = append(recall, float64(right))
		}
	}
	steps := make([]float64, len(recall))
	for i := range recall {
		before := 0.0
		if i > 0 {
			before = quotient(recall[i-1], float64(right))
		}
		steps[len(steps)-1-i] = float64((quotient(recall[i], float64(right)) - before) * precision[i])
	}
	return Sum(steps)
}

var pointInBoxF1 = Metric{
	Name: "point_in_box_f1", Better: Higher,
	Doc: `F1 of labelled points against labelled boxes, counted over all rows.
A true cell lists "label x y width height", a predicted one "label x y", split at every single space; empty is nothing. Each box in order takes the first unused point of its label strictly inside it; boxes left are false negatives, points left false positives. The score is 2pr/(p+r), 0 if nothing is predicted, true or correct. Lists of another length and coordinates that Python's float() refuses have no score.`,
	Source:       "metric of the Kuzushiji recognition competition",
	Placeholders: Placeholders{"": {"a 1 1 2 2"}},
	New:          func(Args) (Scorer, error) { return scorePointF1, nil },
}

func scorePointF1(in Input) (Score, error) {
	p, err := in.single()
	if err != nil {
		return Score{}, err
	}
	var right, predicted, wanted int
	for i := range p.truth.Len() {
		points, err := labelled(p.pred, i, 2)
		if err != nil {
			return Score{}, err
		}
		boxes, err := labelled(p.truth, i, 4)
		if err != nil {
			return Score{}, unscorable("the answers of row %d cannot be read", i+1)
		}
		right += takenPoints(boxes, points)
		predicted += len(points)
		wanted += len(boxes)
	}
	if right == 0 {
		return Score{Rounding: PythonRounding}, nil
	}
	precision, recall := float64(right)/float64(predicted), float64(right)/float64(wanted)
	return Score{Value: float64(2*precision*recall) / (precision + recall), Rounding: PythonRounding}, nil
}

// labelledNumbers is a word with numbers.
type labelledNumbers struct {
	label  string
	values []float64
}

// labelled reads a cell of groups of a label and n numbers at single blanks;
// a missing cell holds none.
func labelled(c *table.Column, row, n int) ([]labelledNumbers, error) {
	v := c.Value(row)
	if v.IsMissing() {
		return nil, nil
	}
	if v.Kind() != table.Text {
		return nil, &Unscorable{Column: c.Name(), Reason: "contains cells that are not strings"}
	}
	parts := strings.Split(v.String(), " ")
	if len(parts)%(n+1) != 0 {
		return nil, unscorable("column %q: row %d: the list has %d words, which is not a multiple of %d", c.Name(), row+1, len(parts), n+1)
	}
	out, bad := labelledGroups(parts, n+1, 0)
	if bad != "" {
		return nil, unscorable("column %q: row %d: %s", c.Name(), row+1, bad)
	}
	return out, nil
}

// labelledGroups reads groups of n words: numbers, but for the one at place label. bad says
// what is wrong with the list.
func labelledGroups(list []string, n, label int) (out []labelledNumbers, bad string) {
	if len(list)%n != 0 {
		return nil, fmt.Sprintf("there are %d words, which is not a multiple of %d", len(list), n)
	}
	values := make([]float64, 0, len(list))
	out = make([]labelledNumbers, 0, len(list)/n)
	for i, w := range list {
		if i%n != label {
			x, ok := pytext.Float(w)
			if !ok {
				return nil, quote(w) + " is not a number"
			}
			values = append(values, x)
		}
		if i%n == n-1 {
			out = append(out, labelledNumbers{list[i-n+1+label], values[len(values)-n+1:]})
		}
	}
	return out, ""
}

// parseFloats reads words as Python's float() does; bad is the first, quoted,
// that it refuses.
func parseFloats(list []string) (values []float64, bad string) {
	values = make([]float64, len(list))
	for i, w := range list {
		x, ok := pytext.Float(w)
		if !ok {
			return nil, quote(w)
		}
		values[i] = x
	}
	return values, ""
}

func takenPoints(boxes, points []labelledNumbers) int {
	used := make([]bool, len(points))
	taken := 0
	for _, b := range boxes {
		x0, y0 := b.values[0], b.values[1]
		x1, y1 := x0+b.values[2], y0+b.values[3]
		for i, p := range points {
			x, y := p.values[0], p.values[1]
			if !used[i] && p.label == b.label && x0 < x && x < x1 && y0 < y && y < y1 {
				used[i] = true
				taken++
				break
			}
		}
	}
	return taken
}
