package grading

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/lists"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/outcome"
	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
)

// ReferenceProfile names the libraries whose answers grading gives: the oldest
// that the reference (openai/mle-bench) asks for, with the scipy of their time.
// Where newer ones answer otherwise is listed in docs/reference-profile.md.
const ReferenceProfile = "pandas-2.2 numpy-1.26 scikit-learn-1.5 scipy-1.14"

// Number is a float that JSON spells as Python does, and the texts "nan",
// "inf" and "-inf" where it is not finite.
type Number float64

// Finite reports whether it is neither infinite nor NaN.
func (n Number) Finite() bool { return !math.IsNaN(float64(n)) && !math.IsInf(float64(n), 0) }

// MarshalJSON implements json.Marshaler.
func (n Number) MarshalJSON() ([]byte, error) {
	text := table.FormatFloat(float64(n))
	if !n.Finite() {
		text = strconv.Quote(text)
	}
	return []byte(text), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (n *Number) UnmarshalJSON(data []byte) error {
	text := string(data)
	if len(data) > 0 && data[0] == '"' {
		if err := json.Unmarshal(data, &text); err != nil {
			return err
		}
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return fmt.Errorf("read score: %s is not a number", data)
	}
	*n = Number(v)
	return nil
}

// Report is the result of grading one submission: the reference's fields and
// ours.
type Report struct {
	CompetitionID string  `json:"competition_id"`
	Score         *Number `json:"score"` // rounded to five decimals; nil if there is none
	Thresholds
	Medals
	SubmissionExists bool   `json:"submission_exists"`
	ValidSubmission  bool   `json:"valid_submission"`
	LowerIsBetter    bool   `json:"is_lower_better"`
	CreatedAt        string `json:"created_at"`
	SubmissionPath   string `json:"submission_path"`
	Detail
}

// FiniteScore is the score in full precision; nil if there is no finite one.
func (r Report) FiniteScore() *float64 {
	if r.ExactScore == nil || !r.ExactScore.Finite() {
		return nil
	}
	return (*float64)(r.ExactScore)
}

// Cutoff is a threshold's score, NaN where the competition has no leaderboard,
// which JSON spells null.
type Cutoff float64

// MarshalJSON implements json.Marshaler.
func (c Cutoff) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(c)) {
		return []byte("null"), nil
	}
	return Number(c).MarshalJSON()
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *Cutoff) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*c = Cutoff(math.NaN())
		return nil
	}
	return (*Number)(c).UnmarshalJSON(data)
}

// Thresholds are the leaderboard scores that earn a medal.
type Thresholds struct {
	Gold   Cutoff `json:"gold_threshold"`
	Silver Cutoff `json:"silver_threshold"`
	Bronze Cutoff `json:"bronze_threshold"`
	Median Cutoff `json:"median_threshold"`
}

// ThresholdsOf returns the thresholds of a leaderboard as reports have them.
func ThresholdsOf(t competitions.Thresholds) Thresholds {
	return Thresholds{Gold: Cutoff(t.Gold), Silver: Cutoff(t.Silver), Bronze: Cutoff(t.Bronze), Median: Cutoff(t.Median)}
}

// Medals holds the medal that the score earns. At most one field is true.
type Medals struct {
	AnyMedal    bool `json:"any_medal"`
	GoldMedal   bool `json:"gold_medal"`
	SilverMedal bool `json:"silver_medal"`
	BronzeMedal bool `json:"bronze_medal"`
	AboveMedian bool `json:"above_median"`
}

// MedalsOf returns what a score earns as reports have it.
func MedalsOf(s competitions.Standing) Medals {
	return Medals{AnyMedal: s.Any(), GoldMedal: s.Gold, SilverMedal: s.Silver, BronzeMedal: s.Bronze, AboveMedian: s.AboveMedian}
}

// MedalNamed returns the medal of a name as Best gives it.
func MedalNamed(name string) Medals {
	m := Medals{GoldMedal: name == "gold", SilverMedal: name == "silver", BronzeMedal: name == "bronze"}
	m.AnyMedal = m.GoldMedal || m.SilverMedal || m.BronzeMedal
	return m
}

// Best is the name of the best of them: gold, silver, bronze or none.
func (m Medals) Best() string {
	switch {
	case m.GoldMedal:
		return "gold"
	case m.SilverMedal:
		return "silver"
	case m.BronzeMedal:
		return "bronze"
	}
	return "none"
}

