package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/sched"
	"github.com/mleflow/mleflow/engine/step"
)

// steerEvery is the interval at which a run looks for requests.
const steerEvery = 500 * time.Millisecond

// steering passes what people ask of a run to its scheduler and its attempts.
type steering struct {
	r       *run
	changes chan sched.Change
	// attempts are those of the run.
	attempts map[string]bool
	watch    spending
	// budget and deadline are the limits that people set, nil without. closing has what was
	// asked of attempts to keep them.
	budget, deadline *step.Request
	closing          map[string]step.Act

	mu sync.Mutex
	// live has the attempts that take requests, begun those that are about to, ended why
	// others take none any more, and held what waits until they take it.
	live  map[string]chan step.Asked
	begun map[string]bool
	ended map[string]error
	held  map[string][]step.Request
	// blocked has those that wait for another process, with what cancels the wait.
	blocked map[string]context.CancelCauseFunc
	// extended is what every further try at an attempt gets again.
	extended map[string][]step.Request
	// requeued counts how often a stall has put attempts back, in this run and before.
	requeued map[string]int
	// met is how those that have ended were steered; see step.Env.Steered.
	met map[string]string
	// drained means that the run starts nothing new.
	drained atomic.Bool
}

func newSteering(r *run) *steering {
	return &steering{r: r, changes: make(chan sched.Change), attempts: map[string]bool{}, closing: map[string]step.Act{}, watch: spending{phases: map[string]step.PhaseName{}, cost: map[string]int64{}}, live: map[string]chan step.Asked{}, begun: map[string]bool{}, ended: map[string]error{}, held: map[string][]step.Request{}, blocked: map[string]context.CancelCauseFunc{}, extended: map[string][]step.Request{}, requeued: map[string]int{}, met: map[string]string{}}
}

// stall asks for what follows from a stall. It emits no event.
func (s *steering) stall(e event.Event) {
	if e, ok := e.(event.Stalled); ok && e.Act != "" && !e.Over {
		s.r.journal.Ask(step.Request{Act: e.Act, Address: e.Address, Author: step.OnStall, Reason: "no sign of work since " + e.Since.Format(time.RFC3339)}) //nolint:errcheck // a full disk: the stall is shown, and a person can act
	}
}

// stalls returns how the stalls of earlier tries steered an attempt; see step.Env.Steered.
func (s *steering) stalls(address string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.requeued[address] > 0 {
		return step.RequeuedStalled
	}
	return ""
}

// steer answers requests until the returned function is called.
func (r *run) steer(ctx context.Context) (stop func()) {
	if r.journal == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	requests := r.journal.Requests()
	r.survey()
	done := make(chan struct{})
	look := func() (list []step.Request) {
		list, refused := requests.New()
		for id, err := range refused {
			r.steering.answer(step.Request{ID: id, Time: time.Now().UTC()}, "", err)
		}
		return list
	}
	pass := func(list []step.Request) {
		for _, asked := range list {
			r.steering.pass(ctx, asked)
		}
	}
	// What an earlier run was asked is there before an attempt goes on that it has ended.
	first := lists.Where(look(), func(asked step.Request) bool {
		old := asked.Address != "" && asked.Time.Before(r.started)
		if old {
			r.steering.attempt(asked)
		}
		return !old
	})
	go func() {
		defer close(done)
		pass(first)
		tick := time.NewTicker(steerEvery)
		defer tick.Stop()
		for ctx.Err() == nil {
			pass(look())
			r.steering.keepLimits(ctx)
			select {
			case <-ctx.Done():
			case <-tick.C:
			}
		}
		pass(look())
	}()
	return func() {
		cancel(errOver)
		<-done
	}
}

