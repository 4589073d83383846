package work

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/cache/remote"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/sched"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/engine/try"
)

// Worker runs ordered actions.
type Worker struct {
	// Kinds returns the step kinds for an order with these folders.
	Kinds func(ctx context.Context, folders []Folder) (*step.Registry, error)
	// Cache is this node's cache, backed by the remote cache.
	Cache *remote.Tier
	// Node is the name of this machine, Version that of its program.
	Node, Version string
	// Process names this process. Dead reports whether the process with such a name ran
	// on this machine and has ended for certain. Both may be missing.
	Process string
	Dead    func(process string) bool
	// Capacity and Locks describe this machine's devices.
	Capacity sched.Capacity
	Locks    *sched.DeviceLocks
	// Ready returns an error if this machine cannot run a step now. If it is
	// nil, the machine is always ready.
	Ready func(kind *step.Kind, args step.Args) error
	// Tidy ends what lost workers left on this machine, and returns what people should
	// know of it before the action begins. It may be nil.
	Tidy func(ctx context.Context, action digest.ActionID) []string
	// Say reports the worker's progress to people.
	Say func(text string)
	// Interval is the interval at which the claim is renewed. 0 means
	// DefaultInterval.
	Interval time.Duration
}

// Run runs an action as an order of this digest says, and writes a Result to the remote cache: the record or
// the step's failure. It returns nil only if the Result was written. An error
// for which IsRefusal is true means that no worker like this one can run the
// action. After any other error, another worker may.
func (w *Worker) Run(ctx context.Context, id digest.ActionID, order digest.ContentID) error {
	if w.Interval <= 0 {
		w.Interval = DefaultInterval
	}
	desk := w.Cache.Desk()
	o, err := patiently(ctx, w, func() (*Order, error) { return readOrder(ctx, desk, id, order) })
	if errors.Is(err, cache.ErrNotFound) {
		return refusal{err.Error()}
	}
	if err != nil {
		return err
	}
	s := &shift{w: w, desk: desk, o: o, order: order}
	err = s.run(ctx)
	if full(err) {
		// A failure that the step's own retry may follow, perhaps on another node.
		why := fmt.Sprintf("the cache of node %s has no space for %s: %v; in the cluster file, cache_quota (Slurm) and quota (Kubernetes) set the limit of a node's cache", w.Node, o.Address, err)
		w.Say(why)
		return writeResult(context.WithoutCancel(ctx), desk, id, &Result{Order: order, Node: w.Node, Error: why, Retryable: true})
	}
	if IsRefusal(err) {
		err = errors.Join(err, writeResult(context.WithoutCancel(ctx), desk, id, &Result{Order: order, Node: w.Node, Refused: err.Error()}))
	}
	return err
}

// longestWait is the longest pause between attempts to reach the remote cache.
const longestWait = 30 * time.Second

// patiently retries until it succeeds, the error is final, or ctx ends.
func patiently[T any](ctx context.Context, w *Worker, try func() (T, error)) (T, error) {
	wait := time.Second
	for {
		v, err := try()
		if err == nil || IsRefusal(err) || errors.Is(err, cache.ErrNotFound) || errors.Is(err, errSuperseded) || ctx.Err() != nil || remote.IsDenied(err) || full(err) {
			return v, err
		}
		w.Say(fmt.Sprintf("%v; trying again in %s", err, wait))
		if progress.Sleep(ctx, wait) != nil {
			return v, err
		}
		wait = min(2*wait, longestWait)
	}
}

