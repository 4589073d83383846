package telemetry

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/attempts"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/proof/bundle"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/outputs"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/outcome"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/models/transcript"
	"github.com/mleflow/mleflow/steps/agentrun"
)

// Results is the cache with the results of a run.
type Results interface {
	cache.Files
	cache.Index
}

// Run turns the events of a run into spans.
type Run struct {
	to    *Sender
	past  *history.Past
	from  Results
	id    string
	steps map[string]*instance // that have not ended
	// attempts has the attempt that a step grades or checks, by the step's address, or "".
	attempts map[string]string
	// agentStart has the start of the agent, by the attempt's address.
	agentStart  map[string]time.Time
	began, last time.Time
	moments     []sdktrace.Event
	ended       bool
	// missing has the results that could not be read.
	missing []error
}

// instance is a step that has begun.
type instance struct {
	// first is the start of the first try, now the start of the current one.
	first   time.Time
	now     event.StepStarted
	phase   step.PhaseName
	moments []sdktrace.Event
}

// NewRun returns a Run without events.
func NewRun(to *Sender, past *history.Past, from Results) *Run {
	r := &Run{to: to, past: past, from: from, id: past.Info.ID, steps: map[string]*instance{}, attempts: map[string]string{}, agentStart: map[string]time.Time{}, began: past.Info.Started}
	if p, err := past.Plan(); err == nil {
		for _, s := range p.Steps {
			r.attempts[s.Name] = attempts.AttemptOf(p, s)
		}
	}
	return r
}

// All makes the spans of a run's events so far. A run that was killed ends with
// its last event, while one that is still running has no span of its own.
func (r *Run) All(ctx context.Context) error {
	for e, err := range r.past.Events() {
		if err := errors.Join(err, ctx.Err(), r.to.Err()); err != nil {
			return err
		}
		r.Add(ctx, e)
	}
	if r.ended || r.past.Running() {
		return nil
	}
	for _, address := range slices.Sorted(maps.Keys(r.steps)) {
		if s := r.steps[address]; s.now.Try > 0 {
			r.finish(ctx, event.StepFinished{At: event.At{Time: r.last}, Address: address, Kind: s.now.Kind, Status: event.Cancelled, Error: "the run was interrupted"})
		}
	}
	r.finishRun(event.RunFinished{At: event.At{Time: r.last}, Status: event.Cancelled}, "the run was interrupted")
	return nil
}

// Missing returns the results that could not be read and whose spans are
// incomplete.
func (r *Run) Missing() []error { return r.missing }

// step returns a step, which begins now if it has not begun.
func (r *Run) step(address string) *instance {
	if r.steps[address] == nil {
		r.steps[address] = &instance{first: r.last}
	}
	return r.steps[address]
}

// Add adds the next event.
func (r *Run) Add(ctx context.Context, e event.Event) {
	r.last = e.When()
	switch e := e.(type) {
	case event.RunStarted:
		r.began = e.Time
	case event.StepStarted:
		s := r.step(e.Address)
		s.now, s.phase = e, ""
	case event.StepPhase:
		if s := r.step(e.Address); s.phase != e.Name {
			s.phase = e.Name
			r.agentStart[e.Address] = cmp.Or(e.Started, r.agentStart[e.Address])
			s.moments = append(s.moments, sdktrace.Event{Name: "mleflow.phase", Time: e.Time, Attributes: texts("mleflow.phase", string(e.Name))})
		}
	case event.StepRetry:
		if s := r.step(e.Address); s.now.Kind == conditions.AttemptKind {
			r.try(s, event.StepFinished{At: e.At, Address: e.Address, Status: event.Failed, Error: e.Error}, nil)
		} else {
			s.moments = append(s.moments, sdktrace.Event{Name: "mleflow.retry", Time: e.Time, Attributes: append(texts("exception.message", e.Error), attribute.Int("mleflow.try", e.Try))})
		}
	case event.StepFinished:
		r.finish(ctx, e)
	case event.Warning:
		r.moments = append(r.moments, sdktrace.Event{Name: "mleflow.warning", Time: e.Time, Attributes: texts("mleflow.step.address", e.Address, "mleflow.message", e.Message)})
	case event.RunFinished:
		failed := ""
		if e.Status == event.Failed {
			failed = strconv.Itoa(e.Failed) + " steps failed"
		}
		r.finishRun(e, failed)
	}
}

