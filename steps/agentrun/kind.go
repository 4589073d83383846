package agentrun

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/outcome"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/sandbox/acp"
	"github.com/mleflow/mleflow/plugins/sandbox/breach"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/image"
	"github.com/mleflow/mleflow/plugins/sandbox/proxy"
	"github.com/mleflow/mleflow/steps/modelblock"
)

// kindText is the documentation of the arguments and outputs.
//
//go:embed kind.txt
var kindText string

// BuiltIn is the first word of a command that runs this binary.
const BuiltIn = "mleflow"

// Deps are the parts of the program that the kind needs.
type Deps struct {
	Catalog  *competitions.Catalog
	Grader   grading.Grader
	Runtimes *executor.Registry
	// Auto is the runtime that "auto" chooses; "" is the strongest available.
	Auto string
	// Fork is the checkpoint from which attempts begin unless their argument says
	// otherwise; "" is none.
	Fork string
	// Self is the program that BuiltIn runs in runtimes without images; "" is the
	// running binary.
	Self string
	// Forbidden returns the targets that are tried from inside each agent's sandbox
	// before the agent starts. They exist until close is called. If it is nil, nothing
	// is tried.
	Forbidden func(context.Context) (targets *breach.Targets, close func() error, err error)
	// Repository has the texts of tasks; nil is the reference's.
	Repository *competitions.Repository
	// Pools are the budgets that the steps of a run share; nil creates them.
	Pools *modelblock.Pools
	// Leavable, if set, counts the agents that can continue without this process.
	Leavable *atomic.Int64

	// Free returns the free space of the disk at a path, 0 if it is unknown; nil watches no
	// disk.
	Free func(path string) (int64, error)
	*shared
}

// shared is what the attempts of a process share.
type shared struct {
	// guard watches the disk of the attempts.
	guard guard
	// static returns an error unless the program that BuiltIn runs can be the only
	// file of an image.
	static func() error
	// tidied runs the clean-up once per process.
	tidied sync.Once
	// memo holds the data with a description, by the digests of both.
	memo sync.Map
}

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
	deps.shared = &shared{
		guard:  guard{free: deps.Free},
		static: sync.OnceValue(func() error { return image.CheckStatic(cmp.Or(deps.Self, "/proc/self/exe")) }),
	}
	args := arguments{
		Version: "v1", textArguments: textArguments{Task: competitions.TaskOwn},
		runtimeArguments: runtimeArguments{Runtime: Auto, Required: conditions.None},
		sandboxArguments: sandboxArguments{Processes: 16384, Disk: defaultDisk}, Setup: "30m",
		durableArguments: durableArguments{PointEvery: "10m", PointLimit: "20GiB", Fork: optional(deps.Fork)},
		Network:          &network{Allow: []string{}},
	}
	oneOf := step.OneOf{
		"task": competitions.Tasks(), "runtime": append([]string{Auto}, deps.Runtimes.Names()...), "required_isolation": conditions.Isolations(),
		"on_loss": {onLossResume, onLossRestart, onLossFail},
	}
	kind := step.Kind{
		Name:        conditions.AttemptKind,
		Version:     "8",
		Doc:         "Runs an agent on a competition once: starts its command with public files, seed and limits, stops it at the time limit, and keeps what it submitted. An agent that fails is a result, not an error.",
		Varies:      true,
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

// arguments are the block's arguments, in the order of the key: those of each concern stand
// with its code.
type arguments struct {
	Agent       step.Agent     `cty:"agent" is:"required"`
	Competition string         `cty:"competition" is:"required"`
	Version     string         `cty:"version"`
	Seed        int64          `cty:"seed"`
	Data        *step.Artifact `cty:"data" is:"required"`
	textArguments
	Sketch *step.Artifact `cty:"sketch"`
	runtimeArguments
	Env map[string]string `cty:"env"`
	sandboxArguments
	Setup string  `cty:"setup_timeout" is:"cosmetic"`
	Shim  bool    `cty:"shim"`
	Every *string `cty:"snapshot_every" group:"limits"`
	durableArguments
	Network *network `cty:"network" group:"limits" block:"What the agent may reach; nothing without this block. \"process\" cannot enforce it."`
}

// attempt is one instance of the kind.
type attempt struct {
	args    arguments
	deps    Deps
	def     *competitions.Definition
	runtime executor.Runtime
	// raw are the undecoded arguments, for the action's key.
	raw step.Args
	// builtIn is the version of the built-in agent; "" for any other agent.
	builtIn string
	// description and instructions are the digests of the task's texts.
	description, instructions digest.ContentID
	// policy lists the servers that the agent can reach through the proxy; nil is none.
	policy *proxy.Policy
	// sandbox, setupTime and every are parsed arguments.
	sandbox   executor.Sandbox
	setupTime time.Duration
	// disk is the agent's disk limit in bytes; 0 is no limit.
	disk  int64
	every time.Duration
	// durable are the parsed arguments of the checkpoints.
	durable durable
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
	err = errors.Join(step.WrongArg("agent", errors.Join(a.checkAgent(), a.checkPython())), a.checkEnv(), step.WrongArg("network", a.checkNetwork()), a.checkSandbox(), a.checkDisk(), a.checkTimes(), a.checkDurable(), a.checkTask())
	if err != nil {
		return nil, err
	}
	return a, nil
}

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
	return errors.Join(lacks, a.fingerprintPrices(h), a.fingerprintShim(h))
}
