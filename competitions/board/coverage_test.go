package board

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/plugins/numeric/stat"
)

// design is a number of competitions and of seeds at each. Without seeds they are like those
// after a sequential comparison: one pair at each competition, then more, three times as many
// pairs as competitions in all, where outcomes seem to vary.
type design struct {
	name                string
	competitions, seeds int
	// first has one run more at the first competition.
	first bool
}

func designs() (list []design) {
	for _, k := range []int{1, 2, 3, 7, 22, 75} {
		for _, n := range []int{1, 2, 3, 5} {
			if k*n > 1 {
				list = append(list, design{strconv.Itoa(n), k, n, false})
			}
		}
	}
	return append(list, design{"1, at one 2", 22, 1, true}, design{"3 on average, by outcome", 22, 0, false})
}

// rates are those of two agents at every competition; nil draws them from distributions
// with a mean of 7/15 and 1/3, so that competitions differ.
var rates = [][]float64{{0, 0}, {0.05, 0.05}, {0.3, 0.3}, {1, 1}, {0.3, 0.05}, {0.95, 0.05}, nil}

// beta draws from the distribution with shapes 0.3 and 0.6: most rates are near 0 or 1.
// The method is Jöhnk's.
func beta(rng *rand.Rand) float64 {
	for {
		x, y := math.Pow(rng.Float64(), 1/0.3), math.Pow(rng.Float64(), 1/0.6)
		if x+y <= 1 && x+y > 0 {
			return x / (x + y)
		}
	}
}

// experiment draws the runs of two agents, and says what is true of them: at these
// competitions, and over all of which these were drawn.
func (d design) experiment(rng *rand.Rand, rate []float64) (runs [2][][]Flags, here, everywhere [2]float64) {
	everywhere = [2]float64{7.0 / 15, 1.0 / 3}
	truth := make([][2]float64, d.competitions)
	more := func(c int) {
		for a := range runs {
			runs[a][c] = append(runs[a][c], Flags{BronzeMedal: rng.Float64() < truth[c][a]})
		}
	}
	runs = [2][][]Flags{make([][]Flags, d.competitions), make([][]Flags, d.competitions)}
	for c := range truth {
		truth[c] = [2]float64{0.2 + 0.8*beta(rng), beta(rng)}
		if rate != nil {
			truth[c] = [2]float64(rate)
			everywhere = truth[c]
		}
		for a := range here {
			here[a] += truth[c][a] / float64(d.competitions)
		}
		for range max(d.seeds, 1) {
			more(c)
		}
	}
	if d.first {
		more(0)
	}
	for pairs := d.competitions; d.seeds == 0 && pairs < 3*d.competitions; pairs++ {
		more(likely(rng, runs))
	}
	return runs, here, everywhere
}

// likely draws a competition by how much its outcomes seem to vary, as power.Sequential
// does: a rate is drawn to its agent's mean as by one more attempt.
func likely(rng *rand.Rand, runs [2][][]Flags) int {
	weights, total := make([]float64, len(runs[0])), 0.0
	for a := range runs {
		samples, _ := medals().samples(runs[a])
		prior := float64(mean(samples)) / 100
		for c, s := range samples {
			rate := (prior + s.Mean*float64(s.N)) / float64(s.N+1)
			weights[c] += rate * (1 - rate)
		}
	}
	for c := range weights {
		weights[c] = math.Sqrt(weights[c] + 1e-6)
		total += weights[c]
	}
	at := rng.Float64() * total
	for c, w := range weights {
		if at -= w; at < 0 {
			return c
		}
	}
	return len(weights) - 1
}

// coverage is how often intervals held the truth, the lowest of all rates, and how often
// the test told equal agents apart, the highest.
type coverage struct {
	design
	// runs and across are intervals of differences, meanRuns and meanAcross of means.
	// NaN is no interval.
	runs, across, meanRuns, meanAcross, errs float64
	// width is the mean width of runs, or of across without, at rates that vary.
	width float64
}

// tally counts intervals of which some held the truth.
type tally struct{ held, of float64 }

func (c *tally) add(i *Interval, truth float64) {
	if i == nil {
		return
	}
	c.of++
	if truth *= 100; float64(i.Lower) <= truth+1e-9 && truth-1e-9 <= float64(i.Upper) {
		c.held++
	}
}

func (d design) simulate(n int) coverage {
	nan := math.NaN()
	out := coverage{design: d, runs: nan, across: nan, meanRuns: nan, meanAcross: nan}
	// An interval that few experiments have is conditional on what they drew.
	least := func(to *float64, c tally) {
		if c.of > float64(n)/2 && !(*to < c.held/c.of) {
			*to = c.held / c.of
		}
	}
	rng := rand.New(rand.NewPCG(uint64(d.competitions), uint64(d.seeds)))
	for _, rate := range rates {
		var runs, across, meanRuns, meanAcross tally
		wrong, width, wide := 0.0, 0.0, 0.0
		for range n {
			drawn, here, everywhere := d.experiment(rng, rate)
			diff, _ := medals().compare(drawn[0], drawn[1])
			runs.add(diff.Runs, here[0]-here[1])
			across.add(diff.Competitions, everywhere[0]-everywhere[1])
			samples, _ := medals().samples(drawn[0])
			m := measure(samples)
			meanRuns.add(m.Runs, here[0])
			meanAcross.add(m.Competitions, everywhere[0])
			wrong += float64(Count(*diff.P <= 0.05))
			if i := cmp.Or(diff.Runs, diff.Competitions); i != nil {
				width, wide = width+float64(i.Upper-i.Lower), wide+1
			}
		}
		least(&out.runs, runs)
		least(&out.across, across)
		least(&out.meanRuns, meanRuns)
		least(&out.meanAcross, meanAcross)
		if rate != nil && rate[0] == rate[1] {
			out.errs = max(out.errs, wrong/float64(n))
		}
		out.width = width / wide
	}
	return out
}

