package board

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/lists"

	"github.com/mleflow/mleflow/cache/leaf/plain"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
	"github.com/mleflow/mleflow/plugins/numeric/stat"
)

// Flags holds the fields of one report that the leaderboard needs. It reads our reports and
// the reference's.
type Flags struct {
	CompetitionID    string `json:"competition_id"`
	GoldMedal        bool   `json:"gold_medal"`
	SilverMedal      bool   `json:"silver_medal"`
	BronzeMedal      bool   `json:"bronze_medal"`
	AboveMedian      bool   `json:"above_median"`
	SubmissionExists bool   `json:"submission_exists"`
	ValidSubmission  bool   `json:"valid_submission"`
	// Unranked reports whether the competition has no leaderboard, so that its attempts
	// do not count in shares of medals.
	Unranked bool `json:"-"`
	// Percentile is the share of the human teams that the score equals or beats,
	// Normalized where it lies between the median's threshold (0) and gold's (1). Both
	// are 0 without a score, and NaN if the report does not say.
	Percentile, Normalized float64 `json:"-"`
	// Score is the score in full precision; nil without a finite one.
	Score *float64 `json:"-"`
	// lower means that a lower score is better.
	lower bool
}

// FlagsOf returns the fields of the report that the leaderboard needs.
func FlagsOf(r grading.Report) Flags {
	return Flags{
		Unranked: r.Unranked(), CompetitionID: r.CompetitionID, GoldMedal: r.GoldMedal, SilverMedal: r.SilverMedal, BronzeMedal: r.BronzeMedal,
		AboveMedian: r.AboveMedian, SubmissionExists: r.SubmissionExists, ValidSubmission: r.ValidSubmission,
		Percentile: percentile(r), Normalized: normalized(r), Score: finite(r), lower: r.LowerIsBetter,
	}
}

// finite is the score that is compared; the reference's reports have none in full precision.
func finite(r grading.Report) *float64 {
	if s := cmp.Or(r.ExactScore, r.Score); s != nil && s.Finite() {
		return (*float64)(s)
	}
	return nil
}

func percentile(r grading.Report) float64 {
	if r.Teams == 0 {
		return math.NaN()
	}
	share, _ := r.Percentile() // 0 without a score
	return share
}

func normalized(r grading.Report) float64 {
	gold, median := float64(r.Gold), float64(r.Median)
	switch {
	case math.IsNaN(gold - median), r.Thresholds == (grading.Thresholds{}):
		return math.NaN()
	case r.Score == nil || math.IsNaN(float64(*r.Score)):
		return 0
	case gold == median:
		return float64(Count(r.GoldMedal))
	}
	return min(max((float64(*r.Score)-median)/(gold-median), 0), 1)
}

// Seeds selects how reports are grouped into seeds.
type Seeds struct {
	Count      int  // how many seeds to use; 0 for all that are complete
	PadMissing bool // let a missing report count as no submission
}

// Arrange returns for every seed one report per competition, in the order of
// ids: seed n takes the n-th report of each. Without padding there are as many
// seeds as the competition with the fewest reports has, with padding as many
// as the one with the most; reports beyond, and of other competitions, are
// left out. Count may ask for fewer, not for more.
func (s Seeds) Arrange(reports []Flags, ids []string) ([][]Flags, error) {
	if len(ids) == 0 {
		return nil, fmt.Errorf("arrange seeds: no competitions given")
	}
	byID := map[string][]Flags{}
	for _, r := range reports {
		byID[r.CompetitionID] = append(byID[r.CompetitionID], r)
	}
	count, err := s.available(byID, ids)
	if err != nil {
		return nil, fmt.Errorf("arrange seeds: %w", err)
	}
	seeds := make([][]Flags, count)
	for i := range seeds {
		for _, id := range ids {
			if i < len(byID[id]) {
				seeds[i] = append(seeds[i], byID[id][i])
			} else {
				seeds[i] = append(seeds[i], Flags{CompetitionID: id, Unranked: len(byID[id]) > 0 && byID[id][0].Unranked})
			}
		}
	}
	return seeds, nil
}

func (s Seeds) available(byID map[string][]Flags, ids []string) (int, error) {
	fewest, most := math.MaxInt, 0
	var missing []string
	for _, id := range ids {
		n := len(byID[id])
		fewest, most = min(fewest, n), max(most, n)
		if n == 0 {
			missing = append(missing, id)
		}
	}
	count := fewest
	if s.PadMissing {
		count = most
	}
	switch {
	case s.Count < 0:
		return 0, fmt.Errorf("%d is not a valid number of seeds; 0 means all", s.Count)
	case len(missing) > 0 && !s.PadMissing:
		return 0, fmt.Errorf("no report for %s", plain.List(missing))
	case count == 0:
		return 0, fmt.Errorf("there are no reports")
	case s.Count > count:
		return 0, fmt.Errorf("%d seeds were requested, but only %d are complete", s.Count, count)
	case s.Count > 0:
		count = s.Count
	}
	return count, nil
}