// full reports whether an error means that this machine's cache has no space.
func full(err error) bool {
	return errors.Is(err, cache.ErrQuota) || errors.Is(err, cache.ErrSpace) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// shift is a worker's processing of one order.
type shift struct {
	w     *Worker
	desk  remote.Desk
	o     *Order
	kind  *step.Kind
	order digest.ContentID
	claim *claim
	out   *stream
}

func (s *shift) run(ctx context.Context) error {
	kinds, err := s.w.Kinds(ctx, s.o.Folders)
	if err != nil {
		return err
	}
	kind, args, fields, err := s.o.Step(kinds)
	if err != nil {
		return err
	}
	s.kind = kind
	done, err := s.turn(ctx)
	if done || err != nil {
		return err
	}
	return s.hold(ctx, func(ctx context.Context) (*Result, error) {
		s.greet(ctx)
		if s.w.Ready != nil {
			if err := s.w.Ready(kind, args); err != nil {
				return nil, err
			}
		}
		return s.try(ctx, kind, args, fields)
	})
}

// greet tells what is unusual about this machine and this program.
func (s *shift) greet(ctx context.Context) {
	var texts []string
	if s.w.Tidy != nil {
		texts = s.w.Tidy(ctx, s.o.Action)
	}
	if s.w.Version != "" && s.w.Version != s.o.Version {
		texts = append(texts, fmt.Sprintf("the worker is mleflow %s, and mleflow %s ordered the step; both compute the same key, so the result is the same", s.w.Version, s.o.Version))
	}
	for _, text := range texts {
		s.w.Say(text)
		s.out.Emit(event.Warning{At: event.Now(), Address: s.o.Address, Message: fmt.Sprintf("node %s: %s", s.w.Node, text)})
	}
}

// turn waits until this worker holds the claim. done reports that nothing is
// left to do.
func (s *shift) turn(ctx context.Context) (done bool, err error) {
	wait := &waiter{Worker: s.w, desk: s.desk, action: s.o.Action}
	for told := false; ; told = true {
		if done, err := patiently(ctx, s.w, func() (bool, error) { return s.done(ctx) }); done || err != nil {
			return done, err
		}
		c, err := patiently(ctx, s.w, func() (*claim, error) { return wait.try(ctx) })
		if err != nil {
			return false, err
		}
		if c != nil {
			// The action may have been done between the first check and the
			// claim.
			s.claim = c
			done, err := patiently(ctx, s.w, func() (bool, error) { return s.done(ctx) })
			if done || err != nil {
				err = errors.Join(err, c.renew(context.WithoutCancel(ctx), true))
			}
			return done, err
		}
		if !told {
			s.w.Say("another worker has the action; waiting in case it stops")
		}
		if err := progress.Sleep(ctx, s.w.Interval); err != nil {
			return false, err
		}
	}
}

// done reports whether the order is already answered. If the remote cache has a
// result, done answers with it.
func (s *shift) done(ctx context.Context) (bool, error) {
	r, err := readResult(ctx, s.desk, s.o.Action)
	if err != nil {
		return false, err
	}
	if r != nil && r.Order == s.order && r.Refused == "" {
		return true, nil
	}
	if s.o.Fresh {
		return false, nil
	}
	rec, err := find(ctx, s.w.Cache, s.o.Action)
	if rec == nil {
		return false, err
	}
	if err := s.kind.CheckOutputs(rec.Outputs); err != nil {
		s.w.Say("the result in the remote cache is replaced, since it cannot be used: " + err.Error())
		s.o.Fresh = true
		return false, nil
	}
	s.w.Say("the result is in the remote cache already")
	return true, writeResult(ctx, s.desk, s.o.Action, &Result{Order: s.order, Node: s.w.Node, Record: rec, Found: true})
}

// hold renews the claim and streams events while work runs. It then writes the
// Result.
func (s *shift) hold(ctx context.Context, work func(context.Context) (*Result, error)) error {
	work1, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	// The claim and the stream outlive an interruption, so that they can be
	// ended properly.
	beside, rest := context.WithCancel(context.WithoutCancel(ctx))
	defer rest()
	s.out = newStream(s.desk, s.o.Action, s.claim.generation)
	go s.claim.keep(beside, stop)
	streaming, quiet := context.WithCancel(beside)
	go s.out.run(streaming)
	r, err := work(work1)
	quiet()
	<-s.out.stopped
	if errors.Is(context.Cause(work1), errSuperseded) {
		return errSuperseded
	}
	// Events are written before the result, so that a reader of the result can
	// read all events.
	told, cancel := context.WithTimeout(beside, longestWait)
	_ = s.out.end(told) // retried below
	cancel()
	if err == nil {
		_, err = patiently(ctx, s.w, func() (struct{}, error) {
			return struct{}{}, errors.Join(s.claim.check(ctx), writeResult(ctx, s.desk, s.o.Action, r))
		})
	}
	// In any case, write the end of the events if the remote cache can be
	// reached, and give the action up.
	last, cancel := context.WithTimeout(beside, longestWait)
	defer cancel()
	if other := errors.Join(s.out.flush(last), s.claim.renew(last, true)); other != nil {
		s.w.Say(fmt.Sprintf("the end could not be told: %v", other))
	}
	return err
}

// try fetches the step's inputs, runs it, and stores its outputs.
func (s *shift) try(ctx context.Context, kind *step.Kind, args step.Args, fields []digest.Field) (*Result, error) {
	s.w.Say(fmt.Sprintf("%s: fetching what it reads", s.o.Address))
	refs := args.Refs()
	if _, err := patiently(ctx, s.w, func() (struct{}, error) {
		return struct{}{}, reportMoved(ctx, s.o.Address, "inputs from the remote cache", refs, s.out.Emit, s.w.Cache.FetchRefs)
	}); err != nil {
		return nil, err
	}
	s.w.Say(fmt.Sprintf("%s: running", s.o.Address))
	t := try.Try{
		Kind: kind, Args: args, Action: s.o.Action, Fields: fields, Address: s.o.Address, Number: s.o.Try, RunID: s.o.Run, Tries: s.o.Tries,
		Cache: s.w.Cache, Sink: s.out,
	}
	listening, stop := context.WithCancel(ctx)
	defer stop()
	t.Requests = s.listen(listening)
	rec, failure, err := s.w.lease(ctx, kind, &t)
	if ctx.Err() != nil {
		return nil, errors.Join(context.Cause(ctx), failure)
	}
	if err != nil {
		return nil, err
	}
	r := &Result{Order: s.order, Node: s.w.Node}
	if err := failure; err != nil {
		s.w.Say(fmt.Sprintf("%s failed: %v", s.o.Address, err))
		after, retryable := step.IsRetryable(err)
		r.Steered = step.Ended(err)
		r.Error, r.Mismatch, r.Retryable, r.AfterMillis = err.Error(), errors.Is(err, step.ErrMismatch), retryable, after.Milliseconds()
	} else if r.Record, err = s.store(ctx, rec); err != nil {
		return nil, err
	}
	moved := s.w.Cache.Stats()
	r.FetchedBytes, r.StoredBytes = moved.BytesIn, moved.BytesOut
	return r, nil
}

// store stores a result in the remote cache and then in the local one, as long
// as this worker holds the claim. It returns the result that counts, which is
// another worker's if that was faster.
func (s *shift) store(ctx context.Context, rec *cache.Record) (*cache.Record, error) {
	s.w.Say(fmt.Sprintf("%s: storing the result", s.o.Address))
	var refs []cache.Ref
	for _, v := range rec.Outputs {
		if !v.Ref.IsZero() {
			refs = append(refs, v.Ref)
		}
	}
	rec, err := patiently(ctx, s.w, func() (*cache.Record, error) {
		err := reportMoved(ctx, s.o.Address, "result to the remote cache", refs, s.out.Emit, s.w.Cache.PushRefs)
		if err == nil {
			err = s.claim.check(ctx)
		}
		if err != nil {
			return nil, err
		}
		if rec.Final() == nil { // only the controller receives it
			return rec, nil
		}
		if s.o.Fresh {
			return rec, s.w.Cache.Push(ctx, rec)
		}
		return s.w.Cache.PushOnce(ctx, rec)
	})
	if err != nil {
		return nil, err
	}
	return rec, s.w.Cache.Cache.Record(context.WithoutCancel(ctx), rec)
}

// lease runs a try within its time limit, with the devices that it needs.
// failure is the step's error, err this machine's.
func (w *Worker) lease(ctx context.Context, kind *step.Kind, t *try.Try) (rec *cache.Record, failure, err error) {
	task := sched.Task{Name: t.Address, Needs: sched.Resources{GPUs: t.Args.Limits.GPUs}, Do: func(ctx context.Context, l sched.Lease) (err error) {
		t.Devices = l.Devices
		rec, err = t.Run(cache.WithAccount(ctx))
		return err
	}}
	if !kind.OwnsTimeout {
		task.Timeout = t.Args.Limits.Timeout
	}
	sum, err := sched.Run(ctx, []sched.Task{task}, sched.Options{Capacity: w.Capacity, Locks: w.Locks})
	if err != nil {
		return nil, nil, err
	}
	return rec, sum.Results[0].Err, nil
}
