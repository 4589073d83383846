package fleet

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/engine/work"
	"github.com/mleflow/mleflow/plugins/cluster"
)

const (
	// answerPoll is how often a worker's answer is asked for, for answerTime after it was
	// asked something.
	answerPoll = 250 * time.Millisecond
	answerTime = 15 * time.Second
	// longestAnswer limits the text of an answer, in bytes.
	longestAnswer = 500
)

var (
	errUnstarted = errors.New("its job has not started; it can be cancelled")
	errEnded     = errors.New("it ended before its worker took the request")
	// endings are the errors of steps that were ended as a person asked.
	endings = map[step.Act]error{step.Cancel: step.ErrCancelled, step.Requeue: step.ErrRequeued}
)

// withdrawn says what follows if a job without a worker is cancelled.
const withdrawn = "its job is cancelled before its start"

// steered is what people ask of the attempt of a job.
type steered struct {
	// later are requests of an earlier run or try: a worker is asked again.
	later []step.Asked
	// open are the requests without an answer, by ID, and acts all that were passed on.
	open map[string]step.Asked
	acts map[step.Act]bool
	// asked is the time of the last one, and more what was added to the time limit.
	asked time.Time
	more  time.Duration
}

// early answers requests until begun is called: before its job is submitted, an attempt
// can only be cancelled, by end.
func (w *watched) early(end context.CancelCauseFunc) (begun func()) {
	take := func(asked step.Asked) {
		switch {
		case asked.Again:
			w.later = append(w.later, asked)
		case asked.Act == step.Cancel:
			asked.Answer(withdrawn, nil)
			end(step.ErrCancelled)
		default:
			asked.Answer("", errUnstarted)
		}
	}
	for range len(w.j.Requests) {
		take(<-w.j.Requests)
	}
	for _, asked := range w.later {
		w.more += asked.By()
		w.acts[asked.Act] = w.acts[asked.Act] || asked.Begun
	}
	quit := make(chan struct{})
	var taking sync.WaitGroup
	taking.Go(func() {
		for {
			select {
			case <-quit:
				return
			case asked := <-w.j.Requests:
				take(asked)
			}
		}
	})
	return sync.OnceFunc(func() {
		close(quit)
		taking.Wait()
	})
}

// obey passes a request on to the worker. A job without one is cancelled in the backend: over
// reports that.
func (w *watched) obey(ctx context.Context, asked step.Asked) (over bool) {
	if w.phase == waiting || w.phase == replacing || w.phase == starting && !w.adopted {
		switch {
		case asked.Act == step.Cancel:
			err := w.y.Cancel(ctx, w.name)
			asked.Answer(withdrawn, err)
			return err == nil
		case !asked.Again:
			asked.Answer("", errUnstarted)
			return false
		}
	}
	err := errors.New("this controller has no key for requests to workers")
	if w.f.opts.Key != nil {
		err = w.prolong(ctx, asked)
	}
	if err == nil {
		err = w.task.Ask(ctx, w.f.opts.Key, asked)
	}
	switch {
	case err == nil:
		w.open[asked.ID], w.acts[asked.Act], w.asked = asked, true, time.Now()
	case ctx.Err() == nil: // else the next run asks
		asked.Answer("", err)
	}
	return false
}

// prolong lets the job run for as long as the attempt may, if that is extended.
func (w *watched) prolong(ctx context.Context, asked step.Asked) error {
	by, deadline := asked.By(), w.y.ask(w.j.Args.Limits).Deadline
	if asked.Act != step.Extend || by == 0 || asked.Again && !w.adopted { // its job asked for that
		return nil
	}
	if deadline > 0 {
		err := w.y.Extend(ctx, w.name, deadline+w.more+by)
		if most := w.y.Spare / 4; err != nil && (!errors.Is(err, cluster.ErrFixed) || w.more+by > most) {
			return fmt.Errorf("its job would end first: %w; without that, extensions may use a quarter of spare in the cluster file, here %s", err, short(most))
		}
	}
	w.more += by
	return nil
}

// answered passes on a worker's answer.
func (w *watched) answered(e event.Steered) {
	asked, ok := w.open[e.Request.ID]
	if !ok {
		return
	}
	delete(w.open, e.Request.ID)
	if e.Refused != "" {
		asked.Answer("", errors.New(e.Refused[:min(len(e.Refused), longestAnswer)]))
		return
	}
	asked.Answer(e.Effect[:min(len(e.Effect), longestAnswer)], nil)
}

// pause is the time until the worker is asked again, usually wait.
func (w *watched) pause(wait time.Duration) time.Duration {
	if len(w.open) > 0 && time.Since(w.asked) < answerTime {
		return min(wait, answerPoll)
	}
	return wait
}

// settle answers what the worker has not, once there is a result or an error, and returns the
// error of the attempt. Before another try it puts the requests back. An act that nobody asked
// for is none.
func (w *watched) settle(ctx context.Context, r *work.Result, err error) error {
	var by step.Act
	if r != nil {
		by, err = r.Steered, r.Err()
	}
	if ctx.Err() != nil && !errors.Is(err, step.ErrCancelled) {
		return err // the next run asks
	}
	for range len(w.j.Requests) {
		w.later = append(w.later, <-w.j.Requests)
	}
	for _, asked := range w.later {
		w.open[asked.ID], w.acts[asked.Act] = asked, true
	}
	if !w.acts[by] {
		by = ""
	}
	_, again := step.IsRetryable(err)
	for _, id := range slices.Sorted(maps.Keys(w.open)) {
		switch asked := w.open[id]; {
		case asked.Act == by:
			asked.Answer("it ended as asked", nil)
		case again:
			w.j.Requests <- asked // has space for all that it had
		default:
			asked.Answer("", errEnded)
		}
	}
	if end := endings[by]; end != nil {
		return end
	}
	return err
}

// withdraw ends the job of an attempt that was cancelled before it had a worker.
func (w *watched) withdraw(ctx context.Context) error {
	late, stop := context.WithTimeout(context.WithoutCancel(ctx), w.y.Grace+30*time.Second)
	defer stop()
	err := w.y.Cancel(late, w.name)
	if s, _ := w.y.status(w.name); s.State == "" && w.task != nil { // no job is known
		return errors.Join(step.ErrCancelled, err, work.Clear(late, w.f.opts.Cache.Desk(), w.j.Action))
	}
	if err == nil {
		err = w.y.over(late, w.name)
	}
	if w.task != nil {
		w.clear()
	}
	return errors.Join(step.ErrCancelled, err)
}
