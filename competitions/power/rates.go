package power

import (
	"fmt"
	"slices"

	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/grading"
)

// prior is the number of attempts that the agent's mean counts as in its rate at one
// competition. Without it three attempts give rates of 0 and 1, as if results did not
// vary.
const prior = 2

// FromReports estimates rates from the reports of two agents at the competitions
// that both have: the share of successes at the competition, drawn towards the
// agent's mean as if that had been seen in two more attempts. Every report counts; see
// board.Counted.
func FromReports(first, second []grading.Graded, figure func(board.Flags) (success, counts bool)) ([]Rates, error) {
	a, b := tally(first, figure), tally(second, figure)
	var ids []string
	for id := range a {
		if _, ok := b[id]; ok {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	if len(ids) == 0 {
		return nil, fmt.Errorf("plan power: no competition has a report of both agents")
	}
	meanA, meanB := mean(a, ids), mean(b, ids)
	rates := make([]Rates, len(ids))
	for i, id := range ids {
		rates[i] = Rates{id, a[id].rate(meanA), b[id].rate(meanB)}
	}
	return rates, nil
}

// Given are equal rates at a number of competitions. Rates with the same means that
// differ between competitions give another power: more where outcomes vary less, and
// less where the agents are good at different things.
func Given(first, second float64, competitions int) []Rates {
	rates := make([]Rates, competitions)
	for i := range rates {
		rates[i] = Rates{fmt.Sprintf("competition %d", i+1), first, second}
	}
	return rates
}

type successes struct{ of, n int }

func (s successes) rate(mean float64) float64 {
	return (float64(s.of) + float64(prior*mean)) / float64(s.n+prior)
}

func tally(reports []grading.Graded, figure func(board.Flags) (success, counts bool)) map[string]successes {
	out := map[string]successes{}
	for _, r := range reports {
		success, counts := figure(board.FlagsOf(r.Report))
		if !counts {
			continue
		}
		s := out[r.CompetitionID]
		s.n++
		if success {
			s.of++
		}
		out[r.CompetitionID] = s
	}
	return out
}

// mean is the mean over competitions of the share of successes.
func mean(of map[string]successes, ids []string) float64 {
	sum := 0.0
	for _, id := range ids {
		sum += float64(of[id].of) / float64(of[id].n)
	}
	return sum / float64(len(ids))
}