// survey notes the attempts of a plan, and records what earlier runs were asked: what holds for
// these attempts, and what held for the run that this one continues. What is asked again is
// answered again.
func (r *run) survey() {
	s, acts := r.steering, map[string][]event.Steered{}
	inherit := func(run, address, name string) {
		if _, read := acts[run]; !read {
			acts[run] = nil // of a run that was removed
			if past, err := r.e.opts.History.Open(run); err == nil {
				acts[run], _ = past.Acts() //nolint:errcheck // what can be read of a damaged journal
			}
		}
		for _, e := range acts[run] {
			if e.Request.Address != address || slices.ContainsFunc(r.asked, func(again step.Request) bool { return again.ID == e.Request.ID }) {
				continue
			}
			e.Request.Address = name
			if r.sink.Emit(e); e.Request.Act == step.Requeue && e.Request.Author == step.OnStall {
				s.requeued[name]++
			}
		}
	}
	inherit(r.continued, "", "")
	for _, n := range r.pl.nodes {
		name, run, address := n.plan.Name, r.continued, n.plan.Name
		switch {
		case !n.counted():
			continue
		case n.cached():
			s.ended[name], s.met[name] = errEnded, n.steered()
			if rec := n.decision.record; rec != nil && rec.Tries.Steered != "" {
				run, address = rec.Run, rec.Address
			}
		case n.fresh():
			run = ""
		}
		s.attempts[name] = true
		inherit(run, address, name)
	}
}

var errOver = errors.New("the run is over")

// answer records the answer to a request.
func (s *steering) answer(asked step.Request, effect string, err error) {
	e := event.Steered{At: event.Now(), Request: asked, Effect: effect}
	if err != nil {
		e.Effect, e.Refused = "", err.Error()
	}
	s.r.sink.Emit(e)
}

// pass passes a request on to whoever answers it.
func (s *steering) pass(ctx context.Context, asked step.Request) {
	var c sched.Change
	effect := ""
	switch {
	case ctx.Err() != nil:
		s.late(ctx, asked)
		return
	case asked.Address != "":
		if !s.attempt(asked) {
			return
		}
		c.Drop, effect = asked.Address, "it is cancelled before its start"
	case asked.Act == step.Drain:
		c.Drain, effect = true, "nothing new starts; what runs is finished"
	case asked.Act == step.SetParallelism && asked.Value > 0:
		c.Parallelism, effect = asked.Value, fmt.Sprintf("at most %d steps run at once", asked.Value)
	case asked.Act == step.SetBudget && asked.Budget > 0, asked.Act == step.SetDeadline:
		effect, err := s.limit(asked)
		s.answer(asked, effect, err)
		return
	case asked.Act == step.SetGPUs:
		c.Devices, effect = &asked.Value, fmt.Sprintf("at most %d GPUs are leased at once", asked.Value)
	default:
		s.answer(asked, "", fmt.Errorf("a run knows no %q", asked.Act))
		return
	}
	c.Done = func(err error) {
		if c.Drain {
			s.drained.Store(true)
		}
		if errors.Is(err, sched.ErrRunning) { // it has just been started
			s.begin(asked.Address)
			s.attempt(asked)
			return
		}
		s.answer(asked, effect, err)
	}
	select {
	case s.changes <- c:
	case <-ctx.Done():
		s.late(ctx, asked)
	}
}

// late answers a request that came too late for the run. What was asked of an attempt of
// an interrupted run has no answer, so that the next run takes it.
func (s *steering) late(ctx context.Context, asked step.Request) {
	if cause := context.Cause(ctx); asked.Address == "" || errors.Is(cause, errOver) {
		s.answer(asked, "", cause)
	}
}

// attempt passes a request to an attempt that runs. It reports whether the attempt waits
// and is to be cancelled.
func (s *steering) attempt(asked step.Request) (drop bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	to := s.live[asked.Address]
	switch {
	case !s.attempts[asked.Address]:
		s.answer(asked, "", errors.New("the run has no such attempt"))
	case asked.Author == step.OnStall && asked.Act == step.Requeue && s.requeued[asked.Address] >= step.MostRequeued:
		s.answer(asked, "", fmt.Errorf("stalls have put it back %d times; stop or cancel it, or wait", step.MostRequeued))
	case s.ended[asked.Address] != nil:
		s.missed(asked)
	case to != nil:
		s.send(to, asked, false)
	case s.blocked[asked.Address] != nil:
		s.unblock(asked)
	case s.begun[asked.Address] || asked.Time.Before(s.r.started):
		s.held[asked.Address] = append(s.held[asked.Address], asked)
	case asked.Act != step.Cancel:
		s.answer(asked, "", errors.New("it has not started"))
	default:
		return true
	}
	return false
}

