package agentrun

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/leaf/secret"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/outcome"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/sandbox/agent"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/transfer/archive"
	"github.com/mleflow/mleflow/steps/modelblock"
)

// Stats are an attempt's use of resources, the output "stats".
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
	Adopted           int      `json:"adopted,omitempty"`
	LostServices      []string `json:"lost_services"`
	Devices           []string `json:"devices"`
	Network           string   `json:"network"`
	Connections       int      `json:"connections"`
	Validations       int      `json:"validations"`
	ShimCalls         int      `json:"shim_calls"`
	LeftOut           []string `json:"left_out"`

	// Models holds the use of each model block.
	Models map[string]results.ModelUse `json:"models"`

	// Enforced names the mechanism that enforced each limit, where the runtime has
	// several.
	Enforced map[string]string `json:"enforced"`

	// Opened counts the files of the data that the agent opened; nil if nobody watched.
	Opened *results.Opened `json:"opened,omitempty"`

	// Queries are the validation scores that it asked for; nil if it could ask for none.
	Queries *results.Queries `json:"queries,omitempty"`
}

// result returns the outputs of the attempt.
func (f *finished) result(ctx context.Context) (cache.Outputs, error) {
	h, err := f.harvest(ctx, f.printed)
	if err != nil {
		return nil, step.Retryable(err, 0)
	}
	for name, keep := range map[string]func() (cache.Ref, error){
		"validation_log": func() (cache.Ref, error) { return f.gates.stored(ctx, validationsFile, nil) },
		"network_log":    func() (cache.Ref, error) { return f.gates.stored(ctx, connectionsFile, nil) },
		"shim_log":       func() (cache.Ref, error) { return f.gates.shimLog(ctx, &f.shimCalls) },
		"snapshots":      func() (cache.Ref, error) { return f.shots.tree(ctx, f.env.Store) },
		"code_snapshots": func() (cache.Ref, error) { return f.shots.codes.tree(ctx, f.env.Store) },
	} {
		ref, err := keep()
		if err != nil {
			return nil, fmt.Errorf("keep %s: %w", name, err)
		}
		h.out[name] = cache.Value{Ref: ref}
	}
	if f.queries != nil {
		ref, err := f.putQueries(ctx)
		if err != nil {
			return nil, fmt.Errorf("keep queries: %w", err)
		}
		h.out["queries"] = cache.Value{Ref: ref}
	}
	said, err := f.transcript(ctx)
	if err != nil {
		return nil, step.Retryable(err, 0)
	}
	if err := f.searchLeaks(ctx, h.out); err != nil {
		return nil, step.Retryable(err, 0)
	}
	h.out["transcript"] = cache.Value{Ref: said}
	return f.values(h)
}

// harvest stores the contents of the kept folders. printed, unless it is zero, is added
// to the logs.
func (p *place) harvest(ctx context.Context, printed cache.Ref) (harvested, error) {
	done := harvested{out: cache.Outputs{}}
	p.phases.enter(step.Phase{Name: step.Harvesting})
	home, err := os.OpenRoot(p.dirs.home)
	if err != nil {
		return done, fmt.Errorf("harvest: %w", err)
	}
	defer home.Close()
	h := &harvester{store: p.env.Store, mask: p.mask, budget: min(p.storable(), p.room), taken: p.phases.taken}
	for _, name := range []string{"submission", "logs", "code"} {
		var b tree.Builder
		k := kept{name: name, caps: keptCaps}
		if name == "submission" {
			k.first, k.caps = agent.SubmissionFile, submissionCaps
		} else if name == "logs" && conditions.Rehearsed(p.raw.Conditions) {
			k.reserved = OpenedFile
		}
		has, err := h.harvest(ctx, home, k, &b)
		if err != nil {
			return done, err
		}
		if name == "submission" {
			if done.submitted = has[agent.SubmissionFile]; !done.submitted {
				h.noteOthers(has)
			}
		}
		if name == "logs" && !has[OutputLog] && !printed.IsZero() {
			if err := b.Add(OutputLog, printed, false); err != nil {
				return done, err
			}
		}
		if name == "logs" && p.opens != nil && p.opens.Unknown == "" && conditions.Rehearsed(p.raw.Conditions) {
			if err := p.opens.keep(ctx, p.env.Store, &b); err != nil {
				return done, err
			}
		}
		ref, err := b.Build(ctx, p.env.Store)
		if err != nil {
			return done, fmt.Errorf("harvest %s: %w", name, err)
		}
		done.out[name] = cache.Value{Ref: ref}
	}
	done.left = h.left()
	return done, nil
}

