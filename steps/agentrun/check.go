package agentrun

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/secret"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/models/dialect"
	"github.com/mleflow/mleflow/plugins/models/gateway"
	"github.com/mleflow/mleflow/plugins/sandbox/agent"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/proxy"
	"github.com/mleflow/mleflow/steps/modelblock"
	"github.com/mleflow/mleflow/steps/task"
)

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
	if err := a.checkNames(a.args.Env); err != nil {
		return step.WrongArg("env", err)
	}
	return step.WrongArg("agent", errors.Join(a.checkNames(a.args.Agent.Env), a.checkNames(a.args.Agent.Secrets), a.checkSecrets()))
}

func (a *attempt) checkNames(env map[string]string) error {
	return step.CheckEnv(env, func(name string) bool {
		return name == validationVariable && a.validates() || slices.Contains(contractNames, name) || strings.HasPrefix(name, "MLEFLOW_")
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
	if every := step.Text(a.args.Every); every != "" {
		a.every, err = parseInterval(every)
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
		if _, err := a.args.Agent.Secret(name); err != nil {
			return fmt.Errorf("secret %s: %w", name, err)
		}
	}
	return nil
}

// parseInterval parses the time between two snapshots or checkpoints.
func parseInterval(text string) (time.Duration, error) {
	d, err := parseDuration(text)
	if err == nil && d < shortestInterval {
		err = fmt.Errorf("every %v is too often; the shortest interval is %v", d, shortestInterval)
	}
	return d, err
}

// parseDuration parses a duration such as "10m"; "" is 0.
func parseDuration(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q is not a time, such as \"90s\", \"10m\" or \"1h30m\"", text)
	}
	return d, nil
}

// fingerprintPrices adds the prices of the agent's models to the key.
func (a *attempt) fingerprintPrices(h *digest.Hasher) error {
	for i, m := range a.args.Agent.Models {
		if err := modelblock.Fingerprint(h, fmt.Sprintf("agent.models[%d]", i), m); err != nil {
			return err
		}
	}
	return nil
}

// checkModels checks the agent's model blocks, and that nothing else sets the variables
// of the gateway.
func (a *attempt) checkModels() error {
	var blocks []gateway.Block
	seen := map[string]string{}
	for _, m := range a.args.Agent.Models {
		if err := modelblock.Check(m); err != nil {
			return fmt.Errorf("model %q: %w", m.Name, err)
		}
		name := modelName(m.Name, "URL")
		if seen[name] != "" {
			return fmt.Errorf("the models %q and %q have the same variable %s; rename one", seen[name], m.Name, name)
		}
		seen[name] = m.Name
		blocks = append(blocks, gateway.Block{Model: gateway.Model{Name: m.Name}, Dialect: dialect.Named(m.Provider)})
	}
	if blocks == nil {
		return nil
	}
	own := modelEnv(blocks)
	for _, env := range []map[string]string{a.args.Agent.Env, a.args.Agent.Secrets, a.args.Env} {
		for _, name := range slices.Sorted(maps.Keys(env)) {
			if _, taken := own[name]; taken {
				return fmt.Errorf("%s leads to the model gateway and is set by mleflow itself; remove it from env and secrets", name)
			}
		}
	}
	return nil
}

// Spending implements step.Spender.
func (a *attempt) Spending() (all []step.Spending) {
	for _, m := range a.args.Agent.Models {
		all = append(all, modelblock.Spending(m))
	}
	return all
}

// warnWeak warns of secrets that cannot be masked and whose values the plan did not
// know.
func (a *attempt) warnWeak(env *step.Env, secrets, keys map[string]string) {
	a.eachSecret(secrets, keys, func(of string, ref secret.Ref, value string) {
		if ref.Later() && secret.Bare(value) {
			env.Warn(unmasked(of))
		}
	})
}

// Unmasked implements step.Unmasking.
func (a *attempt) Unmasked(ctx context.Context) (list []string) {
	a.eachSecret(nil, nil, func(of string, ref secret.Ref, _ string) {
		if ref.Bare(ctx) {
			list = append(list, unmasked(of))
		}
	})
	return list
}

func unmasked(of string) string { return "not masked in logs: " + of + "; " + secret.WeakText }

// Missing implements step.Wanting. It lists empty secrets and model keys, and a program
// that the agent's sandbox does not show.
func (a *attempt) Missing(ctx context.Context) (list []string) {
	who := a.args.Agent
	a.eachSecret(nil, nil, func(of string, ref secret.Ref, _ string) {
		if why := ref.Missing(ctx); why != "" {
			list = append(list, of+": "+why)
		}
	})
	if a.args.Runtime != Auto {
		if err := a.args.hostProgram(a.runtime); err != nil {
			list = append(list, fmt.Sprintf("agent %q cannot start: %v", who.Name, err))
		}
	}
	if program := a.args.program(); strings.Contains(program, "/") && !strings.HasPrefix(program, "/") {
		if why := a.noExec(); why != "" {
			list = append(list, fmt.Sprintf("agent %q cannot start its own %s: %s", who.Name, program, why))
		}
	}
	return list
}

// noExec says why the agent cannot start programs of its own, and what to do, or "". A
// volume is a file system of its own.
func (a *attempt) noExec() string {
	if a.deps.NoExec == nil || a.runtime.Volume != nil && a.disk > 0 {
		return ""
	}
	return a.deps.NoExec()
}

// eachSecret calls fn with each secret of the agent and each key of its models: what it
// is, its reference, and its value if it is among those.
func (a *attempt) eachSecret(secrets, keys map[string]string, fn func(of string, ref secret.Ref, value string)) {
	who := a.args.Agent
	call := func(of string, at step.SecretRef, value string) {
		if ref, err := at.Parse(); err == nil {
			fn(of, ref, value)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(who.Secrets)) {
		call(fmt.Sprintf("secret %s of agent %q", name, who.Name), step.SecretRef{Ref: who.Secrets[name], Dir: who.SecretsIn[name]}, secrets[name])
	}
	for _, m := range who.Models {
		if modelblock.Live(m) {
			call(fmt.Sprintf("key of model %q", m.Name), *m.Key, keys[m.Name])
		}
	}
}
