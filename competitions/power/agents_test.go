package power_test

import (
	"encoding/csv"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/mleflow/mleflow/competitions/power"
)

// splits are the numbers of competitions in the sets low, medium and high.
var splits = [3]int{22, 38, 15}

// published are the agents of docs/published.csv with figures of all splits.
type published struct {
	rates [][3]float64
	// strength is that of the beta distribution of an agent's rates of any medal over
	// competitions. The standard error of the mean over three seeds says how much medals
	// vary within competitions, the mean how much they vary altogether.
	strength float64
}

func readPublished(t *testing.T) published {
	t.Helper()
	file, err := os.Open(filepath.Join("..", "..", "docs", "published.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	column := map[string]int{}
	for i, name := range rows[0] {
		column[name] = i
	}
	var p published
	within, total := 0.0, 0.0
	for _, row := range rows[1:] {
		var v [5]float64
		missing := row[column["padded"]] != ""
		for i, name := range []string{"low", "medium", "high", "all", "all_sem"} {
			percent, err := strconv.ParseFloat(row[column[name]], 64)
			v[i], missing = percent/100, missing || err != nil
		}
		if missing {
			continue
		}
		p.rates = append(p.rates, [3]float64(v[:3]))
		within += 3 * v[4] * v[4] * 75
		total += v[3] * (1 - v[3])
	}
	if len(p.rates) < 10 {
		t.Fatalf("docs/published.csv has %d agents with all figures", len(p.rates))
	}
	p.strength = within / (total - within)
	return p
}

// pair draws two agents and their rates at k competitions.
// In half of the competitions they find the same things hard: the better one has at
// least the other's rate. In the others their rates are independent.
func (p published) pair(rng *rand.Rand, k int) []power.Rates {
	a, b := rng.IntN(len(p.rates)), rng.IntN(len(p.rates)-1)
	if b >= a {
		b++
	}
	return p.draw(rng, k, p.rates[a], p.rates[b])
}

// same draws rates of an agent that is compared with itself.
func (p published) same(rng *rand.Rand, k int) []power.Rates {
	a := p.rates[rng.IntN(len(p.rates))]
	rates := p.draw(rng, k, a, a)
	for i := range rates {
		rates[i].Second = rates[i].First
	}
	return rates
}

func (p published) draw(rng *rand.Rand, k int, a, b [3]float64) []power.Rates {
	rates := make([]power.Rates, k)
	for i := range rates {
		split := 0
		for j, n := i, splits[0]; j >= n; n = splits[split] {
			j, split = j-n, split+1
		}
		rates[i] = power.Rates{Competition: fmt.Sprint(i)}
		high, low := max(a[split], b[split]), min(a[split], b[split])
		// Sums of gamma variables make beta variables.
		common, rest, less := gamma(rng, low*p.strength), gamma(rng, (1-high)*p.strength), gamma(rng, (high-low)*p.strength)
		better, worse := (common+less)/(common+less+rest), common/(common+less+rest)
		if rng.IntN(2) == 0 {
			x, y := gamma(rng, low*p.strength), gamma(rng, (1-low)*p.strength)
			worse = x / (x + y)
		}
		if a[split] < b[split] {
			better, worse = worse, better
		}
		rates[i].First, rates[i].Second = better, worse
	}
	return rates
}

// gamma draws from the gamma distribution of a shape by the method of Marsaglia and Tsang.
func gamma(rng *rand.Rand, shape float64) float64 {
	if shape <= 0 {
		return 0
	}
	if shape < 1 {
		return max(gamma(rng, shape+1)*math.Pow(rng.Float64(), 1/shape), 1e-300)
	}
	d := shape - 1.0/3
	for {
		x := rng.NormFloat64()
		v := math.Pow(1+x/math.Sqrt(9*d), 3)
		if v > 0 && math.Log(rng.Float64()) < x*x/2+d-d*v+d*math.Log(v) {
			return d * v
		}
	}
}

// fixedPairs are the pairs of the fixed design: the fewest whole seeds with which the
// board's test shows a difference of at least 5 points with a power of 80 %, as in
// Test.Detectable, by the normal approximation.
func fixedPairs(rates []power.Rates, difference float64) int {
	k := float64(len(rates))
	// The variances of a pair are those of two independent attempts, and under the null
	// hypothesis of two from the rates' mean.
	better := func(step float64) (mean, variance, null float64) {
		for _, r := range rates {
			first := min(1, r.Second+step)
			both := (first + r.Second) / 2
			mean += (first - r.Second) / k
			variance += (first*(1-first) + r.Second*(1-r.Second)) / k
			null += 2 * both * (1 - both) / k
		}
		return
	}
	low, high := 0.0, 1.0
	for range 50 {
		if mean, _, _ := better((low + high) / 2); mean < difference {
			low = (low + high) / 2
		} else {
			high = (low + high) / 2
		}
	}
	mean, variance, null := better(high)
	for seeds := 1; ; seeds++ {
		n := float64(seeds) * k
		z := (n*mean - 0.5 - 1.96*math.Sqrt(n*null*float64(2*seeds)/float64(2*seeds-1))) / math.Sqrt(n*variance)
		if 0.5*math.Erfc(-z/math.Sqrt2) >= 0.8 || seeds == 10000 {
			return seeds * len(rates)
		}
	}
}

// TestFixedPairs compares the approximation with the power that plan --power computes.
func TestFixedPairs(t *testing.T) {
	for _, c := range []struct {
		rate, difference float64
		competitions     int
	}{{0.3, 0.2, 22}, {0.02, 0.1, 22}, {0.1, 0.1, 75}} {
		seeds := fixedPairs(power.Given(c.rate, c.rate, c.competitions), c.difference) / c.competitions
		plan, err := power.Test{Alpha: 0.05, Simulations: 1000}.Plan(power.Given(c.rate+c.difference, c.rate, c.competitions), seeds+1)
		if err != nil {
			t.Fatal(err)
		}
		if seeds > 2 && plan[seeds-3].Power > 0.8 || plan[seeds].Power < 0.8 {
			t.Errorf("rates %v and %d competitions: %d seeds, with powers of %v", c.rate, c.competitions, seeds, plan)
		}
	}
}
