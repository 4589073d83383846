package board

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/lists"

	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/plugins/numeric/stat"
)

// ErrNothingShared means that two agents have no competition in common.
var ErrNothingShared = errors.New("compare agents: no competition has a report of both")

// Level is the confidence of intervals.
const Level = 0.95

// Comparison is two agents compared at the competitions that both ran. Each
// competition weighs the same, whatever its number of runs, and runs are not
// paired: seeds share no randomness between agents.
type Comparison struct {
	Competitions int `json:"competitions"`
	FirstRuns    int `json:"first_runs"`
	SecondRuns   int `json:"second_runs"`
	// FirstLeft and SecondLeft are the runs at competitions that the other agent
	// did not run.
	FirstLeft  int `json:"first_left_out"`
	SecondLeft int `json:"second_left_out"`
	// Figures are by the names of FigureNames with the suffix. Those of medals are
	// left out where no competition has a leaderboard.
	Figures map[string]Difference `json:"figures"`
}

// Difference is two agents compared in one figure. Figure, intervals and test
// have one estimand: the mean over competitions of the difference of the
// agents' means there.
type Difference struct {
	// First and Second are the agents' figures, Difference is First less Second, in
	// percentage points.
	First      grading.Number `json:"first"`
	Second     grading.Number `json:"second"`
	Difference grading.Number `json:"difference"`
	Uncertainty
	// P is the two-sided p-value of the exact permutation test, and SmallestP the
	// smallest that it can have with as many successes; see stat.Permutation. They
	// are nil for means that are not shares of runs.
	P         *grading.Number `json:"p"`
	SmallestP *grading.Number `json:"smallest_p"`
	// AdjustedP is P by Holm's method for all that is compared together; see Adjust.
	AdjustedP *grading.Number `json:"adjusted_p"`
}

// Uncertainty are the 95 % intervals of a figure.
type Uncertainty struct {
	// Runs is over other runs at these competitions; nil where one of them has a
	// single run of an agent. See stat.Within. That of a difference reaches to 0 where the
	// test does not tell the agents apart, so that the two agree.
	Runs *Interval `json:"interval_runs"`
	// Competitions is over other competitions like these and other runs: both
	// sources of variance. nil below stat.MinClusters; see stat.Across.
	Competitions *Interval `json:"interval_competitions"`
}

// Shown is the one that stands beside a figure where there is little space, to whole
// percent: over other runs or, where that is missing, over other competitions and runs, with
// an asterisk.
func (u Uncertainty) Shown() string {
	i, mark := u.Runs, ""
	if i == nil {
		i, mark = u.Competitions, " *"
	}
	if i == nil {
		return i.Text()
	}
	return fmt.Sprintf("%.0f to %.0f%s", float64(i.Lower), float64(i.Upper), mark)
}

// PText writes a p-value with three digits, rounded up: what reads as 0.05 is no more.
func PText(p grading.Number) string {
	mantissa, exponent, ok := strings.Cut(strconv.FormatFloat(float64(p), 'e', 12, 64), "e")
	if !ok {
		return mantissa // not finite
	}
	m, _ := strconv.ParseFloat(mantissa, 64) // both are numbers
	up, _ := strconv.ParseFloat(fmt.Sprintf("%.2fe%s", math.Ceil(float64(m*100)-1e-9)/100, exponent), 64)
	return strconv.FormatFloat(up, 'g', 3, 64)
}

// Interval is a confidence interval, in percent or percentage points.
type Interval struct {
	Lower grading.Number `json:"lower"`
	Upper grading.Number `json:"upper"`
}

// reach widens an interval to hold a value.
func (i *Interval) reach(v grading.Number) {
	if i != nil {
		i.Lower, i.Upper = min(i.Lower, v), max(i.Upper, v)
	}
}

// Compare compares two agents in every figure by all their runs that count at
// the competitions that both ran. Without one it is ErrNothingShared.
func Compare(first, second []grading.Graded, ids []string) (Comparison, error) {
	c, x, y := share(first, second, ids)
	if c.Competitions == 0 {
		return Comparison{}, ErrNothingShared
	}
	for _, f := range slices.Concat(percentages, measures) {
		if d, ok := f.compare(x, y); ok {
			c.Figures[f.name] = d
		}
	}
	Adjust(&c)
	return c, nil
}

// MedalP is P of Compare in any medal alone; 1 if there is nothing to compare.
func MedalP(first, second []grading.Graded, ids []string) float64 {
	_, x, y := share(first, second, ids)
	p, _ := stat.Permutation(medals().successes(medals().counted(x, y)))
	return p
}

