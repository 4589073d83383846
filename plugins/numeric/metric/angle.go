package metric

import (
	"cmp"
	"errors"
	"math"

	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/numeric/libm"
)

var angularError = Metric{
	Name:   "angular_error",
	Better: Lower,
	Doc: `Mean angle in radians between predicted and true directions.
Targets: azimuth, then zenith, in radians; any finite angles. The cosine, the scalar product of the unit vectors, is clipped to [-1, 1].`,
	Source: "metric of the IceCube competition (mean angular error)",
	New:    func(Args) (Scorer, error) { return scorerFunc(scoreAngularError), nil },
}

func scoreAngularError(in Input) (Score, error) {
	angles, err := in.angles("angular_error needs two targets, azimuth and zenith", finiteFloats)
	if err != nil {
		return Score{}, err
	}
	each := make([]float64, len(angles[0]))
	for i := range each {
		each[i] = angleOf(angles[0][i], angles[1][i], angles[2][i], angles[3][i])
	}
	return Score{Value: Mean(each)}, nil
}

// angles returns the predicted and the true cells of two targets: first and second,
// first and second. need is the error without two.
func (in Input) angles(need string, read func(*table.Column) ([]float64, error)) (out [4][]float64, err error) {
	pairs, err := in.pairs()
	if err != nil || len(pairs) != 2 {
		return out, cmp.Or(err, errors.New(need))
	}
	for i, p := range pairs {
		if out[i], err = read(p.pred); err != nil {
			return out, err
		}
		if out[2+i], err = read(p.truth); err != nil {
			return out, err
		}
	}
	return out, nil
}

// angleOf returns the angle between two directions, in radians.
func angleOf(azimuthA, zenithA, azimuthB, zenithB float64) float64 {
	sinA, cosA := libm.Sincos(azimuthA)
	sinB, cosB := libm.Sincos(azimuthB)
	across := float64(cosA*cosB) + float64(sinA*sinB)
	sinZA, cosZA := libm.Sincos(zenithA)
	sinZB, cosZB := libm.Sincos(zenithB)
	product := float64(float64(sinZA*sinZB)*across) + float64(cosZA*cosZB)
	return math.Abs(libm.Acos(clip(product, -1, 1)))
}
