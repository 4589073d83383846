package metric

import (
	"fmt"
	"strconv"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/plugins/data/table"
)

const averageDoc = `
One target compares labels of any kind. "binary" counts the label positive, of at most two; "micro" counts over all labels; "macro" averages over labels, those of both sides, without weights; "weighted" by how often a label is true. Several targets are flags, 0 or 1, one a label; "samples" then averages over rows. A share of nothing is 0. Strings against numbers, floats that are not integers, missing cells and infinities have no score.`

var (
	averageParam  = Param{Name: "average", Kind: TextParam, OneOf: []string{"binary", "micro", "macro", "weighted", "samples"}, Doc: "how labels are averaged"}
	positiveParam = Param{Name: "positive", Kind: TextParam, Default: "1", Doc: "the positive label"}
	betaParam     = Param{Name: "beta", Kind: NumberParam, Default: 1.0, Doc: "the weight of recall relative to precision"}
)

var f1 = Metric{
	Name: "f1", Better: Higher,
	Doc:    `F-beta of labels: (1+β²)·TP / ((1+β²)·TP + β²·FN + FP), which is F1 for β = 1.` + averageDoc,
	Source: "scikit-learn 1.5 f1_score, fbeta_score",
	Params: []Param{averageParam, betaParam, positiveParam},
	Kaggle: Aliases{
		"F-Score": {"average": "binary"}, "F-Score Beta": {"average": "binary", "beta": 0.5}, "F-Score (Micro)": {"average": "micro"},
		"F-Score (Macro)": {"average": "macro"}, "F-Score (Weighted)": {"average": "weighted"}, "Mean F1 (columns of flags)": {"average": "samples"},
	},
	New: func(a Args) (Scorer, error) { return ofTallies(a, fBeta(a)), nil },
}

var precision = Metric{
	Name: "precision", Better: Higher,
	Doc:    `Share of predictions of a label that are correct: TP / (TP + FP).` + averageDoc,
	Source: "scikit-learn 1.5 precision_score",
	Params: []Param{averageParam, positiveParam},
	Kaggle: Aliases{"Precision": {"average": "binary"}},
	New: func(a Args) (Scorer, error) {
		return ofTallies(a, func(t tally) float64 { return quotient(t.hits, t.pred) }), nil
	},
}

var recall = Metric{
	Name: "recall", Better: Higher,
	Doc:    `Share of a label's rows that are found: TP / (TP + FN).` + averageDoc,
	Source: "scikit-learn 1.5 recall_score",
	Params: []Param{averageParam, positiveParam},
	Kaggle: Aliases{"Macro-averaged recall": {"average": "macro"}},
	New:    func(a Args) (Scorer, error) { return ofTallies(a, tally.recall), nil },
}

var jaccard = Metric{
	Name: "jaccard", Better: Higher,
	Doc:    `Intersection over union of labels: TP / (TP + FP + FN).` + averageDoc,
	Source: "scikit-learn 1.5 jaccard_score",
	Params: []Param{averageParam, positiveParam},
	Kaggle: Aliases{"Mean IoU of classes": {"average": "macro"}},
	New: func(a Args) (Scorer, error) {
		return ofTallies(a, func(t tally) float64 { return quotient(t.hits, t.truth+t.pred-t.hits) }), nil
	},
}

var balancedAccuracy = Metric{
	Name: "balanced_accuracy", Better: Higher,
	Doc: `Mean over the true labels of the share of their rows that are predicted correctly.
With adjusted, it is (score - chance) / (1 - chance) for a chance of 1 / the number of true labels; one label then gives NaN. Integers and floats that meet are compared as in kappa. Labels are refused as by f1.`,
	Source: "scikit-learn 1.5 balanced_accuracy_score",
	Params: []Param{{Name: "adjusted", Kind: BoolParam, Default: false, Doc: "a score of 0 is chance"}},
	Kaggle: Aliases{"Balanced Accuracy": nil},
	New: func(a Args) (Scorer, error) {
		return ofLabels(func(p pair) (Score, error) { return scoreBalanced(p, a.bool("adjusted")) }), nil
	},
}

func scoreBalanced(p pair, adjusted bool) (Score, error) {
	pred, truth, count, err := confusable(p)
	if err != nil {
		return Score{}, err
	}
	if len(truth) == 0 {
		return Score{}, unscorable("there are no rows")
	}
	present := lists.Where(tallied(truth, pred, count), func(t tally) bool { return t.truth > 0 })
	score := Mean(lists.Of(present, tally.recall))
	if adjusted {
		chance := 1 / float64(len(present))
		score = (score - chance) / (1 - chance)
	}
	return Score{Value: score}, nil
}

// A tally counts how often a label, or a row's labels, are correct, true and predicted.
type tally struct{ hits, truth, pred float64 }