// Detail are the fields that the reference does not have.
type Detail struct {
	ExactScore         *Number            `json:"exact_score"` // full precision
	Outcome            outcome.Submission `json:"outcome"`
	Reason             string             `json:"reason"` // why there is no score; "" if there is
	Rule               string             `json:"rule,omitempty"`
	Rank               *int               `json:"rank"`  // place among the teams; nil without a score or teams
	Teams              int                `json:"teams"` // 0 without a leaderboard
	CompetitionVersion string             `json:"competition_version"`
	Profile            string             `json:"reference_profile"` // see ReferenceProfile
	NonFinite          bool               `json:"non_finite"`
	// MetricExternal reports whether the score comes from a program of the definition,
	// not from a metric of mleflow.
	MetricExternal bool `json:"metric_external,omitempty"`
	// Flagged are the flags of the competition's version; a crowded one has a
	// crowd. v1 has neither.
	Flagged []competitions.Flag `json:"flags,omitempty"`
	Crowd   *Crowd              `json:"crowd,omitempty"`
	// Isolation says for people how the attempt was isolated; it follows from
	// Conditions, those that the submission was made under. Only the step grade
	// knows them.
	Isolation string `json:"isolation,omitempty"`
	// Untrusted reports whether the agent was not isolated and could have read the
	// answers; see conditions.Untrusted.
	Untrusted bool `json:"untrusted,omitempty"`
	// Task is the task as the agent got it. It follows from Conditions, too.
	Task       string   `json:"task,omitempty"`
	Conditions []string `json:"conditions,omitempty"`
}

// Graded is a report with the labels that say whose submission it is, such as
// agent and seed.
type Graded struct {
	Report
	Labels map[string]string `json:"labels,omitempty"`
	// Origin is the attempt that it is from; nil if that is not known.
	Origin *Origin `json:"origin,omitempty"`
}

// Unranked reports whether the competition has no leaderboard, so that no score
// earns a medal.
func (r Report) Unranked() bool { return math.IsNaN(float64(r.Gold)) }

// Percentile is the share of the human teams, 0 to 1, that the score is at least as good
// as; ok is false if the place is not known.
func (r Report) Percentile() (share float64, ok bool) {
	if r.Rank == nil || r.Teams == 0 || r.Score == nil || math.IsNaN(float64(*r.Score)) {
		return 0, false
	}
	return float64(r.Teams-*r.Rank+1) / float64(r.Teams), true
}

// MadeUnder enters the conditions that the submission was made under.
func (r *Report) MadeUnder(set []string) {
	r.Isolation, r.Untrusted = conditions.Shown(set), conditions.Untrusted(set)
	r.Task, r.Conditions = conditions.Told(set), set
}

// newReport returns a report without a score.
func newReport(def *competitions.Definition, submission string, created time.Time) Report {
	r := Report{
		CompetitionID:  def.ID,
		Thresholds:     ThresholdsOf(def.Medals.Thresholds),
		LowerIsBetter:  def.Medals.LowerIsBetter,
		CreatedAt:      created.Format("2006-01-02T15:04:05.000000"),
		SubmissionPath: submission,
		Detail:         Detail{Outcome: outcome.Missing, Teams: len(def.Medals.Scores), CompetitionVersion: def.Version, Profile: ReferenceProfile, Flagged: def.Flags},
	}
	if def.Rehearsal {
		r.Conditions = []string{conditions.Data + "=" + conditions.Rehearsal}
	}
	if slices.Contains(def.Flags, competitions.Crowded) {
		r.Crowd = &Crowd{Crowd: def.Medals.Crowd()}
	}
	return r
}

// score enters a score and what it earns.
func (r *Report) score(s metric.Score, medals competitions.Medals) {
	rounded, exact := Number(s.Rounding.Round(s.Value)), Number(s.Value)
	standing := medals.Rank(float64(rounded))
	r.Score, r.ExactScore = &rounded, &exact
	r.Outcome, r.ValidSubmission = outcome.Scored, true
	r.Medals = MedalsOf(standing)
	if standing.Rank > 0 {
		r.Rank = &standing.Rank
	}
	if r.Crowd != nil {
		r.Crowd.count(float64(rounded), medals)
	}
	r.NonFinite = !exact.Finite() || !rounded.Finite()
}

// refuse enters why there is no score.
func (r *Report) refuse(o outcome.Submission, err *Invalid) {
	r.Outcome, r.Reason, r.Rule = o, err.Reason, err.Rule
}

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
	return map[Threshold]Cutoff{Gold: t.Gold, Silver: t.Silver, Bronze: t.Bronze, Median: t.Median}[of]
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
	return lists.Where(AllThresholds(), func(name Threshold) bool { return r.reaches(name, *r.Score) != r.reaches(name, *r.ExactScore) })
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
	return r.Best() != "none" && r.HasNonFinite()
}
