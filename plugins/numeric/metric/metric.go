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
	New    func(Args) (Scorer, error) // checks the arguments
}

// A Scorer scores one submission. It must not change the tables and may be
// used by several goroutines at once.
type Scorer interface {
	Score(Input) (Score, error)
}

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

// scorerFunc is a Scorer made of a function.
type scorerFunc func(Input) (Score, error)

func (f scorerFunc) Score(in Input) (Score, error) { return f(in) }

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
	out := make([]pair, len(in.Targets))
	for i, name := range in.Targets {
		p, err := in.pair(i, name)
		if err != nil {
			return nil, err
		}
		out[i] = p
	}
	return out, nil
}

func (in Input) pair(i int, name string) (pair, error) {
	truthName := name
	if in.TruthNames != nil {
		truthName = in.TruthNames[i]
	}
	truth, err := in.answers(truthName)
	if err != nil {
		return pair{}, err
	}
	pred, err := in.submitted(name)
	if err != nil {
		return pair{}, err
	}
	if t, p := truth[0].Len(), pred[0].Len(); t != p {
		return pair{}, unscorable("the submission has %d rows to compare, the answers have %d", p, t)
	}
	return pair{name: name, truth: truth[0], pred: pred[0]}, nil
}

// answers returns columns of the answers.
func (in Input) answers(names ...string) ([]*table.Column, error) {
	out := make([]*table.Column, len(names))
	for i, name := range names {
		var err error
		if out[i], err = in.Truth.Column(name); err != nil {
			return nil, fmt.Errorf("answers: %w", err)
		}
	}
	return out, nil
}

// submitted returns columns of the submission. One that is missing is its fault.
func (in Input) submitted(names ...string) ([]*table.Column, error) {
	out := make([]*table.Column, len(names))
	for i, name := range names {
		var err error
		if out[i], err = in.Prediction.Column(name); err != nil {
			return nil, &Unscorable{Column: name, Reason: "is missing"}
		}
	}
	return out, nil
}

// single returns the only target column.
func (in Input) single() (pair, error) {
	if len(in.Targets) != 1 {
		return pair{}, fmt.Errorf("this metric compares one target column, not %d", len(in.Targets))
	}
	return in.pair(0, in.Targets[0])
}

// Registry is a set of metrics.
type Registry struct{ *named.Set[Metric] }

// NewRegistry returns a registry of the metrics. It panics when two have one
// name, since the list is part of the program.
func NewRegistry(list ...Metric) *Registry {
	return &Registry{named.New("metric", func(m Metric) string { return m.Name }, list...)}
}
