package agentrun

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/outcome"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/sandbox/acp"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/image"
	"github.com/mleflow/mleflow/plugins/sandbox/validity"
	"github.com/mleflow/mleflow/steps/modelblock"
)

// kindText is the documentation of the arguments and outputs.
//
//go:embed kind.txt
var kindText string

// endsDoc lists the outcomes of attempts.
func endsDoc() string {
	var final, again []string
	for _, e := range outcome.Ends() {
		switch {
		case e == outcome.MachineFailed:
		case e.Environmental():
			again = append(again, string(e))
		default:
			final = append(final, string(e))
		}
	}
	return "How the attempt ended: " + strings.Join(final, ", ") + "; or " + strings.Join(again, " or ") + ", which are not final: the next apply repeats the attempt, twice in a row at most."
}

// Kind returns the step kind "agent-run".
func Kind(deps Deps) step.Kind {
	deps.Pools = cmp.Or(deps.Pools, &modelblock.Pools{})
	self := cmp.Or(deps.Self, "/proc/self/exe")
	deps.shared = &shared{
		guard:  guard{free: deps.Free},
		static: sync.OnceValue(func() error { return image.CheckStatic(self) }),
		client: sync.OnceValues(func() ([]byte, error) { return emptied(self) }),
	}
	args := arguments{
		Version: "v1", textArguments: textArguments{Task: competitions.TaskOwn},
		runtimeArguments: runtimeArguments{Runtime: Auto, Required: conditions.None},
		sandboxArguments: sandboxArguments{Processes: 16384, Disk: defaultDisk}, Setup: "30m",
		durableArguments:  durableArguments{PointEvery: "10m", PointLimit: "20GiB", Fork: optional(deps.Fork)},
		stallArguments:    stallArguments{After: "30m", OnStall: onStallNotify},
		feedbackArguments: feedbackArguments{Feedback: feedbackVerdicts, Queries: 50, Report: validity.ReportScore},
		WatchData:         true,
		Network:           &network{Allow: []string{}},
	}
	oneOf := step.OneOf{
		"task": competitions.Tasks(), "runtime": append([]string{Auto}, deps.Runtimes.Names()...), "required_isolation": conditions.Isolations(),
		"on_loss": {onLossResume, onLossRestart, onLossFail}, "on_stall": {onStallNotify, onStallStop, onStallRequeue},
		"feedback": {feedbackVerdicts, FeedbackValidation}, "report": validity.Reports(),
	}
	kind := step.Kind{
		Name:        conditions.AttemptKind,
		Version:     "8",
		Doc:         "Runs an agent on a competition once: starts its command with public files, seed and limits, stops it at the time limit, and keeps what it submitted. An agent that fails is a result, not an error.",
		Varies:      true,
		Observation: observation(),
		Untrusted:   true,
		OwnsTimeout: true,
		LimitsInKey: true,
		Args:        step.Attrs(args, oneOf),
		Blocks:      step.Blocks(args, oneOf),
		Outputs: []step.Output{
			{Name: "code", Type: step.ArtifactType},
			{Name: "code_snapshots", Type: step.ArtifactType},
			{Name: "logs", Type: step.ArtifactType},
			{Name: "network_log", Type: step.ArtifactType},
			{Name: "outcome", Type: cty.String, Doc: endsDoc()},
			{Name: "queries", Type: step.ArtifactType, Optional: true},
			{Name: "shim_log", Type: step.ArtifactType},
			{Name: "snapshots", Type: step.ArtifactType},
			{Name: "stats", Type: step.TypeOf[Stats]()},
			{Name: "submission", Type: step.ArtifactType},
			{Name: "transcript", Type: step.ArtifactType, Secrecy: step.Withheld},
			{Name: "validation_log", Type: step.ArtifactType},
		},
		New:        func(args step.Args) (step.Step, error) { return newAttempt(args, deps) },
		CheckModel: modelblock.Check,
		Counted:    Counted,
		Names: func(a step.Args) []string {
			return []string{a.Text("agent", "name"), a.Text("competition"), a.Text("seed")}
		},
		Choose: deps.choose,
	}
	kind.Document(kindText)
	return kind
}

// observation says what names an attempt, and which versions of the kind made attempts
// that stay valid. Version 8 records as conditions what version 7 did not.
func observation() *step.Observation {
	return &step.Observation{
		Names:   []string{"agent.name", "competition", "seed"},
		Earlier: []step.Earlier{{Version: "7", Lacks: lists.Of(conditions.Budgets(), func(key string) string { return step.ConditionLabel + key })}},
		Program: func(label string) bool {
			return label == "notes" || label == "notes on queries" || label == "package mlebench" || strings.Contains(label, "].price of ")
		},
		Cost: func(made cache.Outputs) *float64 {
			var a results.Attempt
			models, err := a.MadeBy("", string(made["stats"].JSON))
			if err != nil {
				return nil
			}
			return results.Paid(models)
		},
	}
}

