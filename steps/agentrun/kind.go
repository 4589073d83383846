package agentrun

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/gateway/proxy"
)

// BuiltIn is the first word of a command that stands for the running binary.
const BuiltIn = "mleflow"

// Deps are what the kind needs.
type Deps struct {
	Catalog  *competitions.Catalog
	Judge    grading.Judge
	Runtimes *executor.Registry
	// Self is the program that BuiltIn stands for in runtimes without
	// images; empty is the running binary.
	Self string
	// Repository is where the texts of tasks are; nil is that of the
	// reference.
	Repository *competitions.Repository
}

// Outcome is how an attempt ended, for people and for grading.
type Outcome string

// The outcomes. What was submitted is harvested and graded with every one.
const (
	// Finished: the agent ended with status 0 and left a submission.
	Finished Outcome = "finished"
	// NoSubmission: it ended with status 0 and left none.
	NoSubmission Outcome = "no_submission"
	// TimedOut: it was stopped at the time limit.
	TimedOut Outcome = "timed_out"
	// OutOfMemory: it was killed at the memory limit.
	OutOfMemory Outcome = "out_of_memory"
	// OutOfDisk: it was stopped beyond the disk limit, in a runtime that cannot
	// keep it to that.
	OutOfDisk Outcome = "out_of_disk"
	// DataChanged: it changed its data, which are read-only, in a runtime that
	// cannot keep it from that; however it ended.
	DataChanged Outcome = "data_changed"
	// AgentFailed: it ended with another status or by a signal.
	AgentFailed Outcome = "agent_failed"
)

// statsType is the type of the output "stats"; see Stats.
var statsType = cty.Object(map[string]cty.Type{
	"wall_seconds":       cty.Number,
	"cpu_seconds":        cty.Number,
	"peak_memory_bytes":  cty.Number,
	"exit_code":          cty.Number,
	"leftover_processes": cty.Number,
	"log_bytes_dropped":  cty.Number,
	"runtime":            cty.String,
	"isolated":           cty.Bool,
	"resumed":            cty.Bool,
	"lost_services":      cty.List(cty.String),
	"devices":            cty.List(cty.String),
	"network":            cty.String,
	"connections":        cty.Number,
	"validations":        cty.Number,
	"shim_calls":         cty.Number,
	"left_out":           cty.List(cty.String),
})

