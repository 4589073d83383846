package grading

import (
	"context"
	"sync"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/outcome"
	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

// A Grader grades submissions and checks their form.
type Grader interface {
	// Grade scores a submission as the function Grade does.
	Grade(ctx context.Context, def *competitions.Definition, q Request) (Report, error)
	// Form returns the check of the form of submissions by the files of the sample
	// submission and the sketch. Without a sample it tells only whether a file is
	// a table; without a sketch it knows only the sample.
	Form(def *competitions.Definition, sample, sketch string) Check
}

// Check checks a submission. A mistake in it is an *Invalid, whose reason may be
// shown. Any other error is the machine's.
type Check func(ctx context.Context, submission string) error

// Local is the Grader that reads submissions in this process. Only the size of
// the file, of its table and the number of its columns are bounded there.
type Local struct {
	Metrics *metric.Registry
	// Executor runs metrics that are programs; nil runs none.
	Executor executor.Executor
	// Packages is for requests without one.
	Packages Packages
}

// Grade implements Grader.
func (l Local) Grade(ctx context.Context, def *competitions.Definition, q Request) (Report, error) {
	q.Executor = l.Executor
	if q.Packages == nil {
		q.Packages = l.Packages
	}
	return Grade(ctx, def, l.Metrics, q)
}

// Form implements Grader. The files are read when a check is first asked for.
func (l Local) Form(def *competitions.Definition, sample, sketch string) Check {
	if sample == "" {
		return onlyTable
	}
	read := sync.OnceValues(func() (*Form, error) { return NewForm(def, l.Metrics, nil, sample, sketch) })
	return func(_ context.Context, submission string) error {
		form, err := read()
		if err != nil {
			return err
		}
		return form.Check(submission)
	}
}

func onlyTable(_ context.Context, submission string) error {
	_, err := limits{MaxBytes(0), baseMemory}.read(submission, table.ReadOptions{})
	return err
}

// Refuse returns the report on a submission that is invalid for a reason that
// its grader found.
func Refuse(def *competitions.Definition, q Request, why *Invalid) Report {
	r := newReport(def, q.name(), q.Created)
	r.SubmissionExists = true
	r.refuse(outcome.Invalid, why)
	return r
}

// name is the file's name in the report.
func (q Request) name() string {
	if q.Name != "" {
		return q.Name
	}
	return q.Submission
}
