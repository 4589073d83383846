package agentrun

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/competitions/export"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/sandbox/agent"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/steps/agentrun/modelblock"
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
	for name, kept := range map[string]func(context.Context) (cache.Ref, error){"snapshots": s.shots.tree, "code_snapshots": s.codes.tree} {
		ref, err := kept(ctx)
		if err != nil {
			return nil, fmt.Errorf("keep %s: %w", name, err)
		}
		h.out[name] = cache.Value{Ref: ref}
	}
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
		s.env.Note("nothing could be saved of the attempt: %v", s.mask.Error(err))
		return
	}
	for _, name := range []string{"submission", "logs", "code"} {
		if ref := h.out[name].Ref; ref.Files > 0 {
			s.env.Note("the attempt did not end; its output %s is in the cache for now: tree %s, %d bytes", name, ref.ID, ref.Size)
		}
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
	for _, note := range h.left {
		s.env.Note("not harvested: %s", note)
	}
	for _, name := range stats.LostServices {
		s.env.Note("not served after the attempt was resumed: the %s, whose port the agent had taken", name)
	}
	outcome, why := ending{exit, h.submitted, s.changed != "", use, s.health, time.Unix(0, s.started.Load()).Add(exit.Wall)}.outcome()
	again := ""
	if why != "" {
		s.env.Provisional(string(outcome), why)
		again = ": " + why + "; the next apply runs the attempt again"
	}
	s.env.Note("outcome: %s (exit status %d, %.1f s, network %s)%s", outcome, exit.Code, stats.WallSeconds, stats.Network, again)
	for name, value := range map[string]any{"stats": stats, "outcome": outcome} {
		text, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", name, err)
		}
		h.out[name] = cache.Value{JSON: text}
	}
	return h.out, nil
}

// nearEnd is how long before the end of an attempt a provider's last failure may be
// that explains it.
const nearEnd = 10 * time.Minute

// ending is what is known of how an attempt ended, at a time.
type ending struct {
	exit               executor.Exit
	submitted, changed bool
	use                map[string]export.ModelUse
	health             modelblock.Health
	at                 time.Time
}

// outcome is how the attempt ended. why is set if that is not the agent's doing. An
// agent that submitted and ended by itself, or at its time limit, is only excused if
// no model ever answered.
func (e ending) outcome() (o Outcome, why string) {
	exit, h, excused, over := e.exit, e.health, Outcome(""), false
	if h.Down != "" && (!h.Answered || e.at.Sub(h.At) < nearEnd) {
		excused, why = ProviderFailed, h.Down
	}
	for _, name := range slices.Sorted(maps.Keys(e.use)) {
		over = over || e.use[name].Exhausted
		if e.use[name].Exhausted && e.use[name].Requests == 0 {
			excused, why = BudgetTooSmall, fmt.Sprintf("the budget of model %q allowed none of its requests", name)
		}
	}
	good := exit.OK() && e.submitted
	switch {
	case e.changed:
		o = DataChanged
	case exit.Reason == executor.OutOfMemory:
		o = OutOfMemory
	case exit.Reason == executor.OutOfDisk:
		o = OutOfDisk
	case excused != "" && (!h.Answered || !e.submitted || !good && exit.Reason != executor.TimedOut):
		return excused, why
	case exit.Reason == executor.TimedOut:
		o = TimedOut
	case over && !good:
		o = OutOfBudget
	case !exit.OK():
		o = AgentFailed
	case !e.submitted:
		o = NoSubmission
	default:
		o = Finished
	}
	return o, ""
}
