package competitions

import (
	"bytes"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
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

var metrics = sync.OnceValue(metric.All)

// Direction returns the direction of scores, by whether lower ones are better.
func Direction(lowerIsBetter bool) metric.Direction {
	if lowerIsBetter {
		return metric.Lower
	}
	return metric.Higher
}

// undecided reports whether the leaderboard does not tell the direction of
// scores: it has none, one team, or teams with equal scores at both ends.
func (m Medals) undecided() bool {
	n := len(m.Scores)
	return n == 0 || m.Scores[0] == m.Scores[n-1]
}

// direct takes the direction of scores from the metric where the leaderboard does
// not tell it. Lint compares the two where both do.
func (d *Definition) direct() {
	if !d.Medals.undecided() {
		return
	}
	if lower, known := d.lowerIsBetter(); known {
		d.Medals.LowerIsBetter = lower
	}
}

// lowerIsBetter reads the direction of the metric from the grade block: that of
// a metric of ours, or the attribute better of an external one.
func (d *Definition) lowerIsBetter() (lower, known bool) {
	body, ok := d.Grade.Body.(*hclsyntax.Body)
	if d.GradedByPython() {
		return d.Python.Better == "lower", d.Python.Better != ""
	}
	if !ok || body.Attributes["metric"] == nil {
		return false, false
	}
	expr := body.Attributes["metric"].Expr
	if call, ok := expr.(*hclsyntax.FunctionCallExpr); ok && call.Name == CommandFunction && len(call.Args) == 1 {
		better := d.attribute(call.Args[0], "better")
		return better == "lower", better == "lower" || better == "higher"
	}
	m, err := metrics().Get(d.gradeText(expr))
	return m.Better == metric.Lower, err == nil
}

// attribute returns an attribute of an object in the grade block; "" if it is
// no string.
func (d *Definition) attribute(object hcl.Expression, name string) string {
	items, diags := hcl.ExprMap(object)
	if diags.HasErrors() {
		return ""
	}
	for _, item := range items {
		if hcl.ExprAsKeyword(item.Key) == name || d.gradeText(item.Key) == name {
			return d.gradeText(item.Value)
		}
	}
	return ""
}

// gradeText evaluates an expression of the grade block; "" if it is no string.
// Most are literals, which need no scope.
func (d *Definition) gradeText(expr hcl.Expression) string {
	var scope *hcl.EvalContext
	if len(expr.Variables()) > 0 {
		scope, _ = d.EvalContext(nil)
	}
	v, diags := expr.Value(scope)
	if diags.HasErrors() || v.IsNull() || !v.IsKnown() || v.Type() != cty.String {
		return ""
	}
	return v.AsString()
}

// FormatLeaderboard writes scores in rank order as a leaderboard file: a line
// a score, with a count for several in a row.
func FormatLeaderboard(scores []float64) []byte {
	var b strings.Builder
	for i := 0; i < len(scores); {
		n := 1
		for i+n < len(scores) && scores[i+n] == scores[i] {
			n++
		}
		b.WriteString(strings.TrimSuffix(table.FormatFloat(scores[i]), ".0"))
		if n > 1 {
			fmt.Fprintf(&b, " %d", n)
		}
		b.WriteByte('\n')
		i += n
	}
	return []byte(b.String())
}

// BoardChange is the difference between a leaderboard and an earlier one. Teams have no
// names in leaderboard files, so scores are compared by place.
type BoardChange struct {
	TeamsBefore int `json:"teams_before"`
	Teams       int `json:"teams"`
	// Added and Removed are the scores that only one of the two has, each as
	// often as it has it more.
	Added   int `json:"scores_added"`
	Removed int `json:"scores_removed"`
	// Places is how many places that both have hold another score, First the
	// first of them; 0 for none.
	Places int `json:"places_changed"`
	First  int `json:"first_place_changed"`

	Before Thresholds `json:"thresholds_before"`
	After  Thresholds `json:"thresholds"`
}

// Changed reports whether there is any difference.
func (c BoardChange) Changed() bool { return c.Added+c.Removed+c.Places > 0 }

// CompareBoards returns the difference between the second leaderboard and the first.
func CompareBoards(before, after Medals) BoardChange {
	c := BoardChange{
		TeamsBefore: len(before.Scores), Teams: len(after.Scores), Before: before.Thresholds, After: after.Thresholds,
	}
	for i := range min(len(before.Scores), len(after.Scores)) {
		if before.Scores[i] == after.Scores[i] {
			continue
		}
		if c.Places++; c.First == 0 {
			c.First = i + 1
		}
	}
	more := map[float64]int{} // teams with a score
	for _, score := range after.Scores {
		more[score]++
	}
	for _, score := range before.Scores {
		more[score]--
	}
	for _, n := range more {
		c.Added, c.Removed = c.Added+max(n, 0), c.Removed+max(-n, 0)
	}
	return c
}
