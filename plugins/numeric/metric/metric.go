package metric

import (
	"fmt"

	"github.com/mleflow/mleflow/cache/leaf/named"
	"github.com/mleflow/mleflow/plugins/data/table"
)

// Direction says which of two scores is the better one.
type Direction uint8

// The directions.
const (
	Higher Direction = iota // a higher score is better
	Lower                   // a lower score is better
)

// String returns "higher" or "lower".
func (d Direction) String() string {
	if d == Lower {
		return "lower"
	}
	return "higher"
}

// A Metric is an entry of the list of metrics.
type Metric struct {
	Name         string       // what a grade block calls it
	Better       Direction    // which scores are better
	Doc          string       // formula, averaging, ties, clipping, edge cases
	Source       string       // paper or library with version
	Params       []Param      // the parameters New understands
	Placeholders Placeholders // made-up cells for answers that submissions do not determine
	// Ends are what the ids of submissions have after those of the answers, a
	// row for each; none where ids are the same.
	Ends []string
	// Sparse says that rows without truth are not graded.
	Sparse bool
	// Costly says that few bytes may take much processor time: it grows with
	// the pixels that a mask covers, say, or with a cell times that of the
	// answers, not with the text of the cell.
	Costly bool
	Kaggle Aliases                    // what Kaggle calls it, with the arguments that make it so
	New    func(Args) (Scorer, error) // checks the arguments
}

// Aliases are Kaggle's names of a metric and the arguments with which it is the same.
type Aliases map[string]Args

// A Scorer scores one submission. It must not change the tables and may be
// used by several goroutines at once.
type Scorer func(Input) (Score, error)

// Score calls the scorer.
func (s Scorer) Score(in Input) (Score, error) { return s(in) }

// Input is what a Scorer sees: row i of Truth belongs to row i of Prediction.
type Input struct {
	Truth      *table.Table
	Prediction *table.Table
	ID         string   // the id column of both, if any
	Targets    []string // columns to compare, by their names in Prediction
	TruthNames []string // the same columns by their names in Truth; nil if equal
}

// Score is a metric's value.
type Score struct {
	Value    float64  // full precision
	Rounding Rounding // how it is rounded for comparison with thresholds
}

// Unscorable says that a metric has no value for a prediction: the
// submission's fault.
type Unscorable struct {
	Column string // the prediction's column, if one is to blame
	Reason string
}

func (e *Unscorable) Error() string {
	if e.Column == "" {
		return e.Reason
	}
	return fmt.Sprintf("column %q: %s", e.Column, e.Reason)
}

func unscorable(format string, args ...any) error {
	return &Unscorable{Reason: fmt.Sprintf(format, args...)}
}

// pair is one target's column in both tables.
type pair struct {
	name        string
	truth, pred *table.Column
}

// pairs returns the target columns. A column that Truth lacks is a fault of
// the answers, one that Prediction lacks is the submission's.
func (in Input) pairs() ([]pair, error) {
	if len(in.Targets) == 0 {
		return nil, fmt.Errorf("no target column given")
	}
	names := in.TruthNames
	if names == nil {
		names = in.Targets
	}
	truth, err := in.answers(names...)
	if err != nil {
		return nil, err
	}
	pred, err := in.submitted(in.Targets...)
	if err != nil {
		return nil, err
	}
	if t, p := truth[0].Len(), pred[0].Len(); t != p {
		return nil, unscorable("the submission has %d rows to compare, the answers have %d", p, t)
	}
	return table.Collect(len(pred), func(i int) pair { return pair{in.Targets[i], truth[i], pred[i]} }), nil
}

// answers returns columns of the answers.
func (in Input) answers(names ...string) ([]*table.Column, error) {
	return columns(in.Truth, names, func(_ string, err error) error { return fmt.Errorf("answers: %w", err) })
}

// submitted returns columns of the submission. One that is missing is its fault.
func (in Input) submitted(names ...string) ([]*table.Column, error) {
	return columns(in.Prediction, names, func(name string, _ error) error { return &Unscorable{Column: name, Reason: "is missing"} })
}

func columns(t *table.Table, names []string, fault func(name string, err error) error) ([]*table.Column, error) {
	return table.TryCollect(len(names), func(i int) (*table.Column, error) {
		c, err := t.Column(names[i])
		if err != nil {
			err = fault(names[i], err)
		}
		return c, err
	})
}

// eachPair scores every target, which is one of all, and averages.
func eachPair(in Input, score func(p pair, all []pair) (float64, error)) (Score, error) {
	pairs, err := in.pairs()
	if err != nil {
		return Score{}, err
	}
	each := make([]float64, len(pairs))
	for i, p := range pairs {
		if each[i], err = score(p, pairs); err != nil {
			return Score{}, err
		}
	}
	return Score{Value: Mean(each)}, nil
}

// single returns the only target column.
func (in Input) single() (pair, error) {
	if len(in.Targets) != 1 {
		return pair{}, fmt.Errorf("this metric compares one target column, not %d", len(in.Targets))
	}
	pairs, err := in.pairs()
	if err != nil {
		return pair{}, err
	}
	return pairs[0], nil
}

// plainFloats returns the only target column and its predictions, numbers or booleans.
func (in Input) plainFloats() (p pair, pred []float64, err error) {
	if p, err = in.single(); err == nil {
		pred, err = plainFloats(p.pred)
	}
	return p, pred, err
}

// read reads both columns of a target, the prediction first.
func read[T any](p pair, as func(*table.Column) (T, error)) (truth, pred T, err error) {
	if pred, err = as(p.pred); err == nil {
		truth, err = as(p.truth)
	}
	return truth, pred, err
}

// Registry is a set of metrics.
type Registry struct{ *named.Set[Metric] }

// NewRegistry returns a registry of the metrics. It panics when two have one
// name, since the list is part of the program.
func NewRegistry(list ...Metric) *Registry {
	return &Registry{named.New("metric", func(m Metric) string { return m.Name }, list...)}
}