func (t *tally) add(truth, pred bool) {
	t.hits += float64(count(truth && pred))
	t.truth += float64(count(truth))
	t.pred += float64(count(pred))
}

func (t tally) recall() float64 { return quotient(t.hits, t.truth) }

// quotient returns a/b, and 0 for 0/0.
func quotient(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

func fBeta(a Args) func(tally) float64 {
	square := float64(a.number("beta") * a.number("beta"))
	return func(t tally) float64 { return quotient(float64((1+square)*t.hits), float64(square*t.truth)+t.pred) }
}

// ofTallies returns the scorer of a share, averaged as the parameters say.
func ofTallies(a Args, of func(tally) float64) Scorer {
	return func(in Input) (Score, error) {
		count := labelTallies
		if len(in.Targets) > 1 {
			count = flagTallies
		}
		each, err := count(in, a)
		return Score{Value: averaged(each, a.text("average"), of)}, err
	}
}

func averaged(each []tally, average string, of func(tally) float64) float64 {
	values, total, weights := lists.Of(each, of), tally{}, make([]float64, len(each))
	for i, t := range each {
		total = tally{total.hits + t.hits, total.truth + t.truth, total.pred + t.pred}
		weights[i] = t.truth
	}
	switch {
	case average == "micro":
		return of(total)
	case average == "weighted" && total.truth > 0:
		return weightedMean(values, weights)
	}
	return Mean(values)
}

// labelTallies counts the labels of the only target.
func labelTallies(in Input, a Args) ([]tally, error) {
	p, err := in.single()
	if err == nil {
		err = checkTargets(p.truth, p.pred)
	}
	switch {
	case err != nil:
		return nil, err
	case p.truth.Len() == 0:
		return nil, unscorable("there are no rows")
	case a.text("average") == "samples":
		return nil, fmt.Errorf("average = \"samples\" needs several targets")
	}
	labels, values, err := encodeLabels(p.truth, p.pred)
	if err != nil {
		return nil, err
	}
	at := looked(labels, values)
	truth, pred := pick32(at, labels.codes[0]), pick32(at, labels.codes[1])
	each := tallied(truth, pred, labels.count)
	if a.text("average") != "binary" {
		return lists.Of(at, func(k int32) tally { return each[k] }), nil
	}
	if labels.count > 2 {
		return nil, unscorable("there are %d labels; average = \"binary\" compares two", labels.count)
	}
	for k, c := range []*table.Column{p.truth, p.pred} {
		if row := positiveRow(c, a.text("positive")); row >= 0 {
			return []tally{each[at[labels.codes[k][row]]]}, nil
		}
	}
	if labels.count == 2 {
		return nil, unscorable("no row has the positive label %s", quote(a.text("positive")))
	}
	return []tally{{}}, nil
}

func pick32(at, codes []int32) []int32 { return lists.Of(codes, func(k int32) int32 { return at[k] }) }

// tallied counts the labels 0 to count-1.
func tallied(truth, pred []int32, count int) []tally {
	each := make([]tally, count)
	for i, t := range truth {
		each[t].truth++
		each[pred[i]].pred++
		if t == pred[i] {
			each[t].hits++
		}
	}
	return each
}

// positiveRow returns a row with the label, or -1.
func positiveRow(c *table.Column, label string) int {
	number, err := strconv.ParseFloat(label, 64)
	for i := range c.Len() {
		if isText(c) && c.Text(i) == label || !isText(c) && err == nil && c.Float(i) == number {
			return i
		}
	}
	return -1
}

// flagTallies counts the flags of several targets, by target or by row.
func flagTallies(in Input, a Args) ([]tally, error) {
	pairs, err := in.pairs()
	switch {
	case err != nil:
		return nil, err
	case a.text("average") == "binary":
		return nil, fmt.Errorf("average = \"binary\" compares one target column")
	case pairs[0].truth.Len() == 0:
		return nil, unscorable("there are no rows")
	}
	byRow, each := a.text("average") == "samples", make([]tally, len(pairs))
	if byRow {
		each = make([]tally, pairs[0].truth.Len())
	}
	for k, p := range pairs {
		truth, pred, err := read(p, flags)
		if err != nil {
			return nil, err
		}
		for i := range truth {
			at := k
			if byRow {
				at = i
			}
			each[at].add(truth[i] == 1, pred[i] == 1)
		}
	}
	return each, nil
}

// flags returns a column of 0 and 1.
func flags(c *table.Column) ([]float64, error) {
	v, err := plainFloats(c)
	for i, x := range v {
		if x != 0 && x != 1 {
			return nil, &Unscorable{Column: c.Name(), Reason: "row " + strconv.Itoa(i+1) + " is neither 0 nor 1"}
		}
	}
	return v, err
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
