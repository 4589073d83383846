package agentrun

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/agent"
	"github.com/mleflow/mleflow/plugins/executor"
)

// BuiltIn is the first word of a command that stands for the running binary.
const BuiltIn = "mleflow"

// Deps are what the kind needs.
type Deps struct {
	Catalog  *competitions.Catalog
	Runtimes *executor.Registry
	// Self is the program that BuiltIn stands for in runtimes without
	// images; empty is the running binary.
	Self string
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
	"left_out":           cty.List(cty.String),
})

// Kind returns the step kind "agent-run".
func Kind(deps Deps) step.Kind {
	return step.Kind{
		Name:    "agent-run",
		Version: "1",
		Doc: "Lets an agent solve a competition once: starts its command with the public files, a seed and limits, stops it at the time " +
			"limit, and keeps whatever it submitted. An agent that fails is a result, not an error.",
		Untrusted:   true,
		OwnsTimeout: true,
		LimitsInKey: true,
		Args: []step.Attr{
			{Name: "agent", Type: step.AgentType, Required: true, Doc: "The agent, as agent.NAME."},
			{Name: "competition", Type: cty.String, Required: true, Doc: "Identifier of the competition."},
			{Name: "seed", Type: cty.Number, Default: cty.Zero, Doc: "Whole number that the agent gets as MLEFLOW_SEED."},
			{Name: "data", Type: step.ArtifactType, Required: true, Doc: "The public files of the competition, a tree."},
			{Name: "runtime", Type: cty.String, Default: cty.StringVal("process"), OneOf: deps.Runtimes.Names(), Doc: "What runs the agent. The runtime \"process\" does not isolate it."},
			{Name: "env", Type: cty.Map(cty.String), Doc: "Environment variables besides those of the agent block, which they override."},
		},
		Blocks: []step.Block{{
			Name: "network",
			Doc:  "What the agent may reach; without the block, nothing. The runtime \"process\" cannot enforce it.",
			Args: []step.Attr{
				{Name: "allow", Type: cty.List(cty.String), Default: cty.ListValEmpty(cty.String), Doc: "Allowed \"host:port\" pairs."},
				{Name: "open", Type: cty.Bool, Default: cty.False, Doc: "Allows everything; the result says so."},
			},
		}},
		Outputs: []step.Output{
			{Name: "code", Type: step.ArtifactType, Doc: "What the agent left in CODE_DIR, a tree."},
			{Name: "logs", Type: step.ArtifactType, Doc: "What it left in LOGS_DIR, and output.log with what it printed, a tree."},
			{Name: "outcome", Type: cty.String, Doc: "How it ended: finished, no_submission, timed_out, out_of_memory or agent_failed."},
			{Name: "stats", Type: statsType, Doc: "What it used (wall_seconds, cpu_seconds, peak_memory_bytes), its exit_code, runtime and whether that isolates, and what of its files was left_out."},
			{Name: "submission", Type: step.ArtifactType, Doc: "What it left in SUBMISSION_DIR, a tree."},
		},
		New: func(args step.Args) (step.Step, error) { return newAttempt(args, deps) },
	}
}

// arguments are the block's arguments.
type arguments struct {
	Agent       step.Agent        `cty:"agent"`
	Competition string            `cty:"competition"`
	Seed        int64             `cty:"seed"`
	Data        *step.Artifact    `cty:"data"`
	Runtime     string            `cty:"runtime"`
	Env         map[string]string `cty:"env"`
	Network     *network          `cty:"network"`
}

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
	// builtIn is the version of the built-in agent that runs, if one does.
	builtIn string
}

func newAttempt(args step.Args, deps Deps) (step.Step, error) {
	a := &attempt{deps: deps}
	if err := args.Decode(&a.args); err != nil {
		return nil, err
	}
	var err error
	if a.runtime, err = deps.Runtimes.Get(a.args.Runtime); err != nil {
		return nil, step.WrongArg("runtime", err)
	}
	if a.def, err = deps.Catalog.Get(a.args.Competition); err != nil {
		return nil, step.WrongArg("competition", err)
	}
	if err := errors.Join(step.WrongArg("agent", a.checkAgent()), a.checkEnv(), step.WrongArg("network", a.checkNetwork())); err != nil {
		return nil, err
	}
	return a, nil
}

func (a *attempt) checkAgent() error {
	who := a.args.Agent
	command := append(slices.Clone(who.Command), who.Args...)
	switch {
	case len(command) == 0 || command[0] == "":
		return fmt.Errorf("agent %q has no command", who.Name)
	case a.runtime.Images && who.Image == "":
		return fmt.Errorf("agent %q has no image, and the runtime %q needs one", who.Name, a.runtime.Name)
	case !a.runtime.Images && who.Image != "":
		return fmt.Errorf("agent %q has an image, and the runtime %q runs none; choose another runtime or drop the image", who.Name, a.runtime.Name)
	case command[0] != BuiltIn:
		return nil
	}
	if len(command) != 3 || command[1] != agent.Command {
		return fmt.Errorf("agent %q: a command that starts with %q is [%q, %q, NAME] with NAME one of %s",
			who.Name, BuiltIn, BuiltIn, agent.Command, strings.Join(agent.Names(), ", "))
	}
	found, err := agent.Find(command[2])
	a.builtIn = found.Version
	return err
}

// contractNames are the variables that only the step itself sets.
var contractNames = []string{"AGENT_DIR", "CODE_DIR", "COMPETITION_ID", "DATA_DIR", "INSTRUCTIONS_FILE", "LOGS_DIR", "SUBMISSION_DIR"}

func (a *attempt) checkEnv() error {
	if err := checkNames(a.args.Env); err != nil {
		return step.WrongArg("env", err)
	}
	return step.WrongArg("agent", errors.Join(checkNames(a.args.Agent.Env), checkNames(a.args.Agent.Secrets), a.checkSecrets()))
}

func checkNames(env map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(env)) {
		switch {
		case name == "" || strings.ContainsAny(name, "=\x00"):
			return fmt.Errorf("%q is not a name of an environment variable", name)
		case slices.Contains(contractNames, name) || strings.HasPrefix(name, "MLEFLOW_"):
			return fmt.Errorf("the environment variable %s is set by mleflow itself; choose another name", name)
		}
	}
	return nil
}

// checkNetwork checks the form of the allowed places.
func (a *attempt) checkNetwork() error {
	if a.args.Network == nil {
		return nil
	}
	for _, place := range a.args.Network.Allow {
		host, port, err := net.SplitHostPort(place)
		n, notNumber := strconv.ParseUint(port, 10, 16)
		if err != nil || notNumber != nil || n == 0 || host == "" || strings.ContainsAny(host, "/ ") {
			return fmt.Errorf("allow holds %q, which is not \"host:port\", such as \"api.openai.com:443\"", place)
		}
	}
	return nil
}

func (a *attempt) checkSecrets() error {
	for _, name := range slices.Sorted(maps.Keys(a.args.Agent.Secrets)) {
		if err := step.CheckSecret(a.args.Agent.Secrets[name]); err != nil {
			return fmt.Errorf("secret %s: %w", name, err)
		}
	}
	return nil
}

// Fingerprint implements step.Fingerprinter: a built-in agent changes with the
// binary, and instructions and description are part of what the agent is told.
func (a *attempt) Fingerprint(h *digest.Hasher) error {
	if a.builtIn != "" {
		h.String("built-in agent version", a.builtIn)
	}
	h.Content("instructions", digest.Of([]byte(instructionsText)))
	h.Content("description", digest.Of([]byte(a.description())))
	return nil
}