// send passes a request to a live attempt, perhaps again.
func (s *steering) send(to chan<- step.Asked, asked step.Request, again bool) {
	answer := func(effect string, err error) {
		s.answer(asked, s.inRun(asked, effect), err)
		s.mu.Lock()
		defer s.mu.Unlock()
		switch {
		case err != nil:
		case asked.Act == step.Extend:
			s.extended[asked.Address] = append(s.extended[asked.Address], asked)
		case asked.Act == step.Requeue && asked.Author == step.OnStall:
			s.requeued[asked.Address]++
		}
	}
	select {
	case to <- step.Asked{Request: asked, Again: again || asked.Time.Before(s.r.started), Answer: answer}:
	default:
		s.answer(asked, "", errors.New("it has not taken the requests before this one"))
	}
}

// enter lets people ask something of an attempt until leave is called.
func (s *steering) enter(address string) (requests chan step.Asked, leave func()) {
	to := make(chan step.Asked, 64)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live[address] = to
	for _, asked := range s.extended[address] {
		s.send(to, asked, true)
	}
	for _, asked := range s.held[address] {
		s.send(to, asked, false)
	}
	delete(s.extended, address)
	delete(s.held, address)
	return to, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.live, address)
		delete(s.begun, address)
		for range len(to) { // the next try takes them
			next := s.held
			asked := <-to
			if asked.Again && asked.Act == step.Extend {
				next = s.extended
			}
			next[address] = append(next[address], asked.Request)
		}
	}
}

// block notes that a started attempt waits for another process, which runs the same action,
// until cancel is called; nil is one that waits no longer.
func (s *steering) block(address string, cancel context.CancelCauseFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.blocked[address] = cancel; cancel == nil {
		return
	}
	for _, asked := range s.held[address] {
		s.unblock(asked)
	}
	delete(s.held, address)
}

// unblock answers what was asked of an attempt that waits for another process.
func (s *steering) unblock(asked step.Request) {
	if asked.Act != step.Cancel {
		s.answer(asked, "", errBlocked)
		return
	}
	s.answer(asked, "it waits no longer for the process that runs it", nil)
	s.blocked[asked.Address](step.ErrCancelled)
}

// begin notes that an attempt was started and will take requests.
func (s *steering) begin(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun[address] = true
}

// over notes that an attempt has ended, and how it was steered. If the run was interrupted,
// what waits has no answer, so that the next run takes it.
func (s *steering) over(address, steered string, status event.Status, res sched.Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	why := errEnded
	switch {
	case errors.Is(res.Err, step.ErrRequeued):
		why = errPutBack
	case res.Tries == 0 && (status == event.Cancelled || status == event.Skipped):
		why = errNotBegun
	}
	s.ended[address], s.met[address] = why, steered
	for _, asked := range s.held[address] {
		if status != event.Cancelled || errors.Is(res.Err, step.ErrCancelled) {
			s.missed(asked)
		}
	}
	delete(s.held, address)
}

var (
	errEnded    = errors.New("it has ended")
	errPutBack  = errors.New("it was put back, and this run starts nothing new: the next apply goes on with it")
	errBlocked  = errors.New("another run runs it, and this one waits for its result: ask that run, with --run")
	errNotBegun = errors.New("this run does not begin it; the next apply does")
)

// missed answers what was asked of an attempt that has ended. An earlier run may have done
// it, and been killed before it could say so.
func (s *steering) missed(asked step.Request) {
	effect, why := "", s.ended[asked.Address]
	if asked.Time.Before(s.r.started) && slices.Contains(lists.Of(strings.Fields(s.met[asked.Address]), step.ActOf), asked.Act) {
		effect, why = "it was done before this run", nil
	}
	s.answer(asked, effect, why)
}
