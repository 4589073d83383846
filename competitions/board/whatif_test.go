package board

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/outcome"
)

// TestSpread compares with all choices, one by one.
func TestSpread(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := 1; n <= 9; n++ {
		values := make([]float64, n)
		for i := range values {
			values[i] = float64(r.IntN(23)) / 22 * 100
		}
		for k := 1; k <= n; k++ {
			var means []float64
			for set := range 1 << n {
				sum, size := 0.0, 0
				for i, v := range values {
					if set>>i&1 == 1 {
						sum, size = sum+v, size+1
					}
				}
				if size == k {
					means = append(means, sum/float64(k))
				}
			}
			lowest, highest, sum, squares := math.Inf(1), math.Inf(-1), 0.0, 0.0
			for _, m := range means {
				lowest, highest, sum = min(lowest, m), max(highest, m), sum+m
			}
			mean := sum / float64(len(means))
			for _, m := range means {
				squares += (m - mean) * (m - mean)
			}
			got := NewSpread(values, k)
			near(t, "mean", got.Mean, mean)
			near(t, "lowest", got.Lowest, lowest)
			near(t, "highest", got.Highest, highest)
			if want := math.Sqrt(squares / float64(len(means))); math.Abs(float64(got.SD)-want) > 1e-9 {
				t.Errorf("%d of %d: standard deviation %v, want %v", k, n, got.SD, want)
			}
		}
	}
}

// TestWhatIf has three seeds at two competitions: a medal that came late, one that a
// rule warns of, and one beyond doubt.
func TestWhatIf(t *testing.T) {
	hour := 3600.0
	attempt := func(id string, gold bool, warned ...string) grading.Graded {
		g := grading.Graded{Origin: &grading.Origin{WallSeconds: &hour, Checked: true, WarnedBy: warned}}
		g.CompetitionID, g.SubmissionExists, g.ValidSubmission, g.GoldMedal, g.AnyMedal = id, true, true, gold, gold
		return g
	}
	late, day := attempt("a", true), 24*hour
	late.Origin.WallSeconds, late.Origin.Curve = &day, []grading.Moment{{Seconds: 7000, Outcome: outcome.Scored, Medal: "none"}, {Seconds: 30_000, Outcome: outcome.Scored, Medal: "gold"}}
	reports := []grading.Graded{
		late, attempt("a", true, "grader-import"), attempt("a", true),
		attempt("b", false), attempt("b", false), attempt("b", false),
	}
	got := map[string]Case{}
	for _, c := range WhatIf(reports, []string{"a", "b"}, []time.Duration{2 * time.Hour, 12 * time.Hour}) {
		got[c.Name] = c
	}
	for name, want := range map[string]float64{"as published": 50, "stopped after 2h": 100.0 / 3, "stopped after 12h": 50, "without 1 flagged": 100.0 / 3} {
		c := got[name]
		if c.Attempts != 6 || c.Seeds != 3 {
			t.Errorf("%s: %+v", name, c)
		}
		near(t, name, c.Figures["any_medal_percentage"].Mean, want)
	}
	near(t, "change", *got["stopped after 2h"].Change, 100.0/3-50)
	near(t, "valid without flagged", got["without 1 flagged"].Figures["valid_submissions_percentage"].Mean, 500.0/6)
	if c := got["2 of 3 seeds"]; c.Choices == nil || c.Choices.SD != 0 || c.Choices.Lowest != 50 {
		t.Errorf("two seeds: %+v", c)
	}
	masked := append(slices.Clone(reports), attempt("a", false), attempt("b", false))
	masked[6].CompetitionVersion, masked[7].CompetitionVersion = "v1m", "v1m"
	for _, c := range WhatIf(masked, []string{"a", "b"}, nil) {
		switch c.Name {
		case "as published":
			if c.Figures != nil || !strings.Contains(c.Why, "masked") {
				t.Errorf("versions are mixed: %+v", c)
			}
		case "version v1", "version v1m":
			near(t, c.Name, c.Figures["any_medal_percentage"].Mean, map[string]float64{"version v1": 50, "version v1m": 0}[c.Name])
		}
	}
	reports[2].Origin = nil
	for _, c := range WhatIf(reports, []string{"a", "b"}, []time.Duration{time.Minute}) {
		switch c.Name {
		case "stopped after 1m":
			if c.Figures != nil || !strings.Contains(c.Why, "not known") {
				t.Errorf("%+v", c)
			}
		case "without 1 flagged":
			t.Error("an attempt without a check is not told")
		}
	}
}

// TestCounted leaves out what does not count from every figure.
func TestCounted(t *testing.T) {
	report := func(id string, medal bool, under ...string) grading.Graded {
		g := grading.Graded{Report: grading.Report{CompetitionID: id, Medals: grading.Medals{GoldMedal: medal, AnyMedal: medal}}}
		g.Conditions = under
		return g
	}
	for name, bad := range map[string]grading.Graded{"not final": report("a", true, "provisional=machine failed"), "a fork": report("a", true, "forked=abc")} {
		reports := []grading.Graded{report("a", false), report("a", false), bad}
		own, others, err := Counted(reports)
		if len(own) != 2 || len(others) != 1 || err != nil {
			t.Errorf("%s: %d count, %v do not, %v", name, len(own), others, err)
		}
		if c := WhatIf(reports, []string{"a"}, nil)[0]; c.Attempts != 2 || c.Figures[shownFigure].Mean != 0 {
			t.Errorf("%s: as published %+v", name, c)
		}
		if d, err := Compare(reports, []grading.Graded{report("a", true)}, []string{"a"}); err != nil || d.FirstRuns != 2 {
			t.Errorf("%s: %+v, %v", name, d, err)
		}
		if _, _, err := Counted(reports[2:]); err == nil {
			t.Errorf("%s: it counts alone", name)
		}
	}
	if _, _, err := Counted([]grading.Graded{report("a", true), report("a", true, "data=rehearsal")}); !errors.Is(err, conditions.ErrMixedData) {
		t.Errorf("a rehearsal counts beside real data: %v", err)
	}
}
