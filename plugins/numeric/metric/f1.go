package metric

var f1 = Metric{
	Name:   "f1",
	Better: Higher,
	Doc: `F1 of single labels: 2·TP / (2·TP + FP + FN).
"micro" counts over all labels, which is the share of equal rows; "macro" averages the F1 of every label without weights. Labels are the union of both sides' values, so that a predicted label that is never true counts as 0 in the macro average. Strings against numbers, floats that are not whole, missing cells and infinities have no score.`,
	Source: "scikit-learn 1.5 f1_score",
	Params: []Param{{Name: "average", Kind: TextParam, OneOf: []string{"micro", "macro"}, Doc: "how labels are averaged"}},
	New: func(a Args) (Scorer, error) {
		micro := a.text("average") == "micro"
		return scorerFunc(func(in Input) (Score, error) { return scoreF1(in, micro) }), nil
	},
}

func scoreF1(in Input, micro bool) (Score, error) {
	p, err := in.single()
	if err != nil {
		return Score{}, err
	}
	if err := checkTargets(p.truth, p.pred); err != nil {
		return Score{}, err
	}
	if p.truth.Len() == 0 {
		return Score{}, unscorable("there are no rows")
	}
	labels, err := encodeTogether(p.truth, p.pred)
	if err != nil {
		return Score{}, err
	}
	if micro {
		return Score{Value: microF1Of(labels.codes[0], labels.codes[1])}, nil
	}
	return Score{Value: macroF1Of(labels.codes[0], labels.codes[1], labels.count)}, nil
}

// microF1Of returns the micro F1 of single labels: the share of equal places.
func microF1Of(truth, pred []int32) float64 {
	return float64(2*matches(truth, pred)) / float64(2*len(truth))
}

// macroF1Of returns the unweighted mean of the F1 of labels 0 to count-1. A
// label that neither side has counts with 0.
func macroF1Of(truth, pred []int32, count int) float64 {
	hits, seen := make([]int, count), make([]int, count)
	for i, t := range truth {
		seen[t]++
		seen[pred[i]]++
		if t == pred[i] {
			hits[t]++
		}
	}
	each := make([]float64, count)
	for k := range each {
		if seen[k] > 0 {
			each[k] = float64(2*hits[k]) / float64(seen[k])
		}
	}
	return Mean(each)
}
