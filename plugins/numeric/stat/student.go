package stat

import (
	"math"

	"github.com/mleflow/mleflow/plugins/numeric/libm"
)

// Student is the distance from 0 within which Student's t distribution has the
// share confidence of its mass: scipy's t.ppf((1+confidence)/2, df). It is
// +Inf without a degree of freedom.
//
// The share within a distance is a finite sum for integer degrees of freedom;
// the distance is found by bisection.
//
// Source: Zelen and Severo, in Abramowitz and Stegun, Handbook of Mathematical
// Functions (1964), 26.7.3 and 26.7.4.
func Student(confidence float64, df int) float64 {
	if df < 1 {
		return math.Inf(1)
	}
	// The cosine of the angle atan(t/√df) is bisected: far out in the tail it
	// keeps its digits, which the sine does not.
	low, high := 0.0, 1.0
	for {
		cos := low + float64((high-low)/2)
		if cos == low || cos == high {
			return math.Sqrt(float64(df)) * math.Sqrt(float64((1-cos)*(1+cos))) / cos
		}
		if studentShare(cos, df) > confidence {
			low = cos
		} else {
			high = cos
		}
	}
}

// studentShare is the mass of the t distribution within the distance whose
// angle has a cosine.
func studentShare(cos float64, df int) float64 {
	sin, square := math.Sqrt(float64((1-cos)*(1+cos))), float64(cos*cos)
	if df%2 == 0 {
		term, sum := 1.0, 1.0
		for k := 2; k < df; k += 2 {
			term = float64(term * float64(square*(float64(k-1)/float64(k))))
			sum += term
		}
		return float64(sin * sum)
	}
	sum := 0.0
	for k, term := 1, cos; k < df; k += 2 {
		sum += term
		term = float64(term * float64(square*(float64(k+1)/float64(k+2))))
	}
	return (libm.Acos(cos) + float64(sin*sum)) * (2 / math.Pi)
}
