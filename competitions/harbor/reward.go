package harbor

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/wholefile"
	"github.com/mleflow/mleflow/competitions/grading"
)

// Rewards are the kinds of reward.
var Rewards = []string{"medal", "rank", "margin"}

// CheckReward refuses a word that names no reward.
func CheckReward(kind string) error {
	if !slices.Contains(Rewards, kind) {
		return fmt.Errorf("--reward %s: it is %s", kind, strings.Join(Rewards, ", "))
	}
	return nil
}

// Reward returns a report's reward, from 0 to 1; docs/training.md defines the
// kinds. A submission without a finite score has 0.
func Reward(kind string, r grading.Report) float64 {
	if r.Outcome != grading.Scored || r.ExactScore == nil || r.NonFinite {
		return 0
	}
	switch kind {
	case "rank":
		if r.Rank == nil || r.Teams == 0 {
			return 0
		}
		return max(0, 1-float64(*r.Rank-1)/float64(r.Teams))
	case "margin":
		span := float64(r.Gold - r.Median)
		if r.Unranked() || span == 0 {
			return medalReward(r)
		}
		return min(1, max(0, (float64(*r.ExactScore)-float64(r.Median))/span))
	}
	return medalReward(r)
}

func medalReward(r grading.Report) float64 {
	switch {
	case r.GoldMedal:
		return 1
	case r.SilverMedal:
		return 2.0 / 3
	case r.BronzeMedal:
		return 1.0 / 3
	}
	return 0
}

// WriteReward writes reward.json and reward.txt, as Harbor reads them.
func WriteReward(dir, kind string, r grading.Report) error {
	reward := Reward(kind, r)
	values := map[string]float64{"reward": reward}
	if r.ExactScore != nil && !math.IsNaN(float64(*r.ExactScore)) && !math.IsInf(float64(*r.ExactScore), 0) {
		values["score"] = float64(*r.ExactScore)
	}
	text, err := json.Marshal(values)
	if err != nil {
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