// tied is a public board of equal agents at 22 competitions.
type tied struct {
	agents, seeds int
	// apart is the share of boards that tell two agents apart.
	apart float64
}

func tiedBoards() (list []tied) {
	for _, m := range []int{2, 5, 10, 28} {
		for _, n := range []int{1, 3} {
			list = append(list, tied{agents: m, seeds: n})
		}
	}
	return list
}

func (b *tied) simulate(n int) {
	rng := rand.New(rand.NewPCG(uint64(b.agents), uint64(b.seeds)))
	for range n {
		agents := make([][][]Flags, b.agents)
		for range 22 {
			p := beta(rng)
			for a := range agents {
				var at []Flags
				for range b.seeds {
					at = append(at, Flags{BronzeMedal: rng.Float64() < p})
				}
				agents[a] = append(agents[a], at)
			}
		}
		var ps []float64
		for i := range agents {
			for j := range i {
				p, _ := stat.Permutation(medals().successes(agents[j], agents[i]))
				ps = append(ps, p)
			}
		}
		least := 1.0
		for _, p := range stat.Holm(ps) {
			least = min(least, p)
		}
		b.apart += float64(Count(least <= 0.05)) / float64(n)
	}
}

// TestCoverage holds the levels of intervals and tests by simulation, and the tables of
// docs/leaderboard.md. "make coverage" simulates 2,000 of each and writes the tables.
func TestCoverage(t *testing.T) {
	n, boards := 60, 20
	if text := os.Getenv("MLEFLOW_SIMULATIONS"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
		boards = n / 4
	}
	// What an honest level may miss by: three standard errors, and half a point for the
	// least of seven rates.
	slack := func(n int) float64 { return 3*math.Sqrt(0.05*0.95/float64(n)) + 0.005 }
	var rows []coverage
	for _, d := range designs() {
		c := d.simulate(n)
		rows = append(rows, c)
		for what, held := range map[string]float64{"difference, other runs": c.runs, "difference, other competitions": c.across, "mean, other runs": c.meanRuns, "mean, other competitions": c.meanAcross} {
			if held < 0.95-slack(n)-0.015 {
				t.Errorf("%d competitions, seeds %s: the interval of the %s holds the truth in %.1f %%", d.competitions, d.name, what, 100*held)
			}
		}
		if c.errs > 0.05+slack(n) {
			t.Errorf("%d competitions, seeds %s: the test tells equal agents apart in %.1f %%", d.competitions, d.name, 100*c.errs)
		}
	}
	ties := tiedBoards()
	for i := range ties {
		if ties[i].simulate(boards); ties[i].apart > 0.05+slack(boards) {
			t.Errorf("boards of %d equal agents with %d seeds tell two apart in %.1f %%", ties[i].agents, ties[i].seeds, 100*ties[i].apart)
		}
	}
	document(t, rows, ties, n)
}

func document(t *testing.T, rows []coverage, ties []tied, n int) {
	t.Helper()
	const begin, end = "<!-- coverage -->\n", "<!-- end of coverage -->\n"
	path := filepath.Join("..", "..", "docs", "leaderboard.md")
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(page), begin)
	was, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("docs/leaderboard.md has no lines %q and %q", begin, end)
	}
	made := tables(rows, ties)
	if os.Getenv("UPDATE_GOLDEN") != "" && n >= 1000 {
		if err := os.WriteFile(path, []byte(before+begin+made+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	heads := func(text string) (out []string) {
		for line := range strings.Lines(text) {
			out = append(out, strings.Join(strings.SplitN(line, "|", 4)[:min(3, strings.Count(line, "|")+1)], "|"))
		}
		return out
	}
	if got, want := strings.Join(heads(was), "\n"), strings.Join(heads(made), "\n"); got != want {
		t.Errorf("docs/leaderboard.md has other rows: make coverage\n%s\nwant\n%s", got, want)
	}
}

func tables(rows []coverage, ties []tied) string {
	var s strings.Builder
	percent := func(v float64) string {
		if math.IsNaN(v) {
			return "–"
		}
		return fmt.Sprintf("%.1f %%", 100*v)
	}
	s.WriteString("| Competitions | Seeds | Difference: other runs | other competitions | Mean width | Mean: other runs | other competitions | Test errs |\n| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for _, c := range rows {
		width := "–"
		if !math.IsNaN(c.width) {
			width = fmt.Sprintf("%.0f", c.width)
		}
		fmt.Fprintf(&s, "| %d | %s | %s | %s | %s | %s | %s | %s |\n", c.competitions, c.name, percent(c.runs), percent(c.across), width, percent(c.meanRuns), percent(c.meanAcross), percent(c.errs))
	}
	s.WriteString("\n| Equal agents | Seeds | Boards that tell two apart |\n| ---: | ---: | ---: |\n")
	for _, b := range ties {
		fmt.Fprintf(&s, "| %d | %d | %s |\n", b.agents, b.seeds, percent(b.apart))
	}
	return s.String()
}
