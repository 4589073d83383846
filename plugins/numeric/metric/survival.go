package metric

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/mleflow/mleflow/cache/leaf/lists"
)

var cIndex = Metric{
	Name: "c_index", Better: Higher,
	Doc: `Harrell's concordance index: the share of comparable pairs of rows that the predictions order as the times, ties counting half.
The target is the time. A pair is comparable if the row with the earlier time has the event, or of one time only one has it, which then is the earlier. Predictions are times, or, with risk, the greater the earlier. Without a comparable pair the answers are at fault. Missing cells, infinities and strings have no score.`,
	Source: "Harrell et al. 1982; lifelines 0.29 concordance_index",
	Params: []Param{
		{Name: "event", Kind: TextParam, Doc: "the column of the answers that is not 0 where the event was observed"},
		{Name: "risk", Kind: BoolParam, Default: false, Doc: "predictions are risks"},
	},
	Placeholders: Placeholders{"event": {"1"}},
	Kaggle:       Aliases{"Concordance Index": {"event": "efs", "risk": true}},
	New: func(a Args) (Scorer, error) {
		return func(in Input) (Score, error) {
			p, err := in.single()
			if err != nil {
				return Score{}, err
			}
			times, pred, err := read(p, finiteFloats)
			if err != nil {
				return Score{}, err
			}
			columns, err := in.answers(a.text("event"))
			if err != nil {
				return Score{}, err
			}
			if a.bool("risk") {
				pred = lists.Of(pred, func(x float64) float64 { return -x })
			}
			value, err := concordance(times, pred, lists.Of(columns[0].Floats(), func(x float64) bool { return x != 0 }))
			return Score{Value: value, Rounding: PythonRounding}, err
		}, nil
	},
}

// concordance returns the share of comparable pairs in order.
func concordance(times, pred []float64, event []bool) (float64, error) {
	order := rowsOf(len(times))
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(times[a], times[b]), count(event[b])-count(event[a])) })
	ranks := slices.Compact(slices.Sorted(slices.Values(pred)))
	tree := make([]int, len(ranks)+1) // Fenwick 1994: earlier events by their predictions
	upTo := func(rank int) (n int) {
		for ; rank > 0; rank -= rank & -rank {
			n += tree[rank]
		}
		return n
	}
	pairs, right, tied, seen := 0, 0, 0, 0
	for lo := 0; lo < len(order); {
		hi := lo
		for ; hi < len(order) && times[order[hi]] == times[order[lo]] && event[order[hi]] == event[order[lo]]; hi++ {
			rank, _ := slices.BinarySearch(ranks, pred[order[hi]])
			below := upTo(rank)
			pairs, right, tied = pairs+seen, right+below, tied+upTo(rank+1)-below
		}
		for ; lo < hi; lo++ {
			if !event[order[lo]] {
				continue
			}
			seen++
			rank, _ := slices.BinarySearch(ranks, pred[order[lo]])
			for rank++; rank < len(tree); rank += rank & -rank {
				tree[rank]++
			}
		}
	}
	if pairs == 0 {
		return 0, fmt.Errorf("answers: no two rows can be compared: no event is earlier than another time")
	}
	return (float64(right) + float64(float64(tied)/2)) / float64(pairs), nil
}
