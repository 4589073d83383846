package metric

import (
	"math"
	"strconv"
)

// Rounding says how a score is rounded to five decimals: as Python rounds the
// type that the source's metric returns.
type Rounding uint8

// The roundings.
const (
	NumpyRounding  Rounding = iota // numpy.float64: RoundNumpy
	PythonRounding                 // float: RoundPython
	WholeNumber                    // int: not rounded at all
)

// Round rounds v to five decimals.
func (r Rounding) Round(v float64) float64 {
	switch r {
	case PythonRounding:
		return RoundPython(v, 5)
	case WholeNumber:
		return v
	}
	return RoundNumpy(v, 5)
}

// RoundNumpy rounds as numpy.round does: v times a power of ten, to the
// nearest integer (halves to even), and divided again. The product can
// overflow to infinity. Decimals are 0 to 22.
func RoundNumpy(v float64, decimals int) float64 {
	scale := math.Pow10(decimals)
	return math.RoundToEven(float64(v*scale)) / scale
}

// RoundPython rounds as Python's round(float, decimals) does: to the decimal
// number nearest to v's exact value, halves to even, and back to the nearest
// double.
func RoundPython(v float64, decimals int) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return v
	}
	out, err := strconv.ParseFloat(strconv.FormatFloat(v, 'f', decimals, 64), 64)
	if err != nil { // rounded up beyond the largest double: Python raises OverflowError
		return v
	}
	return out
}
