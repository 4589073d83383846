package view

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/engine/event"
)

// TestWarnings says what several steps warn of once.
func TestWarnings(t *testing.T) {
	got := Warnings([]event.Warning{
		{Message: "not isolated"}, {Address: "step.a.x", Message: "the network is open"}, {Address: "step.a.y", Message: "no pin"},
		{Address: "step.a.z", Message: "the network is open"}, {Address: "step.a.u", Message: "the network is open"},
	})
	want := []string{"not isolated", "step.a.x and 2 more: the network is open", "step.a.y: no pin"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestLiveWarnsOnce shows what several steps warn of once, in one frame or in several.
func TestLiveWarnsOnce(t *testing.T) {
	live := &Live{state: NewState()}
	var got []string
	for _, w := range []event.Warning{{Address: "step.a.x", Message: "no pin"}, {Address: "step.a.y", Message: "no pin"}, {Message: "not isolated"}, {Address: "step.a.z", Message: "no pin"}} {
		live.state.Apply(w)
		if w.Address != "step.a.x" {
			got = append(got, live.notices()...)
		}
	}
	if diff := cmp.Diff([]string{"Warning: step.a.x: no pin", "Warning: not isolated"}, got); diff != "" {
		t.Error(diff)
	}
}
