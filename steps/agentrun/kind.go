package agentrun

import (
	"cmp"
	"context"
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

// BuiltIn is the first word of a command that runs this binary.
const BuiltIn = "mleflow"

// Deps are the parts of the program that the kind needs.
type Deps struct {
	Catalog  *competitions.Catalog
	Judge    grading.Judge
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
	// guard watches the disk of the attempts.
	guard *guard

	// static returns an error unless the program that BuiltIn runs can be the only
	// file of an image.
	static func() error
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
	tidied, memo, pools := &sync.Once{}, &sync.Map{}, cmp.Or(deps.Pools, &modelblock.Pools{})
	deps.guard = cmp.Or(deps.guard, &guard{free: deps.Free})
	deps.static = sync.OnceValue(func() error { return image.CheckStatic(cmp.Or(deps.Self, "/proc/self/exe")) })
	args := arguments{
		Version: "v1", Task: competitions.TaskOwn, Runtime: Auto, Required: conditions.None, Processes: 16384, Disk: defaultDisk, Setup: "30m",
		PointEvery: "10m", PointLimit: "20GiB", Fork: optional(deps.Fork), Network: &network{Allow: []string{}},
	}
	oneOf := step.OneOf{
		"task": competitions.Tasks(), "runtime": append([]string{Auto}, deps.Runtimes.Names()...), "required_isolation": conditions.Isolations(),
		"on_loss": {onLossResume, onLossRestart, onLossFail},
	}
	return step.Kind{
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
			{Name: "code", Type: step.ArtifactType, Doc: "What is left in CODE_DIR, a tree."},
			{Name: "code_snapshots", Type: step.ArtifactType, Doc: "With snapshot_every, the files of CODE_DIR whenever they had changed, a tree: SECONDS/. A copy has at most 2,000 files and 16 MiB, all 512 MiB; the rest is left out."},
			{Name: "logs", Type: step.ArtifactType, Doc: "What is left in LOGS_DIR, and the agent's output in output.log, a tree."},
			{Name: "network_log", Type: step.ArtifactType, Doc: "Every connection that the proxy made or refused, JSON lines."},
			{Name: "outcome", Type: cty.String, Doc: endsDoc()},
			{Name: "shim_log", Type: step.ArtifactType, Doc: "With shim, every refused or withheld call of mlebench: time, call, argument names, the caller's file and line, JSON lines. The agent can forge it."},
			{Name: "snapshots", Type: step.ArtifactType, Doc: "With snapshot_every, a tree of SECONDS/submission.csv, seconds since the start in nine digits; snapshots of a grade step."},
			{Name: "stats", Type: step.TypeOf[Stats](), Doc: `Usage (wall_seconds, cpu_seconds, peak_memory_bytes, devices), exit_code, runtime and whether it is isolated, network (what it could reach: none, allow or open), the numbers of connections, validations and shim_calls, the files left_out; enforced: what held each limit (memory = "cgroup" or "watcher"); models: by model block the gateway's requests, tokens, cost, waits, times to the first byte, and whether a budget was exhausted; lost_services, whose ports the agent took before the attempt was resumed.`},
			{Name: "submission", Type: step.ArtifactType, Doc: "What is left in SUBMISSION_DIR, a tree."},
			{Name: "transcript", Type: step.ArtifactType, Secrecy: step.Withheld, Doc: "Every exchange with the models, a tree for mleflow logs --transcript and replay; empty without models."},
			{Name: "validation_log", Type: step.ArtifactType, Doc: "Every request to the validity server: size, digest, verdict, JSON lines."},
		},
		New:        func(args step.Args) (step.Step, error) { return newAttempt(args, deps, tidied, memo, pools) },
		CheckModel: modelblock.Check,
		Counted:    Counted,
		Names: func(a step.Args) []string {
			return []string{a.Text("agent", "name"), a.Text("competition"), a.Text("seed")}
		},
		Choose: deps.choose,
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

// arguments are the block's arguments.
type arguments struct {
	Agent       step.Agent        `cty:"agent" is:"required" doc:"The agent: agent.NAME, or agent.NAME[KEY] of a sweep."`
	Competition string            `cty:"competition" is:"required" doc:"Identifier of the competition."`
	Version     string            `cty:"version" doc:"Version of the competition."`
	Seed        int64             `cty:"seed" doc:"An integer, MLEFLOW_SEED to the agent."`
	Data        *step.Artifact    `cty:"data" is:"required" doc:"The public files of the competition, a tree."`
	Task        competitions.Task `cty:"task" doc:"The agent's texts: the reference's description and instructions, byte for byte; its obfuscated ones, which do not name Kaggle or the competition; or our own short one. Published scores compare only with the same task."`
	Texts       *texts            `cty:"texts" is:"cosmetic" made:"task" when:"task" passing:"competition task" doc:"A step of kind task with the texts; by default one is added."`
	Sketch      *step.Artifact    `cty:"sketch" doc:"The output of a step of kind sketch. With it the validity server gives the grader's verdicts; without, it knows only the sample submission. The agent cannot read it."`
	Runtime     string            `cty:"runtime" group:"limits" open:"auto" doc:"What runs the agent. \"auto\" is the strongest possible here: containerd, else sandbox, else process; the plan says why, and the key has it. \"process\" does not isolate the agent: its results are marked untrusted."`
	Required    string            `cty:"required_isolation" is:"cosmetic setting" doc:"The least isolation. A plan with less is refused, with what is missing and how to get it. The default is the mleflow block's. The key has the actual isolation."`
	Env         map[string]string `cty:"env" doc:"Environment variables, which override those of the agent block."`
	Handler     *string           `cty:"handler" group:"limits" doc:"The OCI runtime of the container: runc (the default), runsc, nvidia or another installed one. Isolating runtimes only."`
	User        *string           `cty:"user" group:"limits" doc:"User and group ID, \"1000:1000\" by default. Isolating runtimes only."`
	Caps        []string          `cty:"capabilities" group:"limits" doc:"Linux capabilities, such as \"CAP_SYS_PTRACE\"; none by default. They are part of the class. Isolating runtimes only; where containerd has no user namespace, as with GPUs whose descriptions have hooks, only CAP_IPC_LOCK, CAP_NET_BIND_SERVICE, CAP_SYS_NICE and CAP_SYS_PTRACE."`
	Shm         *string           `cty:"shm" group:"limits" doc:"Size of /dev/shm, such as \"8GiB\"; by default 4GiB, at most half of resources.memory. Isolating runtimes only."`
	Processes   int               `cty:"processes" group:"limits" doc:"The most processes and threads. In \"process\" the user's other processes count too, and root is not limited."`
	Disk        string            `cty:"disk_limit" group:"limits" doc:"The most that the agent stores in its folders and /tmp, such as \"500GiB\", or \"unlimited\". It reserves no space; resources.disk does, and replaces it. Isolating runtimes give a file system of that size; \"process\" measures each second and ends the attempt above it."`
	Setup       string            `cty:"setup_timeout" is:"cosmetic" doc:"How long setting up data, image and container may take. More is a failure of the machine, which may be retried; timeout limits the agent itself."`
	Shim        bool              `cty:"shim" doc:"Gives the agent a Python package and command mlebench. Registry and validation work; calls that would grade, or read answers or leaderboard, are refused and recorded in shim_log."`
	Every       *string           `cty:"snapshot_every" group:"limits" doc:"How often to copy submission and code while the agent runs, such as \"10m\", unnoticed: the outputs snapshots and code_snapshots."`
	OnLoss      *string           `cty:"on_loss" is:"cosmetic" doc:"What becomes of the attempt if its machine is lost or it is interrupted. \"resume\": it goes on from its last checkpoint, with the files, clock and budgets of then. \"restart\": the agent starts from the beginning, with the time that is left. \"fail\": the step fails until on_loss says otherwise. Without it, and without resume, there are no checkpoints, and it starts from the beginning with the full time. Not in the key: without a loss nothing differs, and a result says how often it went on."`
	Resume      []string          `cty:"resume" is:"command" doc:"The command with which an agent goes on; by default that of the agent, which sees MLEFLOW_RESUMED=1. Sets on_loss = \"resume\"."`
	PointEvery  string            `cty:"checkpoint_every" is:"cosmetic" doc:"With on_loss, how often to take a checkpoint. The agent can ask for one: POST $MLEFLOW_GATEWAY/checkpoint, or the file $AGENT_DIR/checkpoint.request."`
	PointLimit  string            `cty:"checkpoint_limit" is:"cosmetic" doc:"The most that a checkpoint has of the agent's folders: submission, code, logs, then AGENT_DIR. The log says what is left out."`
	PointKeep   *string           `cty:"checkpoint_keep" is:"cosmetic" doc:"Keeps a checkpoint of each such part of the attempt's time, as in \"1h\", also when it has its result, for mleflow attempts fork. Without it only the last one stays, until the result."`
	Fork        *string           `cty:"fork" is:"bycommand" doc:"The checkpoint of another attempt from which this one begins, \"KEY@TIME\", with its files and the time that it had used; mleflow attempts fork sets it. Its result has the condition forked, and no board counts it."`
	Network     *network          `cty:"network" group:"limits" block:"What the agent may reach; nothing without this block. \"process\" cannot enforce it."`
}

// texts are the outputs of a step of kind task.
type texts struct {
	Description  *step.Artifact `cty:"description"`
	Instructions *step.Artifact `cty:"instructions"`
}

type network struct {
	Allow []string `cty:"allow" doc:"\"host:port\", \"*.domain:port\" or \"address:port\", reached through a proxy over HTTP and TLS; network_log has every connection."`
	Open  bool     `cty:"open" doc:"Allows all connections, which the result records."`
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
	// tidied runs the clean-up once per process.
	tidied *sync.Once
	// memo holds the data with a description, by the digests of both.
	memo *sync.Map
	// pools are the budgets that the attempts of a run share, by run and model.
	pools *modelblock.Pools
}

func newAttempt(args step.Args, deps Deps, tidied *sync.Once, memo *sync.Map, pools *modelblock.Pools) (step.Step, error) {
	a := &attempt{deps: deps, raw: args, tidied: tidied, memo: memo, pools: pools}
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