func (r *Run) finishRun(e event.RunFinished, failed string) {
	r.ended = true
	attrs := texts("mleflow.run", r.id, "mleflow.pipeline", r.past.Info.Name, "mleflow.run.name", r.past.About().RunName, "mleflow.status", string(e.Status), "mleflow.resumed", r.past.Info.Resumed)
	attrs = append(attrs, attribute.Int("mleflow.steps.ran", e.Ran), attribute.Int("mleflow.steps.cached", e.Cached), attribute.Int("mleflow.steps.failed", e.Failed),
		attribute.Int("mleflow.steps.skipped", e.Skipped), attribute.Int("mleflow.steps.cancelled", e.Cancelled))
	r.to.put(span{run: r.id, id: spanID(r.id), name: "mleflow run", start: r.began, end: e.Time, attrs: attrs, moments: r.moments, failed: failed, class: string(e.Status)})
}

func (r *Run) finish(ctx context.Context, e event.StepFinished) {
	s := r.step(e.Address)
	delete(r.steps, e.Address)
	var rec *cache.Record
	if e.Action != "" && e.Status == event.Ran {
		var err error
		if rec, err = outputs.Lookup(ctx, r.from, e.Action); err != nil {
			rec, r.missing = nil, append(r.missing, fmt.Errorf("%s: %w", e.Address, err))
		}
	}
	x := span{run: r.id, id: spanID(r.id, e.Address), parent: spanID(r.id), name: e.Address, start: s.first, end: e.Time}
	x.attrs = append(texts("mleflow.step.address", e.Address, "mleflow.step.kind", e.Kind, "mleflow.status", string(e.Status), "mleflow.action", e.Action, "mleflow.made_in", e.MadeIn,
		"mleflow.on", e.On, "mleflow.node", e.Node), attribute.Int("mleflow.tries", e.LastTry))
	for _, c := range e.Conditions {
		name, value, _ := strings.Cut(c, "=")
		x.attrs = append(x.attrs, attribute.String("mleflow.condition."+name, value))
	}
	if e.MadeIn != "" {
		x.links = append(x.links, sdktrace.Link{SpanContext: contextOf(e.MadeIn, spanID(e.MadeIn, e.Address))})
	}
	if of := r.attempts[e.Address]; of != "" {
		x.links = append(x.links, sdktrace.Link{SpanContext: contextOf(r.id, spanID(r.id, of))})
	}
	switch e.Status {
	case event.Failed, event.Cancelled:
		x.failed, x.class = cmp.Or(e.Error, string(e.Status)), string(e.Status)
	case event.Skipped:
		x.attrs = append(x.attrs, attribute.String("mleflow.skipped_by", e.Error))
	}
	caller := x.id
	switch {
	case e.Kind == conditions.AttemptKind && s.now.Try > 0:
		caller = r.try(s, e, rec)
	case e.Kind == conditions.GradeKind:
		r.grade(&x, e)
	}
	x.moments = append(x.moments, s.moments...)
	r.to.put(x)
	if rec == nil {
		return
	}
	for _, name := range []string{"transcript", "judge_transcript"} {
		if err := r.calls(ctx, caller, e, name, rec.Outputs[name].Ref); err != nil {
			r.missing = append(r.missing, fmt.Errorf("%s: %w", e.Address, err))
		}
	}
}

