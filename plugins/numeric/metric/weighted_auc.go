package metric

import "slices"

var weightedAUC = Metric{
	Name: "weighted_auc", Better: Higher,
	Doc: `Area under the ROC curve, divided by 1.4, in which true positive rates up to 0.4 count twice.
The slices are 0 to 0.4 and 0.4 to 1; missing bounds are interpolated. A slice's area is by the trapezoid rule from its points, bounds included, and a last one at false positive rate 1 on its upper bound. A constant prediction scores 0.585714.`,
	Source: "scikit-learn 1.5 roc_curve; metric of the ALASKA2 competition",
	New:    func(Args) (Scorer, error) { return scoreWeightedAUC, nil },
}

func scoreWeightedAUC(in Input) (Score, error) {
	p, err := in.single()
	if err != nil {
		return Score{}, err
	}
	truth, err := twoClasses(p.truth)
	if err != nil {
		return Score{}, err
	}
	scores, err := finiteFloats(p.pred)
	if err != nil {
		return Score{}, err
	}
	return Score{Value: weightedAUCOf(truth, scores)}, nil
}

// weightedAUCOf returns the area described at the metric weighted_auc. Both
// classes must occur and scores be finite.
func weightedAUCOf(truth []bool, scores []float64) float64 {
	positive, negative := splitKeys(truth, scores)
	slices.Sort(positive)
	slices.Sort(negative)
	x, y := []float64{0}, []float64{0}
	walkCurve(positive, negative, func(c corner) {
		x = append(x, float64(c.negative)/float64(len(negative)))
		y = append(y, float64(c.positive)/float64(len(positive)))
	})
	x, y = insertRate(x, y, 0.4)
	return (float64(sliceArea(x, y, 0, 0.4)*2) + sliceArea(x, y, 0.4, 1)) / (0.4*2.0 + 0.6)
}

// insertRate adds a point at true positive rate y0, unless there is one.
func insertRate(x, y []float64, y0 float64) (xs, ys []float64) {
	if slices.Contains(y, y0) {
		return x, y
	}
	i := slices.IndexFunc(y, func(v float64) bool { return v > y0 })
	if i < 1 {
		return x, y
	}
	x0 := x[i-1] + float64((x[i]-x[i-1])*(y0-y[i-1]))/(y[i]-y[i-1])
	return slices.Insert(x, i, x0), slices.Insert(y, i, y0)
}

func sliceArea(x, y []float64, low, high float64) float64 {
	var areas []float64
	lastX, lastY, begun := 0.0, 0.0, false
	next := func(px, py float64) {
		if begun {
			areas = append(areas, float64((px-lastX)*(py+lastY))/2)
		}
		lastX, lastY, begun = px, py, true
	}
	for i := range x {
		if low <= y[i] && y[i] <= high {
			next(x[i], y[i]-low)
		}
	}
	next(1, high-low)
	return Sum(areas)
}
