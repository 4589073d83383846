package metric

import "math"

// sumPart is the number of elements that numpy 1 sums at a time: the size of
// its iterator's buffer.
const sumPart = 8192

// Sum adds v as numpy.sum does on a contiguous float64 array: parts of 8192
// elements, each summed pairwise with eight running sums below 128 elements,
// added one after the other. It equals numpy 1.24 and 1.26 bit for bit (numpy
// 2 sums longer arrays pairwise as a whole). No elements give 0.
func Sum(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	first := min(sumPart, len(v))
	total := pairwise(v[:first])
	for at := first; at < len(v); at += sumPart {
		total += pairwise(v[at:min(at+sumPart, len(v))])
	}
	return total
}

func pairwise(v []float64) float64 {
	n := len(v)
	if n < 8 {
		total := math.Copysign(0, -1)
		for _, x := range v {
			total += x
		}
		return total
	}
	if n <= 128 {
		return eightSums(v)
	}
	half := n / 2
	half -= half % 8
	return pairwise(v[:half]) + pairwise(v[half:])
}

func eightSums(v []float64) float64 {
	r := [8]float64(v[:8])
	i := 8
	for ; i+8 <= len(v); i += 8 {
		w := v[i : i+8 : i+8]
		r[0] += w[0]
		r[1] += w[1]
		r[2] += w[2]
		r[3] += w[3]
		r[4] += w[4]
		r[5] += w[5]
		r[6] += w[6]
		r[7] += w[7]
	}
	total := ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]))
	for ; i < len(v); i++ {
		total += v[i]
	}
	return total
}

// Mean divides Sum by the number of elements, as numpy.mean does on float64.
// No elements give NaN.
func Mean(v []float64) float64 { return Sum(v) / float64(len(v)) }

// meanInts returns the mean as numpy.mean does on int64, which adds the
// values as float64.
func meanInts(v []int64) float64 {
	var part [sumPart]float64
	total := 0.0
	for at := 0; at < len(v); at += len(part) {
		n := min(len(part), len(v)-at)
		for i, x := range v[at : at+n] {
			part[i] = float64(x)
		}
		total += pairwise(part[:n])
	}
	return total / float64(len(v))
}

// summer is Sum over values that come one after the other.
type summer struct {
	part  []float64
	sum   float64
	begun bool
}

func (s *summer) add(v float64) {
	if s.part = append(s.part, v); len(s.part) == sumPart {
		s.flush()
	}
}

func (s *summer) flush() {
	part := pairwise(s.part)
	if s.begun {
		part = s.sum + part
	}
	s.sum, s.begun, s.part = part, true, s.part[:0]
}

func (s *summer) total() float64 {
	if len(s.part) > 0 {
		s.flush()
	}
	return s.sum
}
