package stat

import (
	"fmt"
	"math/big"
)

// McNemar is the two-sided p-value of the exact McNemar test: b and c are the
// numbers of pairs in which only the first and only the second of two agents
// succeeded. Under the null hypothesis b is binomial with b+c trials and
// probability 1/2; the p-value is twice the smaller tail, at most 1. Without
// discordant pairs it is 1. It equals statsmodels' mcnemar(exact=True).
//
// Source: McNemar, Note on the sampling error of the difference between
// correlated proportions or percentages, Psychometrika 12 (1947).
func McNemar(b, c int) (float64, error) {
	if b < 0 || c < 0 {
		return 0, fmt.Errorf("exact McNemar test: %d and %d are no numbers of pairs", b, c)
	}
	n, smaller := int64(b)+int64(c), int64(min(b, c))
	tail, term := new(big.Int), big.NewInt(1)
	for k := int64(0); k <= smaller; k++ {
		tail.Add(tail, term)
		term.Mul(term, big.NewInt(n-k))
		term.Quo(term, big.NewInt(k+1))
	}
	return share(tail.Lsh(tail, 1), uint(n)), nil
}

// SignFlip is the two-sided p-value of the randomisation test of paired
// differences: under the null hypothesis each is as likely to have the other
// sign, and the p-value is the share of all 2^n choices of signs whose sum is
// at least as far from 0 as the observed one. No choice is sampled; all are
// counted. With one sum per competition the pairs of a competition need not be
// independent of each other, which McNemar's test takes for granted. It equals
// scipy's permutation_test(permutation_type="samples") on the sum where that
// enumerates all choices.
//
// The work grows with the number of differences times the sum of their sizes.
//
// Source: Fisher, The Design of Experiments (1935), section 21.
func SignFlip(differences []int64) float64 {
	var sum, reach int64
	for _, d := range differences {
		sum += d
		reach += max(d, -d)
	}
	// ways[s] counts the choices whose positive part is s: the sum is then
	// 2s - reach.
	ways := []*big.Int{big.NewInt(1)}
	for _, d := range differences {
		ways = flip(ways, max(d, -d))
	}
	extreme := new(big.Int)
	for s, w := range ways {
		if at := 2*int64(s) - reach; max(at, -at) >= max(sum, -sum) {
			extreme.Add(extreme, w)
		}
	}
	return share(extreme, uint(len(differences)))
}

// flip adds a difference of a size to the counts.
func flip(ways []*big.Int, size int64) []*big.Int {
	out := make([]*big.Int, int64(len(ways))+size)
	for i := range out {
		out[i] = new(big.Int)
	}
	for s, w := range ways {
		out[s].Add(out[s], w)
		out[int64(s)+size].Add(out[int64(s)+size], w)
	}
	return out
}

// share is count / 2^n, at most 1.
func share(count *big.Int, n uint) float64 {
	p, _ := new(big.Rat).SetFrac(count, new(big.Int).Lsh(big.NewInt(1), n)).Float64()
	return min(p, 1)
}
