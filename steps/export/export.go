package export

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/outcome"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/steps/aggregate"
)

// The formats that are no tables, and the tables.
const (
	runGroup = "run-group"
	tasks    = "harbor"

	attemptsTable  = "attempts"
	snapshotsTable = "snapshots"
)

// Deps are the parts of the program that the kind needs.
type Deps struct {
	Catalog *competitions.Catalog
	// Grader finds out which competitions have a solution.
	Grader grading.Grader
	// Program is the digest of this program, which is in every task of Harbor.
	Program func() (digest.ContentID, error)
}

// Kind returns the step kind "export".
func Kind(deps Deps) step.Kind {
	leaderboards := sync.OnceValue(func() digest.ContentID { return aggregate.Leaderboards(deps.Catalog) })
	return step.Kind{
		Name:    "export",
		Version: "1",
		Doc:     "Writes results as a table or as run groups of MLE-bench, or prepared competitions as tasks of Harbor, as the commands export do.",
		Args: step.Attrs(arguments{Table: attemptsTable, Image: "python:3.12.11-slim-bookworm", Seed: 0}, step.OneOf{
			"format": {"arrow", "csv", tasks, "json", "parquet", runGroup}, "table": {attemptsTable, snapshotsTable},
		}),
		Results: true,
		Outputs: []step.Output{
			{Name: "results", Type: step.ArtifactType, Optional: true, Doc: "The table, a file, or the run groups, a tree with a folder for each agent; null with harbor."},
			{Name: "tasks", Type: step.ArtifactType, Secrecy: step.Private, Optional: true, Doc: "The tasks of Harbor and registry.json, a tree; null without harbor. The tasks have answers, so publish needs private = true."},
		},
		New: func(args step.Args) (step.Step, error) { return newExport(args, deps, leaderboards) },
	}
}

// arguments are the block's arguments.
type arguments struct {
	Format   string              `cty:"format" is:"required" doc:"A table as csv, json, parquet or arrow; run-group; or harbor."`
	Reports  []*step.Artifact    `cty:"reports" doc:"Reports of grade steps with the labels agent and seed, for tables and run groups, such as values(step.grade.score)[*].report."`
	Attempts []attempt           `cty:"attempts" doc:"Their agent-run steps in the same order, such as values(step.agent-run.solve). Tables lack times, tokens and cost without; run groups need them."`
	Curves   [][]moment          `cty:"curves" doc:"The outputs curve of the same grade steps, in order, for the table snapshots and for at: values(step.grade.score)[*].curve."`
	Table    string              `cty:"table" doc:"Which table: a row for each attempt, or for each graded snapshot."`
	At       []string            `cty:"at" doc:"Adds columns with what stopping every attempt after these times would have given, such as [\"1h\", \"6h\"], by graded snapshots."`
	Prepared map[string]prepared `cty:"prepared" doc:"The data of harbor by competition, such as step.checksum.data with for_each over competitions, or { demo-digits = step.checksum.digits }."`
	Image    string              `cty:"image" doc:"Base image of the agent's environment in tasks."`
	Images   *string             `cty:"images" doc:"Prefix of the names of a task's images, PREFIX/TASK-agent and PREFIX/TASK-verifier, for harnesses that do not build them."`
	Reward   *string             `cty:"reward" doc:"Reward of tasks: medal (default), rank, margin or percentile; in a rehearsal sample (default) or margin."`
	Micro    int                 `cty:"micro" doc:"Draws the rows and files of so many test ids, and as large a part of the training data; 0 takes all."`
	Seed     uint64              `cty:"seed" doc:"Seed by which micro draws."`
}

// moment is a grading.Moment of the language.
type moment struct {
	Seconds int64    `cty:"seconds"`
	Outcome string   `cty:"outcome"`
	Score   *float64 `cty:"score"`
	Medal   string   `cty:"medal"`
}

type prepared struct {
	Public  *step.Artifact `cty:"public"`
	Private *step.Artifact `cty:"private"`
}

type exporting struct {
	args         arguments
	deps         Deps
	leaderboards func() digest.ContentID
	stops        []time.Duration
}

