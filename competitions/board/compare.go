package board

import (
	"errors"
	"fmt"

	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/plugins/numeric/stat"
)

// ErrUnpaired means that no two runs are comparable.
var ErrUnpaired = errors.New("compare agents: no competition has a report of both")

// Comparison is two agents compared over the competitions that both ran.
type Comparison struct {
	PairedBy     PairedBy   `json:"paired_by"`
	Competitions int        `json:"competitions"`
	Pairs        int        `json:"pairs"`
	Unpaired     []Unpaired `json:"unpaired"` // runs that were left out
	Resamples    int        `json:"resamples"`
	Seed         uint64     `json:"seed"` // of the bootstrap
	// Figures are by the names of the percentages. Those of medals are left out
	// where no competition has a leaderboard.
	Figures map[string]Difference `json:"figures"`
}

// Difference is two agents compared in one figure.
type Difference struct {
	// First and Second are the agents' percentages over the pairs: the mean
	// over competitions of the share of runs. Difference is First less Second,
	// in percentage points.
	First      grading.Number `json:"first"`
	Second     grading.Number `json:"second"`
	Difference grading.Number `json:"difference"`
	// Pairs by who succeeded.
	Both       int `json:"both"`
	OnlyFirst  int `json:"only_first"`
	OnlySecond int `json:"only_second"`
	Neither    int `json:"neither"`
	// McNemarP is the two-sided p-value of the exact McNemar test on all
	// pairs, which takes them for independent.
	McNemarP grading.Number `json:"mcnemar_p"`
	// SignFlipP is the two-sided p-value of the exact randomisation test on
	// the competitions' sums of differences, which lets the runs of one
	// competition depend on each other.
	SignFlipP grading.Number `json:"sign_flip_p"`
	// Stratified is the 95 % interval of the difference over other runs at
	// these competitions: runs are resampled within each. Clustered is that
	// over other competitions like these: competitions are resampled whole.
	// nil where the data do not tell, as with one run a competition.
	Stratified *Intervals `json:"stratified_interval"`
	Clustered  *Intervals `json:"clustered_interval"`
}

// Intervals are the 95 % bootstrap intervals of a difference, in percentage
// points.
type Intervals struct {
	Percentile Interval  `json:"percentile"`
	BCa        *Interval `json:"bca"` // nil where it is not defined
}

// Interval is a confidence interval.
type Interval struct {
	Lower grading.Number `json:"lower"`
	Upper grading.Number `json:"upper"`
}

// Resampling is the bootstrap method of a comparison.
type Resampling struct {
	Resamples int
	Seed      uint64
}

// DefaultResampling is the resampling of comparisons that do not set their own.
var DefaultResampling = Resampling{Resamples: 10000}

// Compare compares two agents by their pairs in every figure. Without pairs it
// is an error.
func (p Pairing) Compare(r Resampling) (Comparison, error) {
	if len(p.Pairs) == 0 {
		return Comparison{}, ErrUnpaired
	}
	c := Comparison{
		PairedBy: p.By, Competitions: len(p.Competitions), Unpaired: append([]Unpaired{}, p.Unpaired...),
		Resamples: r.Resamples, Seed: r.Seed, Figures: map[string]Difference{},
	}
	for _, pairs := range p.Pairs {
		c.Pairs += len(pairs)
	}
	for _, figure := range percentages {
		pairs := p.counted(figure)
		if len(pairs) == 0 {
			continue
		}
		d, err := compare(pairs, figure.holds, r)
		if err != nil {
			return Comparison{}, fmt.Errorf("compare agents: %w", err)
		}
		c.Figures[figure.name] = d
	}
	return c, nil
}

// counted returns the pairs that count in a figure, by competition.
func (p Pairing) counted(f figure) (out [][]Pair) {
	for _, pairs := range p.Pairs {
		if f.counts(pairs[0].First) {
			out = append(out, pairs)
		}
	}
	return out
}

func compare(all [][]Pair, holds func(Flags) bool, r Resampling) (Difference, error) {
	var d Difference
	var first, second []float64
	var sums []int64
	strata := make([][]int64, len(all))
	for i, pairs := range all {
		var a, b int
		for _, pair := range pairs {
			x, y := holds(pair.First), holds(pair.Second)
			d.count(x, y)
			a, b = a+Count(x), b+Count(y)
			strata[i] = append(strata[i], int64(Count(x)-Count(y)))
		}
		first, second = append(first, share(a, pairs)), append(second, share(b, pairs))
		sums = append(sums, int64(a-b))
	}
	d.First, d.Second = NewEstimate(first).Mean, NewEstimate(second).Mean
	d.Difference = d.First - d.Second
	p1, err := stat.McNemar(d.OnlyFirst, d.OnlySecond)
	if err != nil {
		return d, err
	}
	d.McNemarP, d.SignFlipP = grading.Number(p1), grading.Number(stat.SignFlip(sums))
	if d.Stratified, err = intervals(strata, 1, r); err != nil {
		return d, err
	}
	whole, scale := clusters(strata)
	d.Clustered, err = intervals([][]int64{whole}, scale, r)
	return d, err
}

func share(n int, pairs []Pair) float64 { return float64(n) / float64(len(pairs)) * 100 }

func (d *Difference) count(first, second bool) {
	switch {
	case first && second:
		d.Both++
	case first:
		d.OnlyFirst++
	case second:
		d.OnlySecond++
	default:
		d.Neither++
	}
}

// clusters returns the means of the strata times scale, which makes them
// integers.
func clusters(strata [][]int64) (means []int64, scale int64) {
	scale = 1
	for _, s := range strata {
		n, a, b := int64(len(s)), scale, int64(len(s))
		for b != 0 {
			a, b = b, a%b
		}
		scale *= n / a
	}
	for _, s := range strata {
		var sum int64
		for _, d := range s {
			sum += d
		}
		means = append(means, sum*(scale/int64(len(s))))
	}
	return means, scale
}

// intervals bootstraps strata whose values are scale times the differences.
func intervals(strata [][]int64, scale int64, r Resampling) (*Intervals, error) {
	result, err := stat.Bootstrap{Resamples: r.Resamples, Seed: r.Seed, Confidence: 0.95}.MeanOfMeans(strata)
	if errors.Is(err, stat.ErrNoInterval) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	points := func(i stat.Interval) Interval {
		return Interval{grading.Number(i.Lower / float64(scale) * 100), grading.Number(i.Upper / float64(scale) * 100)}
	}
	out := &Intervals{Percentile: points(result.Percentile)}
	if result.BCa != nil {
		bca := points(*result.BCa)
		out.BCa = &bca
	}
	return out, nil
}
