package grade

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/outcome"
	"github.com/mleflow/mleflow/competitions/program"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/steps/python"
)

// Deps are the parts of the program that the kind needs.
type Deps struct {
	Catalog *competitions.Catalog
	Grader  grading.Grader
	// Offline means that packages of metrics must not use the network.
	Offline bool
	// Sandbox is the runtime in which such packages are installed.
	Sandbox executor.Runtime
}

// Kind returns the step kind "grade".
func Kind(deps Deps) step.Kind {
	return step.Kind{
		Name:    "grade",
		Version: "7",
		Doc:     "Scores a submission and compares it with the human leaderboard. A missing or invalid one is a result without a score.",
		Args:    step.Attrs(arguments{Version: "v1", File: "submission.csv"}, nil),
		Results: true,
		Names: func(a step.Args) []string {
			return []string{a.Text("labels", "agent"), a.Text("competition"), a.Text("labels", "seed")}
		},
		Outputs: []step.Output{
			{Name: "curve", Type: step.TypeOf[[]grading.Moment](), Doc: "The snapshots' scores over time."},
			{Name: "medal", Type: cty.String, Doc: "gold, silver, bronze or none."},
			{Name: "outcome", Type: cty.String, Doc: "scored, invalid or missing."},
			{Name: "reason", Type: cty.String, Doc: "Why there is no score; empty if there is one."},
			{Name: "report", Type: step.ArtifactType, Doc: "The grading report, JSON."},
			{Name: "score", Type: cty.Number, Doc: "The exact score; null without a finite one."},
		},
		New: func(args step.Args) (step.Step, error) { return newGrading(args, deps) },
	}
}

// arguments are the block's arguments.
type arguments struct {
	Competition string            `cty:"competition" is:"required" doc:"Identifier of the competition."`
	Version     string            `cty:"version" doc:"Version of the competition."`
	Submission  *step.Artifact    `cty:"submission" is:"required" doc:"The submission: a file, or a tree with it."`
	File        string            `cty:"file" doc:"Path of the submission in the tree."`
	Answers     *step.Artifact    `cty:"answers" is:"required" doc:"The private files of the competition, a tree."`
	Snapshots   *step.Artifact    `cty:"snapshots" doc:"Earlier submissions for the output curve, a tree SECONDS/submission.csv as of agent-run. They do not change the report."`
	Labels      map[string]string `cty:"labels" doc:"Labels for the report; aggregate reads agent and seed."`
	Params      map[string]string `cty:"params" doc:"Values for parameters of the competition."`
}

type gradeStep struct {
	args       arguments
	def        *competitions.Definition
	params     map[string]cty.Value
	grader     grading.Grader
	definition digest.ContentID
	// conditions are the conditions of all the content that is graded.
	conditions []string
	offline    bool
	sandbox    executor.Runtime
}

func newGrading(args step.Args, deps Deps) (step.Step, error) {
	g := &gradeStep{grader: deps.Grader, conditions: args.Conditions, offline: deps.Offline, sandbox: deps.Sandbox}
	if err := args.Decode(&g.args); err != nil {
		return nil, err
	}
	var err error
	if g.def, err = conditions.Definition(deps.Catalog, g.args.Competition, g.args.Version, args.Conditions); err != nil {
		return nil, err
	}
	if !filepath.IsLocal(g.args.File) {
		return nil, step.WrongArg("file", fmt.Errorf("%q is not a path below the submission's tree", g.args.File))
	}
	g.params = competitions.TextParams(g.args.Params)
	sum, diags := g.def.GradeDigest(g.params)
	if diags.HasErrors() {
		return nil, step.WrongArg("params", diags)
	}
	g.definition = sum
	if g.def.Dir() == "" {
		return g, nil
	}
	return g, step.WrongArg("competition", grading.CheckLocked(g.def, metric.All(), g.params))
}

// Fingerprint implements step.Fingerprinter.
func (g *gradeStep) Fingerprint(h *digest.Hasher) error {
	h.Content("definition", g.definition)
	if g.def.GradedByPython() {
		h.Content("python runner", program.Digest())
	}
	return nil
}

