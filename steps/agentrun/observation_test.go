package agentrun_test

import (
	"strconv"
	"testing"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/process"
)

// TestObservation: attempts of the version before this one stay valid, whatever texts and
// prices the program gives today, and say what they cost.
func TestObservation(t *testing.T) {
	k := newBench(t, process.Runtime("")).Kind
	n, err := strconv.Atoi(k.Version)
	if err != nil || !k.Reads(strconv.Itoa(n-1)) {
		t.Errorf("version %s: add version %d to Observation.Earlier with what its keys lacked, or say in a comment there why its attempts mean something else (%v)", k.Version, n-1, err)
	}
	for label, want := range map[string]bool{
		"notes": true, "package mlebench": true, "agent.models[0].price of gpt-5": true, "agent.models[0].prices": false, "image digest": false, "built-in agent version": false,
	} {
		if k.ByProgram(label) != want {
			t.Errorf("%s is the program's: %v", label, !want)
		}
	}
	for stats, want := range map[string]float64{`{}`: 0, `{"models": {"a": {"cost_usd": "1.25"}, "b": {"cost_usd": "0.25"}}}`: 1.5} {
		if cost := k.Observation.Cost(cache.Outputs{"stats": {JSON: []byte(stats)}}); cost == nil || *cost != want {
			t.Errorf("%s cost %v", stats, cost)
		}
	}
	if cost := k.Observation.Cost(cache.Outputs{"stats": {JSON: []byte(`[`)}}); cost != nil {
		t.Errorf("what cannot be read cost %v", *cost)
	}
}