func newExport(args step.Args, deps Deps, leaderboards func() digest.ContentID) (step.Step, error) {
	e := &exporting{deps: deps, leaderboards: leaderboards}
	if err := args.Decode(&e.args); err != nil {
		return nil, err
	}
	if err := e.check(); err != nil {
		return nil, err
	}
	for _, text := range e.args.At {
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 {
			return nil, step.WrongArg("at", fmt.Errorf("%q is not a time, such as \"90m\" or \"6h\"", text))
		}
		e.stops = append(e.stops, d)
	}
	return e, nil
}

// check refuses arguments that do not go together.
func (e *exporting) check() error {
	a := e.args
	wrong := func(arg, format string, args ...any) error { return step.WrongArg(arg, fmt.Errorf(format, args...)) }
	switch {
	case a.Format == tasks && (len(a.Reports) > 0 || len(a.Attempts) > 0):
		return wrong("format", "harbor writes competitions and takes prepared; reports and attempts are of tables and run groups")
	case a.Format == tasks:
		return e.checkTasks()
	case len(a.Prepared) > 0:
		return wrong("prepared", "only harbor takes prepared; %s takes reports and attempts", a.Format)
	case len(a.Reports) == 0:
		return wrong("reports", "reports is empty, so there is nothing to write; write reports = values(step.grade.NAME)[*].report")
	case a.Format == runGroup && len(a.Attempts) == 0:
		return wrong("attempts", "a run group holds what agents left; write attempts = values(step.agent-run.NAME)")
	case a.Table == snapshotsTable && (a.Format == runGroup || len(a.At) > 0):
		return wrong("table", "the table snapshots is neither a run group nor has columns of at")
	case (a.Table == snapshotsTable || len(a.At) > 0) && len(a.Curves) != len(a.Reports):
		return wrong("curves", "there are %d curves and %d reports; write curves = values(step.grade.NAME)[*].curve", len(a.Curves), len(a.Reports))
	case len(a.Attempts) == 0:
		return nil
	}
	return step.WrongArg("attempts", e.checkAttempts())
}

// checkAttempts refuses content of anything but the attempts of the reports: a run group is
// a result, which answers are not.
func (e *exporting) checkAttempts() error {
	var logs []*step.Artifact
	for i, at := range e.args.Attempts {
		logs = append(logs, at.Logs)
		for name, a := range at.content() {
			if a != nil && (!strings.HasPrefix(a.From, "step."+conditions.AttemptKind+".") || a.Output != name) {
				return fmt.Errorf("%s of attempt %d is %s, and must be the output %q of a step of kind agent-run", name, i+1, a.Name(), name)
			}
		}
	}
	return aggregate.CheckPairs(e.args.Reports, logs)
}

// Fingerprint implements step.Fingerprinter. Places in tables depend on the human
// leaderboards.
func (e *exporting) Fingerprint(h *digest.Hasher) error {
	switch e.args.Format {
	case runGroup:
	case tasks:
		return e.hashTasks(h)
	default:
		h.Content("leaderboards", e.leaderboards())
	}
	return nil
}

// Run implements step.Step.
func (e *exporting) Run(ctx context.Context, env *step.Env) (cache.Outputs, error) {
	write, output := e.table, "results"
	switch e.args.Format {
	case runGroup:
		write = e.runGroups
	case tasks:
		write, output = e.tasks, "tasks"
	}
	ref, err := write(ctx, env)
	if err != nil {
		return nil, fmt.Errorf("export %s: %w", e.args.Format, err)
	}
	return cache.Outputs{output: {Ref: ref}}, nil
}

// known are the attempts of the reports, in their order.
func (e *exporting) known(ctx context.Context, env *step.Env) ([]*results.Attempt, error) {
	var list []*results.Attempt
	for i, r := range e.args.Reports {
		report, err := aggregate.ReadReport(ctx, env.Store, r)
		if err != nil {
			return nil, err
		}
		a := aggregate.Reported(report, e.deps.Catalog)
		a.Standing = "recorded"
		if i < len(e.args.Curves) {
			a.Snapshots = lists.Of(e.args.Curves[i], func(m moment) grading.Moment {
				return grading.Moment{Seconds: m.Seconds, Outcome: outcome.Submission(m.Outcome), Score: m.Score, Medal: m.Medal}
			})
		}
		if len(e.args.Attempts) > 0 {
			err = e.args.Attempts[i].enter(ctx, env, a)
		}
		if err != nil {
			return nil, err
		}
		list = append(list, a)
	}
	return list, nil
}
