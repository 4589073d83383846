package view

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/engine/event"
)

// TestObstacles tells once what is the same for all, and each address.
func TestObstacles(t *testing.T) {
	missing := func(id string) event.Preflight {
		return event.Preflight{Subject: id, Error: "ask Kaggle about " + id + ": credential missing", Link: "https://www.kaggle.com/settings"}
	}
	rules := func(id string) event.Preflight {
		return event.Preflight{Subject: id, Error: "accept the rules", Link: "https://www.kaggle.com/competitions/" + id + "/rules"}
	}
	text := func(id string) event.Preflight {
		return event.Preflight{Subject: id, Error: "no place has the text of " + id + " (ask https://example.org/" + id + "/description.md: timeout)"}
	}
	got := obstacles([]event.Preflight{
		missing("leaf-1"), {Subject: "fine"}, rules("x"), missing("birds"), rules("y"), missing("cactus"), missing("dogs"), {Subject: "exes", Error: "gone"}, {Subject: "flies", Error: "gone"}, text("leaf-1"), text("birds"),
	})
	want := []string{
		"leaf-1, birds and 2 more: ask Kaggle about …: credential missing (https://www.kaggle.com/settings)",
		"x: accept the rules (https://www.kaggle.com/competitions/x/rules)",
		"y: accept the rules (https://www.kaggle.com/competitions/y/rules)",
		"exes, flies: gone",
		"leaf-1, birds: no place has the text of … (ask https://example.org/…/description.md: timeout)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
