package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/step"
)

// spending is what the attempts of a run report: their phases, and the cost of their models,
// in billionths of a US dollar.
type spending struct {
	mu     sync.Mutex
	phases map[string]step.PhaseName
	cost   map[string]int64
	total  int64
}

// Emit implements event.Sink.
func (s *spending) Emit(e event.Event) {
	p, ok := e.(event.StepPhase)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.phases[p.Address] = p.Name
	more := max(0, p.Spent.Cost-s.cost[p.Address]) // another try reports what those before it cost
	s.cost[p.Address] += more
	s.total += more
}

// of returns what an attempt reported last, and the cost of all.
func (s *spending) of(address string) (phase step.PhaseName, cost, total int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.phases[address], s.cost[address], s.total
}

// dollars writes an amount of billionths of a US dollar.
func dollars(n int64) string { return strconv.FormatFloat(float64(n)/1e9, 'f', -1, 64) + " USD" }

// limit sets the budget or the deadline of the run.
func (s *steering) limit(asked step.Request) (effect string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if asked.Act == step.SetBudget {
		s.budget = &asked
		_, _, total := s.watch.of("")
		return fmt.Sprintf("once its models have cost %s, nothing new starts, and attempts that spend are stopped and graded; they have cost %s", dollars(asked.Budget), dollars(total)), nil
	}
	at := shownTime(asked.Until)
	if !asked.Until.After(time.Now()) {
		return "", fmt.Errorf("the time %s has passed; mleflow runs drain starts nothing new", at)
	}
	s.deadline = &asked
	return "at " + at + " nothing new starts, and attempts are stopped and graded", nil
}

// inRun completes the effect of a request to an attempt by what the run does.
func (s *steering) inRun(asked step.Request, effect string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case asked.Act == step.Requeue && s.drained.Load():
		return strings.Replace(effect, step.InTurn, "with the next apply, since this run starts nothing new", 1)
	case asked.Act == step.Extend && asked.Budget > 0 && s.budget != nil:
		return effect + "; the budget of the run stays " + dollars(s.budget.Budget)
	case asked.Act == step.Extend && asked.Budget == 0 && s.deadline != nil:
		return effect + "; the deadline of the run stays " + shownTime(s.deadline.Until)
	}
	return effect
}

func shownTime(at time.Time) string { return at.Local().Format("2006-01-02 15:04:05 MST") }

// keepLimits ends the run once its deadline has passed or its budget is used up.
func (s *steering) keepLimits(ctx context.Context) {
	if d := s.deadline; d != nil && !time.Now().Before(d.Until) {
		s.close(ctx, *d, "deadline of the run")
	}
	if b := s.budget; b != nil {
		if _, _, total := s.watch.of(""); total >= b.Budget {
			s.close(ctx, *b, "budget of the run")
		}
	}
}

// close drains the run, and stops its attempts as by hand: those that spend, if a budget is
// used up. An attempt whose agent does not run yet is cancelled.
func (s *steering) close(ctx context.Context, by step.Request, why string) {
	s.mu.Lock()
	live := slices.Sorted(maps.Keys(s.live))
	s.mu.Unlock()
	for _, address := range append([]string{""}, live...) {
		act := step.Drain
		if address != "" {
			phase, cost, _ := s.watch.of(address)
			switch {
			case phase == step.Harvesting, by.Act == step.SetBudget && cost == 0:
				continue
			case phase == step.Running:
				act = step.Stop
			default:
				act = step.Cancel
			}
		}
		if s.closing[address] == act {
			continue
		}
		s.closing[address] = act
		s.pass(ctx, step.Request{ID: by.ID + "-" + string(act) + "-" + address, Time: time.Now().UTC(), Act: act, Address: address, Author: by.Author, Reason: why})
	}
}
