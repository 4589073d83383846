package engine_test

import (
	"context"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/step"
)

// small is a place on which a step of more than one CPU does not fit.
type small struct{ cloud }

func (small) Unfit(_ context.Context, _ string, _ digest.ActionID, l step.Limits) string {
	if l.CPUs > 1 {
		return "there is one CPU"
	}
	return ""
}

// TestUnfit: a step that fits no machine of its place is not started, neither one that is
// decided at the start nor one whose inputs are known later. One that fits is.
func TestUnfit(t *testing.T) {
	for name, c := range map[string]struct{ text, cpus, want string }{
		"decided":        {`"m"`, "2", "not started: there is one CPU"},
		"deferred":       {"step.mix.pick.value", "2", "not started: there is one CPU"},
		"deferred, fits": {"step.mix.pick.value", "1", "the place was asked"},
	} {
		t.Run(name, func(t *testing.T) {
			x := newExam(t)
			x.place = small{}
			res, diags := x.apply("step \"mix\" \"m\" {\n on = \"cloud\"\n text = " + c.text + "\n resources {\n cpus = " + c.cpus + "\n }\n}")
			if diags.HasErrors() || res.Status != event.Failed || len(res.Failures) != 1 || !strings.Contains(res.Failures[0].Err.Error(), c.want) {
				t.Errorf("%v %+v", diags, res)
			}
		})
	}
}
