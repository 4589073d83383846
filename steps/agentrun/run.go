package agentrun

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/engine/secret"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

// logBytes is how much an agent may print before the rest is dropped.
const logBytes = 256 << 20

// grace is what an agent has between the signal at its time limit and its end:
// it knows the limit and can ask for what is left of it, and two seconds after
// the limit nothing of it may be alive.
const grace = time.Second

// outputLog is the name of the file in logs with what the agent printed.
const outputLog = "output.log"

// errSetup says that the agent could not be started in time.
var errSetup = errors.New("setting up took longer than setup_timeout")

// Run implements step.Step.
func (a *attempt) Run(ctx context.Context, env *step.Env) (out cache.Outputs, err error) {
	secrets, err := a.secrets(ctx)
	if err != nil {
		return nil, err
	}
	keys, err := a.modelKeys(ctx)
	if err != nil {
		return nil, err
	}
	mask := secret.New(slices.Concat(slices.Collect(maps.Values(secrets)), slices.Collect(maps.Values(keys)))...)
	s, err := a.setUp(ctx, env, mask, keys)
	defer func() {
		// What is in the store is safe; folders that could not be removed are
		// found by the next clean-up.
		if bad := s.end(err != nil && s.leaves(ctx)); bad != nil {
			env.Note("clean up after the agent: %v", mask.Error(bad))
		}
	}()
	if err != nil {
		return nil, mask.Error(err)
	}
	a.announce(s)
	exit, printed, err := s.execute(ctx, secrets)
	if err != nil {
		s.rescue(ctx)
		s.tellLeft(ctx)
		return nil, mask.Error(classify(ctx, a.args.Agent.Name, err))
	}
	if err := s.checkData(ctx); err != nil {
		return nil, mask.Error(err)
	}
	out, err = s.result(ctx, exit, printed)
	s.done = err == nil
	return out, mask.Error(err)
}

// setUp opens a session within the time for it.
func (a *attempt) setUp(ctx context.Context, env *step.Env, mask *secret.Set, keys map[string]string) (*session, error) {
	limited, cancel := ctx, context.CancelFunc(func() {})
	if a.setup > 0 {
		limited, cancel = context.WithTimeoutCause(ctx, a.setup, errSetup)
	}
	defer cancel()
	if err := a.args.hostProgram(a.runtime); err != nil {
		return nil, fmt.Errorf("run agent %q: %w", a.args.Agent.Name, executor.Unstartable(err))
	}
	s, err := a.open(limited, env, mask, keys)
	switch {
	case err == nil:
		return s, nil
	case errors.Is(context.Cause(limited), errSetup):
		err = step.Retryable(fmt.Errorf("%w: %w", errSetup, err), 0)
	case errors.Is(err, cache.ErrSpace):
		err = step.Retryable(err, 0)
	}
	return s, fmt.Errorf("set up agent %q: %w", a.args.Agent.Name, err)
}

// classify tells the machine's failures, which may pass, from a command that
// can never start and from an interruption.
func classify(ctx context.Context, name string, err error) error {
	err = fmt.Errorf("run agent %q: %w", name, err)
	if errors.Is(err, executor.ErrStart) || ctx.Err() != nil {
		return err
	}
	return step.Retryable(err, 0)
}

// announce says in the log what people should know about the conditions.
func (a *attempt) announce(s *session) {
	env := s.env
	if s.continued {
		env.Note("the agent was started %v ago and goes on; what it printed comes again from the beginning", s.elapsed().Round(time.Second))
	}
	if a.networkMode() == "open" {
		env.Warn("the network is open: the agent reaches everything that this machine reaches; its result says so")
	}
	if a.runtime.Isolates {
		return
	}
	env.Note("the runtime %q does not isolate: the agent can read what this user can read, answers included", a.runtime.Name)
	if a.networkMode() == "allow" {
		env.Warn(fmt.Sprintf("the runtime %q cannot keep the agent to network.allow; it reaches whatever this machine reaches", a.runtime.Name))
	}
}

func (a *attempt) secrets(ctx context.Context) (map[string]string, error) {
	values := make(map[string]string, len(a.args.Agent.Secrets))
	for _, name := range slices.Sorted(maps.Keys(a.args.Agent.Secrets)) {
		ref, err := secret.ParseRef(a.args.Agent.Secrets[name])
		if err == nil {
			values[name], err = ref.Resolve(ctx)
		}
		if err != nil {
			return nil, fmt.Errorf("secret %s of agent %q: %w", name, a.args.Agent.Name, err)
		}
	}
	return values, nil
}

// execute runs the agent, or goes on with it, and returns what it printed as a
// blob.
func (s *session) execute(ctx context.Context, secrets map[string]string) (executor.Exit, cache.Ref, error) {
	if s.ended != nil {
		return s.ended.Exit, s.ended.Printed, nil
	}
	kept, err := s.env.Store.Ingest(ctx, "")
	if err != nil {
		return executor.Exit{}, cache.Ref{}, fmt.Errorf("keep output: %w", err)
	}
	defer kept.Close()
	masked := secret.NewWriter(io.MultiWriter(kept, s.env.Log), s.mask)
	watched, stop := context.WithCancel(ctx)
	running, endWith := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { s.shots.run(watched) })
	watching.Go(func() { s.watchDisk(watched, endWith) })
	watching.Go(func() { s.watchSubmission(watched) })
	watching.Go(func() { s.watchModels(watched, endWith) })
	exit, err := s.run(running, s.spec(secrets), masked)
	stop()
	watching.Wait()
	exit, err = stopped(running, exit, err)
	endWith(nil)
	s.gates.end()
	if err := errors.Join(err, masked.Flush()); err != nil {
		return exit, cache.Ref{}, err
	}
	printed, err := kept.Commit(ctx, cache.Ref{})
	if err == nil {
		err = s.rememberEnd(end{Exit: exit, Printed: printed})
	}
	return exit, printed, err
}