// try makes the span of an agent's attempt, of which a step can have several.
func (r *Run) try(s *instance, e event.StepFinished, rec *cache.Record) trace.SpanID {
	x := span{run: r.id, id: spanID(r.id, e.Address, "try", strconv.Itoa(s.now.Try)), parent: spanID(r.id, e.Address),
		name: "invoke_agent", start: s.now.Time, end: e.Time, moments: s.moments}
	s.moments = nil
	x.attrs = []attribute.KeyValue{semconv.GenAIOperationNameInvokeAgent, attribute.Int("mleflow.try", s.now.Try)}
	if e.Status != event.Ran {
		x.failed, x.class = cmp.Or(e.Error, string(e.Status)), string(e.Status)
	}
	if rec != nil {
		at := bundle.AttemptOf(e.Address, rec)
		x.name += " " + at.Agent
		x.attrs = append(x.attrs, semconv.GenAIAgentName(at.Agent))
		x.attrs = append(x.attrs, texts(string(semconv.GenAIAgentVersionKey), at.AgentVersion, "mleflow.competition", at.Competition, "mleflow.competition.version", at.CompetitionVersion,
			"mleflow.seed", at.Seed, "mleflow.image", at.Image, "mleflow.image.digest", at.ImageDigest, "mleflow.network", at.Network.Policy)...)
	}
	if end := decoded[outcome.End](e, "outcome"); end != "" {
		x.attrs = append(x.attrs, attribute.String("mleflow.outcome", string(end)))
		if end != outcome.Finished {
			x.failed, x.class = "the attempt ended with "+string(end), string(end)
		}
	}
	if e.Outputs["stats"] != "" {
		stats := decoded[agentrun.Stats](e, "stats")
		x.attrs = append(x.attrs, attribute.Float64("mleflow.wall_seconds", stats.WallSeconds), attribute.Float64("mleflow.cpu_seconds", stats.CPUSeconds), attribute.Int64("mleflow.peak_memory_bytes", stats.PeakMemoryBytes))
		if u := results.Measured(stats.Models); u != nil {
			x.attrs = append(x.attrs, attribute.Int64("mleflow.requests", int64(*u.Requests)), attribute.Int64("mleflow.input_tokens", int64(*u.InputTokens)),
				attribute.Int64("mleflow.output_tokens", int64(*u.OutputTokens)), attribute.Float64("mleflow.cost_usd", *u.CostUSD))
			for name, usd := range map[string]*float64{"mleflow.estimated_cost_usd": u.EstimatedUSD, "mleflow.list_cost_usd": u.ListUSD} {
				if usd != nil {
					x.attrs = append(x.attrs, attribute.Float64(name, *usd))
				}
			}
		}
	}
	r.to.put(x)
	return x.id
}

// grade adds the scores of a submission and its snapshots to the span of a grade.
func (r *Run) grade(x *span, e event.StepFinished) {
	result := func(name string, at time.Time, score *float64, medal, outcome string, more ...attribute.KeyValue) {
		attrs := append(texts(string(semconv.GenAIEvaluationNameKey), name, string(semconv.GenAIEvaluationScoreLabelKey), medal, "mleflow.outcome", outcome), more...)
		if score != nil {
			attrs = append(attrs, semconv.GenAIEvaluationScoreValue(*score))
		}
		x.moments = append(x.moments, sdktrace.Event{Name: "gen_ai.evaluation.result", Time: at, Attributes: attrs})
	}
	began := r.agentStart[r.attempts[e.Address]]
	for _, p := range decoded[[]grading.Moment](e, "curve") {
		at := e.Time
		if !began.IsZero() {
			at = began.Add(time.Duration(p.Seconds) * time.Second)
		}
		result("snapshot", at, p.Score, p.Medal, string(p.Outcome), attribute.Int64("mleflow.snapshot.seconds", p.Seconds))
	}
	if e.Outputs["outcome"] == "" {
		return
	}
	score, outcome, medal := decoded[*float64](e, "score"), decoded[string](e, "outcome"), decoded[string](e, "medal")
	result("submission", e.Time, score, medal, outcome)
	x.attrs = append(x.attrs, texts("mleflow.outcome", outcome, "mleflow.medal", medal)...)
	if score != nil {
		x.attrs = append(x.attrs, attribute.Float64("mleflow.score", *score))
	}
}

