package metric

// Sum adds v as numpy.sum does on a contiguous float64 array: pairwise, with
// eight running sums below 128 elements (numpy 1.9 to 2.x, pairwise_sum). No
// elements give 0.
func Sum(v []float64) float64 {
	if len(v) < 8 {
		total := 0.0
		if len(v) > 0 {
			total = v[0] // numpy starts from the first element, which keeps -0
		}
		for i := 1; i < len(v); i++ {
			total += v[i]
		}
		return total
	}
	return pairwise(v)
}

func pairwise(v []float64) float64 {
	n := len(v)
	if n < 8 {
		total := 0.0
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
