package competitions

import (
	"bytes"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Medals is the human leaderboard of a competition and what follows from it.
type Medals struct {
	// LowerIsBetter is the direction of scores: that of the leaderboard from its
	// first to its last team, else that of the metric.
	LowerIsBetter bool
	// Scores are the teams' scores in rank order, best first; none without a
	// leaderboard.
	Scores     []float64
	Thresholds Thresholds
	// File is the leaderboard file next to the definition, "" for a list in it.
	File string
	// Note names the source of a list that is not a Kaggle leaderboard.
	Note string
}

// Thresholds are the scores that earn a medal. A score is compared after
// rounding to five decimals, thresholds are not rounded; medals include their
// threshold, "above median" does not. Without a leaderboard there are no
// thresholds: all are NaN, which no score reaches.
type Thresholds struct {
	Gold   float64 `json:"gold"`
	Silver float64 `json:"silver"`
	Bronze float64 `json:"bronze"`
	Median float64 `json:"median"`
}

// Published writes a threshold as the leaderboard publishes scores: with the
// decimals that the one with the most has, zeros at the end included. A median
// between two teams may need one more.
func (m Medals) Published(threshold float64) string { return Published(m.Scores, threshold) }

// Published is Medals.Published for the scores of a leaderboard.
func Published(scores []float64, threshold float64) string {
	places := 0
	for _, score := range scores {
		places = max(places, decimals(score))
	}
	median := strconv.FormatFloat(threshold, 'f', places+1, 64)
	if whole, cut := strings.CutSuffix(median, "0"); cut {
		return strings.TrimSuffix(whole, ".")
	}
	return median
}

// decimals counts the digits after the point of a finite number, 15 at most.
func decimals(v float64) int {
	_, fraction, _ := strings.Cut(strconv.FormatFloat(v, 'f', -1, 64), ".")
	return min(len(fraction), 15)
}

// Standing is the place of a score among the human teams.
type Standing struct {
	Gold, Silver, Bronze, AboveMedian bool
	// Rank is the place the score would take: one more than the number of
	// teams that are strictly better; 0 without a leaderboard.
	Rank int
}

// Any reports whether the score earns a medal.
func (s Standing) Any() bool { return s.Gold || s.Silver || s.Bronze }

// Rank compares a score with the leaderboard. A NaN earns nothing and takes
// the place after the last team. Without a leaderboard, no score earns anything.
func (m Medals) Rank(score float64) Standing {
	switch {
	case len(m.Scores) == 0:
		return Standing{}
	case math.IsNaN(score):
		return Standing{Rank: len(m.Scores) + 1}
	}
	reaches := func(threshold float64) bool { return score == threshold || m.Better(score, threshold) }
	var s Standing
	s.Gold = reaches(m.Thresholds.Gold)
	s.Silver = !s.Gold && reaches(m.Thresholds.Silver)
	s.Bronze = !s.Gold && !s.Silver && reaches(m.Thresholds.Bronze)
	s.AboveMedian = m.Better(score, m.Thresholds.Median)
	s.Rank = 1
	for _, team := range m.Scores {
		if m.Better(team, score) {
			s.Rank++
		}
	}
	return s
}

// Better reports whether score a is strictly better than b.
func (m Medals) Better(a, b float64) bool {
	if m.LowerIsBetter {
		return a < b
	}
	return a > b
}

// unranked stands for the leaderboard of a definition without one.
func unranked() Medals {
	none := math.NaN()
	return Medals{Thresholds: Thresholds{Gold: none, Silver: none, Bronze: none, Median: none}}
}

// NewMedals derives direction and thresholds from a leaderboard in rank order
// by Kaggle's progression rules: https://www.kaggle.com/progression.
func NewMedals(scores []float64) (Medals, error) {
	n := len(scores)
	if n == 0 {
		return Medals{}, fmt.Errorf("leaderboard has no scores")
	}
	gold, silver, bronze := medalPlaces(n)
	return Medals{
		LowerIsBetter: scores[0] < scores[n-1],
		Scores:        scores,
		Thresholds: Thresholds{
			Gold: scores[gold-1], Silver: scores[silver-1], Bronze: scores[bronze-1],
			Median: median(scores),
		},
	}, nil
}

// medalPlaces returns the last place that earns each medal among n teams.
// Shares are computed in floating point and cut, as in the reference.
func medalPlaces(n int) (gold, silver, bronze int) {
	share := func(f float64) int { return max(1, int(float64(n)*f)) }
	switch {
	case n < 100:
		return share(0.1), share(0.2), share(0.4)
	case n < 250:
		return 10, share(0.2), share(0.4)
	case n < 1000:
		return 10 + int(float64(n)*0.002), 50, 100
	default:
		return 10 + int(float64(n)*0.002), share(0.05), share(0.1)
	}
}

func median(scores []float64) float64 {
	sorted := slices.Clone(scores)
	slices.Sort(sorted)
	mid := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[mid]
	}
	return (sorted[mid-1] + sorted[mid]) / 2
}

// maxTeams bounds what a count in a leaderboard file may make of a line.
const maxTeams = 1_000_000

// readLeaderboard reads a leaderboard file: one line a score in rank order,
// "score" or "score count" for that many teams with the same score in a row.
func readLeaderboard(folder fs.FS, name string) ([]float64, error) {
	data, err := fs.ReadFile(folder, name)
	if err != nil {
		return nil, fmt.Errorf("read leaderboard: %w", err)
	}
	scores := make([]float64, 0, bytes.Count(data, []byte("\n"))+1)
	i := 0
	for line := range strings.SplitSeq(strings.TrimRight(string(data), "\n"), "\n") {
		i++
		text, times, found := strings.Cut(line, " ")
		count := 1
		score, err := strconv.ParseFloat(text, 64)
		if err == nil && found {
			count, err = strconv.Atoi(times)
		}
		if err != nil || count < 1 || len(scores)+max(count, 0) > maxTeams || math.IsNaN(score) {
			return nil, fmt.Errorf("read leaderboard %s: line %d: %q is not a score or a score and a count", name, i, line)
		}
		for scores = slices.Grow(scores, count); count > 0; count-- {
			scores = append(scores, score)
		}
	}
	return scores, nil
}
