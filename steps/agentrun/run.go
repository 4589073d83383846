package agentrun

import (
	"cmp"
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
	"github.com/mleflow/mleflow/cache/leaf/crash"
	"github.com/mleflow/mleflow/cache/leaf/secret"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

// logBytes limits the log of an agent's output; the rest is dropped.
const logBytes = 256 << 20

// grace is the time between the signal at the time limit and the kill. The agent knows
// its limit and can ask for the remaining time. Two seconds after the limit, none of
// its processes may be alive.
const grace = time.Second

// errSetup means that the agent was not set up in time.
var errSetup = errors.New("setting up took longer than setup_timeout")

// open opens the gates. Before a new agent, it also tries whether the sandbox prevents
// what the agent must not reach.
func (s *setup) open(ctx context.Context) (_ *running, err error) {
	r := &running{setup: s}
	r.unfollow = s.phases.starting(&r.imageWork)
	s.opened = append(s.opened, func(bool) error { r.unfollow(); return nil })
	if r.gates, err = openGates(ctx, s.place); err != nil {
		return nil, err
	}
	if r.shots, err = openSnapshots(ctx, s.place); err == nil && !s.continued {
		err = r.tryIsolation(ctx)
	}
	if err != nil {
		return nil, err
	}
	return r, s.remember()
}

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
	a.warnWeak(env, secrets, keys)
	p := a.place(env, mask)
	p.keys = keys
	defer func() {
		// The results are in the store. The next clean-up finds the folders that could
		// not be removed.
		if bad := p.end(err != nil && p.leaves(ctx)); bad != nil {
			env.Note("clean up after the agent: %v", mask.Error(bad))
		}
	}()
	if err := p.checkSpace(); err != nil {
		return nil, err
	}
	steered, end := context.WithCancelCause(ctx)
	defer end(nil)
	goOn, disobey := p.obey(steered, end)
	defer disobey()
	r, err := p.setUpInTime(steered)
	if err != nil {
		return nil, p.mask.Error(cmp.Or(p.decided(ctx, steered), err))
	}
	if p.done = r == nil; p.done {
		p.points.announce()
		return p.points.result, nil
	}
	r.announce()
	goOn()
	f, err := r.execute(ctx, steered, secrets)
	if p.begun != nil && ctx.Err() == nil {
		end(p.begun)
		if f != nil && errors.Is(p.begun, errStopped) {
			f.exit.Reason = executor.Stopped
		}
	}
	disobey()
	if why := p.decided(ctx, steered); why != nil {
		return nil, why
	}
	if err != nil {
		p.rescue(ctx)
		p.tellLeft(ctx)
		return nil, p.mask.Error(classify(ctx, a.args.Agent.Name, a.unstarted(err)))
	}
	if err := f.checkData(ctx); err != nil {
		return nil, p.mask.Error(err)
	}
	out, err = f.result(ctx)
	if p.done = err == nil; p.done {
		p.points.end(ctx, out)
	}
	return out, p.mask.Error(err)
}

// setUpInTime sets up the attempt within setup_timeout, like setUp.
func (p *place) setUpInTime(ctx context.Context) (*running, error) {
	limited, cancel := ctx, context.CancelFunc(func() {})
	if p.setupTime > 0 {
		limited, cancel = context.WithTimeoutCause(ctx, p.setupTime, errSetup)
	}
	defer cancel()
	if err := p.args.hostProgram(p.runtime); err != nil {
		return nil, fmt.Errorf("run agent %q: %w", p.args.Agent.Name, executor.Unstartable(err))
	}
	r, err := p.setUp(limited)
	switch {
	case err == nil:
		return r, nil
	case errors.Is(context.Cause(limited), errSetup):
		err = step.Retryable(fmt.Errorf("%w: %w", errSetup, err), 0)
	case errors.Is(err, cache.ErrSpace):
		err = step.Retryable(err, 0)
	}
	return nil, fmt.Errorf("set up agent %q: %w", p.args.Agent.Name, err)
}

