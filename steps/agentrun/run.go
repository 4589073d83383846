package agentrun

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/engine/secret"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/agent"
	"github.com/mleflow/mleflow/plugins/executor"
)

// logBytes is how much an agent may print before the rest is dropped.
const logBytes = 256 << 20

// outputLog is the name of the file in logs with what the agent printed.
const outputLog = "output.log"

// Stats are what an attempt used, the output "stats".
type Stats struct {
	WallSeconds       float64  `json:"wall_seconds"`
	CPUSeconds        float64  `json:"cpu_seconds"`
	PeakMemoryBytes   int64    `json:"peak_memory_bytes"`
	ExitCode          int      `json:"exit_code"`
	LeftoverProcesses int      `json:"leftover_processes"`
	LogBytesDropped   int64    `json:"log_bytes_dropped"`
	Runtime           string   `json:"runtime"`
	Isolated          bool     `json:"isolated"`
	LeftOut           []string `json:"left_out"`
}

// layout are the folders of one attempt on the host. The agent's home holds
// one folder for each name.
type layout struct{ home, tmp string }

// The folders below the home.
var homeFolders = []string{"agent", "code", "logs", "submission"}

// Run implements step.Step.
func (a *attempt) Run(ctx context.Context, env *step.Env) (cache.Outputs, error) {
	dirs, err := a.prepare(ctx, env)
	if err != nil {
		return nil, err
	}
	secrets, err := a.secrets(ctx)
	if err != nil {
		return nil, err
	}
	mask := secret.New(slices.Collect(maps.Values(secrets))...)
	a.announce(env)
	exit, printed, err := a.execute(ctx, env, dirs, secrets, mask)
	if err != nil {
		return nil, mask.Error(classify(ctx, a.args.Agent.Name, err))
	}
	out, err := a.result(ctx, env, dirs, exit, printed, mask)
	return out, mask.Error(err)
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
func (a *attempt) announce(env *step.Env) {
	if a.runtime.Isolates {
		return
	}
	fmt.Fprintf(env.Log, "note: the runtime %q does not isolate: the agent can read what this user can read, answers included\n", a.runtime.Name)
	if a.args.Network != nil && !a.args.Network.Open {
		env.Warn(fmt.Sprintf("the runtime %q cannot keep the agent to network.allow; it reaches whatever this machine reaches", a.runtime.Name))
	}
}

// prepare makes the agent's folders and places the data. Without isolation the
// data are copies: nothing keeps a process of the same user from writing to a
// file that is linked into the cache.
func (a *attempt) prepare(ctx context.Context, env *step.Env) (layout, error) {
	dirs := layout{home: filepath.Join(env.WorkDir, "home"), tmp: filepath.Join(env.WorkDir, "tmp")}
	if err := errors.Join(os.Mkdir(dirs.home, 0o755), os.Mkdir(dirs.tmp, 0o777)); err != nil {
		return dirs, fmt.Errorf("prepare agent's folders: %w", err)
	}
	for _, name := range homeFolders {
		if err := os.Mkdir(filepath.Join(dirs.home, name), 0o755); err != nil {
			return dirs, fmt.Errorf("prepare agent's folders: %w", err)
		}
	}
	opts := tree.Options{Mode: tree.Copy, Progress: func(r tree.Result) {
		env.Progress(step.Progress{What: "placing data", Done: r.Bytes, Total: a.args.Data.Ref.Size, Unit: "bytes"})
	}}
	if a.runtime.Isolates {
		opts.Mode = tree.Link
	}
	data, err := a.describedData(ctx, env.Store)
	if err != nil {
		return dirs, fmt.Errorf("place data: %w", err)
	}
	if _, err := tree.Materialise(ctx, env.Store, data, filepath.Join(dirs.home, "data"), opts); err != nil {
		return dirs, fmt.Errorf("place data: %w", err)
	}
	text, err := a.instructions(dirs, env.Limits).text()
	if err != nil {
		return dirs, fmt.Errorf("write instructions: %w", err)
	}
	return dirs, os.WriteFile(filepath.Join(dirs.home, "instructions.txt"), []byte(text), 0o444)
}

// at returns where the agent sees a folder of its home, or the home itself.
func (a *attempt) at(dirs layout, name string) string {
	return a.runtime.Path(executor.Mount{Host: filepath.Join(dirs.home, name), Guest: filepath.Join("/home", name)})
}

func (a *attempt) instructions(dirs layout, limits step.Limits) instructions {
	in := instructions{
		Competition: a.args.Competition, Seed: a.args.Seed,
		Data: a.at(dirs, "data"), Submission: a.at(dirs, "submission"), Code: a.at(dirs, "code"),
		Logs: a.at(dirs, "logs"), Agent: a.at(dirs, "agent"),
	}
	if limits.Timeout > 0 {
		in.Timeout = limits.Timeout.String()
	}
	return in
}

func (a *attempt) secrets(ctx context.Context) (map[string]string, error) {
	values := make(map[string]string, len(a.args.Agent.Secrets))
	for _, name := range slices.Sorted(maps.Keys(a.args.Agent.Secrets)) {
		value, err := resolveSecret(ctx, a.args.Agent.Secrets[name])
		if err != nil {
			return nil, fmt.Errorf("secret %s of agent %q: %w", name, a.args.Agent.Name, err)
		}
		values[name] = value
	}
	return values, nil
}

// execute runs the agent and returns what it printed as a blob.
func (a *attempt) execute(ctx context.Context, env *step.Env, dirs layout, secrets map[string]string, mask *secret.Set) (executor.Exit, cache.Ref, error) {
	kept, err := env.Store.Ingest(ctx, "")
	if err != nil {
		return executor.Exit{}, cache.Ref{}, fmt.Errorf("keep output: %w", err)
	}
	defer kept.Close()
	masked := secret.NewWriter(io.MultiWriter(kept, env.Log), mask)
	exit, err := a.runtime.Executor.Run(ctx, a.spec(env, dirs, secrets), masked)
	if err := errors.Join(err, masked.Flush()); err != nil {
		return exit, cache.Ref{}, err
	}
	printed, err := kept.Commit(ctx, cache.Ref{})
	return exit, printed, err
}

func (a *attempt) spec(env *step.Env, dirs layout, secrets map[string]string) executor.Spec {
	l := env.Limits
	spec := executor.Spec{
		ID:      env.RunID + " " + env.Address + " " + strconv.Itoa(env.Attempt),
		Labels:  map[string]string{"run": env.RunID, "step": env.Address, "agent": a.args.Agent.Name, "competition": a.args.Competition},
		Image:   a.args.Agent.Image,
		Command: a.command(),
		Env:     a.environment(env, dirs),
		Dir:     a.at(dirs, ""),
		Mounts:  mounts(dirs),
		Limits: executor.Limits{
			Timeout: l.Timeout, MemoryBytes: l.MemoryBytes, CPUs: l.CPUs,
			DiskBytes: l.DiskBytes, FileBytes: l.DiskBytes, LogBytes: logBytes,
		},
		Devices: env.Devices,
	}
	if n := a.args.Network; n != nil {
		spec.Network = executor.Network{Open: n.Open, Allow: n.Allow}
	}
	maps.Copy(spec.Env, a.args.Agent.Env)
	maps.Copy(spec.Env, a.args.Env)
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

func mounts(dirs layout) []executor.Mount {
	list := []executor.Mount{
		{Host: filepath.Join(dirs.home, "data"), Guest: "/home/data", ReadOnly: true},
		{Host: filepath.Join(dirs.home, "instructions.txt"), Guest: "/home/instructions.txt", ReadOnly: true},
		{Host: dirs.tmp, Guest: "/tmp"},
	}
	for _, name := range homeFolders {
		list = append(list, executor.Mount{Host: filepath.Join(dirs.home, name), Guest: "/home/" + name})
	}
	return list
}

// environment is what the contract promises an agent; see the package comment.
func (a *attempt) environment(env *step.Env, dirs layout) map[string]string {
	vars := map[string]string{
		"HOME": a.at(dirs, "agent"), "LANG": "C.UTF-8",
		"PATH":   "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"TMPDIR": a.runtime.Path(executor.Mount{Host: dirs.tmp, Guest: "/tmp"}),

		"COMPETITION_ID":    a.args.Competition,
		"INSTRUCTIONS_FILE": a.at(dirs, "instructions.txt"),
		"DATA_DIR":          a.at(dirs, "data"),

		"MLEFLOW_SEED":         strconv.FormatInt(a.args.Seed, 10),
		"MLEFLOW_RUNTIME":      a.runtime.Name,
		"MLEFLOW_CPUS":         strconv.FormatFloat(env.Limits.CPUs, 'g', -1, 64),
		"MLEFLOW_MEMORY_BYTES": strconv.FormatInt(env.Limits.MemoryBytes, 10),
		"MLEFLOW_DEVICES":      strings.Join(env.Devices, ","),
	}
	if path := os.Getenv("PATH"); path != "" && !a.runtime.Images {
		vars["PATH"] = path
	}
	for _, name := range homeFolders {
		vars[strings.ToUpper(name)+"_DIR"] = a.at(dirs, name)
	}
	if limit := env.Limits.Timeout; limit > 0 {
		vars["MLEFLOW_TIMEOUT_SECONDS"] = strconv.FormatFloat(limit.Seconds(), 'f', -1, 64)
		vars["MLEFLOW_DEADLINE"] = strconv.FormatInt(time.Now().Add(limit).Unix(), 10)
	}
	return vars
}

// result harvests what the agent left.
func (a *attempt) result(ctx context.Context, env *step.Env, dirs layout, exit executor.Exit, printed cache.Ref, mask *secret.Set) (cache.Outputs, error) {
	home, err := os.OpenRoot(dirs.home)
	if err != nil {
		return nil, step.Retryable(fmt.Errorf("harvest: %w", err), 0)
	}
	defer home.Close()
	h := &harvester{store: env.Store, mask: mask.ForDocuments()}
	out := cache.Outputs{}
	submitted := false
	for _, name := range []string{"submission", "logs", "code"} {
		var b tree.Builder
		limits, first := keptCaps, ""
		if name == "submission" {
			limits, first = submissionCaps, agent.SubmissionFile
		}
		has, err := h.harvest(ctx, home, name, first, limits, &b)
		if err != nil {
			return nil, step.Retryable(err, 0)
		}
		if name == "submission" {
			submitted = has[agent.SubmissionFile]
		}
		if name == "logs" && !has[outputLog] {
			if err := b.Add(outputLog, printed, false); err != nil {
				return nil, err
			}
		}
		ref, err := b.Build(ctx, env.Store)
		if err != nil {
			return nil, fmt.Errorf("harvest %s: %w", name, err)
		}
		out[name] = cache.Value{Ref: ref}
	}
	return a.values(env, out, exit, submitted, h.left())
}

// values adds the small outputs.
func (a *attempt) values(env *step.Env, out cache.Outputs, exit executor.Exit, submitted bool, left []string) (cache.Outputs, error) {
	stats := Stats{
		WallSeconds: exit.Wall.Seconds(), CPUSeconds: exit.CPU.Seconds(), PeakMemoryBytes: exit.PeakMemoryBytes,
		ExitCode: exit.Code, LeftoverProcesses: exit.Leftover, LogBytesDropped: exit.LogDropped,
		Runtime: a.runtime.Name, Isolated: a.runtime.Isolates, LeftOut: append([]string{}, left...),
	}
	for _, note := range left {
		fmt.Fprintf(env.Log, "not harvested: %s\n", note)
	}
	outcome := outcomeOf(exit, submitted)
	fmt.Fprintf(env.Log, "outcome: %s (exit status %d, %.1f s)\n", outcome, exit.Code, stats.WallSeconds)
	for name, value := range map[string]any{"stats": stats, "outcome": outcome} {
		text, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", name, err)
		}
		out[name] = cache.Value{JSON: text}
	}
	return out, nil
}

func outcomeOf(exit executor.Exit, submitted bool) Outcome {
	switch {
	case exit.Reason == executor.TimedOut:
		return TimedOut
	case exit.Reason == executor.OutOfMemory:
		return OutOfMemory
	case !exit.OK():
		return AgentFailed
	case !submitted:
		return NoSubmission
	}
	return Finished
}
