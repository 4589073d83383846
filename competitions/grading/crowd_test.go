package grading

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/competitions"
)

// TestCrowdedReport grades in a version that is flagged: the report says how
// many teams stand around the thresholds and the score, and whether the medal
// depends on the last digit. v1 says nothing of it.
func TestCrowdedReport(t *testing.T) {
	v1 := define(t, "metric = \"accuracy\"\nid = \"id\"\ntargets = [\"y\"]\n}\nerrata \"v2\" {\nreason = \"crowded\"\nreference = \"none\"\nflags = [\"crowded\"]",
		"[0.75001, 0.75, 0.75, 0.74999, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2]")
	v2, err := v1.At("v2")
	if err != nil {
		t.Fatal(err)
	}
	const answers, submission = "id,y\n1,a\n2,b\n3,a\n4,b\n", "id,y\n1,a\n2,b\n3,a\n4,a\n"
	if r := gradeText(t, v1, answers, submission); r.Flagged != nil || r.Crowd != nil {
		t.Errorf("v1 says %v, %v", r.Flagged, r.Crowd)
	}
	r := gradeText(t, v2, answers, submission)
	if diff := cmp.Diff([]competitions.Flag{competitions.Crowded}, r.Flagged); diff != "" {
		t.Errorf("flags (-want +got):\n%s", diff)
	}
	want := &Crowd{
		Crowd: competitions.Crowd{
			Gap:  r.Crowd.Gap,
			Gold: competitions.Near{Tied: 1, Within: 3}, Silver: competitions.Near{Tied: 2, Within: 4}, Bronze: competitions.Near{Tied: 1, Within: 3},
		},
		Score: &competitions.Near{Tied: 2, Within: 4}, BestPlace: 1, LastPlace: 4, MedalHangs: true,
	}
	if diff := cmp.Diff(want, r.Crowd); diff != "" {
		t.Errorf("crowd (-want +got):\n%s", diff)
	}
	if r := gradeText(t, v2, answers, "id\n1\n"); r.Crowd == nil || r.Crowd.Score != nil {
		t.Errorf("without a score: %+v", r.Crowd)
	}
}