// optional is the default of an argument that may have none.
func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// declared is the kind with its arguments only.
var declared = sync.OnceValue(func() *step.Kind {
	return &step.Kind{LimitsInKey: true, Args: step.Attrs(arguments{}, nil), Blocks: step.Blocks(arguments{}, nil)}
})

// IsLimit reports whether a field of an attempt's key is a limit.
func IsLimit(label string) bool { return declared().GroupOf(label) == step.GroupLimits }

// Counted names what an attempt tries, by the fields of its key: the competition, the
// agent's name at that competition with its data, and the agent itself there. The data of
// a rehearsal are others, whatever their digest is, and so are those of a fork, which
// begins with the files of another attempt.
func Counted(fields []digest.Field) []string {
	field := (&cache.Record{Fields: fields}).Field
	at := field("competition") + " " + field("version")
	data := field("data") + field(step.ConditionLabel+conditions.Data) + field("fork")
	return []string{at, field("agent.name") + " " + at + " " + data, Subject(fields) + "\n" + data}
}

// Subject identifies an agent and its competition: the agent's files (or its command if
// it has none), image and models, and the competition with its version and task. It omits
// the names of step and agent, the seed, variables and limits, which a person varies who
// repeats an attempt.
func Subject(fields []digest.Field) string {
	var parts, files, models []string
	for _, f := range fields {
		switch {
		case strings.HasPrefix(f.Label, "agent.files["):
			files = append(files, f.Value)
		case strings.HasPrefix(f.Label, "agent.models[") && (strings.HasSuffix(f.Label, "].models") || strings.HasSuffix(f.Label, "].provider")):
			models = append(models, f.Value)
		}
	}
	field := (&cache.Record{Fields: fields}).Field
	if len(files) == 0 {
		parts = append(parts, field("agent.command"), field("agent.args"))
	}
	for _, label := range []string{"agent.image", "agent.built", "image digest", "competition", "version", "task"} {
		parts = append(parts, field(label))
	}
	slices.Sort(files)
	slices.Sort(models)
	return strings.Join(slices.Concat(parts, files, models), "\n")
}

func newAttempt(args step.Args, deps Deps) (step.Step, error) {
	a := &attempt{deps: deps, raw: args}
	if err := args.Decode(&a.args); err != nil {
		return nil, err
	}
	var err error
	if err := a.takeRuntime(); err != nil {
		return nil, err
	}
	if a.def, err = conditions.Definition(deps.Catalog, a.args.Competition, a.args.Version, nil); err != nil {
		return nil, err
	}
	err = errors.Join(step.WrongArg("agent", errors.Join(a.checkAgent(), a.checkPython())), a.checkEnv(), step.WrongArg("network", a.checkNetwork()), a.checkSandbox(), a.checkDisk(), a.checkTimes(), a.checkDurable(), a.checkStall(), a.checkTask(), a.checkFeedback())
	if err != nil {
		return nil, err
	}
	return a, nil
}

// Authored implements step.Authored.
func (a *attempt) Authored() []string { return a.def.Own("description", "instructions") }

// Fingerprint implements step.Fingerprinter. It adds the version of a built-in agent,
// which is that of the binary; the content of an image, which its name does not
// determine; the instructions, description and notes that the agent reads; and the
// prices that limit what it can buy. If this machine does not have the image, it
// returns an error but adds the other fields.
func (a *attempt) Fingerprint(h *digest.Hasher) error {
	if a.builtIn != "" {
		h.String("built-in agent version", a.builtIn)
	}
	if a.args.speaksACP() {
		h.String("acp client version", acp.Version)
	}
	var lacks error
	if a.runtime.ResolveImage != nil && a.args.Agent.Image != "" {
		image, err := a.runtime.ResolveImage(a.args.Agent.Image)
		if err != nil {
			lacks = fmt.Errorf("agent %q: %w", a.args.Agent.Name, err)
		} else {
			h.String("image digest", image)
		}
	}
	h.Content("instructions", a.instructions)
	h.Content("description", a.description)
	h.Content("notes", notesDigest())
	return errors.Join(lacks, a.fingerprintPrices(h), a.fingerprintShim(h), a.fingerprintFeedback(h))
}
