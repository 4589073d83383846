package transform

import (
	"fmt"

	"github.com/mleflow/mleflow/plugins/data/split"
	"github.com/mleflow/mleflow/plugins/data/table"
)

// splitEachOptions are the options of train_test_split_each.
type splitEachOptions struct {
	TestSize    *float64 `verb:"test_size"`
	RandomState int      `verb:"random_state"`
	ShuffleFrom int      `verb:"shuffle_from"`
}

var trainTestSplitEachVerb = Verb{
	Name: "train_test_split_each", Params: []string{"rows", "groups", "options"},
	Summary: "The rows with every group shuffled and split into train and test, each with the same seed.",
	Detail:  "groups is a column of equal cells. Parts hold groups in order of first appearance, each shuffled. test_size is a share below 1, rounded up in each; random_state is the seed (0). shuffle_from = n keeps the order of groups of fewer than n rows: the last are the test part, the share rounded down but at least one, and a single row goes to train. Without it, a group of one row is an error.",
	Source:  "sklearn.model_selection.train_test_split (1.5) for each group of itertools.groupby",
	Func:    trainTestSplitEach,
}

func trainTestSplitEach(rows Rows, groups *table.Column, o *splitEachOptions) (parts, error) {
	if groups.Len() != rows.Len() {
		return parts{}, fmt.Errorf("train_test_split_each: groups has %d cells; there are %d rows", groups.Len(), rows.Len())
	}
	if o.TestSize == nil || !(*o.TestSize > 0 && *o.TestSize < 1) {
		return parts{}, fmt.Errorf("train_test_split_each: test_size must be a share between 0 and 1")
	}
	var train, test []int
	for _, members := range rowsByCode(codesOf(true, groups)) {
		first, second, err := o.split(len(members))
		if err != nil {
			return parts{}, fmt.Errorf("train_test_split_each: group %s: %w", groups.Text(members[0]), err)
		}
		for _, i := range first {
			train = append(train, members[i])
		}
		for _, i := range second {
			test = append(test, members[i])
		}
	}
	return parts{Train: rows.Take(train), Test: rows.Take(test)}, nil
}

// split divides the rows of one group.
func (o *splitEachOptions) split(n int) (train, test []int, err error) {
	switch {
	case n >= o.ShuffleFrom:
		return split.TrainTestSplit(n, split.Options{Test: split.Share(*o.TestSize), Seed: int64(o.RandomState)})
	case n == 1:
		return []int{0}, nil, nil
	}
	cut := n - max(1, int(float64(n)**o.TestSize))
	return span(0, cut), span(cut, n), nil
}
