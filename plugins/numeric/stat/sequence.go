package stat

import (
	"math"

	"github.com/mleflow/mleflow/plugins/numeric/libm"
)

// Counts are differences of -1, 0 and 1 by value.
type Counts struct {
	Plus, Minus, Zero int
}

func (c Counts) mirrored() Counts { return Counts{c.Minus, c.Plus, c.Zero} }

// bets are the shares of the capital that are staked, evenly from 0 to 1/2. At
// 1/2 the capital stays positive whatever the mean is.
const bets = 32

// Sequence is a confidence sequence for the mean of differences between -1 and
// 1: intervals that all hold together with probability Confidence, however often
// one looks and whenever one stops.
//
// Differences come in rounds, one of each stratum, independent of each other;
// looks are at the ends of rounds. The strata may have different means: what is
// covered is the mean over the strata. A gambler who stakes the same share on
// every difference of a round against the claim that this mean is m wins
// nothing in expectation, since the geometric mean of the strata's expected
// factors is at most their arithmetic mean, which is 1. By Ville's inequality
// his capital exceeds 1/a with probability at most a. The capital is averaged
// over 32 stakes, for each side by itself.
//
// Sources: Waudby-Smith and Ramdas, Estimating means of bounded random
// variables by betting, JRSS B 86 (2024); Ville, Étude critique de la notion de
// collectif (1939).
type Sequence struct {
	Confidence float64
}

// Side reports on which side of 0 the interval is:
// 1, -1, or 0 if it contains it.
func (s Sequence) Side(c Counts) int {
	switch {
	case s.rejects(c, 0):
		return 1
	case s.rejects(c.mirrored(), 0):
		return -1
	}
	return 0
}

// rejects reports whether the mean is higher than m, at half the error.
func (s Sequence) rejects(c Counts, m float64) bool {
	return logCapital(c, m) >= -libm.Log((1-s.Confidence)/2)
}

// logCapital is the logarithm of the mean capital of gamblers who stake on a
// mean above m.
func logCapital(c Counts, m float64) float64 {
	var logs [bets]float64
	top := math.Inf(-1)
	for i := range logs {
		stake := float64(float64(i)+0.5) / (2 * bets)
		logs[i] = float64(float64(c.Plus)*libm.Log(1+float64(stake*(1-m)))) +
			float64(float64(c.Minus)*libm.Log(1-float64(stake*(1+m)))) +
			float64(float64(c.Zero)*libm.Log(1-float64(stake*m)))
		top = max(top, logs[i])
	}
	sum := 0.0
	for _, l := range logs {
		sum += libm.Exp(l - top)
	}
	return top + libm.Log(sum/bets)
}