// unstarted adds to the error of a command that cannot start that no program can.
func (a *attempt) unstarted(err error) error {
	if why := a.noExec(); why != "" && errors.Is(err, executor.ErrStart) {
		return fmt.Errorf("%w: %s", err, why)
	}
	return err
}

// classify distinguishes a failure of the machine, which may pass, from a command that
// can never start and from an interruption.
func classify(ctx context.Context, name string, err error) error {
	err = fmt.Errorf("run agent %q: %w", name, err)
	if errors.Is(err, executor.ErrStart) || ctx.Err() != nil {
		return err
	}
	return step.Retryable(err, 0)
}

// announce logs the conditions of the attempt that people should know.
func (r *running) announce() {
	env := r.env
	r.points.announce()
	if r.continued {
		env.Note("the agent was started %v ago and goes on; what it printed comes again from the beginning", r.elapsed().Round(time.Second))
	}
	if r.networkMode() == "open" {
		env.Warn("the network is open: the agent reaches everything that this machine reaches; its result says so")
	}
	if why := r.noExec(); why != "" {
		env.Warn("the agent cannot start programs in its own folders, such as ./run.sh, nor load libraries there: " + why)
	}
	if r.runtime.Isolates {
		return
	}
	env.Note("the runtime %q does not isolate: the agent can read what this user can read, answers included", r.runtime.Name)
	if r.networkMode() == "allow" {
		env.Warn(fmt.Sprintf("the runtime %q cannot keep the agent to network.allow; it reaches whatever this machine reaches", r.runtime.Name))
	}
}

func (a *attempt) secrets(ctx context.Context) (map[string]string, error) {
	values := make(map[string]string, len(a.args.Agent.Secrets))
	for _, name := range slices.Sorted(maps.Keys(a.args.Agent.Secrets)) {
		ref, err := a.args.Agent.Secret(name)
		if err == nil {
			values[name], err = ref.Resolve(ctx)
		}
		if err != nil {
			return nil, fmt.Errorf("secret %s of agent %q: %w", name, a.args.Agent.Name, err)
		}
	}
	return values, nil
}

// execute runs the agent, or continues with a running one, until steered ends, and keeps
// its output. If a person has ended an agent that is gone, none runs.
func (r *running) execute(ctx, steered context.Context, secrets map[string]string) (*finished, error) {
	if r.ended != nil {
		return &finished{running: r, exit: r.ended.Exit, printed: r.ended.Printed}, nil
	}
	kept, err := r.env.Store.Ingest(ctx, "")
	if err != nil {
		return nil, fmt.Errorf("keep output: %w", err)
	}
	defer kept.Close()
	printed, err := r.points.printedTo(ctx, kept)
	if err != nil {
		return nil, fmt.Errorf("keep output: %w", err)
	}
	if r.begun != nil && !r.continued { // another agent would only be ended
		ref, err := kept.Commit(ctx, cache.Ref{})
		return &finished{running: r, printed: ref}, err
	}
	masked := secret.NewWriter(io.MultiWriter(printed, r.env.Log, &r.lastOutput), r.mask)
	spec := r.spec(secrets)
	if r.deps.Thief != nil {
		if err := r.attack(&spec); err != nil {
			return nil, err
		}
	}
	exit, err := r.watched(steered, spec, masked)
	r.makeSpace()
	if err := errors.Join(err, masked.Flush(), r.notStarted(exit)); err != nil {
		if !errors.Is(context.Cause(steered), step.ErrCancelled) {
			r.points.last(steered) // while the output can be read
		}
		return nil, err
	}
	ref, err := kept.Commit(ctx, cache.Ref{})
	if err == nil {
		err = r.rememberEnd(end{Exit: exit, Printed: ref})
	}
	return &finished{running: r, exit: exit, printed: ref}, err
}

