package agentrun

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/template"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/nolink"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
	"github.com/mleflow/mleflow/plugins/sandbox/acp"
	"github.com/mleflow/mleflow/plugins/sandbox/validity"
)

// The values of feedback.
const (
	feedbackVerdicts   = "verdicts"
	FeedbackValidation = "validation"
)

// feedbackArguments are the arguments of the feedback that the agent gets. They are in the
// key of attempts with a validation score only.
type feedbackArguments struct {
	Feedback   string      `cty:"feedback" is:"cosmetic" group:"limits"`
	Queries    int64       `cty:"queries" is:"cosmetic" group:"limits"`
	QueryEvery *string     `cty:"every" is:"cosmetic" group:"limits"`
	Report     string      `cty:"report" is:"cosmetic" group:"limits"`
	Validation *validation `cty:"validation" is:"cosmetic served" made:"holdout" when:"feedback=validation" passing:"competition version data"`
}

// validation are the outputs of a step of kind holdout. The agent never sees the private one.
type validation struct {
	Public  *step.Artifact `cty:"public"`
	Inputs  *step.Artifact `cty:"inputs"`
	Private *step.Artifact `cty:"private"`
}

const (
	// validationVariable names the folder of the held-out inputs.
	validationVariable = acp.Validation
	// queriesFolder is the folder of the queries, in a kept folder and in a checkpoint.
	queriesFolder = "queries"
	// The files of the held-out labels, which no runtime shows to the agent.
	labelsFile, labelledSample, labelledRows = "labels", "labels-sample.csv", "labels-rows.csv"
	// mostQueries limits the number of queries.
	mostQueries = 1_000_000
)

// validates reports whether the agent can ask for validation scores.
func (a *attempt) validates() bool { return a.args.Feedback == FeedbackValidation }

// checkFeedback checks the arguments of the feedback.
func (a *attempt) checkFeedback() (err error) {
	f := a.args.feedbackArguments
	if every := step.Text(f.QueryEvery); every != "" {
		if a.queryEvery, err = parseInterval(every); err != nil {
			return step.WrongArg("every", err)
		}
	}
	switch v := f.Validation; {
	case f.Queries < 1 || f.Queries > mostQueries:
		return step.WrongArg("queries", fmt.Errorf("queries = %d is not from 1 to %d", f.Queries, mostQueries))
	case !a.validates():
		return nil
	case v == nil || v.Public == nil || v.Inputs == nil || v.Private == nil:
		return step.WrongArg("validation", errors.New("feedback = \"validation\" needs the outputs of a step of kind holdout, which is made where the argument is not written"))
	}
	return nil
}

// fingerprintFeedback adds the feedback to the key, unless it is that of every attempt.
func (a *attempt) fingerprintFeedback(h *digest.Hasher) error {
	if !a.validates() {
		return nil
	}
	f := a.args.feedbackArguments
	h.String("feedback", f.Feedback)
	h.Int("queries", f.Queries)
	if a.queryEvery > 0 {
		h.String("every", a.queryEvery.String())
	}
	h.String("report", f.Report)
	h.Content("notes on queries", digest.Of([]byte(queriesText)))
	if a.builtIn != "" {
		h.String("built-in agent queries", "1")
	}
	if a.args.speaksACP() {
		h.String("acp tools version", acp.ToolsVersion)
	}
	for _, of := range []struct {
		label   string
		content *step.Artifact
	}{{"validation.public", f.Validation.Public}, {"validation.inputs", f.Validation.Inputs}, {"validation.private", f.Validation.Private}} {
		if of.content.Ref.IsZero() {
			return fmt.Errorf("output %q of %s is not known", of.content.Output, of.content.From)
		}
		h.String(of.label, of.content.Ref.ID.String())
	}
	sum, diags := a.def.GradeDigest(nil)
	if diags.HasErrors() {
		return diags
	}
	h.Content("validation.grade", sum)
	return nil
}

// feedbackText is the condition: "verdicts" or, as in "validation(50/every:10m0s/rank)", the
// number of queries and what differs from the defaults.
func (a *attempt) feedbackText() string {
	if !a.validates() {
		return feedbackVerdicts
	}
	parts := []string{strconv.FormatInt(a.args.Queries, 10)}
	if a.queryEvery > 0 {
		parts = append(parts, "every:"+conditions.Limit(a.queryEvery))
	}
	if a.args.Report != validity.ReportScore {
		parts = append(parts, a.args.Report)
	}
	return FeedbackValidation + "(" + strings.Join(parts, "/") + ")"
}

// data are the public files that the agent gets: with a validation score, without the
// held-out rows.
func (a *attempt) data() *step.Artifact {
	if a.validates() {
		return a.args.Validation.Public
	}
	return a.args.Data
}

// queriesText is the part of the notes on queries.
//
//go:embed queries.txt
var queriesText string

var queriesTemplate = template.Must(template.New("queries").Parse(queriesText))

