package check

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/evidence"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/competitions/rules"
	"github.com/mleflow/mleflow/competitions/rules/judge"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/models/transcript"
	"github.com/mleflow/mleflow/steps/modelblock"
)

// Report is the output "findings".
type Report struct {
	// Rules are the names of the applied rules.
	Rules    []string           `json:"rules"`
	Findings []evidence.Finding `json:"findings"`
	// Judge is the opinion of a language model, if one was asked.
	Judge *Opinion `json:"judge,omitempty"`
	// Unread lists what could not be read and may hide something.
	Unread []string `json:"unread,omitempty"`
}

// Kind returns the step kind "check" over the competitions of a catalog. Pools are the
// budgets that the steps of a run share; nil creates them.
func Kind(catalog *competitions.Catalog, pools *modelblock.Pools) step.Kind {
	pools = cmp.Or(pools, &modelblock.Pools{})
	args := arguments{Version: "v1", File: "submission.csv", Rules: []string{}, Judge: &judgeArgs{Profile: judge.DefaultProfile, Limit: "200KiB"}}
	return step.Kind{
		Name:    conditions.CheckKind,
		Version: "6",
		Doc:     "Looks through an attempt's code, conversations and records for what readers should see, such as imports of the grader or predictions by hand. It finds evidence with file and line, never a verdict; no score depends on it.",
		Args:    step.Attrs(args, nil),
		Blocks:  step.Blocks(args, step.OneOf{"profile": judge.Profiles()}),
		Results: true,
		Observation: &step.Observation{
			Names: []string{"competition", "attempt.code", "attempt.logs", "attempt.submission"},
			Cost: func(made cache.Outputs) *float64 {
				var models map[string]results.ModelUse
				if json.Unmarshal(made["judge_models"].JSON, &models) != nil {
					return nil
				}
				return results.Paid(models)
			},
		},
		Outputs: []step.Output{
			{Name: "findings", Type: step.ArtifactType, Secrecy: step.Withheld, Doc: "The rules applied, their findings, and what could not be read, JSON."},
			{Name: "judge_models", Type: cty.Map(results.ModelUseType), Secrecy: step.Withheld, Doc: "With judge, its model's requests, tokens and cost, as models in stats of agent-run."},
			{Name: "judge_transcript", Type: step.ArtifactType, Secrecy: step.Withheld, Doc: "With judge, every exchange with its model, a tree for replay."},
			{Name: "notes", Type: cty.Number, Secrecy: step.Withheld, Doc: "Findings that honest attempts have, too."},
			{Name: "warnings", Type: cty.Number, Secrecy: step.Withheld, Doc: "Findings that are hard to explain in an honest attempt."},
		},
		New: func(args step.Args) (step.Step, error) { return newCheck(args, catalog, pools) },
	}
}

// arguments are the block's arguments.
type arguments struct {
	Competition string         `cty:"competition" is:"required" doc:"Identifier of the competition."`
	Version     string         `cty:"version" doc:"Version of the competition."`
	Attempt     attempt        `cty:"attempt" is:"required" doc:"A step of kind agent-run."`
	Data        *step.Artifact `cty:"data" doc:"The agent's public files. Rules about test rows need them."`
	File        string         `cty:"file" doc:"Path of the submission in its tree."`
	Rules       []string       `cty:"rules" doc:"Rules to apply; all if empty."`
	Judge       *judgeArgs     `cty:"judge" block:"Asks a language model, too. Its answers are notes, never warnings: opinions that the attempt may have manipulated."`
}

// attempt are the outputs of an agent-run step that are read.
type attempt struct {
	Code       *step.Artifact `cty:"code"`
	Submission *step.Artifact `cty:"submission"`
	Transcript *step.Artifact `cty:"transcript"`
	Logs       *step.Artifact `cty:"logs"`
	Network    *step.Artifact `cty:"network_log"`
	Validation *step.Artifact `cty:"validation_log"`
	Shim       *step.Artifact `cty:"shim_log"`
}

type check struct {
	args  arguments
	def   *competitions.Definition
	rules []rules.Rule
	judge *judging // nil without a block judge
}

func newCheck(args step.Args, catalog *competitions.Catalog, pools *modelblock.Pools) (step.Step, error) {
	c := &check{}
	if err := args.Decode(&c.args); err != nil {
		return nil, err
	}
	var err error
	if c.def, err = conditions.Definition(catalog, c.args.Competition, c.args.Version, nil); err != nil {
		return nil, err
	}
	if !filepath.IsLocal(c.args.File) {
		return nil, step.WrongArg("file", fmt.Errorf("%q is not a path below the submission's tree", c.args.File))
	}
	if c.rules, err = choose(c.args.Rules); err != nil {
		return nil, step.WrongArg("rules", err)
	}
	c.judge, err = newJudging(c.args.Judge, pools)
	return c, step.WrongArg("judge", err)
}