// watched runs the agent and meanwhile watches its submission, code, disk and models.
func (r *running) watched(ctx context.Context, spec executor.Spec, logs io.Writer) (executor.Exit, error) {
	watched, stop := context.WithCancel(ctx)
	running, endWith := context.WithCancelCause(ctx)
	defer endWith(nil)
	var watching sync.WaitGroup
	r.deps.guard.enter(r, endWith)
	for _, watch := range []func(){
		func() { r.shots.run(watched) },
		func() { r.points.run(watched) },
		func() { r.watchDisk(watched, endWith) },
		func() { r.deps.guard.watch(watched, r) },
		func() { r.gates.watchSubmission(watched) },
		func() { r.watchStall(watched) },
		func() { r.models.watch(watched, endWith) },
	} {
		watching.Go(func() {
			if err := crash.Do(func() error { watch(); return nil }); err != nil {
				endWith(err)
			}
		})
	}
	opened := r.watchOpened(ctx)
	kills := r.oomKills()
	exit, err := r.run(running, spec, logs)
	if err == nil && r.oomKills() > kills {
		exit, err = r.killed(exit)
	}
	if err == nil && exit.Code != 0 {
		err = r.points.away(ctx)
	}
	r.opens = opened(ctx)
	stop()
	watching.Wait()
	if err == nil {
		if err = r.deps.guard.blamed(r, exit.OK()); err != nil {
			endWith(err)
		}
	}
	return stopped(running, exit, err)
}

// oomKills is the number of processes that the kernel has killed in the control groups
// around mleflow for lack of memory.
func (a *attempt) oomKills() int64 {
	if a.deps.OOMKills == nil {
		return 0
	}
	return a.deps.OOMKills()
}

// killed converts the end of an agent that the kernel killed while the memory of the job
// that mleflow runs in was used up. One that has a limit of its own, which it kept, is not
// to blame.
func (r *running) killed(exit executor.Exit) (executor.Exit, error) {
	if exit.Code != 128+9 || exit.Reason == executor.OutOfMemory {
		return exit, nil
	}
	if limit := r.env.Limits.MemoryBytes; limit > 0 && exit.PeakMemoryBytes < limit {
		return exit, errors.New("the kernel killed the agent below its own limit of memory: that of the job or machine that mleflow runs in was used up; run less at once, or get a larger job")
	}
	exit.Reason = executor.OutOfMemory
	r.env.Warn("the kernel killed the agent: the memory of the job or machine that mleflow runs in was used up; write resources { memory = … } to share it out, or get a larger job")
	return exit, nil
}

// stopped converts an end that a watcher caused into a result.
func stopped(ctx context.Context, exit executor.Exit, err error) (executor.Exit, error) {
	switch cause := context.Cause(ctx); {
	case cause == nil || !errors.Is(err, cause):
		return exit, err
	case errors.Is(cause, errTime):
		exit.Reason = executor.TimedOut
	case errors.Is(cause, errStopped):
		exit.Reason = executor.Stopped
	case errors.Is(cause, errDisk):
		exit.Reason = executor.OutOfDisk
	case errors.Is(cause, errBudget):
		exit.Reason, exit.Signal, exit.Code = executor.Signalled, 9, 128+9
	default:
		return exit, err
	}
	return exit, nil
}

// run runs the agent. If the agent can be left running, it is counted in Leavable.
func (r *running) run(ctx context.Context, spec executor.Spec, logs io.Writer) (executor.Exit, error) {
	if r.kept && r.deps.Leavable != nil {
		r.deps.Leavable.Add(1)
		defer r.deps.Leavable.Add(-1)
	}
	return r.runtime.Executor.Run(ctx, spec, logs)
}

// began records the start of the agent.
func (r *running) began(since time.Time) {
	r.unfollow()
	r.startedAt(since)
	r.phases.running(since.Add(-r.before), r.granted())
}

