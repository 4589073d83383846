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

// share is count / 2^n, at most 1.
func share(count *big.Int, n uint) float64 {
	p, _ := new(big.Rat).SetFrac(count, new(big.Int).Lsh(big.NewInt(1), n)).Float64()
	return min(p, 1)
}
