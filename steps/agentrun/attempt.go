package agentrun

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/program"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/sandbox/acp"
	"github.com/mleflow/mleflow/plugins/sandbox/breach"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/proxy"
	"github.com/mleflow/mleflow/steps/agentrun/checkpoint"
	"github.com/mleflow/mleflow/steps/modelblock"
)

// sandboxArguments are what the runtime grants the agent.
type sandboxArguments struct {
	Handler   *string  `cty:"handler" group:"limits"`
	User      *string  `cty:"user" group:"limits"`
	Caps      []string `cty:"capabilities" group:"limits"`
	Shm       *string  `cty:"shm" group:"limits"`
	Processes int      `cty:"processes" group:"limits"`
	Disk      string   `cty:"disk_limit" group:"limits"`
}

// textArguments are the arguments of the agent's texts.
type textArguments struct {
	Task  competitions.Task `cty:"task"`
	Texts *texts            `cty:"texts" is:"cosmetic" made:"task" when:"task" passing:"competition task"`
}

// texts are the outputs of a step of kind task.
type texts struct {
	Description  *step.Artifact `cty:"description"`
	Instructions *step.Artifact `cty:"instructions"`
}

// durableArguments are the arguments of the checkpoints.
type durableArguments struct {
	OnLoss     *string  `cty:"on_loss" is:"cosmetic"`
	Resume     []string `cty:"resume" is:"command"`
	PointEvery string   `cty:"checkpoint_every" is:"cosmetic"`
	PointLimit string   `cty:"checkpoint_limit" is:"cosmetic"`
	PointKeep  *string  `cty:"checkpoint_keep" is:"cosmetic"`
	Fork       *string  `cty:"fork" is:"bycommand"`
}

// durable are the parsed durableArguments.
type durable struct {
	// onLoss is "" without checkpoints.
	onLoss string
	every  time.Duration
	limit  int64
	// keep is the part of the time of which a checkpoint stays; 0 keeps none.
	keep time.Duration
	// fork is the checkpoint of another attempt from which this one begins; nil is none.
	fork *checkpoint.Fork
}

// network is the block of that name.
type network struct {
	Allow []string `cty:"allow"`
	Open  bool     `cty:"open"`
}

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
	// Thief, if set, is what this program looks for in the agent's place, in a sandbox like
	// the agent's.
	Thief *breach.Targets
	// Repository has the texts of tasks; nil is the reference's.
	Repository *competitions.Repository
	// Packages provides the packages of metrics that are Python programs; nil refuses them.
	Packages func(*step.Env) program.Packages
	// Pools are the budgets that the steps of a run share; nil creates them.
	Pools *modelblock.Pools
	// Leavable, if set, counts the agents that can continue without this process.
	Leavable *atomic.Int64

	// Free returns the free space of the disk at a path, 0 if it is unknown; nil watches no
	// disk.
	Free func(path string) (int64, error)
	// OOMKills counts the processes that were killed for lack of memory around mleflow; nil
	// knows of none.
	OOMKills func() int64
	// NoExec says why programs in the folders of attempts cannot be started, and what to
	// do; "" if they can. nil knows of no obstacle.
	NoExec func() string
	*shared
}

// shared is what the attempts of a process share.
type shared struct {
	// guard watches the disk of the attempts.
	guard guard
	// static returns an error unless the program that BuiltIn runs can be the only
	// file of an image.
	static func() error
	// client returns the copy of the client of ACP.
	client func() ([]byte, error)
	// tidied runs the clean-up once per process.
	tidied sync.Once
	// memo holds the data with a description, by the digests of both.
	memo sync.Map
	// watched is the number of attempts of which opened files are watched.
	watched atomic.Int32
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
	stallArguments
	feedbackArguments
	WatchData bool     `cty:"watch_data" is:"cosmetic"`
	Network   *network `cty:"network" group:"limits" block:"What the agent may reach; nothing without this block. \"process\" cannot enforce it."`
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
	// queryEvery is the shortest time between two queries.
	queryEvery time.Duration
	// stalledAfter is the time without a sign of work after which the agent stands still.
	stalledAfter time.Duration
}

// python is the Python environment of an attempt whose agent has packages.
type python struct {
	// dir is the folder of the virtual environment.
	dir string
	// mounts are what an agent sees of it where the runtime maps paths: the environment
	// and its packages, and what is needed of the interpreter's installation.
	mounts []executor.Mount
}

// runtimeArguments choose the runtime.
type runtimeArguments struct {
	Runtime  string `cty:"runtime" group:"limits" open:"auto"`
	Required string `cty:"required_isolation" is:"cosmetic setting"`
}

// program is the name of the agent's own program.
func (args *arguments) program() string {
	if args.speaksACP() {
		return args.Agent.Command[2]
	}
	return args.Agent.Command[0]
}

// speaksACP reports whether mleflow is the client of the agent.
func (args *arguments) speaksACP() bool {
	command := args.Agent.Command
	return len(command) > 2 && command[0] == BuiltIn && command[1] == acp.Command
}

// self returns the path of this program.
func (a *attempt) self() (string, error) {
	if a.deps.Self != "" {
		return a.deps.Self, nil
	}
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find the running program: %w", err)
	}
	return self, nil
}