func (r *running) spec(secrets map[string]string) executor.Spec {
	l := r.env.Limits
	spec := executor.Spec{
		ID:       r.id,
		Labels:   map[string]string{"run": r.env.RunID, "step": r.env.Address, "agent": r.args.Agent.Name, "competition": r.args.Competition},
		Image:    r.image,
		ImageEnv: r.runtime.Images,
		Command:  r.points.command(),
		Env:      r.environment(),
		Prepend:  r.searchPaths(),
		Dir:      r.at(r.workFolder()),
		ImageDir: r.workFolder() == "",
		Mounts:   r.mounts(),
		Limits: executor.Limits{
			Timeout: r.hardLimit(), Setup: r.setupTime, MemoryBytes: l.MemoryBytes, CPUs: l.CPUs, Processes: r.args.Processes,
			DiskBytes: r.disk, FileBytes: r.disk, LogBytes: logBytes,
			Grace: grace,
		},
		Devices:   r.env.Devices,
		Services:  r.gates.services,
		Sandbox:   r.sandbox,
		Resume:    r.runtime.Resumes,
		OnStart:   r.began,
		OnUse:     func(u executor.Use) { r.phases.use(u, r.models.busy()) },
		OnFreezer: r.points.freezer,
		OnLimit:   r.limited,
		Work:      &r.imageWork,
	}
	// Allowed destinations need no network, because the proxy is a service.
	spec.Network.Open = r.networkMode() == "open"
	for _, own := range []map[string]string{r.args.Agent.Env, r.args.Env, secrets} {
		maps.Copy(spec.Env, own)
		for _, s := range spec.Services { // what a person sets, such as a proxy, takes precedence
			maps.DeleteFunc(s.Env, func(name, _ string) bool { _, set := own[name]; return set })
		}
	}
	return spec
}

func (a *attempt) command() []string {
	command := append(slices.Clone(a.args.Agent.Command), a.args.Agent.Args...)
	if a.clientCopied() {
		command[0] = clientGuest + "/" + clientFile
	} else if command[0] == BuiltIn && !a.runtime.Images {
		command[0] = cmp.Or(a.deps.Self, "/proc/self/exe")
	}
	return command
}

// environment returns the variables that the package comment promises.
func (r *running) environment() map[string]string {
	vars := map[string]string{
		"HOME": r.at("agent"), "LANG": "C.UTF-8",
		"PYTHONUNBUFFERED": "1", // if the agent is killed, its output so far is in the log
		"TMPDIR":           r.runtime.Path(executor.Mount{Host: r.dirs.tmp, Guest: "/tmp"}),

		"COMPETITION_ID":    r.args.Competition,
		"INSTRUCTIONS_FILE": r.at(instructionsFile),
		"DATA_DIR":          r.at("data"),

		"MLEFLOW_NOTES":        r.at(notesFile),
		"MLEFLOW_SEED":         strconv.FormatInt(r.args.Seed, 10),
		"MLEFLOW_RUNTIME":      r.runtime.Name,
		"MLEFLOW_CPUS":         strconv.FormatFloat(r.env.Limits.CPUs, 'g', -1, 64),
		"MLEFLOW_MEMORY_BYTES": strconv.FormatInt(r.env.Limits.MemoryBytes, 10),
		"MLEFLOW_DEVICES":      strings.Join(r.env.Devices, ","),
	}
	if name, ok := strings.CutPrefix(r.def.Layout.Sample, "public/"); ok {
		vars["MLEFLOW_SAMPLE"] = r.at("data") + "/" + name
	}
	if !r.runtime.Images { // an image sets its own path
		vars["PATH"] = executor.DefaultPath
		if path := os.Getenv("PATH"); path != "" {
			vars["PATH"] = path
		}
	}
	if r.python != nil {
		vars["VIRTUAL_ENV"] = r.runtime.Path(r.python.mount())
	}
	for _, name := range homeFolders {
		vars[strings.ToUpper(name)+"_DIR"] = r.at(name)
	}
	if r.validates() {
		vars[validationVariable] = r.at("validation")
	}
	maps.Copy(vars, r.points.environment())
	if limit := r.rest(r.env.Limits.Timeout); limit > 0 {
		vars["TIME_LIMIT_SECS"] = strconv.FormatInt(int64(limit/time.Second), 10)
		vars["MLEFLOW_TIMEOUT_SECONDS"] = strconv.FormatFloat(limit.Seconds(), 'f', -1, 64)
		vars["MLEFLOW_DEADLINE"] = strconv.FormatInt(r.start().Add(limit).Unix(), 10)
	}
	return vars
}
