package metric

import "math"

const maskDoc = ` Cells are run lengths: "start length" pairs at white space, from 1. A cell that cannot be decoded has no score.`

var dice = Metric{
	Name:   "dice",
	Better: Higher,
	Doc: `Dice coefficient 2·|A∩B| / (|A|+|B|) of masks, of all images together (over = "all") or the mean over images ("rows").
Two empty masks give NaN (both_empty = "nan") or 1 ("one").` + maskDoc,
	Source: "Dice 1945",
	Params: append([]Param{
		{Name: "over", Kind: TextParam, Default: "rows", OneOf: []string{"rows", "all"}, Doc: "what one coefficient is computed over"},
		{Name: "both_empty", Kind: TextParam, Default: "nan", OneOf: []string{"nan", "one"}, Doc: "the coefficient of two empty masks"},
		{Name: "empty", Kind: TextParam, Default: "", Doc: "a cell that stands for an empty mask, such as -"},
	}, maskSizeParams...),
	Placeholders: maskStand,
	New: func(a Args) (Scorer, error) {
		size, err := newMaskSize(a)
		neither := math.NaN()
		if a.text("both_empty") == "one" {
			neither = 1
		}
		all, empty := a.text("over") == "all", a.text("empty")
		return scorerFunc(func(in Input) (Score, error) {
			masks, err := size.masks(in, empty)
			return Score{Value: meanDice(masks, all, neither)}, err
		}), err
	},
}

func meanDice(masks []maskPair, all bool, neither float64) float64 {
	var shared, total int
	each := make([]float64, len(masks))
	for i, m := range masks {
		s, t := m.truth.Shared(m.pred), m.truth.Area()+m.pred.Area()
		shared, total = shared+s, total+t
		each[i] = diceOf(s, t, neither)
	}
	if all {
		return diceOf(shared, total, neither)
	}
	return Mean(each)
}

func diceOf(shared, total int, neither float64) float64 {
	if total == 0 {
		return neither
	}
	return float64(2*shared) / float64(total)
}

var maskPrecision = Metric{
	Name:   "mask_precision",
	Better: Higher,
	Doc: `Mean over images of the share of thresholds 0.5, 0.55 … 0.95 (numpy.arange's) that the masks' intersection over union exceeds.
Two empty masks score 1, an empty truth against a mask 0. An empty mask against a truth counts as full, a flaw of the source's histograms.` + maskDoc,
	Source:       "metric of the TGS salt competition",
	Params:       maskSizeParams,
	Placeholders: maskStand,
	New: func(a Args) (Scorer, error) {
		size, err := newMaskSize(a)
		return scorerFunc(func(in Input) (Score, error) {
			masks, err := size.masks(in, "")
			each := make([]float64, len(masks))
			for i, m := range masks {
				each[i] = thresholdShare(m.truth, m.pred)
			}
			return Score{Value: Mean(each)}, err
		}), err
	},
}

func thresholdShare(truth, pred mask) float64 {
	t, p, shared := truth.Area(), pred.Area(), truth.Shared(pred)
	switch {
	case t == 0 && p == 0:
		return 1
	case t == 0:
		return 0
	case p == 0:
		p, shared = truth.Size, t
	}
	index := float64(shared) / float64(t+p-shared)
	const start = 0.5
	step := start + 0.05 - start // as numpy.arange takes it
	passed := make([]float64, 10)
	for k := range passed {
		if index > start+float64(float64(k)*float64(step)) {
			passed[k] = 1
		}
	}
	return Mean(passed)
}

var maskFBeta = Metric{
	Name:         "mask_fbeta",
	Better:       Higher,
	Doc:          `Mean over images of the F-beta of pixels: (1+β²)·TP / (β²·|truth| + |prediction|), 0 without a common pixel.` + maskDoc,
	Source:       "scikit-learn 1.5 fbeta_score",
	Params:       append([]Param{{Name: "beta", Kind: NumberParam, Default: 1.0, Doc: "the weight of recall relative to precision"}}, maskSizeParams...),
	Placeholders: maskStand,
	New: func(a Args) (Scorer, error) {
		size, err := newMaskSize(a)
		square := a.number("beta") * a.number("beta")
		return scorerFunc(func(in Input) (Score, error) {
			masks, err := size.masks(in, "")
			each := make([]float64, len(masks))
			for i, m := range masks {
				if shared := m.truth.Shared(m.pred); shared > 0 {
					each[i] = float64((1+square)*float64(shared)) / (float64(square*float64(m.truth.Area())) + float64(m.pred.Area()))
				}
			}
			return Score{Value: Mean(each)}, err
		}), err
	},
}
