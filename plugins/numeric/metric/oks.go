package metric

import (
	"fmt"
	"math"
	"strconv"

	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/numeric/libm"
)

var oks = Metric{
	Name: "oks", Better: Higher,
	Doc: `Object keypoint similarity, mean over rows: a row is an object, the targets are x and y of its keypoints in turn.
A keypoint at the distance d counts exp(-d² / (2·area·(2·sigma)²)), and a row the mean of those that the answers have. A keypoint whose x or y the answers lack is left out, and so is a row without any. An area that is not positive is a fault of the answers. Missing and infinite predictions and strings have no score.`,
	Source: "pycocotools 2.0 COCOeval.computeOks",
	Params: []Param{
		{Name: "area", Kind: TextParam, Doc: "the answers' column of the objects' areas"},
		{Name: "sigma", Kind: NumberParam, Default: 0.05, Doc: "how far annotators differ, in widths of the object"},
		{Name: "sigmas", Kind: TextsParam, Default: []string(nil), Doc: "the same for each keypoint, such as \"0.026\""},
	},
	Placeholders: Placeholders{"area": {"100"}},
	Kaggle:       Aliases{"Object Keypoint Similarity (OKS)": {"area": "area"}},
	New: func(a Args) (Scorer, error) {
		sigmas, err := table.TryCollect(len(a.texts("sigmas")), func(i int) (float64, error) { return strconv.ParseFloat(a.texts("sigmas")[i], 64) })
		if err != nil {
			return nil, fmt.Errorf("sigmas: %w", err)
		}
		for _, s := range append(sigmas, a.number("sigma")) {
			if !(s > 0) || math.IsInf(s, 0) {
				return nil, fmt.Errorf("sigma %v is not above 0", s)
			}
		}
		return func(in Input) (Score, error) { return scoreOKS(in, a, sigmas) }, nil
	},
}

func scoreOKS(in Input, a Args, sigmas []float64) (Score, error) {
	pairs, err := in.pairs()
	if err != nil {
		return Score{}, err
	}
	points := len(pairs) / 2
	if len(pairs)%2 != 0 || len(sigmas) != 0 && len(sigmas) != points {
		return Score{}, fmt.Errorf("oks needs an x and a y of each keypoint, and as many sigmas as keypoints; there are %d targets and %d sigmas", len(pairs), len(sigmas))
	}
	areas, err := in.numbersOf(a.text("area"))
	if err != nil {
		return Score{}, err
	}
	truth, pred := make([][]float64, len(pairs)), make([][]float64, len(pairs))
	for k, p := range pairs {
		if pred[k], err = finiteFloats(p.pred); err != nil {
			return Score{}, err
		}
		if truth[k], err = plainFloats(p.truth); err != nil {
			return Score{}, fmt.Errorf("answers: %w", err)
		}
	}
	var each []float64
	for i, area := range areas[0] {
		if !(area > 0) {
			return Score{}, fmt.Errorf("answers: row %d: the area is not positive", i+1)
		}
		var similar []float64
		for k := range points {
			dx, dy := pred[2*k][i]-truth[2*k][i], pred[2*k+1][i]-truth[2*k+1][i]
			sigma := a.number("sigma")
			if len(sigmas) > 0 {
				sigma = sigmas[k]
			}
			if squares := float64(dx*dx) + float64(dy*dy); !math.IsNaN(squares) {
				variance := 2 * sigma
				similar = append(similar, libm.Exp(-(squares / float64(variance*variance) / (area + 0x1p-52) / 2)))
			}
		}
		if len(similar) > 0 {
			each = append(each, Mean(similar))
		}
	}
	return Score{Value: Mean(each)}, nil
}
