package transform

import (
	"fmt"
	"math"

	"github.com/mleflow/mleflow/plugins/data/split"
	"github.com/mleflow/mleflow/plugins/data/table"
)

// splitOptions are the options of train_test_split.
type splitOptions struct {
	TestSize    *float64      `verb:"test_size"`
	TrainSize   *float64      `verb:"train_size"`
	RandomState int           `verb:"random_state"`
	Shuffle     *bool         `verb:"shuffle"`
	Stratify    *table.Column `verb:"stratify"`
}

// parts are the two results of a split.
type parts struct {
	Train Rows `verb:"train"`
	Test  Rows `verb:"test"`
}

var trainTestSplitVerb = Verb{
	Name: "train_test_split", Params: []string{"rows", "options"},
	Summary: "The rows shuffled and split into train and test.",
	Detail:  "test_size and train_size are shares below 1 or numbers of rows; a test share is rounded up, a train share down. random_state is the seed (0). Both parts keep the shuffled order. shuffle = false does not shuffle; stratify is a column whose proportions both parts keep.",
	Source:  "sklearn.model_selection.train_test_split (1.5)",
	Func:    trainTestSplit,
}

func trainTestSplit(rows Rows, o *splitOptions) (parts, error) {
	opts := split.Options{Seed: int64(o.RandomState), Unshuffled: isFalse(o.Shuffle)}
	var err error
	if opts.Test, err = partSize("test_size", o.TestSize); err != nil {
		return parts{}, err
	}
	if opts.Train, err = partSize("train_size", o.TrainSize); err != nil {
		return parts{}, err
	}
	if o.Stratify != nil {
		classes, count := codesOf(true, o.Stratify)
		sortCodes(classes, count, o.Stratify)
		opts.Stratify = classes
	}
	train, test, err := split.TrainTestSplit(rows.Len(), opts)
	if err != nil {
		return parts{}, fmt.Errorf("train_test_split: %w", err)
	}
	return parts{Train: rows.Take(train), Test: rows.Take(test)}, nil
}

// partSize reads a size: a share below 1, or a number of rows.
func partSize(name string, v *float64) (split.Size, error) {
	switch {
	case v == nil:
		return split.Size{}, nil
	case *v >= 1 && *v == math.Trunc(*v) && *v < 1<<31:
		return split.Count(int(*v)), nil
	case *v > 0 && *v < 1:
		return split.Share(*v), nil
	}
	return split.Size{}, fmt.Errorf("train_test_split: %s = %v is neither a share between 0 and 1 nor a number of rows", name, *v)
}
