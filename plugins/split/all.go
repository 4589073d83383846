package split

import "math"

// All lists every splitter, sorted by name.
func All() []Splitter {
	return register(
		fillGroups(),
		groupKFold(),
		groupShuffleSplit(),
		kFold(),
		sampled(),
		stratifiedKFold(),
		trainTestSplit(),
		trainTestSplitEach(),
	)
}

func trainTestSplit() Splitter {
	return Splitter{
		Name: "train_test_split",
		Doc:  "Divides rows at random as scikit-learn's function of this name; both parts come out in shuffled order.",
		Args: []string{"test_size", "train_size", "random_state", "shuffle", "stratify"},
		Split: func(n int, a Args) (Parts, error) {
			train, test, err := TrainTestSplit(n, a.options())
			return Parts{train, test}, err
		},
	}
}

func trainTestSplitEach() Splitter {
	return Splitter{
		Name: "train_test_split_each",
		Doc:  "Divides every group on its own as train_test_split does and joins the parts group by group.",
		Args: []string{"groups", "few", "test_size", "train_size", "random_state", "shuffle"},
		Split: grouped(func(a Args) (train, test []int, err error) {
			return TrainTestSplitEach(a.Groups, a.Few, a.options())
		}),
	}
}

func groupShuffleSplit() Splitter {
	return Splitter{
		Name: "group_shuffle_split",
		Doc:  "Divides whole groups at random; sizes count groups, rows keep their order.",
		Args: []string{"groups", "test_size", "train_size", "random_state"},
		Split: grouped(func(a Args) (train, test []int, err error) {
			return GroupShuffleSplit(a.Groups, a.options())
		}),
	}
}

func fillGroups() Splitter {
	return Splitter{
		Name: "fill_groups",
		Doc:  "Holds out whole groups, in order, for as long as they fit into test_size rows; not random.",
		Args: []string{"groups", "test_size"},
		Split: grouped(func(a Args) (train, test []int, err error) {
			return FillGroups(a.Groups, a.Test.rows(len(a.Groups), math.Floor))
		}),
	}
}

func sampled() Splitter {
	return Splitter{
		Name: "sample",
		Doc:  "Holds out rows drawn as pandas' DataFrame.sample draws them, in that order; the others keep theirs.",
		Args: []string{"n", "frac", "random_state", "replace", "weights"},
		Split: func(n int, a Args) (Parts, error) {
			test, err := Sample(n, SampleOptions{Size: a.Test, Seed: a.Seed, Replace: a.Replace, Weights: a.Weights})
			if err != nil {
				return Parts{}, err
			}
			return Parts{Train: without(n, test), Test: test}, nil
		},
	}
}

func kFold() Splitter {
	return Splitter{
		Name: "k_fold",
		Doc:  "Holds out one of several equal folds as scikit-learn's KFold.",
		Args: []string{"folds", "fold", "shuffle", "random_state"},
		Split: folded(func(n int, _ Args, o FoldOptions) ([]int32, error) {
			return KFold(n, o)
		}),
	}
}

func stratifiedKFold() Splitter {
	return Splitter{
		Name: "stratified_k_fold",
		Doc:  "Holds out one of several folds with equal shares of each class as scikit-learn's StratifiedKFold.",
		Args: []string{"stratify", "folds", "fold", "shuffle", "random_state"},
		Split: folded(func(n int, a Args, o FoldOptions) ([]int32, error) {
			if err := checkRows("stratify", n, len(a.Stratify)); err != nil {
				return nil, err
			}
			return StratifiedKFold(a.Stratify, o)
		}),
	}
}

func groupKFold() Splitter {
	return Splitter{
		Name: "group_k_fold",
		Doc:  "Holds out one of several folds of whole groups as scikit-learn's GroupKFold.",
		Args: []string{"groups", "folds", "fold", "shuffle", "random_state"},
		Split: folded(func(n int, a Args, o FoldOptions) ([]int32, error) {
			if err := checkRows("groups", n, len(a.Groups)); err != nil {
				return nil, err
			}
			return GroupKFold(a.Groups, o)
		}),
	}
}
