package view

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/step"
)

// TestActs says of each act in which run it was asked, and of one on a run how long it held.
func TestActs(t *testing.T) {
	at := event.At{Time: time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)}
	did := func(act step.Act, address, from string) event.Steered {
		return event.Steered{At: at, Request: step.Request{Act: act, Address: address, Author: "ada@lab"}, Effect: "as you say", From: from}
	}
	got := Acts([]event.Steered{did(step.SetGPUs, "", "r1"), did(step.Extend, "step.a", "r1"), did(step.Drain, "", ""), did(step.Stop, "step.a", "")})
	want := []string{
		"by hand: the run: in run r1, 2026-11-30 09:00:00 UTC ada@lab: set gpus: as you say (for that run only)",
		"by hand: step.a: in run r1, 2026-11-30 09:00:00 UTC ada@lab: extend: as you say",
		"by hand: the run: 2026-11-30 09:00:00 UTC ada@lab: drain: as you say (for this run only)",
		"by hand: step.a: 2026-11-30 09:00:00 UTC ada@lab: stop: as you say",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if line := (&Plain{}).line(did(step.Drain, "", "r1")); !strings.HasSuffix(line, "in run r1, ada@lab: drain: as you say (for that run only)") {
		t.Errorf("the line is %q", line)
	}
}
