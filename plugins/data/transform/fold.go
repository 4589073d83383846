package transform

import (
	"fmt"
	"slices"

	"github.com/mleflow/mleflow/plugins/data/split"
	"github.com/mleflow/mleflow/plugins/data/table"
)

// foldOptions are the options of k_fold.
type foldOptions struct {
	Splits      *int          `verb:"splits"`
	Fold        int           `verb:"fold"`
	Shuffle     bool          `verb:"shuffle"`
	RandomState int           `verb:"random_state"`
	Stratify    *table.Column `verb:"stratify"`
	Groups      *table.Column `verb:"groups"`
}

var kFoldVerb = Verb{
	Name: "k_fold", Params: []string{"rows", "options"},
	Summary: "The rows split into train and test, where test is one of splits (5) folds: fold, from 0.",
	Detail:  "Both parts keep the order. shuffle = true deals rows out at random, by the seed random_state (0). stratify is a column whose proportions each fold keeps; groups is a column whose equal cells stay in one fold, without shuffle but with stratify.",
	Source:  "sklearn.model_selection.KFold, StratifiedKFold, GroupKFold, StratifiedGroupKFold (1.5)",
	Func: func(rows Rows, o *foldOptions) (parts, error) {
		splits := orDefault(o.Splits, 5)
		if o.Fold < 0 || o.Fold >= splits {
			return parts{}, fmt.Errorf("k_fold: fold = %d is not between 0 and %d", o.Fold, splits-1)
		}
		opts := split.FoldOptions{Splits: splits, Shuffled: o.Shuffle, Seed: int64(o.RandomState)}
		for _, c := range []*table.Column{o.Stratify, o.Groups} {
			if c != nil && (c.Len() != rows.Len() || c.MissingCount() > 0) {
				return parts{}, fmt.Errorf("k_fold: column %q must have %d cells, none missing", c.Name(), rows.Len())
			}
		}
		if o.Stratify != nil {
			opts.Stratify, _ = codesOf(true, o.Stratify)
		}
		if o.Groups != nil {
			groups, count := codesOf(true, o.Groups)
			sortCodes(groups, count, o.Groups)
			if opts.Groups = groups; o.Stratify != nil {
				sortCodes(opts.Stratify, slices.Max(opts.Stratify)+1, o.Stratify)
			}
		}
		folds, err := split.Folds(rows.Len(), opts)
		if err != nil {
			return parts{}, fmt.Errorf("k_fold: %w", err)
		}
		return parts{
			Train: pickRows(rows, func(row int) bool { return folds[row] != o.Fold }),
			Test:  pickRows(rows, func(row int) bool { return folds[row] == o.Fold }),
		}, nil
	},
}

// timeOptions are the options of time_series_split.
type timeOptions struct {
	Splits   *int `verb:"splits"`
	Fold     *int `verb:"fold"`
	TestSize int  `verb:"test_size"`
	MaxTrain int  `verb:"max_train_size"`
	Gap      int  `verb:"gap"`
}

var timeSeriesSplitVerb = Verb{
	Name: "time_series_split", Params: []string{"rows", "options"},
	Summary: "The rows, in the order of time, split into train and the test rows after it.",
	Detail:  "There are splits (5) test parts of test_size rows, n / (splits + 1) by default, at the end; fold, from 0, is the last by default. train has all rows before, but for a gap (0) and at most max_train_size.",
	Source:  "sklearn.model_selection.TimeSeriesSplit (1.5)",
	Func: func(rows Rows, o *timeOptions) (parts, error) {
		opts := split.TimeOptions{Splits: orDefault(o.Splits, 5), TestSize: o.TestSize, MaxTrain: o.MaxTrain, Gap: o.Gap}
		opts.Fold = orDefault(o.Fold, opts.Splits-1)
		from, until, start, stop, err := split.TimeSeries(rows.Len(), opts)
		if err != nil {
			return parts{}, fmt.Errorf("time_series_split: %w", err)
		}
		return parts{Train: rows.Take(span(from, until)), Test: rows.Take(span(start, stop))}, nil
	},
}

// orDefault returns an option, or what stands for it where it is left out.
func orDefault[T any](v *T, otherwise T) T {
	if v == nil {
		return otherwise
	}
	return *v
}
