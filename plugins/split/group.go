package split

import (
	"errors"
	"fmt"
)

// GroupShuffleSplit is the first split of sklearn.model_selection.
// GroupShuffleSplit: whole groups go to one part. Sizes count groups, and 0.2
// of them are held out when no size is said. Rows keep their order.
//
// The library numbers the groups in ascending order, so pass Sorted codes to
// match it. With Appearance codes the result is that of the preparers' usual
// idiom: train_test_split on column.unique(), then rows by membership.
func GroupShuffleSplit(groups []int32, o Options) (train, test []int, err error) {
	if o.Stratify != nil || o.Unshuffled {
		return nil, nil, errors.New("split by group: stratify and shuffle = false do not apply")
	}
	if !o.Test.IsSet() && !o.Train.IsSet() {
		o.Test = Share(0.2)
	}
	groups = ranks(groups)
	n := len(countCodes(groups))
	trainGroups, testGroups, err := trainTest[int](n, o)
	if err != nil {
		return nil, nil, fmt.Errorf("split %d groups: %w", n, err)
	}
	return members(groups, n, trainGroups), members(groups, n, testGroups), nil
}

// members lists, in row order, the rows whose group is picked, of n groups.
func members(groups []int32, n int, picked []int) []int {
	in := make([]bool, n)
	for _, g := range picked {
		in[g] = true
	}
	var rows []int
	for i, g := range groups {
		if in[g] {
			rows = append(rows, i)
		}
	}
	return rows
}

// TrainTestSplitEach splits every group on its own, each with the same
// options and thus a fresh generator, and joins the parts group by group in
// code order. few, when above 0, is the rule of three preparers for small
// groups: a group of one row trains; one of fewer than few rows is not
// shuffled and gives its last rows to test, the share rounded down but at
// least one. With few = 0 a group too small to split is an error.
func TrainTestSplitEach(groups []int32, few int, o Options) (train, test []int, err error) {
	if o.Stratify != nil {
		return nil, nil, errors.New("split each group: stratify does not apply")
	}
	for g, rows := range rowsByCode(ranks(groups)) {
		first, second, err := splitOne(rows, few, o)
		if err != nil {
			return nil, nil, fmt.Errorf("split group %d of %d rows: %w", g, len(rows), err)
		}
		train, test = append(train, first...), append(test, second...)
	}
	return train, test, nil
}

func splitOne(rows []int, few int, o Options) (train, test []int, err error) {
	n := len(rows)
	switch {
	case few > 0 && n == 1:
		return rows, nil, nil
	case n < few:
		held := max(1, o.Test.rows(n, func(x float64) float64 { return x }))
		if held >= n {
			return nil, nil, fmt.Errorf("test_size = %v leaves no training rows", o.Test)
		}
		return rows[:n-held], rows[n-held:], nil
	}
	train, test, err = trainTest[int](n, o)
	return pick(rows, train), pick(rows, test), err
}

// pick is rows[i] for every i of at.
func pick(rows, at []int) []int {
	out := make([]int, len(at))
	for k, i := range at {
		out[k] = rows[i]
	}
	return out
}

// FillGroups holds out whole groups up to size rows: group by group in code
// order, one that still fits into the test part goes there whole, any other
// trains, so a later, smaller group may fit where an earlier did not. Rows
// come group by group. There is no randomness; shuffle the rows first.
func FillGroups(groups []int32, size int) (train, test []int, err error) {
	if size < 0 {
		return nil, nil, fmt.Errorf("fill groups: size %d is negative", size)
	}
	for _, rows := range rowsByCode(ranks(groups)) {
		if len(test)+len(rows) <= size {
			test = append(test, rows...)
		} else {
			train = append(train, rows...)
		}
	}
	return train, test, nil
}
