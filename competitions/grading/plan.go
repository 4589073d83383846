package grading

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
)

// Plan is a decoded grade block. It is read-only and may be used by several
// goroutines at once.
type Plan struct {
	Metric  metric.Metric
	ID      string   // the id column; "" if rows are paired by position
	Targets []string // the columns that are scored
	Truth   []string // the same columns in the answers
	// Program is the metric where it is a program; Score does not run it.
	Program *Program

	requirements []requirement
	align        alignment
	only         *rowFilter
	cells        cellForm
	byPlace      bool
	strings      []string         // columns that are read as strings
	rename       [][2]string      // columns of the submission, from and to
	rounding     *metric.Rounding // nil: as the metric says
	args         metric.Args
	scorer       metric.Scorer
}

// ByPosition reports whether rows are paired in the order of the files, by
// the grade block or by the metric.
func (p *Plan) ByPosition() bool { return p.align == "position" }

// ReadOptions returns how tables are read: with the types that pandas infers, but
// the columns in the attribute strings as they are written.
func (p *Plan) ReadOptions() table.ReadOptions {
	kinds := map[string]table.Kind{}
	for _, name := range p.strings {
		kinds[name] = table.Text
		for _, names := range p.rename {
			if names[1] == name {
				kinds[names[0]] = table.Text
			}
		}
	}
	return table.ReadOptions{Kinds: kinds}
}

// RoundingChoices are the values of the attribute rounding.
var RoundingChoices = []Choice{
	{"metric", "As Python rounds the numeric type that the metric's implementation returns. The default."},
	{"numpy", "As numpy.round: times 10^5, rounded to the nearest integer, divided by 10^5."},
	{"python", "As Python's round of a float: to the decimal nearest to its exact value."},
}

var roundings = map[string]*metric.Rounding{
	"numpy":  new(metric.NumpyRounding),
	"python": new(metric.PythonRounding),
}

// requirement is one attribute of a require block, ready to be checked.
type requirement struct {
	name  string
	check func(*subject) error
}

// Invalid is the reason why a submission has no score. It is the agent's fault.
type Invalid struct {
	Rule   string // the requirement that does not hold; "" if the metric refused
	Reason string // what is wrong, in words an agent may see
}

func (e *Invalid) Error() string { return "invalid submission: " + e.Reason }

func invalid(format string, args ...any) error {
	return &Invalid{Reason: fmt.Sprintf(format, args...)}
}

// subject is one submission on its way through a plan.
type subject struct {
	plan       *Plan
	submission *table.Table
	answers    *table.Table
	sorted     *sortedPair
}

// Score checks the requirements in order, pairs the rows and applies the
// metric. An *Invalid error is the submission's fault, any other is not.
func (p *Plan) Score(submission, answers *table.Table) (metric.Score, error) {
	s, err := p.checked(submission, answers)
	if err != nil {
		return metric.Score{}, err
	}
	if p.Program != nil {
		return metric.Score{}, ErrProgram
	}
	score, err := p.measure(s)
	if p.rounding != nil {
		score.Rounding = *p.rounding
	}
	return score, blame(err, "")
}

// checked returns a submission that meets the requirements.
func (p *Plan) checked(submission, answers *table.Table) (*subject, error) {
	submission, err := p.renamed(submission)
	if err != nil {
		return nil, err
	}
	s := &subject{plan: p, submission: submission, answers: answers}
	for _, r := range p.requirements {
		if err := r.check(s); err != nil {
			return nil, blame(err, r.name)
		}
	}
	return s, nil
}

// renamed renames the submission's columns that go by two names; to have both
// is refused.
func (p *Plan) renamed(t *table.Table) (*table.Table, error) {
	for _, names := range p.rename {
		if !t.Has(names[0]) {
			continue
		}
		if t.Has(names[1]) {
			return nil, invalid("columns %q and %q are two names of one", names[0], names[1])
		}
		var err error
		if t, err = t.Rename(names[0], names[1]); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func (p *Plan) measure(s *subject) (metric.Score, error) {
	in, err := s.aligned()
	if err != nil {
		return metric.Score{}, err
	}
	return p.scorer.Score(in)
}

// blame turns the metric's refusals into *Invalid and names the requirement.
func blame(err error, rule string) error {
	if err == nil {
		return nil
	}
	if bad, ok := errors.AsType[*Invalid](err); ok {
		bad.Rule = cmp.Or(bad.Rule, rule)
		return err
	}
	if refused, ok := errors.AsType[*metric.Unscorable](err); ok {
		return &Invalid{Rule: rule, Reason: refused.Error()}
	}
	return err
}

// column returns a column of the submission; its lack is the agent's fault.
func (s *subject) column(name string) (*table.Column, error) {
	c, err := s.submission.Column(name)
	if err != nil {
		return nil, invalid("column %q is missing", name)
	}
	return c, nil
}

// ids returns the id columns of submission and answers.
func (s *subject) ids() (submitted, known *table.Column, err error) {
	if submitted, err = s.column(s.plan.ID); err != nil {
		return nil, nil, err
	}
	if known, err = s.answers.Column(s.plan.ID); err != nil {
		return nil, nil, fmt.Errorf("answers: %w", err)
	}
	return submitted, known, nil
}