// decoded returns an output that is a small value.
func decoded[T any](e event.StepFinished, name string) (v T) {
	_ = json.Unmarshal([]byte(e.Outputs[name]), &v)
	return v
}

// calls makes the spans of a transcript's exchanges.
func (r *Run) calls(ctx context.Context, parent trace.SpanID, e event.StepFinished, name string, ref cache.Ref) error {
	switch then := e.Outputs[name]; {
	case then == "":
		return nil
	case !strings.HasSuffix(then, ref.ID.String()):
		return errors.New("a later run replaced the result")
	case ref.Files == 0: // without models
		return nil
	}
	t, err := transcript.OpenReader(tree.NewFS(ctx, r.from, ref))
	if err != nil {
		return err
	}
	defer t.Close()
	c := conversations{run: r, parent: parent, address: e.Address, open: map[string]call{}}
	for turn, err := range t.Turns() {
		if err != nil {
			return err
		}
		answer, err := t.Response(turn.Event)
		if err != nil {
			return err
		}
		c.turn(turn, answer)
	}
	return nil
}

// texts returns attributes of the pairs of a name and a value that is not empty.
func texts(pairs ...string) (attrs []attribute.KeyValue) {
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			attrs = append(attrs, attribute.String(pairs[i], strings.ToValidUTF8(pairs[i+1], "\ufffd")))
		}
	}
	return attrs
}

// Live sends the spans of a run as its steps end. It reads the journal, so the
// run never waits for it.
type Live struct {
	// Run is the run's identifier, or empty before the run begins.
	Run string

	to   *Sender
	find func(args []string) (*history.Past, error)
	from Results
	stop context.CancelFunc
	done chan error
}

// NewLive returns a Live that closes the Sender.
func NewLive(to *Sender, find func(args []string) (*history.Past, error), from Results) *Live {
	return &Live{to: to, find: find, from: from, done: make(chan error, 1)}
}

// Emit implements event.Sink. It only looks for the beginning of the run.
func (l *Live) Emit(e event.Event) {
	if start, ok := e.(event.RunStarted); ok && l.Run == "" {
		var ctx context.Context
		ctx, l.stop = context.WithCancel(context.Background())
		l.Run = start.Run
		go func() { l.done <- l.follow(ctx) }()
	}
}

// follow makes spans of the journal until the run ends.
func (l *Live) follow(ctx context.Context) error {
	past, err := l.find([]string{l.Run})
	if err != nil {
		return err
	}
	run, journal := NewRun(l.to, past, l.from), past.Watch()
	for !run.ended && ctx.Err() == nil {
		time.Sleep(100 * time.Millisecond)
		events, err := journal.Next()
		if err != nil {
			return err
		}
		for _, e := range events {
			run.Add(ctx, e)
		}
	}
	return errors.Join(run.Missing()...)
}

// Close waits for the last spans, for at most a given time. It returns a
// description of the loss, if there is one.
func (l *Live) Close(most time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), most)
	defer cancel()
	var incomplete error
	if l.Run != "" {
		defer l.stop()
		select {
		case incomplete = <-l.done:
		case <-ctx.Done():
			l.stop()
			_, _, _ = l.to.Close(ctx)
			return fmt.Errorf("the spans of the last attempts were not sent within %v", most)
		}
	}
	if made, sent, err := l.to.Close(ctx); err != nil {
		return fmt.Errorf("%d of %d spans did not arrive: %w", made-sent, made, err)
	}
	return incomplete
}
