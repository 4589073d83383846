package metric

import (
	"github.com/mleflow/mleflow/plugins/data/pytext"
)

var kendallTau = Metric{
	Name: "kendall_tau", Better: Higher,
	Doc: `Kendall's tau over all rows, whose cells list words in order: 1 - 4·inversions / Σ n(n-1), with n words in a row.
Inversions are of the true words' positions in the predicted list. A list of another length or without a true word has no score; nor has a file in which no row has two words.`,
	Source: "Kendall 1938; metric of the AI4Code competition",
	Kaggle: Aliases{"Kendall Tau": nil},
	New:    func(Args) (Scorer, error) { return ofTexts(scoreKendall), nil },
}

func scoreKendall(truth, pred []string) (Score, error) {
	inversions, pairs := 0, 0
	for i := range truth {
		t, p := pytext.Fields(truth[i]), pytext.Fields(pred[i])
		if len(t) != len(p) {
			return Score{}, unscorable("row %d: there are %d words; expected %d", i+1, len(p), len(t))
		}
		ranks, ok := placesOf(t, p)
		if !ok {
			return Score{}, unscorable("row %d: an expected word is missing", i+1)
		}
		inversions += inversionsOf(ranks)
		pairs += len(t) * (len(t) - 1)
	}
	if pairs == 0 {
		return Score{}, unscorable("no row has two words to order")
	}
	return Score{Value: 1 - float64(4*inversions)/float64(pairs), Rounding: PythonRounding}, nil
}

// placesOf returns the first place in list of each of the words.
func placesOf(of, list []string) ([]int, bool) {
	at := make(map[string]int, len(list))
	for i := len(list) - 1; i >= 0; i-- {
		at[list[i]] = i
	}
	out := make([]int, len(of))
	for i, w := range of {
		var ok bool
		if out[i], ok = at[w]; !ok {
			return nil, false
		}
	}
	return out, true
}

// inversionsOf returns the number of pairs in the wrong order: i < j with
// v[i] > v[j]. The numbers are places in a list of that length.
func inversionsOf(v []int) (count int) {
	tree := make([]int, len(v)+1) // Fenwick 1994: how many numbers up to each were seen
	for seen, x := range v {
		count += seen
		for i := x + 1; i > 0; i -= i & -i {
			count -= tree[i]
		}
		for i := x + 1; i < len(tree); i += i & -i {
			tree[i]++
		}
	}
	return count
}
