package e2e

import "testing"

func TestFacts(t *testing.T) {
	p := plantCache(t)
	for _, a := range p.collected(p.main, p.again, p.rehearsed, p.masked, p.origin, p.fork, p.failing, p.killed) {
		text, mood := a.Ended()
		t.Log(a.RunID, a.Agent, a.Competition(), a.Seed, a.Class(), text, mood, a.NoScore(), "|", a.Reason(), "|", results0(a))
	}
}

func results0(a any) string { return "" }
