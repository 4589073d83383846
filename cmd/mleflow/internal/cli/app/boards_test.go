package app

import (
	"context"
	"testing"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/memory"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/engine/event"
)

// TestFetchGrades delivers the reports of the other cache, and none after stop.
func TestFetchGrades(t *testing.T) {
	store := memory.New()
	ref, err := cache.PutBytes(t.Context(), store, []byte(`{"competition_id": "leaf", "labels": {"agent": "k3"}}`))
	if err != nil {
		t.Fatal(err)
	}
	grades := &view.Grades{}
	stop := FetchGrades(t.Context(), store, grades)
	got := make(chan grading.Graded, 1)
	deliver := func(g grading.Graded) { got <- g }
	grades.Fetch(event.StepFinished{Outputs: map[string]string{"report": "blob:" + ref.ID.String()}}, deliver)
	if g := <-got; g.Labels["agent"] != "k3" || g.CompetitionID != "leaf" {
		t.Errorf("delivered %+v", g)
	}
	grades.Fetch(event.StepFinished{Outputs: map[string]string{"report": "blob:broken"}}, deliver)
	stop()
	if len(got) > 0 {
		t.Error("a report that cannot be read was delivered")
	}

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	FetchGrades(ended, store, grades)() // does not wait
}