// rescue stores the files of an attempt that the machine's failure ended, and logs
// them. The attempt will be repeated. The files stay in the cache until space is
// needed.
func (p *place) rescue(ctx context.Context) {
	if ctx.Err() != nil {
		return
	}
	h, err := p.harvest(ctx, cache.Ref{})
	if err != nil {
		p.env.Note("nothing could be saved of the attempt: %v", p.mask.Error(err))
		return
	}
	for _, name := range []string{"submission", "logs", "code"} {
		if ref := h.out[name].Ref; ref.Files > 0 {
			p.env.Note("the attempt did not end; its output %s is in the cache for now: tree %s, %d bytes", name, ref.ID, ref.Size)
		}
	}
}

// values adds the small outputs.
func (f *finished) values(h harvested) (cache.Outputs, error) {
	exit := f.exit
	stats := Stats{
		WallSeconds: (f.before + exit.Wall).Seconds(), CPUSeconds: exit.CPU.Seconds(), PeakMemoryBytes: exit.PeakMemoryBytes,
		ExitCode: exit.Code, LeftoverProcesses: exit.Leftover, LogBytesDropped: exit.LogDropped,
		Runtime: f.runtime.Name, Isolated: f.runtime.Isolates, Resumed: exit.Resumed,
		LostServices: append([]string{}, exit.LostServices...), Devices: append([]string{}, f.env.Devices...),
		Network: f.network(), Connections: f.gates.connections.Lines(), Validations: f.gates.validations.Lines(), ShimCalls: f.shimCalls,
		LeftOut: append([]string{}, h.left...), Models: f.use, Enforced: map[string]string{},
	}
	if f.continued || f.points.resumes > 0 {
		stats.Adopted = f.adopted
	}
	maps.Copy(stats.Enforced, exit.Enforced)
	if f.opens != nil {
		stats.Opened = &f.opens.Opened
	}
	if f.queries != nil {
		used, best := f.queries.Best()
		stats.Queries = &results.Queries{Used: used, Allowed: int(f.args.Queries), Best: best}
	}
	for _, note := range h.left {
		f.env.Note("not harvested: %s", note)
	}
	for _, name := range stats.LostServices {
		f.env.Note("not served after the attempt was resumed: the %s, whose port the agent had taken", name)
	}
	outcome, why := ending{exit, h.submitted, f.changed, f.use, f.health, f.start().Add(exit.Wall)}.outcome()
	again := ""
	if why != "" {
		again = ": " + why + "; too many results before it were not final, so this one is"
		if f.points.again = f.env.Provisional(string(outcome), why); f.points.again {
			again = ": " + why + "; the next apply runs the attempt again"
		}
	}
	if len(f.steered) > 0 {
		f.env.Steered(f.steered)
	}
	f.env.Note("outcome: %s (exit status %d, %.1f s, network %s)%s", outcome, exit.Code, stats.WallSeconds, stats.Network, again)
	for name, value := range map[string]any{"stats": stats, "outcome": outcome} {
		text, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", name, err)
		}
		h.out[name] = cache.Value{JSON: text}
	}
	return h.out, nil
}

// nearEnd is the maximum time between a provider's last failure and the end of an
// attempt that it explains.
const nearEnd = 10 * time.Minute

// ending holds the facts about the end of an attempt.
type ending struct {
	exit               executor.Exit
	submitted, changed bool
	use                map[string]results.ModelUse
	health             modelblock.Health
	at                 time.Time
}

