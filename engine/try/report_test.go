package try

import (
	"testing"

	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/step"
)

// A total that is exceeded was wrong: no view shows more than all.
func TestProgressIsNeverAboveTotal(t *testing.T) {
	var got []event.StepProgress
	tell := progress(event.SinkFunc(func(e event.Event) { got = append(got, e.(event.StepProgress)) }), "step.x.y")
	tell(step.Progress{Done: 12, Total: 10, Unit: "bytes"})
	tell(step.Progress{Done: 10, Total: 10, Unit: "bytes"})
	tell(step.Progress{Done: 13, Total: 10, Unit: "bytes"}) // too soon
	if len(got) != 2 || got[0].Done != 12 || got[0].Total != 0 || got[1].Total != 10 {
		t.Errorf("got %+v", got)
	}
}