// Kind returns the step kind "agent-run".
func Kind(deps Deps) step.Kind {
	tidied, memo := &sync.Once{}, &sync.Map{}
	return step.Kind{
		Name:    conditions.AttemptKind,
		Version: "5",
		Doc: "Lets an agent solve a competition once: starts its command with the public files, a seed and limits, stops it at the time " +
			"limit, and keeps whatever it submitted. An agent that fails is a result, not an error.",
		Varies:      true,
		Untrusted:   true,
		OwnsTimeout: true,
		LimitsInKey: true,
		Args: []step.Attr{
			{Name: "agent", Type: step.AgentType, Required: true, Doc: "The agent, as agent.NAME."},
			{Name: "competition", Type: cty.String, Required: true, Doc: "Identifier of the competition."},
			{Name: "version", Type: cty.String, Default: cty.StringVal("v1"), Doc: "Version of the competition."},
			{Name: "seed", Type: cty.Number, Default: cty.Zero, Doc: "Whole number that the agent gets as MLEFLOW_SEED."},
			{Name: "data", Type: step.ArtifactType, Required: true, Doc: "The public files of the competition, a tree."},
			{Name: "task", Type: cty.String, Default: cty.StringVal(string(competitions.TaskOwn)), OneOf: competitions.Tasks(), Doc: "What the agent is told: the reference's description and instructions to the byte, its obfuscated ones, which do not name Kaggle or the competition, or our own short text. Scores can be compared with published ones only under the task that those had."},
			{Name: "texts", Type: textsType, Cosmetic: true, Made: &step.Made{Kind: "task", When: "task", Args: []string{"competition", "task"}}, Doc: "A step of kind task with the texts of the task; where it is not written it is made. Not in the key: the texts' digests are."},
			{Name: "runtime", Type: cty.String, Default: cty.StringVal("process"), OneOf: deps.Runtimes.Names(), Doc: "What runs the agent. The runtime \"process\" does not isolate it."},
			{Name: "env", Type: cty.Map(cty.String), Doc: "Environment variables besides those of the agent block, which they override."},
			{Name: "handler", Type: cty.String, Doc: "What runs the container: runc (the default), runsc, nvidia or another that the runtime knows. Isolating runtimes only."},
			{Name: "user", Type: cty.String, Doc: "User and group in numbers, \"1000:1000\" by default. Isolating runtimes only."},
			{Name: "capabilities", Type: cty.List(cty.String), Doc: "Capabilities of Linux that the agent gets, such as \"CAP_SYS_PTRACE\"; none by default. Isolating runtimes only."},
			{Name: "shm", Type: cty.String, Doc: "Size of /dev/shm, such as \"4GiB\"; by default that, and at most half of resources.memory. Isolating runtimes only."},
			{Name: "processes", Type: cty.Number, Default: cty.NumberIntVal(16384), Doc: "The most processes and threads. Under \"process\" they are counted beside the user's others, and root is not held to it."},
			{Name: "disk_limit", Type: cty.String, Default: cty.StringVal(defaultDisk), Doc: "The most that the agent may store in its folders and /tmp together, such as \"500GiB\", or \"unlimited\". It reserves nothing; resources.disk, where it is given, does, and is the limit instead. Isolating runtimes give the agent a file system of that size; under \"process\" what it stores is measured about every second, and the attempt ends beyond the limit."},
			{Name: "setup_timeout", Type: cty.String, Default: cty.StringVal("30m"), Cosmetic: true, Doc: "How long it may take until the agent runs: data, image, container. Longer is a failure of the machine, which may be tried again; timeout is the agent's own."},
			{Name: "shim", Type: cty.Bool, Default: cty.False, Doc: "Puts a package and command mlebench on the agent's path: the registry and the validation of submissions work; what would grade, or read answers or the leaderboard, is refused and recorded in shim_log."},
			{Name: "snapshot_every", Type: cty.String, Doc: "Keeps what lies at the submission's path so often, such as \"10m\", without telling the agent; see the output snapshots."},
		},
		Blocks: []step.Block{{
			Name: "network",
			Doc:  "What the agent may reach; without the block, nothing. The runtime \"process\" cannot enforce it.",
			Args: []step.Attr{
				{Name: "allow", Type: cty.List(cty.String), Default: cty.ListValEmpty(cty.String), Doc: "Allowed places: \"host:port\", \"*.domain:port\" or \"address:port\". They are reached by a proxy, over HTTP and TLS, and every connection is in network_log."},
				{Name: "open", Type: cty.Bool, Default: cty.False, Doc: "Allows everything; the result says so."},
			},
		}},
		Outputs: []step.Output{
			{Name: "code", Type: step.ArtifactType, Doc: "What the agent left in CODE_DIR, a tree."},
			{Name: "logs", Type: step.ArtifactType, Doc: "What it left in LOGS_DIR, and output.log with what it printed, a tree."},
			{Name: "network_log", Type: step.ArtifactType, Doc: "Every connection that went through the proxy or was refused by it, JSON lines."},
			{Name: "outcome", Type: cty.String, Doc: "How it ended: finished, no_submission, timed_out, out_of_memory, out_of_disk, data_changed or agent_failed."},
			{Name: "shim_log", Type: step.ArtifactType, Doc: "With shim, every call of mlebench that was refused or withheld: time, call, names of arguments, the caller's file and line, JSON lines. It is what the agent's side told."},
			{Name: "snapshots", Type: step.ArtifactType, Doc: "What snapshot_every kept, a tree: SECONDS/submission.csv, with the seconds since the start in nine digits. The step grade takes it."},
			{Name: "stats", Type: statsType, Doc: "What it used (wall_seconds, cpu_seconds, peak_memory_bytes, devices), its exit_code, runtime and whether that isolates, its network (none, allow or open), how many connections and validations it asked for, how many calls are in shim_log, what of its files was left_out, and lost_services, those whose ports it took while nobody served them and the attempt was not resumed yet."},
			{Name: "submission", Type: step.ArtifactType, Doc: "What it left in SUBMISSION_DIR, a tree."},
			{Name: "validation_log", Type: step.ArtifactType, Doc: "Every question to the validity server, with size, digest and verdict, JSON lines."},
		},
		New: func(args step.Args) (step.Step, error) { return newAttempt(args, deps, tidied, memo) },
	}
}