// ends are the outcomes in order of precedence: that of an attempt is the first that holds.
var ends = []struct {
	outcome.End
	holds func(ending) bool
	// why, if set, is the reason for an end that the agent did not cause.
	why func(ending) string
}{
	{outcome.DataChanged, func(e ending) bool { return e.changed }, nil},
	{outcome.OutOfMemory, func(e ending) bool { return e.exit.Reason == executor.OutOfMemory }, nil},
	{outcome.OutOfDisk, func(e ending) bool { return e.exit.Reason == executor.OutOfDisk }, nil},
	{outcome.BudgetTooSmall, func(e ending) bool { return e.excusable() && e.starved() != "" }, ending.starved},
	{outcome.ProviderFailed, func(e ending) bool { return e.excusable() && e.down() != "" }, ending.down},
	{outcome.StoppedEarly, func(e ending) bool { return e.exit.Reason == executor.Stopped }, nil},
	{outcome.TimedOut, func(e ending) bool { return e.exit.Reason == executor.TimedOut }, nil},
	{outcome.OutOfBudget, func(e ending) bool { return e.exhausted() && !(e.exit.OK() && e.submitted) }, nil},
	{outcome.AgentFailed, func(e ending) bool { return !e.exit.OK() }, nil},
	{outcome.NoSubmission, func(e ending) bool { return !e.submitted }, nil},
	{outcome.Finished, func(ending) bool { return true }, nil},
}

// outcome returns the outcome, and a reason if the agent did not cause it.
func (e ending) outcome() (outcome.End, string) {
	for _, end := range ends {
		switch {
		case !end.holds(e):
		case end.why == nil:
			return end.End, ""
		default:
			return end.End, end.why(e)
		}
	}
	panic("no outcome holds")
}

// excusable reports whether the models may excuse the agent: one that submitted, and ended
// by itself or at its time limit, only if no model ever answered.
func (e ending) excusable() bool {
	return !e.health.Answered || !e.submitted || !e.exit.OK() && e.exit.Reason != executor.TimedOut
}

// down is the failure of a provider that explains the end; "" if there is none.
func (e ending) down() string {
	if e.health.Answered && e.at.Sub(e.health.At) >= nearEnd {
		return ""
	}
	return e.health.Down
}

// starved names a model whose budget allowed no request; "" if there is none.
func (e ending) starved() (why string) {
	for _, name := range slices.Sorted(maps.Keys(e.use)) {
		if e.use[name].Exhausted && e.use[name].Requests == 0 {
			why = fmt.Sprintf("the budget of model %q allowed none of its requests", name)
		}
	}
	return why
}

// exhausted reports whether a budget refused a request.
func (e ending) exhausted() bool {
	for _, use := range e.use {
		if use.Exhausted {
			return true
		}
	}
	return false
}

// searchLeaks searches the files and names that the agent left, which are stored as
// they are, for the values of secrets, and says in which outputs there are some.
func (f *finished) searchLeaks(ctx context.Context, out cache.Outputs) error {
	var leaked []string
	for _, name := range []string{"code", "code_snapshots", "logs", "queries", "snapshots", "submission"} {
		if out[name].Ref.IsZero() {
			continue
		}
		err := searchTree(ctx, f.env.Store, out[name].Ref, f.secrets)
		if errors.Is(err, secret.ErrFound) {
			leaked = append(leaked, name)
		} else if err != nil {
			return fmt.Errorf("search %s for secrets: %w", name, err)
		}
	}
	if len(leaked) > 0 {
		f.env.SecretIn(leaked)
		f.env.Warn(fmt.Sprintf("the value of a secret is in the agent's %s, which stays as the agent left it; do not publish it, and replace the secret", strings.Join(leaked, " and ")))
	}
	return nil
}

// searchTree returns secret.ErrFound if a tree has a secret. Equal files are searched
// once.
func searchTree(ctx context.Context, store cache.Store, ref cache.Ref, secrets *secret.Set) error {
	if secrets.Empty() {
		return nil
	}
	seen := map[cache.Ref]bool{}
	return tree.Walk(ctx, store, ref, func(path string, e tree.Entry) error {
		if secrets.Mask(path) != path {
			return secret.ErrFound
		}
		if e.IsDir() || seen[e.Ref()] {
			return nil
		}
		seen[e.Ref()] = true
		return archive.Search(func() (io.ReadCloser, error) { return store.Open(ctx, e.ID) }, secrets)
	})
}
