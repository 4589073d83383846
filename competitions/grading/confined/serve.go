package confined

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/mleflow/mleflow/cache/leaf/crash"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
)

// Command is the sub-command of the program that runs Serve.
const Command = "judge"

// variable is set in a child's environment, so that a program that does not
// know Command cannot start itself for ever.
const variable = "MLEFLOW_JUDGE"

// exitTime is the exit status of a child that has used up its processor time.
const exitTime = 70

// maxWorkers bounds how much of a table is read at once, so that the memory
// that it takes does not grow with the machine.
const maxWorkers = 8

// Serve is the program of a child: it answers the question on the standard
// input and returns the exit status.
func Serve(catalog func() (*competitions.Catalog, error), metrics *metric.Registry) int {
	if os.Getenv(variable) == "" {
		fmt.Fprintln(os.Stderr, "mleflow "+Command+" is started by mleflow itself, not by users")
		return 2
	}
	in := bufio.NewReader(os.Stdin)
	text, err := in.ReadBytes('\n')
	var q question
	if err == nil {
		err = json.Unmarshal(text, &q)
	}
	if err == nil {
		err = q.Limits.confine()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "read question:", err)
		return 2
	}
	go func() {
		_, _ = io.Copy(io.Discard, in)
		os.Exit(1) // nobody waits for the answer
	}()
	collectLate(q.Limits.Memory)
	debug.SetMaxStack(256 << 20)
	runtime.GOMAXPROCS(min(runtime.GOMAXPROCS(0), maxWorkers))
	if err := json.NewEncoder(os.Stdout).Encode(q.answer(catalog, metrics)); err != nil {
		return 1
	}
	return 0
}

// collectLate has the collector, which a child starts without, run for the first
// time when there is something to collect. Tables hold no pointers, so that a
// collection costs little, and memory is scarcer than time.
func collectLate(most int64) {
	type sentinel struct{ _ *int } // with a pointer, so that it has its place for itself
	debug.SetMemoryLimit(min(32<<20, most/32))
	runtime.SetFinalizer(&sentinel{}, func(*sentinel) {
		debug.SetGCPercent(30)
		debug.SetMemoryLimit(most / 4 * 3)
	})
}

// answer grades or checks. A panic is an error: the file comes from someone
// who may look for one.
func (q question) answer(catalog func() (*competitions.Catalog, error), metrics *metric.Registry) (a answer) {
	defer func() {
		if p := recover(); p != nil {
			bug := crash.New(p)
			a = answer{Error: fmt.Sprintf("grade: %v\n%s", bug, bug.Stack)}
		}
	}()
	def, params, err := q.definition(catalog)
	grader := grading.Local{Metrics: metrics}
	switch {
	case err != nil:
	case q.Answers == "":
		err = grader.Form(def, q.Sample, q.Sketch)(context.Background(), q.Submission)
	default:
		a.Report = new(grading.Report)
		*a.Report, err = grader.Grade(context.Background(), def, grading.Request{
			Submission: q.Submission, Name: q.Name, Answers: q.Answers, Params: params, Created: q.Created,
		})
	}
	var bad *grading.Invalid
	switch {
	case errors.As(err, &bad):
		return answer{Invalid: bad}
	case errors.Is(err, grading.ErrProgram):
		return answer{Program: true}
	case err != nil:
		return answer{Error: err.Error()}
	}
	return a
}

// definition returns the definition that is asked for, and its parameters.
func (q question) definition(catalog func() (*competitions.Catalog, error)) (*competitions.Definition, map[string]cty.Value, error) {
	def, err := q.load(catalog)
	if err != nil {
		return nil, nil, err
	}
	if def, err = def.At(q.Version); err != nil {
		return nil, nil, err
	}
	if q.Rehearsal {
		def = def.Rehearsed()
	}
	params := map[string]cty.Value{}
	for name, text := range q.Params {
		if params[name], err = ctyjson.Unmarshal(text, cty.DynamicPseudoType); err != nil {
			return nil, nil, fmt.Errorf("decode parameter %s: %w", name, err)
		}
	}
	sum, diags := def.GradeDigest(params)
	if diags.HasErrors() {
		return nil, nil, diags
	}
	if sum != q.Definition {
		return nil, nil, fmt.Errorf("grade %s: the grading process has another definition: mleflow or the files next to the definition were changed in the meantime", q.Competition)
	}
	return def, params, nil
}

// load returns the competition in version v1.
func (q question) load(catalog func() (*competitions.Catalog, error)) (*competitions.Definition, error) {
	if q.Dir != "" {
		def, diags := competitions.ParseAt(q.Source, q.Competition, q.Dir)
		if diags.HasErrors() {
			return nil, diags
		}
		return def, nil
	}
	cat, err := catalog()
	if err != nil {
		return nil, err
	}
	return cat.Get(q.Competition)
}
