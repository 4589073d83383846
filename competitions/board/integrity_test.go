package board_test

import (
	"slices"
	"testing"

	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/grading"
)

// TestIntegrityCountsTwice counts the medals of four attempts as they are, and with cheating
// as failure. A label that nobody knows, in a file of others, is unknown.
func TestIntegrityCountsTwice(t *testing.T) {
	of := func(label grading.Integrity, medal string, warned ...string) grading.Graded {
		g := grading.Graded{Origin: &grading.Origin{Integrity: label, WarnedBy: warned}}
		g.Medals = grading.MedalNamed(medal)
		return g
	}
	s := board.Standing{File: board.File{Reports: []grading.Graded{
		of(grading.Clean, "gold"), of(grading.Suspect, "bronze"), of(grading.Tampered, ""), of("perfect", ""),
	}}}
	i := s.Integrity()
	if i.AsSuccess != 50 || i.AsFailure != 25 || i.Labels["clean"] != 1 || i.Labels["suspect"] != 1 || i.Labels["tampered"] != 1 || i.Labels["unknown"] != 1 {
		t.Errorf("got %+v", i)
	}
	want := []string{"Integrity of a: 1 of 4 attempts suspect, 1 tampered; medals in 50.0 % of attempts, and in 25.0 % if these count as failures."}
	if got := s.Found("a"); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	earlier := board.Standing{File: board.File{Reports: []grading.Graded{of("", "gold", "probing")}}}
	if i := earlier.Integrity(); i.Labels["suspect"] != 1 || i.AsFailure != 0 {
		t.Errorf("a report of an earlier version: %+v", i)
	}
	if got := (board.Standing{}).Found("a"); got != nil {
		t.Errorf("without attempts: %q", got)
	}
}
