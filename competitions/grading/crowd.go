package grading

import (
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
)

// Crowd describes how close the human teams are around the thresholds and around a score.
type Crowd struct {
	competitions.Crowd
	// Score counts the teams around the score; nil without one.
	Score *competitions.Near `json:"score,omitempty"`
	// BestPlace and LastPlace bound the place within a step of rounding.
	BestPlace int `json:"best_place,omitempty"`
	LastPlace int `json:"last_place,omitempty"`
	// MedalHangs reports whether a score one rounding step better or worse earns another
	// medal or none.
	MedalHangs bool `json:"medal_hangs"`
}

// count enters what stands around a score.
func (c *Crowd) count(score float64, medals competitions.Medals) {
	near := medals.Near(score)
	c.Score = &near
	c.BestPlace, c.LastPlace = medals.Places(score)
	at := medal(score, medals)
	c.MedalHangs = medal(score-competitions.RoundingStep, medals) != at || medal(score+competitions.RoundingStep, medals) != at
}

// medal names the medal that a score earns after rounding as scores are.
func medal(score float64, medals competitions.Medals) string {
	return MedalsOf(medals.Rank(metric.RoundPython(score, 5))).Best()
}
