package split

import (
	"fmt"
	"slices"
	"strings"
)

// Splitter is one way of dividing rows, as the competition language calls it
// by name.
type Splitter struct {
	// Name is the function's name, in snake_case.
	Name string
	// Doc is one sentence on what it does.
	Doc string
	// Args are the names of the arguments it takes, a subset of ArgDocs'.
	Args []string
	// Split divides n rows. It is pure.
	Split func(n int, a Args) (Parts, error)
}

// Parts are the row numbers of both sides, in the order in which the rows
// come out.
type Parts struct{ Train, Test []int }

// Args are the arguments of every splitter; each reads the ones it names.
type Args struct {
	Test, Train Size      // test_size (n and frac are Test too), train_size
	Seed        int64     // random_state
	Unshuffled  bool      // shuffle = false
	Stratify    []int32   // stratify
	Groups      []int32   // groups
	Few         int       // few
	Folds, Fold int       // folds (0 means 5), fold
	Weights     []float64 // weights
	Replace     bool      // replace
}

// ArgDocs says what each argument means, by its name in the competition
// language, sorted by name.
func ArgDocs() []ArgDoc {
	return []ArgDoc{
		{"few", "number: groups of fewer rows keep their order and give their last rows to test; 0 (default) for none"},
		{"fold", "number: the fold, from 0, that is held out; default 0"},
		{"folds", "number: how many folds; default 5"},
		{"frac", "number: share of the rows to draw, as Share; 1 means all"},
		{"groups", "column: rows of equal value belong to one group"},
		{"n", "number: how many rows to draw, as Count; default 1"},
		{"random_state", "number: the seed, 0 to 4294967295; default 0"},
		{"replace", "bool: a row may be drawn more than once; default false"},
		{"shuffle", "bool: divide in random order; default true (for folds too, unlike the library)"},
		{"stratify", "column: rows of equal value are one class, kept in proportion"},
		{"test_size", "number: share (0.1) or number of rows or groups (100) held out; default 0.25 of the rows, 0.2 of the groups"},
		{"train_size", "number: share or number of rows or groups to train on; default all the others"},
		{"weights", "column: how likely each row is drawn; default equally"},
	}
}

// ArgDoc is an argument's name and meaning.
type ArgDoc struct{ Name, Doc string }

// Find returns the splitter of that name, or an error that lists what there
// is.
func Find(name string) (Splitter, error) {
	all := All()
	for _, s := range all {
		if s.Name == name {
			return s, nil
		}
	}
	names := make([]string, len(all))
	for i, s := range all {
		names[i] = s.Name
	}
	return Splitter{}, fmt.Errorf("find splitter %q: there are %s", name, strings.Join(names, ", "))
}

// register sorts splitters by name and panics if two share one, which only a
// mistake in all.go can cause.
func register(splitters ...Splitter) []Splitter {
	slices.SortFunc(splitters, func(a, b Splitter) int { return strings.Compare(a.Name, b.Name) })
	for i := 1; i < len(splitters); i++ {
		if splitters[i].Name == splitters[i-1].Name {
			panic("split: two splitters are named " + splitters[i].Name)
		}
	}
	return splitters
}

func (a Args) options() Options {
	return Options{Test: a.Test, Train: a.Train, Seed: a.Seed, Unshuffled: a.Unshuffled, Stratify: a.Stratify}
}

// checkRows refuses a column that does not belong to the rows.
func checkRows(name string, n, labels int) error {
	if labels != n {
		return fmt.Errorf("%s has %d values for %d rows", name, labels, n)
	}
	return nil
}

// grouped checks the groups column before split.
func grouped(split func(Args) (train, test []int, err error)) func(int, Args) (Parts, error) {
	return func(n int, a Args) (Parts, error) {
		if err := checkRows("groups", n, len(a.Groups)); err != nil {
			return Parts{}, err
		}
		train, test, err := split(a)
		return Parts{train, test}, err
	}
}

// folded holds out one fold of those that folds assigns.
func folded(folds func(n int, a Args, o FoldOptions) ([]int32, error)) func(int, Args) (Parts, error) {
	return func(n int, a Args) (Parts, error) {
		if a.Folds == 0 {
			a.Folds = 5
		}
		o := FoldOptions{Folds: a.Folds, Shuffle: !a.Unshuffled, Seed: a.Seed}
		of, err := folds(n, a, o)
		if err != nil {
			return Parts{}, err
		}
		if a.Fold < 0 || a.Fold >= a.Folds {
			return Parts{}, fmt.Errorf("fold = %d: with %d folds, it must lie between 0 and %d", a.Fold, a.Folds, a.Folds-1)
		}
		train, test := Fold(of, a.Fold)
		return Parts{train, test}, nil
	}
}
