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