// figure is a share of attempts, or a mean of what they reached.
type figure struct {
	name string
	// ranked reports whether only attempts at competitions with a leaderboard count.
	ranked bool
	holds  func(Flags) bool // nil for a mean
	// reached is between 0 and 1, NaN if it is not known.
	reached func(Flags) float64
}

func (p figure) counts(f Flags) bool { return !p.ranked || !f.Unranked }

func (p figure) value(f Flags) float64 {
	if p.holds != nil {
		return float64(Count(p.holds(f)))
	}
	return p.reached(f)
}

// percentages are the figures of a seed, by the reference's names.
var percentages = []figure{
	{"submission_exists_percentage", false, func(f Flags) bool { return f.SubmissionExists }, nil},
	{"valid_submissions_percentage", false, func(f Flags) bool { return f.ValidSubmission }, nil},
	{"above_median_percentage", true, func(f Flags) bool { return f.AboveMedian }, nil},
	{"gold_medal_percentage", true, func(f Flags) bool { return f.GoldMedal }, nil},
	{"silver_medal_percentage", true, func(f Flags) bool { return f.SilverMedal }, nil},
	{"bronze_medal_percentage", true, func(f Flags) bool { return f.BronzeMedal }, nil},
	{"any_medal_percentage", true, func(f Flags) bool { return f.GoldMedal || f.SilverMedal || f.BronzeMedal }, nil},
}

// measures are the figures that the reference does not have.
var measures = []figure{
	{"mean_percentile", true, nil, func(f Flags) float64 { return f.Percentile }},
	{"normalized_score", true, nil, func(f Flags) float64 { return f.Normalized }},
}

// MeasureNames returns the names of all figures: those of PercentageNames, then the mean
// percentile among the human teams and the normalized score.
func MeasureNames() []string {
	return append(PercentageNames(), lists.Of(measures, func(f figure) string { return f.name })...)
}

// PercentageNames returns the names of a split's figures.
func PercentageNames() []string {
	return lists.Of(percentages, func(f figure) string { return f.name })
}

// Figure returns the predicate of a figure of the leaderboard, by its name without
// _percentage: whether an attempt is a success, and whether it counts at all.
func Figure(name string) (func(Flags) (success, counts bool), error) {
	at := slices.Index(FigureNames(), name)
	if at < 0 {
		return nil, fmt.Errorf("there is no figure %q; the figures are %s", name, strings.Join(FigureNames(), ", "))
	}
	p := percentages[at]
	return func(f Flags) (success, counts bool) { return p.holds(f), p.counts(f) }, nil
}

// FigureNames are the names that Figure knows.
func FigureNames() []string {
	return lists.Of(percentages, func(f figure) string { return strings.TrimSuffix(f.name, "_percentage") })
}

// Estimate is the mean of a figure over seeds with its standard error (sample
// standard deviation by the root of the number of seeds; 0 for one seed) and
// the interval of 1.96 standard errors around it.
type Estimate struct {
	Mean    grading.Number `json:"mean"`
	SEM     grading.Number `json:"sem"`
	CILower grading.Number `json:"ci_lower"`
	CIUpper grading.Number `json:"ci_upper"`
}

// NewEstimate estimates from one value a seed, as numpy.mean and
// scipy.stats.sem(ddof=1) do. No values give NaN.
func NewEstimate(values []float64) Estimate {
	mean := metric.Mean(values)
	sem := 0.0
	if len(values) > 1 {
		squares := make([]float64, len(values))
		for i, v := range values {
			d := v - mean
			squares[i] = float64(d * d)
		}
		sem = math.Sqrt(metric.Sum(squares)/float64(len(values)-1)) / math.Sqrt(float64(len(values)))
	}
	margin := float64(1.96 * sem)
	return Estimate{Mean: grading.Number(mean), SEM: grading.Number(sem), CILower: grading.Number(mean - margin), CIUpper: grading.Number(mean + margin)}
}

// Text writes the mean with its standard error, which one seed does not have: "31.82 ± –".
func (e Estimate) Text(seeds int) string {
	if seeds < 2 {
		return fmt.Sprintf("%.2f ± –", float64(e.Mean))
	}
	return fmt.Sprintf("%.2f ± %.2f", float64(e.Mean), float64(e.SEM))
}