// Run implements step.Step.
func (g *gradeStep) Run(ctx context.Context, env *step.Env) (cache.Outputs, error) {
	answers, right, err := g.placeAnswers(ctx, env)
	if err != nil {
		return nil, err
	}
	submission, given, err := g.placeSubmission(ctx, env)
	if err != nil {
		return nil, err
	}
	if given == right {
		env.Warn(fmt.Sprintf("%s: the submission is the answers, byte for byte", g.def.ID))
	}
	report, err := g.grade(ctx, env, submission, g.args.File, answers)
	if err != nil {
		return nil, err
	}
	report.MadeUnder(g.conditions)
	curve, err := g.curve(ctx, env, answers)
	if err != nil {
		return nil, err
	}
	if note := Spoilt(report.Outcome, curve); note != "" {
		env.Warn(g.def.ID + ": " + note)
	}
	if hint := grading.Hint(report, submission); hint != "" {
		fmt.Fprintln(env.Log, "hint: "+hint)
	}
	return g.outputs(ctx, env, report, curve)
}

// grade grades a file with a submission, which is called name. Packages of the metric are
// placed as an environment of their own; the key contains their lock files, so none is
// written here.
func (g *gradeStep) grade(ctx context.Context, env *step.Env, submission, name, answers string) (grading.Report, error) {
	return g.grader.Grade(ctx, g.def, grading.Request{
		Submission: submission, Name: name, Answers: answers, Params: g.params, Created: time.Unix(0, 0).UTC(),
		Packages: python.Packages(env, g.offline, g.sandbox),
	})
}

// placeAnswers puts the file of answers into the work folder and returns its path and
// digest.
func (g *gradeStep) placeAnswers(ctx context.Context, env *step.Env) (string, digest.ContentID, error) {
	name, ok := strings.CutPrefix(g.def.Layout.Answers, "private/")
	if !ok {
		return "", digest.ContentID{}, fmt.Errorf("grade %s: the answers are declared at %q, which is not private", g.def.ID, g.def.Layout.Answers)
	}
	e, err := tree.Find(ctx, env.Store, g.args.Answers.Ref, name)
	if err != nil {
		return "", digest.ContentID{}, fmt.Errorf("grade %s: find answers: %w", g.def.ID, err)
	}
	dst := filepath.Join(env.WorkDir, "answers-"+filepath.Base(name))
	if _, err := tree.Materialise(ctx, env.Store, e.Ref(), dst, tree.Options{}); err != nil {
		return "", digest.ContentID{}, fmt.Errorf("grade %s: place answers: %w", g.def.ID, err)
	}
	return dst, e.ID, nil
}

// placeSubmission puts the submission into the work folder and returns its path and
// digest. If there is no submission, no file exists at the path.
func (g *gradeStep) placeSubmission(ctx context.Context, env *step.Env) (string, digest.ContentID, error) {
	ref := g.args.Submission.Ref
	dst := filepath.Join(env.WorkDir, "submission"+filepath.Ext(g.args.File))
	if ref.Kind == cache.Tree {
		e, err := tree.Find(ctx, env.Store, ref, filepath.ToSlash(filepath.Clean(g.args.File)))
		if errors.Is(err, fs.ErrNotExist) || err == nil && e.IsDir() {
			return dst, digest.ContentID{}, nil
		}
		if err != nil {
			return "", digest.ContentID{}, fmt.Errorf("grade %s: find submission: %w", g.def.ID, err)
		}
		ref = e.Ref()
	}
	if _, err := tree.Materialise(ctx, env.Store, ref, dst, tree.Options{}); err != nil {
		return "", digest.ContentID{}, fmt.Errorf("grade %s: place submission: %w", g.def.ID, err)
	}
	return dst, ref.ID, nil
}

func (g *gradeStep) outputs(ctx context.Context, env *step.Env, report grading.Report, curve []grading.Moment) (cache.Outputs, error) {
	text, err := json.MarshalIndent(grading.Graded{Report: report, Labels: g.args.Labels}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode report: %w", err)
	}
	ref, err := cache.PutBytes(ctx, env.Store, append(text, '\n'))
	if err != nil {
		return nil, err
	}
	fmt.Fprintln(env.Log, summary(report))
	out := cache.Outputs{"report": {Ref: ref}}
	return out, out.Encode(map[string]any{
		"medal": report.Best(), "outcome": report.Outcome, "reason": report.Reason, "score": finite(report.ExactScore), "curve": curve,
	})
}