// arguments are the block's arguments.
type arguments struct {
	Agent       step.Agent        `cty:"agent"`
	Competition string            `cty:"competition"`
	Version     string            `cty:"version"`
	Seed        int64             `cty:"seed"`
	Data        *step.Artifact    `cty:"data"`
	Task        competitions.Task `cty:"task"`
	Texts       *texts            `cty:"texts"`
	Runtime     string            `cty:"runtime"`
	Env         map[string]string `cty:"env"`
	Handler     *string           `cty:"handler"`
	User        *string           `cty:"user"`
	Caps        []string          `cty:"capabilities"`
	Shm         *string           `cty:"shm"`
	Processes   int               `cty:"processes"`
	Disk        string            `cty:"disk_limit"`
	Setup       string            `cty:"setup_timeout"`
	Shim        bool              `cty:"shim"`
	Every       *string           `cty:"snapshot_every"`
	Network     *network          `cty:"network"`
}

// texts are the outputs of a step of kind task.
type texts struct {
	Description  *step.Artifact `cty:"description"`
	Instructions *step.Artifact `cty:"instructions"`
}

var textsType = cty.Object(map[string]cty.Type{"description": step.ArtifactType, "instructions": step.ArtifactType})

type network struct {
	Allow []string `cty:"allow"`
	Open  bool     `cty:"open"`
}

// attempt is one instance of the kind.
type attempt struct {
	args    arguments
	deps    Deps
	def     *competitions.Definition
	runtime executor.Runtime
	// raw are the arguments as they came, for the action's key.
	raw step.Args
	// builtIn is the version of the built-in agent that runs, if one does.
	builtIn string
	// description and instructions are the digests of the task's texts.
	description, instructions digest.ContentID
	// policy is what the agent may reach through the proxy; nil if nothing.
	policy *proxy.Policy
	// sandbox, setup and every are arguments, read.
	sandbox executor.Sandbox
	setup   time.Duration
	// disk is the most that the agent may store; 0 is no limit.
	disk  int64
	every time.Duration
	// tidied is done when this process has removed what others left.
	tidied *sync.Once
	// memo are the data with a description, by the digests of both.
	memo *sync.Map
}

func newAttempt(args step.Args, deps Deps, tidied *sync.Once, memo *sync.Map) (step.Step, error) {
	a := &attempt{deps: deps, raw: args, tidied: tidied, memo: memo}
	if err := args.Decode(&a.args); err != nil {
		return nil, err
	}
	var err error
	if a.runtime, err = deps.Runtimes.Get(a.args.Runtime); err != nil {
		return nil, step.WrongArg("runtime", err)
	}
	def, err := deps.Catalog.Get(a.args.Competition)
	if err != nil {
		return nil, step.WrongArg("competition", err)
	}
	if a.def, err = def.At(a.args.Version); err != nil {
		return nil, step.WrongArg("version", err)
	}
	err = errors.Join(step.WrongArg("agent", a.checkAgent()), a.checkEnv(), step.WrongArg("network", a.checkNetwork()), a.checkSandbox(), a.checkDisk(), a.checkTimes(), a.checkTask())
	if err != nil {
		return nil, err
	}
	return a, nil
}

// Conditions implements step.Conditioned.
func (a *attempt) Conditions() []string {
	return append(conditions.Of(a.runtime.Name, a.runtime.Isolates), conditions.Task+"="+string(a.args.Task))
}

// Fingerprint implements step.Fingerprinter: a built-in agent changes with the
// binary, an image's name is not what it holds, and instructions, description
// and notes are what the agent is told.
func (a *attempt) Fingerprint(h *digest.Hasher) error {
	if a.builtIn != "" {
		h.String("built-in agent version", a.builtIn)
	}
	if a.runtime.ResolveImage != nil && a.args.Agent.Image != "" {
		image, err := a.runtime.ResolveImage(a.args.Agent.Image)
		if err != nil {
			return fmt.Errorf("agent %q: %w", a.args.Agent.Name, err)
		}
		h.String("image digest", image)
	}
	h.Content("instructions", a.instructions)
	h.Content("description", a.description)
	h.Content("notes", digest.Of([]byte(notesText)))
	return a.fingerprintShim(h)
}
