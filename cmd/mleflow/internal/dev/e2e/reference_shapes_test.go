package e2e

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

// writeMasks writes pictures of 256 x 256 pixels with about thirty runs each,
// one picture in ten without any, and predictions that are the truth moved,
// cut and in another order.
func writeMasks(b *testing.B, answers, submission string, n int) {
	const pixels = 256 * 256
	mask := func(dst []byte, i int, truth bool) []byte {
		rng := rand.New(rand.NewPCG(6, uint64(i)))
		if i%10 == 0 {
			return append(dst, '-')
		}
		start := 1 + rng.IntN(500)
		for r := 0; start < pixels-400 && r < 60; r++ {
			length, moved := 5+rng.IntN(60), rng.IntN(9)
			if truth {
				moved = 0
			}
			if r > 0 {
				dst = append(dst, ' ')
			}
			dst = fmt.Appendf(dst, "%d %d", start+moved, length)
			start += length + 10 + rng.IntN(2000)
		}
		return dst
	}
	lines(b, answers, "record_id,encoded_pixels,height,width", n, func(dst []byte, i int) []byte {
		return append(mask(fmt.Appendf(dst, "%d,", i), i, true), ",256,256"...)
	})
	lines(b, submission, "record_id,encoded_pixels", n, func(dst []byte, i int) []byte {
		i = n - 1 - i
		return mask(fmt.Appendf(dst, "%d,", i), i, false)
	})
}

// boxesPerPicture is how many boxes a generated picture has.
const boxesPerPicture = 8

// writeBoxes writes n boxes of 14 classes, eight a picture, and predictions
// that are these moved, with others next to them.
func writeBoxes(b *testing.B, answers, submission string, n int) {
	n -= n % boxesPerPicture
	box := func(i int) (class int, v [4]float64, rng *rand.Rand) {
		rng = rand.New(rand.NewPCG(7, uint64(i)))
		x, y := rng.IntN(1500), rng.IntN(1500)
		return rng.IntN(14), [4]float64{float64(x), float64(y), float64(x + 20 + rng.IntN(900)), float64(y + 20 + rng.IntN(900))}, rng
	}
	lines(b, answers, "image_id,class_name,class_id,rad_id,x_min,y_min,x_max,y_max", n, func(dst []byte, i int) []byte {
		class, v, _ := box(i)
		return fmt.Appendf(dst, "%032x,class %d,%d,R1,%.1f,%.1f,%.1f,%.1f", i/boxesPerPicture, class, class, v[0], v[1], v[2], v[3])
	})
	lines(b, submission, "image_id,PredictionString", n/boxesPerPicture, func(dst []byte, i int) []byte {
		dst = fmt.Appendf(dst, "%032x,", i)
		for k := range boxesPerPicture {
			class, v, rng := box(i*boxesPerPicture + k)
			for again := range 1 + rng.IntN(2) {
				if k+again > 0 {
					dst = append(dst, ' ')
				}
				dst = fmt.Appendf(dst, "%d %.6f", class, rng.Float64())
				for _, x := range v {
					dst = strconv.AppendFloat(append(dst, ' '), math.Abs(x+rng.NormFloat64()*25), 'f', 1, 64)
				}
			}
		}
		return dst
	})
}

// writeCuboids writes n boxes in space, twenty a picture, and predictions that
// are these moved and turned, with others next to them.
func writeCuboids(b *testing.B, answers, submission string, n int) {
	const each = 20
	classes := []string{"car", "car", "car", "car", "car", "pedestrian", "bicycle", "truck", "bus"}
	list := func(dst []byte, picture int, truth bool) []byte {
		for k := range each {
			rng := rand.New(rand.NewPCG(8, uint64(picture*each+k)))
			class, x, y := classes[rng.IntN(len(classes))], 1000+100*rng.Float64(), 2000+100*rng.Float64()
			v := []float64{1, x, y, -20 + rng.Float64(), 1.5 + rng.Float64(), 3 + 3*rng.Float64(), 1.5 + rng.Float64(), 6*rng.Float64() - 3}
			if k > 0 {
				dst = append(dst, ' ')
			}
			if !truth {
				v[0] = rng.Float64()
				for d := 1; d < len(v); d++ {
					v[d] += 0.03 * rng.NormFloat64()
				}
			}
			for _, f := range v {
				dst = append(strconv.AppendFloat(dst, f, 'g', -1, 64), ' ')
			}
			dst = append(dst, class...)
		}
		return dst
	}
	lines(b, answers, "Id,PredictionString", n/each, func(dst []byte, i int) []byte { return list(fmt.Appendf(dst, "%064x,", i), i, true) })
	lines(b, submission, "Id,PredictionString", n/each, func(dst []byte, i int) []byte {
		i = n/each - 1 - i
		return list(fmt.Appendf(dst, "%064x,", i), i, false)
	})
}
