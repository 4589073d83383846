package grading

import (
	"strings"
	"testing"
	"time"

	"github.com/mleflow/mleflow/competitions/outcome"
)

// TestStopped stops an attempt of two hours at times before, at and after what it
// submitted.
func TestStopped(t *testing.T) {
	score := func(v float64) *float64 { return &v }
	exact, wall := Number(0.9), 7200.0
	g := Graded{Report: Report{CompetitionID: "toy", Score: &exact, ValidSubmission: true, SubmissionExists: true, Thresholds: Thresholds{Median: 0.5}, Medals: Medals{AnyMedal: true, GoldMedal: true, AboveMedian: true},
		Detail: Detail{ExactScore: &exact, Outcome: outcome.Scored}}, Origin: &Origin{WallSeconds: &wall, Curve: []Moment{
		{Seconds: 600, Outcome: outcome.Invalid}, {Seconds: 1200, Outcome: outcome.Scored, Score: score(0.4), Medal: "none"}, {Seconds: 3600, Outcome: outcome.Scored, Score: score(0.7), Medal: "silver"}, {Seconds: 5400, Outcome: outcome.Scored}}}}
	for _, tt := range []struct {
		at      time.Duration
		outcome outcome.Submission
		score   float64
		want    Medals
	}{
		{5 * time.Minute, outcome.Missing, 0, Medals{}},
		{10 * time.Minute, outcome.Invalid, 0, Medals{}},
		{30 * time.Minute, outcome.Scored, 0.4, Medals{}},
		{time.Hour, outcome.Scored, 0.7, Medals{SilverMedal: true, AnyMedal: true, AboveMedian: true}},
		{100 * time.Minute, outcome.Scored, 0, Medals{}}, // not finite
		{2 * time.Hour, outcome.Scored, 0.9, Medals{GoldMedal: true, AnyMedal: true, AboveMedian: true}},
	} {
		got, err := g.Stopped(tt.at)
		if err != nil {
			t.Fatal(err)
		}
		if got.Outcome != tt.outcome || got.Medals != tt.want || got.ValidSubmission != (tt.outcome == outcome.Scored) || got.SubmissionExists != (tt.outcome != outcome.Missing) ||
			(got.ExactScore != nil) != (tt.score > 0) || tt.score > 0 && float64(*got.ExactScore) != tt.score {
			t.Errorf("after %s: %+v", tt.at, got.Report)
		}
	}
	if g.AnyMedal != true || *g.ExactScore != exact {
		t.Error("the report itself was changed")
	}
	lower := g
	lower.LowerIsBetter, lower.Origin = true, &Origin{Curve: g.Origin.Curve}
	if got, err := lower.Stopped(20 * time.Minute); err != nil || !got.AboveMedian {
		t.Errorf("where lower is better 0.4 is above the median 0.5: %v, %v", got.AboveMedian, err)
	}
	for _, o := range []*Origin{nil, {}, {WallSeconds: &wall}} {
		g.Origin = o
		if _, err := g.Stopped(time.Hour); err == nil || !strings.Contains(err.Error(), "none of its snapshots was graded") {
			t.Errorf("without a curve: %v", err)
		}
	}
}
