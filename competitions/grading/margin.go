package grading

import (
	"github.com/mleflow/mleflow/competitions"
)

// Threshold names a threshold of the human leaderboard.
type Threshold string

// The thresholds, from the hardest.
const (
	Gold   Threshold = "gold"
	Silver Threshold = "silver"
	Bronze Threshold = "bronze"
	Median Threshold = "median"
)

// AllThresholds returns the thresholds, from the hardest.
func AllThresholds() []Threshold { return []Threshold{Gold, Silver, Bronze, Median} }

// value returns the score that reaches the threshold.
func (t Thresholds) value(of Threshold) Cutoff {
	switch of {
	case Gold:
		return t.Gold
	case Silver:
		return t.Silver
	case Bronze:
		return t.Bronze
	}
	return t.Median
}

// Margin is the distance of a score from a threshold.
type Margin struct {
	// Score is the rounded score less the threshold, with the sign turned
	// where lower is better: what is negative is missing. A medal is reached
	// at 0, the median only above 0.
	Score Number `json:"score"`
	// Places is the same in places of the human leaderboard: that of the
	// threshold less that of the score. nil where the leaderboard is not
	// known.
	Places *int `json:"places"`
}

// Margins returns how far the report's score is from every threshold; nil
// without a finite score, or where there are no thresholds. medals may
// be nil; then places are not known.
func (r Report) Margins(medals *competitions.Medals) map[Threshold]Margin {
	if r.Score == nil || !r.Score.Finite() || r.Unranked() || r.Thresholds == (Thresholds{}) {
		return nil
	}
	out := map[Threshold]Margin{}
	for _, name := range AllThresholds() {
		threshold := Number(r.Thresholds.value(name))
		m := Margin{Score: *r.Score - threshold}
		if r.LowerIsBetter {
			m.Score = threshold - *r.Score
		}
		if medals != nil && len(medals.Scores) > 0 {
			places := medals.Rank(float64(threshold)).Rank - medals.Rank(float64(*r.Score)).Rank
			m.Places = &places
		}
		out[name] = m
	}
	return out
}

// RoundingDecides returns the thresholds that the rounded score is on another
// side of than the exact one: what is earned there, or missed, depends on
// rounding to five decimals. nil where the report does not hold the exact
// score, as the reference's do not.
func (r Report) RoundingDecides() []Threshold {
	if r.Score == nil || r.ExactScore == nil || r.Unranked() {
		return nil
	}
	var out []Threshold
	for _, name := range AllThresholds() {
		if r.reaches(name, *r.Score) != r.reaches(name, *r.ExactScore) {
			out = append(out, name)
		}
	}
	return out
}

// reaches reports whether a score is good enough: a medal's threshold
// suffices, the median must be passed.
func (r Report) reaches(name Threshold, score Number) bool {
	threshold := Number(r.Thresholds.value(name))
	better := score > threshold
	if r.LowerIsBetter {
		better = score < threshold
	}
	return better || name != Median && score == threshold
}

// HasNonFinite reports whether the score, exact or rounded, is no finite
// number.
func (r Report) HasNonFinite() bool {
	return r.NonFinite || r.ExactScore != nil && !r.ExactScore.Finite() || r.Score != nil && !r.Score.Finite()
}

// MedalOnNonFinite reports whether a medal is based on a score that is not finite
// number.
func (r Report) MedalOnNonFinite() bool {
	return (r.GoldMedal || r.SilverMedal || r.BronzeMedal) && r.HasNonFinite()
}
