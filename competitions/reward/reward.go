package reward

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/wholefile"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/outcome"
)

// Relative reports whether rewards compare with the sample submission and the right answers,
// because no human leaderboard has a place for the score: in a rehearsal, and at a
// competition without one.
func Relative(def *competitions.Definition) bool {
	return def.Rehearsal || len(def.Medals.Scores) == 0
}

// Kinds returns the kinds of reward, the default first; see Relative.
func Kinds(relative bool) []string {
	if relative {
		return []string{"sample", "margin"}
	}
	return []string{"medal", "rank", "margin", "percentile"}
}

// Usage describes a flag with a kind of reward.
const Usage = "`KIND` of reward: medal (default), rank, margin or percentile; in a rehearsal and without a leaderboard sample (default) or margin"

// Check returns the kind of reward for a competition, the default for "", and refuses a
// word that names none.
func Check(kind string, def *competitions.Definition) (string, error) {
	kinds := Kinds(Relative(def))
	kind = cmp.Or(kind, kinds[0])
	if !slices.Contains(kinds, kind) {
		return "", fmt.Errorf("reward %s: for %s it is %s", kind, def.ID, strings.Join(kinds, ", "))
	}
	return kind, nil
}

// Scale has the scores with the reward margin 0 and 1: the median and the gold threshold.
// Relative ones are the scores of the sample submission and of the right answers, or NaN.
type Scale struct{ Zero, One float64 }

// Measure returns the scale of a competition. grade grades a file of the prepared folder.
func Measure(def *competitions.Definition, grade func(name string) (grading.Report, error)) (s Scale, err error) {
	if !Relative(def) {
		return Scale{def.Medals.Thresholds.Median, def.Medals.Thresholds.Gold}, nil
	}
	scored := func(name string) float64 {
		r, failure := grade(name)
		if failure != nil {
			err = failure
		}
		if r.ExactScore == nil || r.NonFinite {
			return math.NaN()
		}
		return float64(*r.ExactScore)
	}
	return Scale{scored(def.Layout.Sample), scored(def.Layout.Gold)}, err
}

// Of returns a report's reward, from 0 to 1; docs/training.md defines the
// kinds. A score that is not finite has 0, except infinity in the better direction: the
// reference gives it the first place, as the right answers of log_mae show.
func (s Scale) Of(kind string, r grading.Report) float64 {
	score, counts := scoreOf(r)
	if !counts {
		return 0
	}
	span := s.One - s.Zero
	switch kind {
	case "rank":
		if r.Rank == nil || r.Teams == 0 {
			return 0
		}
		return max(0, 1-float64(*r.Rank-1)/float64(r.Teams))
	case "percentile":
		share, _ := r.Percentile()
		return share
	case "margin":
		if span != 0 && !math.IsNaN(span) && span < 0 == r.LowerIsBetter {
			return min(1, max(0, (score-s.Zero)/span))
		}
	}
	if !conditions.Rehearsed(r.Conditions) && !r.Unranked() {
		return map[string]float64{"gold": 1, "silver": 2.0 / 3, "bronze": 1.0 / 3}[r.Best()]
	}
	if Beats(r, s.Zero) {
		return 1
	}
	return 0
}

// scoreOf returns the score of a report, and whether it earns anything.
func scoreOf(r grading.Report) (score float64, counts bool) {
	if r.Outcome != outcome.Scored || r.ExactScore == nil {
		return 0, false
	}
	best := math.Inf(1)
	if r.LowerIsBetter {
		best = math.Inf(-1)
	}
	score = float64(*r.ExactScore)
	return score, !r.NonFinite || score == best
}

// Beats reports whether a report's score is better than another, which NaN never
// is: every score is better than it.
func Beats(r grading.Report, than float64) bool {
	score, counts := scoreOf(r)
	if !counts {
		return false
	}
	if r.LowerIsBetter {
		score, than = -score, -than
	}
	return score > than || math.IsNaN(than)
}

// Write writes reward.json and reward.txt, as Harbor reads them.
func (s Scale) Write(dir, kind string, r grading.Report) error {
	reward := s.Of(kind, r)
	values := map[string]float64{"reward": reward}
	if r.ExactScore != nil && r.ExactScore.Finite() {
		values["score"] = float64(*r.ExactScore)
	}
	text, err := json.Marshal(values)
	if err = cmp.Or(err, os.MkdirAll(dir, 0o777)); err != nil {
		return fmt.Errorf("write reward: %w", err)
	}
	for name, text := range map[string]string{"reward.json": string(text), "reward.txt": fmt.Sprint(reward)} {
		path := filepath.Join(dir, name)
		if err := wholefile.Replace(path, wholefile.Bytes([]byte(text+"\n"))); err != nil {
			return fmt.Errorf("write %s: %w", path, err)
		}
	}
	return nil
}
