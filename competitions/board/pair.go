package board

import (
	"slices"

	"github.com/mleflow/mleflow/competitions/grading"
)

// Pair is a run of each of two agents at one competition.
type Pair struct {
	First, Second Flags
}

// PairedBy selects how runs are paired.
type PairedBy string

// The ways to pair.
const (
	BySeed  PairedBy = "seed"  // runs with equal seed labels
	ByOrder PairedBy = "order" // the n-th run with the n-th run
)

// Unpaired is the number of runs at a competition that have no partner.
type Unpaired struct {
	Competition string `json:"competition"`
	First       int    `json:"first"`
	Second      int    `json:"second"`
}

// Pairing is the runs of two agents in pairs, by competition.
type Pairing struct {
	By           PairedBy
	Competitions []string // with at least one pair
	Pairs        [][]Pair // of each of them
	Unpaired     []Unpaired
}

// NewPairing pairs the runs of two agents at the competitions. Where every run
// of both has a seed label, and no two of an agent at one competition have the
// same, runs with equal seeds are paired; otherwise the n-th run with the n-th.
// Runs without a partner are left out and counted.
func NewPairing(first, second []grading.Graded, ids []string) Pairing {
	p := Pairing{By: ByOrder}
	if seeded(first) && seeded(second) {
		p.By = BySeed
	}
	for _, id := range ids {
		of := func(reports []grading.Graded) []grading.Graded {
			return slices.DeleteFunc(slices.Clone(reports), func(g grading.Graded) bool { return g.CompetitionID != id })
		}
		a, b := of(first), of(second)
		pairs := pairRuns(a, b, p.By)
		if left := (Unpaired{id, len(a) - len(pairs), len(b) - len(pairs)}); left.First+left.Second > 0 {
			p.Unpaired = append(p.Unpaired, left)
		}
		if len(pairs) > 0 {
			p.Competitions, p.Pairs = append(p.Competitions, id), append(p.Pairs, pairs)
		}
	}
	return p
}

// seeded reports whether every report has a seed of its own at its competition.
func seeded(reports []grading.Graded) bool {
	seen := map[[2]string]bool{}
	for _, g := range reports {
		key := [2]string{g.CompetitionID, g.Labels["seed"]}
		if key[1] == "" || seen[key] {
			return false
		}
		seen[key] = true
	}
	return true
}

func pairRuns(a, b []grading.Graded, by PairedBy) []Pair {
	var pairs []Pair
	for i, g := range a {
		partner := i
		if by == BySeed {
			partner = slices.IndexFunc(b, func(other grading.Graded) bool { return other.Labels["seed"] == g.Labels["seed"] })
		}
		if partner >= 0 && partner < len(b) {
			pairs = append(pairs, Pair{FlagsOf(g.Report), FlagsOf(b[partner].Report)})
		}
	}
	return pairs
}
