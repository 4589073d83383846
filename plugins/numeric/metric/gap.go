package metric

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/mleflow/mleflow/plugins/data/pytext"
)

var gap = Metric{
	Name: "gap", Better: Higher,
	Doc: `Global average precision over the predictions of all rows, by falling confidence: Σ over the hits of the share of hits so far, divided by the number of true labels. Equal confidences keep the order of the file.
A predicted cell lists "label confidence" pairs, of which the first k count; a true one lists labels. Both are split at white space, and empty with cells = "filled_text" where the file has none. A repeated label is a hit once. Other lists, confidences that are not finite, and missing cells have no score. Answers without a label give NaN.`,
	Source: "metric of the YouTube-8M and Google Landmark Recognition competitions",
	Params: cutParam,
	Kaggle: Aliases{"Global Average Precision (GAP)": nil, "GAP@K": {"k": 20.0}},
	New: func(a Args) (Scorer, error) {
		return ofTexts(func(truth, pred []string) (Score, error) { return scoreGAP(truth, pred, int(a.number("k"))) }), nil
	},
}

// guess is a predicted label, and whether it is true.
type guess struct {
	confidence float64
	hit        bool
}

func scoreGAP(truth, pred []string, k int) (Score, error) {
	var all []guess
	labels := 0
	for i := range truth {
		left := wordSet(pytext.Fields(truth[i]))
		labels += len(left)
		guesses, err := guessesIn(pred[i], left, k)
		if err != nil {
			return Score{}, unscorable("row %d: %v", i+1, err)
		}
		all = append(all, guesses...)
	}
	slices.SortStableFunc(all, func(a, b guess) int { return cmp.Compare(b.confidence, a.confidence) })
	sum, hits := 0.0, 0
	for i, g := range all {
		if g.hit {
			hits++
			sum += float64(hits) / float64(i+1)
		}
	}
	return Score{Value: sum / float64(labels)}, nil
}

// guessesIn reads the first k pairs of a cell, all if k is 0; a hit is taken from left.
func guessesIn(cell string, left map[string]bool, k int) (out []guess, err error) {
	words := pytext.Fields(cell)
	if len(words)%2 != 0 {
		return nil, fmt.Errorf("it has %d words; expected pairs of label and confidence", len(words))
	}
	for ; len(words) > 0 && (k == 0 || len(out) < k); words = words[2:] {
		confidence, ok := pytext.Float(words[1])
		if !ok || math.IsNaN(confidence) || math.IsInf(confidence, 0) {
			return nil, fmt.Errorf("confidence %s is not a finite number", strconv.Quote(words[1]))
		}
		out = append(out, guess{confidence, left[words[0]]})
		delete(left, words[0])
	}
	return out, nil
}