// share returns the runs of two agents at each competition that both ran.
func share(first, second []grading.Graded, ids []string) (c Comparison, x, y [][]Flags) {
	a, b := byCompetition(first), byCompetition(second)
	c.Figures = map[string]Difference{}
	for _, id := range ids {
		if len(a[id]) == 0 || len(b[id]) == 0 {
			c.FirstLeft, c.SecondLeft = c.FirstLeft+len(a[id]), c.SecondLeft+len(b[id])
			continue
		}
		x, y = append(x, a[id]), append(y, b[id])
		c.FirstRuns, c.SecondRuns = c.FirstRuns+len(a[id]), c.SecondRuns+len(b[id])
	}
	c.Competitions = len(x)
	return c, x, y
}

// byCompetition returns the reports of attempts that count.
func byCompetition(reports []grading.Graded) map[string][]Flags {
	out := map[string][]Flags{}
	own, _, _ := Counted(reports) // without any there is nothing to compare
	for _, g := range own {
		out[g.CompetitionID] = append(out[g.CompetitionID], FlagsOf(g.Report))
	}
	return out
}

// Adjust corrects the p-values of comparisons for each other: of all their figures
// together.
func Adjust(all ...*Comparison) {
	var ps []float64
	each := func(do func(d *Difference)) {
		for _, c := range all {
			for _, f := range percentages {
				if d, ok := c.Figures[f.name]; ok {
					do(&d)
					c.Figures[f.name] = d
				}
			}
		}
	}
	each(func(d *Difference) { ps = append(ps, float64(*d.P)) })
	ps = stat.Holm(ps)
	each(func(d *Difference) { d.AdjustedP, ps = ref(ps[0]), ps[1:] })
}

func ref(v float64) *grading.Number {
	n := grading.Number(v)
	return &n
}

// compare compares the runs of two agents, by competition; ok is false if the figure
// is not known of a run, or counts at none.
func (p figure) compare(first, second [][]Flags) (d Difference, ok bool) {
	first, second = p.counted(first, second)
	a, known := p.samples(first)
	b, same := p.samples(second)
	if !known || !same || len(a) == 0 {
		return d, false
	}
	d.First, d.Second = mean(a), mean(b)
	d.Difference = d.First - d.Second
	differences := make([]float64, len(a))
	for i := range a {
		differences[i] = a[i].Mean - b[i].Mean
	}
	d.Uncertainty = uncertainty(d.Difference, -100, differences, a, b)
	if p.holds != nil {
		tested, smallest := stat.Permutation(p.successes(first, second))
		d.P, d.SmallestP = ref(tested), ref(smallest)
		if tested > 1-Level {
			d.Runs.reach(0)
		}
	}
	return d, true
}

// counted returns the runs at the competitions that count in a figure for both: reports may
// disagree on whether one has a leaderboard.
func (p figure) counted(first, second [][]Flags) (x, y [][]Flags) {
	for i := range first {
		if p.counts(first[i][0]) && p.counts(second[i][0]) {
			x, y = append(x, first[i]), append(y, second[i])
		}
	}
	return x, y
}

// samples returns an agent's outcomes in a figure at each competition at which it
// counts; ok is false if one is not known.
func (p figure) samples(runs [][]Flags) (out []stat.Sample, ok bool) {
	for _, at := range runs {
		if !p.counts(at[0]) {
			continue
		}
		values := make([]float64, len(at))
		for i, f := range at {
			if values[i] = p.value(f); math.IsNaN(values[i]) {
				return nil, false
			}
		}
		out = append(out, stat.NewSample(values))
	}
	return out, true
}

func (p figure) successes(first, second [][]Flags) (out []stat.Successes) {
	held := func(runs []Flags) (n int) {
		for _, f := range runs {
			n += Count(p.holds(f))
		}
		return n
	}
	for i, runs := range first {
		out = append(out, stat.Successes{First: held(runs), FirstRuns: len(runs), Second: held(second[i]), SecondRuns: len(second[i])})
	}
	return out
}

// mean is the mean over competitions, in percent.
func mean(samples []stat.Sample) grading.Number {
	return NewEstimate(lists.Of(samples, func(s stat.Sample) float64 { return s.Mean * 100 })).Mean
}

// uncertainty is that of an estimate between a lowest value and 100, from its values at the
// competitions and the samples of the agents there.
func uncertainty(estimate grading.Number, lowest float64, values []float64, samples ...[]stat.Sample) (u Uncertainty) {
	if half, ok := stat.Within(Level, samples...); ok {
		u.Runs = around(estimate, half, lowest)
	}
	if half, ok := stat.Across(Level, values); ok {
		u.Competitions = around(estimate, half, lowest)
	}
	return u
}

// around is an interval between a lowest value and 100.
func around(estimate grading.Number, half, lowest float64) *Interval {
	i := stat.Around(float64(estimate), float64(half*100), lowest, 100)
	return &Interval{grading.Number(i.Lower), grading.Number(i.Upper)}
}
