package competitions

import (
	"fmt"
	"math"

	"github.com/mleflow/mleflow/cache/leaf/lists"
)

// RoundingStep is the smallest difference of two scores that differ after
// rounding to five decimals, as submissions are compared.
const RoundingStep = 1e-5

// Crowd says how closely the teams of a leaderboard stand.
type Crowd struct {
	// Gap is the distance from the gold to the bronze threshold as a share of
	// the bronze one: 0 when they are equal, +Inf never (a bronze threshold of
	// zero with another gold one gives 1).
	Gap float64 `json:"gap"`
	// Gold to Median are the teams at each threshold.
	Gold   Near `json:"gold"`
	Silver Near `json:"silver"`
	Bronze Near `json:"bronze"`
	Median Near `json:"median"`
}

// Near counts the teams around a score.
type Near struct {
	// Tied have the same score after rounding to five decimals.
	Tied int `json:"tied"`
	// Within have one that differs by at most one step of rounding.
	Within int `json:"within"`
}

// Crowd returns how closely the teams stand around the thresholds.
func (m Medals) Crowd() Crowd {
	t := m.Thresholds
	return Crowd{
		Gap:  gap(t.Gold, t.Bronze),
		Gold: m.Near(t.Gold), Silver: m.Near(t.Silver), Bronze: m.Near(t.Bronze), Median: m.Near(t.Median),
	}
}

func gap(gold, bronze float64) float64 {
	switch {
	case gold == bronze:
		return 0
	case bronze == 0:
		return 1
	}
	return math.Abs((gold - bronze) / bronze)
}

// String returns the numbers as a phrase.
func (c Crowd) String() string {
	return fmt.Sprintf("gold and bronze %.3f %% apart; teams within %.5f of gold %d, silver %d, bronze %d, the median %d",
		float64(c.Gap*100), RoundingStep, c.Gold.Within, c.Silver.Within, c.Bronze.Within, c.Median.Within)
}

// Near counts the teams around a score; none around a NaN.
func (m Medals) Near(score float64) Near {
	var n Near
	at := steps(score)
	for _, team := range m.Scores {
		switch distance := math.Abs(steps(team) - at); {
		case team == score || distance == 0:
			n.Tied++
			n.Within++
		case distance <= 1:
			n.Within++
		}
	}
	return n
}

// steps returns a score in whole steps of rounding.
func steps(score float64) float64 { return math.RoundToEven(score / RoundingStep) }

// Places returns the best and the last place that a score may be said to
// have: behind the teams that are better by more than a step of rounding, and
// behind all that are not worse by more than one.
func (m Medals) Places(score float64) (best, last int) {
	if math.IsNaN(score) {
		return len(m.Scores) + 1, len(m.Scores) + 1
	}
	at := steps(score)
	ahead, behind := at+1, at-1
	if m.LowerIsBetter {
		ahead, behind = behind, ahead
	}
	for _, team := range lists.Of(m.Scores, steps) {
		if m.Better(team, ahead) {
			best++
		}
		if !m.Better(behind, team) {
			last++
		}
	}
	return best + 1, max(last, best+1)
}