// run runs the agent, and counts it among those that can be left.
func (s *session) run(ctx context.Context, spec executor.Spec, logs io.Writer) (executor.Exit, error) {
	if s.kept && s.deps.Leavable != nil {
		s.deps.Leavable.Add(1)
		defer s.deps.Leavable.Add(-1)
	}
	return s.runtime.Executor.Run(ctx, spec, logs)
}

func (s *session) spec(secrets map[string]string) executor.Spec {
	l := s.env.Limits
	spec := executor.Spec{
		ID:       s.id,
		Labels:   map[string]string{"run": s.env.RunID, "step": s.env.Address, "agent": s.args.Agent.Name, "competition": s.args.Competition},
		Image:    s.image,
		ImageEnv: s.runtime.Images,
		Command:  s.command(),
		Env:      s.environment(),
		Prepend:  s.searchPaths(),
		Dir:      s.at(s.start()),
		ImageDir: s.start() == "",
		Mounts:   s.mounts(),
		Limits: executor.Limits{
			Timeout: s.hardLimit(), Setup: s.setup, MemoryBytes: l.MemoryBytes, CPUs: l.CPUs, Processes: s.args.Processes,
			DiskBytes: s.disk, FileBytes: s.disk, LogBytes: logBytes,
			Grace: grace,
		},
		Devices:  s.env.Devices,
		Services: s.gates.services,
		Sandbox:  s.sandbox,
		Resume:   s.runtime.Resumes,
		OnStart:  s.running,
		OnMemory: s.phases.memory,
		Work:     &s.imageWork,
	}
	// A list of places needs no network: the proxy is a service.
	spec.Network.Open = s.networkMode() == "open"
	maps.Copy(spec.Env, s.gates.env)
	maps.Copy(spec.Env, s.args.Agent.Env)
	maps.Copy(spec.Env, s.args.Env)
	maps.Copy(spec.Env, secrets)
	return spec
}

func (a *attempt) command() []string {
	command := append(slices.Clone(a.args.Agent.Command), a.args.Agent.Args...)
	if command[0] == BuiltIn && !a.runtime.Images {
		command[0] = a.deps.Self
		if command[0] == "" {
			command[0] = "/proc/self/exe"
		}
	}
	return command
}

// environment is what the contract promises an agent; see the package comment.
func (s *session) environment() map[string]string {
	vars := map[string]string{
		"HOME": s.at("agent"), "LANG": "C.UTF-8",
		"PYTHONUNBUFFERED": "1", // what was printed is in the log when the agent is killed
		"TMPDIR":           s.runtime.Path(executor.Mount{Host: s.dirs.tmp, Guest: "/tmp"}),

		"COMPETITION_ID":    s.args.Competition,
		"INSTRUCTIONS_FILE": s.at(instructionsFile),
		"DATA_DIR":          s.at("data"),

		"MLEFLOW_NOTES":        s.at(notesFile),
		"MLEFLOW_SEED":         strconv.FormatInt(s.args.Seed, 10),
		"MLEFLOW_RUNTIME":      s.runtime.Name,
		"MLEFLOW_CPUS":         strconv.FormatFloat(s.env.Limits.CPUs, 'g', -1, 64),
		"MLEFLOW_MEMORY_BYTES": strconv.FormatInt(s.env.Limits.MemoryBytes, 10),
		"MLEFLOW_DEVICES":      strings.Join(s.env.Devices, ","),
	}
	if name, ok := strings.CutPrefix(s.def.Layout.Sample, "public/"); ok {
		vars["MLEFLOW_SAMPLE"] = s.at("data") + "/" + name
	}
	if !s.runtime.Images { // an image says itself where its programs are
		vars["PATH"] = executor.DefaultPath
		if path := os.Getenv("PATH"); path != "" {
			vars["PATH"] = path
		}
	}
	if s.python != nil {
		vars["VIRTUAL_ENV"] = s.runtime.Path(s.venvMount())
	}
	for _, name := range homeFolders {
		vars[strings.ToUpper(name)+"_DIR"] = s.at(name)
	}
	if limit := s.env.Limits.Timeout; limit > 0 {
		vars["TIME_LIMIT_SECS"] = strconv.FormatInt(int64(limit/time.Second), 10)
		vars["MLEFLOW_TIMEOUT_SECONDS"] = strconv.FormatFloat(limit.Seconds(), 'f', -1, 64)
		vars["MLEFLOW_DEADLINE"] = strconv.FormatInt(time.Unix(0, s.started.Load()).Add(limit).Unix(), 10)
	}
	return vars
}
