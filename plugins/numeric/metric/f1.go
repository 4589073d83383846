package metric

var f1 = Metric{
	Name: "f1", Better: Higher,
	Doc: `F1 of single labels: 2·TP / (2·TP + FP + FN).
"micro" counts over all labels: the share of equal rows. "macro" averages over labels without weights; labels are both sides' values, so one that is only predicted counts as 0. Strings against numbers, floats that are not integers, missing cells and infinities have no score.`,
	Source: "scikit-learn 1.5 f1_score",
	Params: []Param{{Name: "average", Kind: TextParam, OneOf: []string{"micro", "macro"}, Doc: "how labels are averaged"}},
	New: func(a Args) (Scorer, error) {
		return ofLabels(func(p pair) (Score, error) { return scoreF1(p, a.text("average") == "micro") }), nil
	},
}

func scoreF1(p pair, micro bool) (Score, error) {
	if p.truth.Len() == 0 {
		return Score{}, unscorable("there are no rows")
	}
	labels, values, err := encodeLabels(p.truth, p.pred)
	if err != nil {
		return Score{}, err
	}
	return Score{Value: f1Of(labels.codes[0], labels.codes[1], looked(labels, values), micro)}, nil
}

// looked returns where scikit-learn finds each label in its sorted list of
// them: of those that are one double, at the place of the first.
func looked(labels encoding, values []exact) []int32 {
	out := make([]int32, labels.count)
	for k := range out {
		out[k] = int32(k)
		if k > 0 && values != nil && values[k].high+values[k].low == values[k-1].high+values[k-1].low {
			out[k] = out[k-1]
		}
	}
	return out
}

// f1Of returns the F1 over all labels, or else its mean over the labels without
// weights. The list of labels is that of their places, in which some may occur
// more than once.
func f1Of(truth, pred, labels []int32, micro bool) float64 {
	hits, seen := make([]int, len(labels)), make([]int, len(labels))
	for i, t := range truth {
		t, p := labels[t], labels[pred[i]]
		seen[t]++
		seen[p]++
		if t == p {
			hits[t]++
		}
	}
	allHits, all, each := 0, 0, make([]float64, len(labels))
	for k, at := range labels {
		allHits, all = allHits+hits[at], all+seen[at]
		each[k] = float64(2*hits[at]) / float64(seen[at])
	}
	if micro {
		return float64(2*allHits) / float64(all)
	}
	return Mean(each)
}
