package bundle

import (
	"testing"

	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/step"
)

// TestSteeredAuthor leaves out of a bundle who steered a run, and keeps the rest.
func TestSteeredAuthor(t *testing.T) {
	e := event.Steered{At: event.Now(), Request: step.Request{ID: "1", Act: step.Stop, Author: "ada@lab", Reason: "enough"}, Effect: "stopped"}
	got, ok := redacted(e, nil, true).(event.Steered)
	if !ok || got.Request.Author != withheld || got.Request.Reason != "enough" || got.Effect != "stopped" || e.Request.Author != "ada@lab" {
		t.Errorf("got %+v", got)
	}
}