// choose returns the rules with the given names, or all rules without names.
func choose(names []string) ([]rules.Rule, error) {
	known := lists.Of(rules.All(), nameOf)
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("there is no rule %q; there are %s", name, strings.Join(known, ", "))
		}
	}
	return lists.Where(rules.All(), func(r rules.Rule) bool { return len(names) == 0 || slices.Contains(names, r.Name) }), nil
}

func nameOf(r rules.Rule) string { return r.Name }

// Run implements step.Step.
func (c *check) Run(ctx context.Context, env *step.Env) (_ cache.Outputs, err error) {
	folder := func(a *step.Artifact) fs.FS {
		if a == nil || a.Ref.IsZero() {
			return nil
		}
		return tree.NewFS(ctx, env.Store, a.Ref)
	}
	given := &rules.Attempt{
		Code: folder(c.args.Attempt.Code), Submission: folder(c.args.Attempt.Submission), File: filepath.ToSlash(c.args.File), Data: folder(c.args.Data),
		Public: c.def.PublicLabels,
	}
	given.Sample, _ = strings.CutPrefix(c.def.Layout.Sample, "public/")
	for _, log := range []struct {
		of   *step.Artifact
		into *io.Reader
	}{{c.args.Attempt.Network, &given.Network}, {c.args.Attempt.Validation, &given.Validation}, {c.args.Attempt.Shim, &given.Shim}} {
		if log.of == nil || log.of.Ref.IsZero() {
			continue
		}
		f, err := env.Store.Open(ctx, log.of.Ref.ID)
		if err != nil {
			return nil, fmt.Errorf("check %s: %w", c.def.ID, err)
		}
		defer f.Close()
		*log.into = f
	}
	unread, err := c.open(given, folder(c.args.Attempt.Transcript))
	if given.Transcript != nil {
		defer func() { err = errors.Join(err, given.Transcript.Close()) }()
	}
	if err != nil {
		return nil, err
	}
	result, err := rules.Check(ctx, given, c.rules)
	if err != nil {
		return nil, fmt.Errorf("check %s: %w", c.def.ID, err)
	}
	report := Report{Rules: lists.Of(c.rules, nameOf), Findings: result.Findings, Unread: append(unread, result.Unread...)}
	out := cache.Outputs{}
	if err := c.ask(ctx, env, judge.Attempt{Code: given.Code, Logs: folder(c.args.Attempt.Logs), Transcript: given.Transcript}, &report, out); err != nil {
		return nil, fmt.Errorf("check %s: ask the judge: %w", c.def.ID, err)
	}
	return c.outputs(ctx, env, report, out)
}

// open opens the transcript, if there is one. A damaged transcript is reported as
// unread.
func (c *check) open(given *rules.Attempt, folder fs.FS) (unread []string, err error) {
	if folder == nil {
		return nil, nil
	}
	entries, err := fs.ReadDir(folder, ".")
	if err != nil || len(entries) == 0 {
		return nil, err
	}
	if given.Transcript, err = transcript.OpenReader(folder); err != nil {
		return []string{"transcript: " + err.Error()}, nil
	}
	return nil, nil
}

func (c *check) outputs(ctx context.Context, env *step.Env, report Report, out cache.Outputs) (cache.Outputs, error) {
	report.Findings = append([]evidence.Finding{}, report.Findings...)
	warnings := (&results.Check{Findings: report.Findings}).Count(evidence.Warning)
	data, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		return nil, err
	}
	ref, err := cache.PutBytes(ctx, env.Store, append(data, '\n'))
	if err != nil {
		return nil, fmt.Errorf("check %s: keep what was found: %w", c.def.ID, err)
	}
	fmt.Fprintf(env.Log, "%d warnings, %d notes\n", warnings, len(report.Findings)-warnings)
	for _, f := range report.Findings {
		fmt.Fprintf(env.Log, "%s: %s\n", strings.TrimSpace(fmt.Sprintf("%s %s %s", f.Severity, f.Rule, f.Where())), f.Explanation)
	}
	for _, text := range report.Unread {
		fmt.Fprintf(env.Log, "not read: %s\n", text)
	}
	out["findings"] = cache.Value{Ref: ref}
	return out, out.Encode(map[string]any{"notes": len(report.Findings) - warnings, "warnings": warnings})
}
