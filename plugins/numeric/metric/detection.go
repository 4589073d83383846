package metric

import (
	"cmp"
	"maps"
	"slices"

	"github.com/mleflow/mleflow/plugins/data/pytext"
)

var detectionAP = Metric{
	Name:   "detection_ap",
	Better: Higher,
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
	list := pytext.Fields(cell)
	if len(list)%6 != 0 {
		return nil, unscorable("row %d: there are %d words, which is not a multiple of 6", row+1, len(list))
	}
	var out []detection
	for at := 0; at < len(list); at += 6 {
		v, bad := parseFloats(list[at+1 : at+6])
		if bad != "" {
			return nil, unscorable("row %d: %s is not a number", row+1, bad)
		}
		out = append(out, detection{list[at], v[0], [4]float64(v[1:])})
	}
	return out, nil
}

// matchClass returns for every detection of a class, and every box that none
// found, whether it is right and its confidence.
func matchClass(class string, truth, pred [][]detection) (hits []bool, scores []float64) {
	ofClass := func(d detection) bool { return d.class == class }
	for i := range truth {
		begin := len(hits)
		boxes := matching(truth[i], ofClass)
		used := make([]bool, len(boxes))
		for _, d := range matching(pred[i], ofClass) {
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

// matching returns the elements that is holds for.
func matching[T any](list []T, is func(T) bool) (out []T) {
	for _, x := range list {
		if is(x) {
			out = append(out, x)
		}
	}
	return out
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

// averagePrecision returns Σ (R_n - R_{n-1})·P_n over the distinct scores,
// falling, without interpolation, as scikit-learn 1.5's
// average_precision_score does. There must be a hit and a miss.
func averagePrecision(hits []bool, scores []float64) (float64, error) {
	order := make([]int, len(hits))
	all := true
	for i := range order {
		order[i] = i
		all = all && hits[i]
		if v := scores[i]; v-v != 0 {
			return 0, unscorable("a confidence is not a finite number")
		}
	}
	if all {
		return 0, unscorable("average precision is undefined: every detection is correct")
	}
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
			before = recall[i-1] / float64(right)
		}
		steps[len(steps)-1-i] = float64((recall[i]/float64(right) - before) * precision[i])
	}
	return Sum(steps), nil
}
