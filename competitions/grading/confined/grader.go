package confined

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/program"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

// limits bound the resources of a child.
type limits struct {
	// Memory is the limit of its total memory, in bytes.
	Memory int64
	// CPU is its processor time.
	CPU time.Duration
}

// The limits of a child. A submission that has a score stays far below
// them: 1.5 GB of probabilities and answers of as many bytes take 2.5 GB.
const (
	baseMemory  = 4 << 30
	timesMemory = 32 // of the answers, or of the sample
	longest     = 30 * time.Minute
)

// smallBytes and smallFields bound the submissions that are read without a
// child, which costs as much as reading some 100,000 cells, and their lines.
// Filled up with missing cells, so many bytes may make a table of 40 MiB.
const (
	smallBytes  = 256 << 10
	smallFields = 4096
)

// Grader is a grading.Grader that reads all but small submissions in a child. It
// may be used by several goroutines at once.
type Grader struct {
	local  grading.Local
	self   string
	small  int64 // what is read without a child
	limits func(trusted int64) limits
	slots  *slots
}

// New returns a Grader. self is the program that serves Command by calling
// Serve with a catalog of the same competitions; empty is the running one. ex
// runs metrics that are programs. Children share the machine.
func New(metrics *metric.Registry, ex executor.Executor, self string, machine Machine) *Grader {
	self = cmp.Or(self, "/proc/self/exe")
	return &Grader{
		local: grading.Local{Metrics: metrics, Executor: ex}, self: self,
		small: smallBytes, limits: limitsBeside, slots: newSlots(machine),
	}
}

// WithPackages sets the provider of packages for metrics that are programs. It
// returns j.
func (g *Grader) WithPackages(p program.Packages) *Grader {
	g.local.Packages = p
	return g
}

func limitsBeside(trusted int64) limits {
	return limits{Memory: baseMemory + timesMemory*trusted, CPU: longest}
}

// question is the request to a child: to grade a submission or, where there are
// no answers, to check its form.
type question struct {
	Competition, Version string
	Rehearsal            bool
	Definition           digest.ContentID // of the grade block, to be sure
	// Dir and Source are the folder and the text of a definition that does not
	// ship with the program.
	Dir              string
	Source           []byte
	Params           map[string]json.RawMessage
	Submission, Name string
	Answers          string
	Sample, Sketch   string
	Created          time.Time
	Limits           limits
}

// answer is a child's answer.
type answer struct {
	Report  *grading.Report  `json:",omitempty"`
	Invalid *grading.Invalid `json:",omitempty"` // of a check
	// Program says that the submission meets the requirements, and that its
	// score takes a program, which the child does not run.
	Program bool   `json:",omitempty"`
	Error   string `json:",omitempty"`
}

// Grade implements grading.Grader.
func (g *Grader) Grade(ctx context.Context, def *competitions.Definition, q grading.Request) (grading.Report, error) {
	if def.GradedByPython() || g.isSmall(def, q.Params, q.Submission) {
		return g.local.Grade(ctx, def, q)
	}
	a, err := g.ask(ctx, def, q.Params, question{
		Submission: q.Submission, Name: q.Name, Answers: q.Answers, Created: q.Created,
	})
	var bad *grading.Invalid
	switch {
	case errors.As(err, &bad):
		return grading.Refuse(def, q, bad), nil
	case err != nil:
		return grading.Report{}, fmt.Errorf("grade %s: %w", def.ID, err)
	case a.Program:
		q.Checked = true
		return g.local.Grade(ctx, def, q)
	case a.Error != "":
		return grading.Report{}, errors.New(a.Error)
	case a.Report == nil:
		return grading.Report{}, fmt.Errorf("grade %s: the grading process returned no report", def.ID)
	}
	return *a.Report, nil
}

// Form implements grading.Grader.
func (g *Grader) Form(def *competitions.Definition, sample, sketch string) grading.Check {
	local := g.local.Form(def, sample, sketch)
	return func(ctx context.Context, submission string) error {
		if g.isSmall(def, nil, submission) {
			return local(ctx, submission)
		}
		a, err := g.ask(ctx, def, nil, question{Submission: submission, Sample: sample, Sketch: sketch})
		switch {
		case err != nil:
			return err
		case a.Error != "":
			return errors.New(a.Error)
		case a.Invalid != nil:
			return a.Invalid
		}
		return nil
	}
}

// isSmall reports whether a submission needs no child. So does one that is not
// there.
func (g *Grader) isSmall(def *competitions.Definition, params map[string]cty.Value, submission string) bool {
	info, err := os.Stat(submission)
	if err != nil || !info.Mode().IsRegular() {
		return true
	}
	plan, diags := grading.Decode(def, g.local.Metrics, params)
	return info.Size() <= g.small && (diags.HasErrors() || !plan.Metric.Costly) && !isWide(submission)
}

// isWide reports whether a line of a file may have many fields.
func isWide(path string) bool {
	data, err := os.ReadFile(path)
	if err != nil {
		return false // whoever reads it says so
	}
	for line := range bytes.SplitSeq(data, []byte{'\n'}) {
		if bytes.Count(line, []byte{','}) >= smallFields {
			return true
		}
	}
	return false
}

// ask has a child answer a question. A submission that goes beyond its limits
// is a *grading.Invalid.
func (g *Grader) ask(ctx context.Context, def *competitions.Definition, params map[string]cty.Value, q question) (answer, error) {
	sum, diags := def.GradeDigest(params)
	if diags.HasErrors() {
		return answer{}, diags
	}
	q.Competition, q.Version, q.Rehearsal, q.Definition, q.Params = def.ID, def.Version, def.Rehearsal, sum, map[string]json.RawMessage{}
	for name, v := range params {
		text, err := ctyjson.Marshal(v, cty.DynamicPseudoType)
		if err != nil {
			return answer{}, fmt.Errorf("encode parameter %s: %w", name, err)
		}
		q.Params[name] = text
	}
	if q.Dir = def.Dir(); q.Dir != "" {
		q.Source = def.Source()
	}
	var trusted int64
	for _, path := range []string{q.Answers, q.Sample} {
		if info, err := os.Stat(path); err == nil {
			trusted += info.Size()
		}
	}
	q.Limits = g.limits(trusted)
	a, err := g.run(ctx, q, q.Limits.Memory)
	if errors.Is(err, errKilled) { // by a machine that has no memory for it next to others
		a, err = g.run(ctx, q, g.slots.memory)
	}
	return a, err
}