// Text writes an interval: "24.1 to 39.5", "–" if there is none.
func (i *Interval) Text() string {
	if i == nil {
		return "–"
	}
	return fmt.Sprintf("%.1f to %.1f", float64(i.Lower), float64(i.Upper))
}

// values returns the percentage of each seed in which something counts.
func (p figure) values(seeds [][]Flags) []float64 {
	values := make([]float64, 0, len(seeds))
	for _, seed := range seeds {
		held, of := 0, 0
		for _, f := range seed {
			held += Count(p.holds(f))
			of += Count(p.counts(f))
		}
		if of > 0 {
			values = append(values, float64(held)/float64(of)*100)
		}
	}
	return values
}

// Measure is a figure of an agent over competitions that weigh the same, with its
// intervals. It is beside the Estimate of the same name, whose fields are the reference's:
// their interval is too narrow with few seeds, and may leave 0 to 100.
type Measure struct {
	Mean grading.Number `json:"mean"`
	Uncertainty
}

// Measures returns the figures of arranged seeds that are known, by name.
func Measures(seeds [][]Flags) map[string]Measure {
	runs, out := ByCompetition(seeds), map[string]Measure{}
	for _, f := range slices.Concat(percentages, measures) {
		samples, ok := f.samples(runs)
		if !ok || len(samples) == 0 {
			continue
		}
		out[f.name] = measure(samples)
	}
	return out
}

// ByCompetition returns the runs at each competition of arranged seeds.
func ByCompetition(seeds [][]Flags) [][]Flags {
	runs := make([][]Flags, len(seeds[0]))
	for i := range runs {
		runs[i] = lists.Of(seeds, func(seed []Flags) Flags { return seed[i] })
	}
	return runs
}

func measure(samples []stat.Sample) Measure {
	m, means := Measure{Mean: mean(samples)}, lists.Of(samples, func(s stat.Sample) float64 { return s.Mean })
	m.Uncertainty = uncertainty(m.Mean, 0, means, samples)
	return m
}

// Split is the figures of one split of the competitions, by name.
type Split map[string]Estimate

// Aggregate returns the figures of arranged seeds. Figures of ranks are left out
// where no competition has a leaderboard.
func Aggregate(seeds [][]Flags) Split {
	out := make(Split, len(percentages))
	for _, p := range percentages {
		if values := p.values(seeds); len(values) > 0 || len(seeds) == 0 {
			out[p.name] = NewEstimate(values)
		}
	}
	return out
}

// Board is the leaderboard of one agent.
type Board struct {
	Seeds         int              `json:"seeds"`           // the fewest of any split
	SeedsPerSplit map[string]int   `json:"seeds_per_split"` // by split
	Splits        map[string]Split `json:"splits"`
	// Measures are the figures with their intervals, by split.
	Measures map[string]map[string]Measure `json:"measures"`
	Skipped  map[string]string             `json:"skipped,omitempty"` // splits that cannot be built, with the reason
	// Choices is the spread of any_medal_percentage over all choices of the requested
	// number of seeds, by split, where there are more.
	Choices map[string]Spread `json:"choices,omitempty"`
}

// SplitIDs names a split and its competitions.
type SplitIDs struct {
	Name string
	IDs  []string
}

// NewBoard aggregates the reports for every split. A split that cannot be
// built is skipped with the reason; if none can, the first reason is an error,
// and the board holds the reasons only.
func NewBoard(reports []Flags, splits []SplitIDs, seeds Seeds) (Board, error) {
	b := Board{SeedsPerSplit: map[string]int{}, Splits: map[string]Split{}, Measures: map[string]map[string]Measure{}, Skipped: map[string]string{}, Choices: map[string]Spread{}}
	var first error
	for _, split := range splits {
		arranged, err := seeds.Arrange(reports, split.IDs)
		if err != nil {
			b.Skipped[split.Name] = err.Error()
			first = cmp.Or(first, fmt.Errorf("split %s: %w", split.Name, err))
			continue
		}
		b.Splits[split.Name], b.Measures[split.Name] = Aggregate(arranged), Measures(arranged)
		b.SeedsPerSplit[split.Name] = len(arranged)
		if seeds.Count > 0 {
			all, err := Seeds{PadMissing: seeds.PadMissing}.Arrange(reports, split.IDs)
			if values := medals().values(all); err == nil && len(values) > len(arranged) {
				b.Choices[split.Name] = NewSpread(values, len(arranged))
			}
		}
		if b.Seeds == 0 || len(arranged) < b.Seeds {
			b.Seeds = len(arranged)
		}
	}
	if len(b.Splits) > 0 {
		first = nil
	}
	return b, first
}

// Count returns 1 for true and 0 for false.
func Count(b bool) int {
	if b {
		return 1
	}
	return 0
}
