package attempts

import (
	"time"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/engine/plan"
)

// Readiness returns a function that says when a step could start: at the start of its run,
// or when the last step that it depends on ended. p may be nil.
func Readiness(p *plan.Plan, started time.Time, step func(address string) *history.StepSummary) func(address string) time.Time {
	if p == nil {
		p = &plan.Plan{}
	}
	after := make(map[string][]int, len(p.Steps))
	for _, s := range p.Steps {
		after[s.Name] = lists.Where(s.After, func(b int) bool { return b >= 0 && b < len(p.Steps) }) // a bundle may be damaged
	}
	return func(address string) time.Time {
		ready := started
		for _, b := range after[address] {
			if before := step(p.Steps[b].Name); before != nil && before.Ended.After(ready) {
				ready = before.Ended
			}
		}
		return ready
	}
}

// enterHours enters where the time of an attempt went in its run, from the moment at which it
// was ready to its end or, of one without an end, the last sign of life.
func enterHours(a *results.Attempt, s *history.StepSummary, ready, last time.Time) {
	if s == nil || s.Times == nil {
		return
	}
	if !s.Ended.IsZero() {
		last = s.Ended
	}
	shares := s.Times.Shares(last)
	if !ready.IsZero() {
		shares[history.Waiting].Time += max(0, s.First.Sub(ready))
	}
	h := &results.Hours{Agent: a.Agent, Attempts: 1}
	for _, p := range history.Parts() {
		part := results.HourPart{Name: p.String(), GPUHours: shares[p].GPUTime.Hours()}
		if measured := p <= history.Placing || p >= history.Lost; measured || s.Times.Measured[p] {
			part.Seconds = new(shares[p].Time.Seconds())
		}
		h.WallSeconds, h.GPUHours = h.WallSeconds+shares[p].Time.Seconds(), h.GPUHours+part.GPUHours
		h.Parts = append(h.Parts, part)
	}
	if a.Made.Usage != nil {
		h.CostUSD = a.Made.Usage.CostUSD
	}
	a.Hours = h
}