// openQueries places the held-out labels where no runtime shows them to the agent, and
// continues the count of the queries.
func (g *gates) openQueries(ctx context.Context) error {
	if !g.validates() {
		return nil
	}
	def, err := conditions.Definition(g.deps.Catalog, g.args.Competition, g.args.Version, g.raw.Conditions)
	if err != nil {
		return err
	}
	labels, form, err := g.placeLabels(ctx, def)
	if err != nil {
		return err
	}
	request := grading.Request{Name: "submission.csv", Answers: labels, Created: time.Unix(0, 0).UTC()}
	if g.deps.Packages != nil {
		request.Packages = g.deps.Packages(g.env)
	}
	g.queries, err = validity.OpenQueries(validity.QueryOptions{
		Dir: g.queried, Most: int(g.args.Queries), Every: g.queryEvery, Report: g.args.Report, LowerIsBetter: def.Medals.LowerIsBetter,
		Check: func(ctx context.Context, path string) (validity.Verdict, error) { return verdict(form(ctx, path)) },
		Score: func(ctx context.Context, path string) (*float64, error) {
			request := request
			request.Submission = path
			report, err := g.deps.Grader.Grade(ctx, def, request)
			return report.FiniteScore(), err
		},
		Elapsed: g.elapsed,
	})
	return err
}

// placeLabels places the held-out labels and returns the check of the form of predictions,
// which knows of the labels what a sketch has.
func (g *gates) placeLabels(ctx context.Context, def *competitions.Definition) (labels string, form grading.Check, err error) {
	from := g.args.Validation
	name, private := strings.CutPrefix(def.Layout.Answers, "private/")
	if !private {
		return "", nil, fmt.Errorf("the answers of %s are declared at %q, which is not private", def.ID, def.Layout.Answers)
	}
	at := func(name string) string { return filepath.Join(g.dirs.host, name) }
	labels, sample, rows := at(labelsFile+filepath.Ext(name)), at(labelledSample), at(labelledRows)
	if err := g.placeFile(ctx, from.Private.Ref, name, labels); err != nil {
		return "", nil, fmt.Errorf("place the held-out labels: %w", err)
	}
	if err := os.Chmod(labels, 0o400); err != nil {
		return "", nil, err
	}
	name, private = strings.CutPrefix(def.Layout.Sample, "private/")
	if private {
		err = g.placeFile(ctx, from.Private.Ref, name, sample)
	} else {
		err = g.placeSample(ctx, from.Inputs.Ref, sample)
	}
	if err != nil {
		return "", nil, fmt.Errorf("place the sample submission of the held-out rows: %w", err)
	}
	var sketch bytes.Buffer
	if err := grading.WriteSketch(&sketch, def, metric.All(), nil, sample, labels); err != nil {
		g.env.Note("the form of predictions for the held-out rows is checked by their sample submission only: %v", err)
		rows = ""
	} else if err := nolink.WriteFile(rows, sketch.Bytes(), 0o600, false); err != nil {
		return "", nil, err
	}
	return labels, g.deps.Grader.Form(def, sample, rows), nil
}

// queryFiles lists the files in the folder of the queries: the log first, which names those
// that are kept by then.
func (p *place) queryFiles() (list []string) {
	if p.queried == "" {
		return nil
	}
	list = []string{validity.QueriesFile}
	kept, _ := filepath.Glob(filepath.Join(p.queried, validity.KeptFile("*"))) // the pattern is valid
	for _, path := range kept {
		list = append(list, filepath.Base(path))
	}
	return list
}

// putQueries stores the queries and the files that are kept of them, as a tree.
func (f *finished) putQueries(ctx context.Context) (cache.Ref, error) {
	var b tree.Builder
	var log bytes.Buffer
	for _, one := range f.queries.List() {
		if one.Kept {
			ref, err := f.keptQuery(ctx, one)
			if one.Kept = err == nil && ref.ID.String() == one.SHA256; one.Kept {
				err = b.Add(validity.KeptFile(one.SHA256), ref, false)
			}
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return cache.Ref{}, err
			}
		}
		line, err := json.Marshal(one)
		if err != nil {
			return cache.Ref{}, err
		}
		log.Write(append(line, '\n'))
	}
	log.WriteString(strings.Repeat("{}\n", f.queries.Lost())) // they count in the output, too
	ref, err := cache.PutBytes(ctx, f.env.Store, log.Bytes())
	if err == nil {
		err = b.Add(validity.QueriesFile, ref, false)
	}
	if err != nil {
		return cache.Ref{}, err
	}
	return b.Build(ctx, f.env.Store)
}

// keptQuery stores a kept file.
func (f *finished) keptQuery(ctx context.Context, of validity.Query) (cache.Ref, error) {
	file, err := nolink.Open(filepath.Join(f.queried, validity.KeptFile(of.SHA256)))
	if err != nil {
		return cache.Ref{}, err
	}
	defer file.Close()
	return cache.Put(ctx, f.env.Store, file, cache.Ref{})
}
