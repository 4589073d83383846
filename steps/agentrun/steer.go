package agentrun

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/models/gateway"
)

// errStopped ends an agent whose submission is graded as it stands.
var errStopped = errors.New("stopped by hand")

// obey answers what people ask of the attempt, and ends its agent by end, until stop is
// called. After the set-up, goOn does what was asked of an earlier agent: it comes first.
func (p *place) obey(ctx context.Context, end context.CancelCauseFunc) (goOn, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	early := make([]step.Asked, len(p.env.Requests))
	for i := range early {
		early[i] = <-p.env.Requests
		p.stopped = p.stopped || early[i].Again && early[i].Act == step.Stop
	}
	answer := func(asked step.Asked) {
		if asked.Again {
			p.phases.await(ctx, step.Running)
		}
		effect, err := p.act(asked.Request, end)
		if err == nil {
			p.env.Note("%s asked to %s the attempt: %s", asked.Author, asked.Act, effect)
		}
		asked.Answer(effect, err)
	}
	ready := make(chan chan struct{})
	var obeying sync.WaitGroup
	obeying.Go(func() {
		set := false
		for {
			select {
			case <-ctx.Done():
				return
			case asked := <-p.env.Requests:
				switch {
				case asked.Again && !set:
					early = append(early, asked)
				case !p.gone(asked):
					answer(asked)
				}
			case done := <-ready:
				set = true
				early = slices.DeleteFunc(early, func(asked step.Asked) bool { return p.goOn(asked) || p.gone(asked) })
				close(done)
				if p.begun != nil {
					p.phases.await(ctx, step.Running)
					end(p.begun)
				}
				for _, asked := range early {
					answer(asked)
				}
				early = nil
			}
		}
	})
	goOn = func() {
		done := make(chan struct{})
		select {
		case ready <- done:
			<-done
		case <-ctx.Done():
		}
	}
	return goOn, func() {
		cancel()
		obeying.Wait()
		if context.Cause(ctx) == context.Canceled { // else the next run or try asks
			for _, asked := range early {
				answer(asked)
			}
			early = nil
		}
	}
}

// errGone refuses to stop an agent that does not run any more.
var errGone = errors.New("its agent was gone, or had not started, and nothing that it submitted is left; another one begins")

// gone answers what was asked of an agent that was gone before this one started. One that
// goes on from a checkpoint can still be stopped.
func (p *place) gone(asked step.Asked) bool {
	switch {
	case !asked.Again || p.continued || asked.Time.After(p.start()):
		return false
	case asked.Act == step.Requeue:
		asked.Answer("its agent was gone, and another one has begun", nil)
	case asked.Act == step.Stop && !p.points.resumed():
		asked.Answer("", errGone)
	default:
		return false
	}
	return true
}

// goOn does what an earlier run was asked, and perhaps had begun to do when it was killed.
// Its agent may have ended of that, and is not taken for one that has ended by itself.
func (p *place) goOn(asked step.Asked) bool {
	effect := ""
	switch {
	case !asked.Again || asked.Act == step.Extend || p.continued && !asked.Begun && !p.lost:
		return false
	case asked.Act == step.Stop && !p.continued && !p.points.resumed():
		return false
	case asked.Act == step.Stop:
		after := p.before
		if p.continued {
			after = max(0, p.used()-time.Since(asked.Time))
		}
		effect, p.begun = p.stop(asked.Request, after), errStopped
	case asked.Act == step.Cancel:
		effect, p.begun = cancelled, step.ErrCancelled
	default:
		effect, p.begun = p.requeued(), step.ErrRequeued
	}
	asked.Answer(effect, nil)
	return true
}

// cancelled is the effect of Cancel.
const cancelled = "it ends and keeps nothing; the next apply begins it again"

// requeued is the effect of Requeue.
func (p *place) requeued() string {
	if p.durable.onLoss == onLossResume {
		return "it ends, and goes on from its checkpoint " + step.InTurn
	}
	return "it ends, and begins again " + step.InTurn
}

// stop notes that the agent is stopped after a time.
func (p *place) stop(r step.Request, after time.Duration) (effect string) {
	how := "stopped"
	if r.Author == step.OnStall {
		how = step.Stalled
	}
	if !slices.ContainsFunc(p.steered, func(word string) bool { return strings.Contains(word, "@") }) {
		p.steered = append(p.steered, how+"@"+after.Round(time.Second).String())
	}
	return "its agent is stopped, and what it submitted is graded"
}

// act does what a request asks and says what follows.
func (p *place) act(r step.Request, end context.CancelCauseFunc) (effect string, err error) {
	switch r.Act {
	case step.Stop:
		if !p.phases.in(step.Running) {
			return "", errors.New("its agent does not run; it can be cancelled or requeued")
		}
		effect = p.stop(r, p.used())
		end(errStopped)
		return effect, nil
	case step.Cancel:
		end(step.ErrCancelled)
		return cancelled, nil
	case step.Requeue:
		end(step.ErrRequeued)
		return p.requeued(), nil
	case step.Extend:
		return p.extend(r)
	}
	return "", fmt.Errorf("an attempt knows no %q", r.Act)
}

// limited takes the function that replaces the time limit of the agent.
func (p *place) limited(set func(time.Duration) error) { p.setLimit.Store(&set) }

// extend gives the attempt more time, or each of its models more money.
func (p *place) extend(r step.Request) (effect string, err error) {
	if !p.phases.in(step.Running) {
		return "", errors.New("its agent does not run")
	}
	if r.Budget > 0 {
		if p.models == nil || !p.models.gateway.Extend(gateway.Dollars(r.Budget)) {
			return "", errors.New("no model of its agent has a budget in money")
		}
		more := gateway.Dollars(r.Budget).String()
		p.steered = append(p.steered, "budget+"+more+"usd")
		return fmt.Sprintf("each of its models may cost %s USD more", more), nil
	}
	set := p.setLimit.Load()
	switch {
	case p.given == 0:
		return "", errors.New("it has no time limit")
	case set == nil:
		return "", errors.New("its runtime cannot change a time limit")
	case r.By() < time.Second:
		return "", errors.New("it can be extended by a second or more")
	}
	p.more.Add(int64(r.By()))
	if err := (*set)(p.hardLimit()); err != nil {
		p.more.Add(-int64(r.By()))
		return "", err
	}
	p.phases.note(step.Running, func(now *step.Phase) { now.LimitMillis = p.granted().Milliseconds() })
	p.steered = append(p.steered, "time+"+conditions.Limit(r.By()))
	return fmt.Sprintf("its time limit is %s now; what it read of its limit before stays", conditions.Limit(p.granted())), nil
}

// decided returns the error of an attempt that a person ended so that it has no result,
// nil if nobody did.
func (p *place) decided(ctx, steered context.Context) error {
	switch why := context.Cause(steered); {
	case errors.Is(why, step.ErrRequeued):
		return why
	case errors.Is(why, step.ErrCancelled):
		p.done = true
		p.points.end(ctx, nil)
		return why
	}
	return nil
}
