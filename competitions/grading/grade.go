package grading

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/outcome"
	"github.com/mleflow/mleflow/competitions/program"
	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

// Request is one submission to grade.
type Request struct {
	Submission string               // path of the file
	Name       string               // what the report calls the file; "" for Submission
	Answers    string               // path of the answers
	Params     map[string]cty.Value // overrides of the definition's parameters
	Created    time.Time            // time of the report
	// Executor runs metrics that are programs; nil runs none. Checked says that
	// the submission meets the requirements of such a metric.
	Executor executor.Executor
	Checked  bool
	// Packages provides what such metrics need of Python; nil refuses them.
	Packages program.Packages
}

// Grade scores a submission as the definition says. The report says whether
// there is a score and why not; an error means that the grader failed
// (definition, answers, cancelled context), which is never the submission's
// fault.
func Grade(ctx context.Context, def *competitions.Definition, metrics *metric.Registry, q Request) (Report, error) {
	plan, diags := Decode(def, metrics, q.Params)
	if diags.HasErrors() {
		return Report{}, fmt.Errorf("grade %s: %w", def.ID, diags)
	}
	report, err := Report{}, ctx.Err()
	if err == nil {
		report, err = plan.grade(ctx, def, q)
	}
	if err != nil {
		return Report{}, fmt.Errorf("grade %s: %w", def.ID, err)
	}
	return report, nil
}

// AnswersPath returns where the reference's layout keeps a competition's
// answers: DIR/<id>/prepared/<answers>.
func AnswersPath(dataDir string, def *competitions.Definition) string {
	return filepath.Join(dataDir, def.ID, "prepared", filepath.FromSlash(def.Layout.Answers))
}

func (p *Plan) grade(ctx context.Context, def *competitions.Definition, q Request) (Report, error) {
	report := newReport(def, cmp.Or(q.Name, q.Submission), q.Created)
	if err := findSubmission(q.Submission); err != nil {
		report.refuse(outcome.Missing, err)
		return report, nil
	}
	report.SubmissionExists = true
	report.MetricExternal = p.Program != nil
	var score metric.Score
	var err error
	if !q.Checked {
		score, err = p.gradeFile(q)
	}
	if p.Program != nil && (err == nil || errors.Is(err, ErrProgram)) {
		score, err = p.Program.score(ctx, def, q)
	}
	var bad *Invalid
	switch {
	case errors.As(err, &bad):
		report.refuse(outcome.Invalid, bad)
	case err != nil:
		return Report{}, err
	default:
		report.score(score, def.Medals)
	}
	return report, nil
}

func (p *Plan) gradeFile(q Request) (metric.Score, error) {
	if p.Program != nil && p.Program.Function {
		return metric.Score{}, cmp.Or(fits(q), ErrProgram)
	}
	answers, err := p.readAnswers(q.Answers)
	limits, limitErr := limitsBeside(q.Answers)
	if err = cmp.Or(err, limitErr); err != nil {
		return metric.Score{}, fmt.Errorf("read answers: %w", err)
	}
	submission, err := limits.read(q.Submission, p.ReadOptions())
	if err != nil {
		return metric.Score{}, err
	}
	return p.Score(submission, answers)
}

// readAnswers reads a table, or the id and truth of the objects of a .jsonl
// file.
func (p *Plan) readAnswers(path string) (*table.Table, error) {
	if !strings.EqualFold(filepath.Ext(path), ".jsonl") {
		return table.ReadCSVFile(path, p.ReadOptions())
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readObjects(f, append([]string{p.ID}, p.Truth...))
}

// findSubmission checks that path is a regular file whose name ends in .csv, in
// either case.
func findSubmission(path string) *Invalid {
	info, err := os.Stat(path)
	switch {
	case err != nil || !info.Mode().IsRegular():
		return &Invalid{Reason: "the file does not exist"}
	case !strings.EqualFold(filepath.Ext(path), ".csv"):
		return &Invalid{Reason: "the file name does not end in .csv"}
	}
	return nil
}

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
	Packages program.Packages
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
	r := newReport(def, cmp.Or(q.Name, q.Submission), q.Created)
	r.SubmissionExists = true
	r.refuse(outcome.Invalid, why)
	return r
}
