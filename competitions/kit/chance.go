package kit

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/mleflow/mleflow/plugins/data/table"
)

// surely is the power of ten of the chance below which a pattern is taken for
// no accident.
const surely = -6

// pairs are the values of a column next to the answers of the same rows, both
// as texts.
type pairs struct {
	values, truths []string
}

// shares returns the share of each answer, and whether at least two answers
// occur twice or more; else nothing follows from a pattern.
func (p *pairs) shares() (map[string]float64, bool) {
	count := map[string]int{}
	for _, t := range p.truths {
		count[t]++
	}
	shares, repeated := make(map[string]float64, len(count)), 0
	for t, n := range count {
		shares[t] = float64(n) / float64(len(p.truths))
		if n > 1 {
			repeated++
		}
	}
	return shares, repeated > 1
}

// determined reports whether equal values always have equal answers, and the
// power of ten of the chance of that had the answers nothing to do with the
// values: the product over the groups of equal values of the chance that their
// answers agree.
func (p *pairs) determined(shares map[string]float64) (chance float64, distinct int, ok bool) {
	answer, size := map[string]string{}, map[string]int{}
	for i, v := range p.values {
		if size[v]++; size[v] == 1 {
			answer[v] = p.truths[i]
		} else if answer[v] != p.truths[i] {
			return 0, 0, false
		}
	}
	for _, n := range slices.Sorted(maps.Values(size)) {
		chance += agreement(shares, n)
	}
	return chance, len(size), true
}

// agreement is the power of ten of the chance that n answers agree.
func agreement(shares map[string]float64, n int) float64 {
	all := make([]float64, 0, len(shares))
	for _, share := range shares {
		all = append(all, math.Pow(share, float64(n)))
	}
	slices.Sort(all)
	sum := 0.0
	for _, v := range all {
		sum += v
	}
	return math.Log10(max(sum, math.SmallestNonzeroFloat64))
}

// unusual looks at the rows whose value is not the most frequent one, a gap
// counting as a value, and returns the answer that they all have and the power
// of ten of its chance.
func (p *pairs) unusual(shares map[string]float64) (usual, answer string, rows int, chance float64, ok bool) {
	count := map[string]int{}
	for _, v := range p.values {
		count[v]++
	}
	most := 0
	for v, n := range count {
		if n > most || n == most && v < usual {
			usual, most = v, n
		}
	}
	for i, v := range p.values {
		switch {
		case v == usual:
		case rows == 0:
			answer, rows = p.truths[i], 1
		case p.truths[i] != answer:
			return usual, "", 0, 0, false
		default:
			rows++
		}
	}
	if most < 2 || rows == 0 {
		return usual, "", 0, 0, false
	}
	return usual, answer, rows, float64(float64(rows) * math.Log10(shares[answer])), true
}

// runs returns the number of stretches of equal answers, the number that is
// expected of a random order, its standard deviation, and the power of ten of
// the chance that a random order is sorted.
func runs(truths []string) (got, want, deviation, sorted float64) {
	count := map[string]float64{}
	got = 1
	for i, t := range truths {
		count[t]++
		if i > 0 && truths[i-1] != t {
			got++
		}
	}
	n := float64(len(truths))
	squares, cubes, logs := 0.0, 0.0, 0.0
	for _, c := range slices.Sorted(maps.Values(count)) {
		squares += float64(c * c)
		cubes += float64(c * c * c)
		log, _ := math.Lgamma(c + 1)
		logs += log
	}
	want = n + 1 - squares/n
	variance := (float64(squares*(squares+float64(n*(n+1)))) - float64(2*n*cubes) - float64(n*n*n)) / (n * n * (n - 1))
	all, _ := math.Lgamma(n + 1)
	kinds, _ := math.Lgamma(float64(len(count)) + 1)
	return got, want, math.Sqrt(max(variance, 0)), (logs + kinds - all) / math.Ln10
}

// monotone reports whether ordering by x orders y, in either direction, with
// equal x having equal y; both have at least ten distinct values.
func monotone(x, y []float64) bool {
	order := table.Collect(len(x), func(i int) int { return i })
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(x[a], x[b]) })
	up, down, distinctX, distinctY := true, true, 1, 1
	for i := 1; i < len(order); i++ {
		a, b := order[i-1], order[i]
		switch {
		case math.IsNaN(x[a]) || math.IsNaN(y[a]) || math.IsNaN(x[b]) || math.IsNaN(y[b]), x[a] == x[b] && y[a] != y[b]:
			return false
		case x[a] != x[b]:
			distinctX++
		}
		if y[a] != y[b] {
			distinctY++
		}
		up, down = up && y[a] <= y[b], down && y[a] >= y[b]
	}
	return (up || down) && len(x) > 0 && distinctX >= 10 && distinctY >= 10
}

// correlation returns Pearson's correlation of two columns; 0 where one is
// constant.
func correlation(x, y []float64) float64 {
	n := float64(len(x))
	meanX, meanY := 0.0, 0.0
	for i := range x {
		meanX += x[i] / n
		meanY += y[i] / n
	}
	xy, xx, yy := 0.0, 0.0, 0.0
	for i := range x {
		dx, dy := x[i]-meanX, y[i]-meanY
		xy += float64(dx * dy)
		xx += float64(dx * dx)
		yy += float64(dy * dy)
	}
	if xx == 0 || yy == 0 || math.IsNaN(xy) || math.IsInf(xy, 0) {
		return 0
	}
	return xy / math.Sqrt(float64(xx*yy))
}