// summary describes a report in one line.
func summary(r grading.Report) string {
	if r.Outcome != outcome.Scored {
		return fmt.Sprintf("%s: %s: %s", r.CompetitionID, r.Outcome, r.Reason)
	}
	standing := "no leaderboard"
	if r.Rank != nil {
		standing = fmt.Sprintf("place %d among %d teams, medal: %s", *r.Rank, r.Teams, r.Best())
	}
	return fmt.Sprintf("%s: score %v, %s, isolation: %s", r.CompetitionID, float64(*r.Score), standing, r.Isolation)
}

func finite(n *grading.Number) *float64 {
	if n == nil || math.IsNaN(float64(*n)) || math.IsInf(float64(*n), 0) {
		return nil
	}
	return (*float64)(n)
}

// Spoilt describes the last scored snapshot of a submission that is not scored, such as
// one that was half-written at the time limit. It returns "" if there is none. The text
// is for people: the result remains that of the submission.
func Spoilt(how outcome.Submission, curve []grading.Moment) string {
	for _, p := range slices.Backward(curve) {
		if how != outcome.Scored && p.Score != nil {
			return fmt.Sprintf("the submission is %s, and the snapshot after %v would have scored %v, medal: %s; the result stays as it is",
				how, time.Duration(p.Seconds)*time.Second, *p.Score, p.Medal)
		}
	}
	return ""
}

// snapshotFile is the name of the submission in the folder of a snapshot.
const snapshotFile = "submission.csv"

// curve scores the snapshots. It scores equal ones once.
func (g *gradeStep) curve(ctx context.Context, env *step.Env, answers string) ([]grading.Moment, error) {
	points := []grading.Moment{}
	if g.args.Snapshots == nil {
		return points, nil
	}
	folders, err := tree.Read(ctx, env.Store, g.args.Snapshots.Ref)
	if err != nil {
		return nil, fmt.Errorf("grade %s: read snapshots: %w", g.def.ID, err)
	}
	known := map[cache.Ref]grading.Moment{}
	for i, folder := range folders {
		seconds, err := strconv.ParseInt(folder.Name, 10, 64)
		if err != nil || seconds < 0 || !folder.IsDir() {
			return nil, fmt.Errorf("grade %s: snapshots: %q is not a folder named after a number of seconds", g.def.ID, folder.Name)
		}
		env.Progress(step.Progress{What: "scoring snapshots", Done: int64(i), Total: int64(len(folders)), Unit: "files"})
		file, err := tree.Find(ctx, env.Store, folder.Ref(), snapshotFile)
		if err != nil {
			return nil, fmt.Errorf("grade %s: snapshot %s: %w", g.def.ID, folder.Name, err)
		}
		one, ok := known[file.Ref()]
		if !ok {
			if one, err = g.scoreSnapshot(ctx, env, file.Ref(), answers); err != nil {
				return nil, err
			}
			known[file.Ref()] = one
		}
		one.Seconds = seconds
		points = append(points, one)
	}
	return points, nil
}

func (g *gradeStep) scoreSnapshot(ctx context.Context, env *step.Env, ref cache.Ref, answers string) (grading.Moment, error) {
	dst := filepath.Join(env.WorkDir, "snapshot.csv")
	if err := os.RemoveAll(dst); err != nil {
		return grading.Moment{}, err
	}
	if _, err := tree.Materialise(ctx, env.Store, ref, dst, tree.Options{}); err != nil {
		return grading.Moment{}, fmt.Errorf("grade %s: place snapshot: %w", g.def.ID, err)
	}
	report, err := g.grade(ctx, env, dst, snapshotFile, answers)
	if err != nil {
		return grading.Moment{}, err
	}
	return grading.Moment{Outcome: report.Outcome, Score: finite(report.ExactScore), Medal: report.Best()}, nil
}
