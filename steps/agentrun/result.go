package agentrun

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/competitions/export"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/sandbox/agent"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

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
	Resumed           bool     `json:"resumed"`
	LostServices      []string `json:"lost_services"`
	Devices           []string `json:"devices"`
	Network           string   `json:"network"`
	Connections       int      `json:"connections"`
	Validations       int      `json:"validations"`
	ShimCalls         int      `json:"shim_calls"`
	LeftOut           []string `json:"left_out"`

	// Models are what was used of each model block.
	Models map[string]export.ModelUse `json:"models"`

	// Enforced says by what each limit was held, where the runtime has several ways.
	Enforced map[string]string `json:"enforced"`
}

// harvested is what was taken of the agent's folders.
type harvested struct {
	out       cache.Outputs
	submitted bool
	left      []string
}

// result is what the attempt gave.
func (s *session) result(ctx context.Context, exit executor.Exit, printed cache.Ref) (cache.Outputs, error) {
	h, err := s.harvest(ctx, printed)
	if err != nil {
		return nil, step.Retryable(err, 0)
	}
	logs, err := s.gates.logs(ctx, s.env.Store, s.dirs.host)
	if err != nil {
		return nil, err
	}
	maps.Copy(h.out, logs)
	calls, shimLog, err := s.shimLog(ctx)
	if err != nil {
		return nil, err
	}
	h.out["shim_log"] = cache.Value{Ref: shimLog}
	shots, err := s.shots.tree(ctx)
	if err != nil {
		return nil, fmt.Errorf("keep snapshots: %w", err)
	}
	h.out["snapshots"] = cache.Value{Ref: shots}
	codes, err := s.codes.tree(ctx)
	if err != nil {
		return nil, fmt.Errorf("keep snapshots of the code: %w", err)
	}
	h.out["code_snapshots"] = cache.Value{Ref: codes}
	use, said, err := s.transcript(ctx)
	if err != nil {
		return nil, step.Retryable(err, 0)
	}
	h.out["transcript"] = cache.Value{Ref: said}
	return s.values(h, exit, calls, use)
}

// harvest takes what is in the kept folders; printed, unless it is zero, is
// added to the logs.
func (s *session) harvest(ctx context.Context, printed cache.Ref) (harvested, error) {
	done := harvested{out: cache.Outputs{}}
	s.phases.enter(step.Phase{Name: step.Harvesting})
	home, err := os.OpenRoot(s.dirs.home)
	if err != nil {
		return done, fmt.Errorf("harvest: %w", err)
	}
	defer home.Close()
	h := &harvester{store: s.env.Store, mask: s.mask.ForDocuments(), budget: s.storable(), taken: s.phases.taken}
	for _, name := range []string{"submission", "logs", "code"} {
		var b tree.Builder
		limits, first := keptCaps, ""
		if name == "submission" {
			limits, first = submissionCaps, agent.SubmissionFile
		}
		has, err := h.harvest(ctx, home, name, first, limits, &b)
		if err != nil {
			return done, err
		}
		if name == "submission" {
			if done.submitted = has[agent.SubmissionFile]; !done.submitted {
				h.noteOthers(has)
			}
		}
		if name == "logs" && !has[outputLog] && !printed.IsZero() {
			if err := b.Add(outputLog, printed, false); err != nil {
				return done, err
			}
		}
		ref, err := b.Build(ctx, s.env.Store)
		if err != nil {
			return done, fmt.Errorf("harvest %s: %w", name, err)
		}
		done.out[name] = cache.Value{Ref: ref}
	}
	done.left = h.left()
	return done, nil
}

// rescue says in the log what there was when the machine failed. The attempt
// will be repeated, and the content stays in the cache until space is needed.
func (s *session) rescue(ctx context.Context) {
	if ctx.Err() != nil {
		return
	}
	h, err := s.harvest(ctx, cache.Ref{})
	if err != nil {
		fmt.Fprintf(s.env.Log, "nothing could be saved of the attempt: %v\n", s.mask.Error(err))
		return
	}
	for _, name := range []string{"submission", "logs", "code"} {
		ref := h.out[name].Ref
		fmt.Fprintf(s.env.Log, "the attempt failed for the machine; its %s is in the cache for now: tree %s, %d bytes\n", name, ref.ID, ref.Size)
	}
}

// values adds the small outputs.
func (s *session) values(h harvested, exit executor.Exit, shimCalls int, use map[string]export.ModelUse) (cache.Outputs, error) {
	stats := Stats{
		WallSeconds: exit.Wall.Seconds(), CPUSeconds: exit.CPU.Seconds(), PeakMemoryBytes: exit.PeakMemoryBytes,
		ExitCode: exit.Code, LeftoverProcesses: exit.Leftover, LogBytesDropped: exit.LogDropped,
		Runtime: s.runtime.Name, Isolated: s.runtime.Isolates, Resumed: exit.Resumed,
		LostServices: append([]string{}, exit.LostServices...), Devices: append([]string{}, s.env.Devices...),
		Network: s.networkMode(), Connections: s.gates.connections.Lines(), Validations: s.gates.validations.Lines(), ShimCalls: shimCalls,
		LeftOut: append([]string{}, h.left...), Models: use, Enforced: map[string]string{},
	}
	maps.Copy(stats.Enforced, exit.Enforced)
	for _, what := range slices.Sorted(maps.Keys(stats.Enforced)) {
		fmt.Fprintf(s.env.Log, "enforced: %s by %s\n", what, stats.Enforced[what])
	}
	for _, note := range h.left {
		fmt.Fprintf(s.env.Log, "not harvested: %s\n", note)
	}
	for _, name := range stats.LostServices {
		fmt.Fprintf(s.env.Log, "not served after the attempt was resumed: the %s, whose port the agent had taken\n", name)
	}
	outcome := outcomeOf(exit, h.submitted, exhausted(use))
	if s.changed != "" {
		outcome = DataChanged
	}
	fmt.Fprintf(s.env.Log, "outcome: %s (exit status %d, %.1f s, network %s)\n", outcome, exit.Code, stats.WallSeconds, stats.Network)
	for name, value := range map[string]any{"stats": stats, "outcome": outcome} {
		text, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", name, err)
		}
		h.out[name] = cache.Value{JSON: text}
	}
	return h.out, nil
}

func outcomeOf(exit executor.Exit, submitted, exhausted bool) Outcome {
	switch {
	case exit.Reason == executor.TimedOut:
		return TimedOut
	case exit.Reason == executor.OutOfMemory:
		return OutOfMemory
	case exit.Reason == executor.OutOfDisk:
		return OutOfDisk
	case exhausted && (!exit.OK() || !submitted):
		return OutOfBudget
	case !exit.OK():
		return AgentFailed
	case !submitted:
		return NoSubmission
	}
	return Finished
}
