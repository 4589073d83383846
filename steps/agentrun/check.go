package agentrun

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/secret"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/sandbox/agent"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/proxy"
	"github.com/mleflow/mleflow/steps/task"
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

func (a *attempt) checkAgent() error {
	who := a.args.Agent
	if err := step.CheckFiles(who.Files); err != nil {
		return fmt.Errorf("files of agent %q: %w", who.Name, err)
	}
	if err := a.checkModels(); err != nil {
		return fmt.Errorf("agent %q: %w", who.Name, err)
	}
	command := append(slices.Clone(who.Command), who.Args...)
	switch {
	case len(command) == 0 || command[0] == "":
		return fmt.Errorf("agent %q has no command", who.Name)
	case a.args.Runtime != Auto && a.args.unsuited(a.runtime) != "":
		return fmt.Errorf("the runtime %q cannot run agent %q: %s", a.runtime.Name, who.Name, a.args.unsuited(a.runtime))
	case command[0] != BuiltIn || a.args.speaksACP():
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

// contractNames are the variables that only the step may set.
var contractNames = []string{"AGENT_DIR", "CODE_DIR", "COMPETITION_ID", "DATA_DIR", "INSTRUCTIONS_FILE", "LOGS_DIR", "SUBMISSION_DIR"}

func (a *attempt) checkEnv() error {
	if err := checkNames(a.args.Env); err != nil {
		return step.WrongArg("env", err)
	}
	return step.WrongArg("agent", errors.Join(checkNames(a.args.Agent.Env), checkNames(a.args.Agent.Secrets), a.checkSecrets()))
}

func checkNames(env map[string]string) error {
	return step.CheckEnv(env, func(name string) bool {
		return slices.Contains(contractNames, name) || strings.HasPrefix(name, "MLEFLOW_")
	})
}

// checkNetwork parses the allowed destinations.
func (a *attempt) checkNetwork() (err error) {
	if n := a.args.Network; n != nil {
		a.policy, err = proxy.PolicyOf(n.Allow, n.Open)
	}
	return err
}

// checkSandbox parses the arguments that only isolating runtimes accept.
func (a *attempt) checkSandbox() error {
	s := &a.sandbox
	s.Capabilities = a.args.Caps
	s.Handler, s.User = step.Text(a.args.Handler), step.Text(a.args.User)
	var err error
	if s.ShmBytes, err = step.ParseSize(step.Text(a.args.Shm)); err != nil {
		return step.WrongArg("shm", err)
	}
	if s.ShmBytes == 0 {
		s.ShmBytes = defaultShm(a.raw.Limits.MemoryBytes)
	}
	if _, _, err := executor.ParseUser(s.User); err != nil {
		return step.WrongArg("user", err)
	}
	if a.args.Processes < 1 {
		return step.WrongArg("processes", fmt.Errorf("processes = %d is too low; write 1 or more, or leave it out", a.args.Processes))
	}
	return nil
}

// defaultShm is the size of /dev/shm: that of the reference, since many data loaders
// fail with less, but at most half of the memory limit. Files there count as memory, so
// an agent that fills it gets a full disk before the memory limit kills it.
func defaultShm(memory int64) int64 {
	const size = 4 << 30
	if memory > 0 {
		return min(size, memory/2)
	}
	return size
}

func (a *attempt) checkTimes() error {
	var err error
	if a.setupTime, err = parseDuration(a.args.Setup); err != nil {
		return step.WrongArg("setup_timeout", err)
	}
	if a.every, err = parseDuration(step.Text(a.args.Every)); err == nil && a.every > 0 && a.every < shortestInterval {
		err = fmt.Errorf("every %v is too often; the shortest interval is %v", a.every, shortestInterval)
	}
	return step.WrongArg("snapshot_every", err)
}

// checkTask sets the digests that the task's texts must have.
func (a *attempt) checkTask() (err error) {
	if a.description, a.instructions, err = task.Digests(cmp.Or(a.deps.Repository, competitions.Reference()), a.def, a.args.Task); err != nil {
		return step.WrongArg("task", err)
	}
	if a.args.Task != competitions.TaskOwn && a.args.Texts == nil {
		return step.WrongArg("texts", fmt.Errorf("the task %q needs texts: a step of kind task, which is made where the argument is not written", a.args.Task))
	}
	return nil
}

func (a *attempt) checkSecrets() error {
	for _, name := range slices.Sorted(maps.Keys(a.args.Agent.Secrets)) {
		if _, err := secret.ParseRef(a.args.Agent.Secrets[name]); err != nil {
			return fmt.Errorf("secret %s: %w", name, err)
		}
	}
	return nil
}
