package metric

import (
	"math"

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
	pairs, err := in.pairs()
	if err != nil || len(pairs) != 2 {
		return Score{}, cmpErr(err, "angular_error needs two targets, azimuth and zenith")
	}
	var angles [4][]float64 // predicted azimuth, zenith, true azimuth, zenith
	for i, p := range pairs {
		if angles[i], err = finiteFloats(p.pred); err != nil {
			return Score{}, err
		}
		if angles[2+i], err = finiteFloats(p.truth); err != nil {
			return Score{}, err
		}
	}
	each := make([]float64, len(angles[0]))
	for i := range each {
		each[i] = angleOf(angles[0][i], angles[1][i], angles[2][i], angles[3][i])
	}
	return Score{Value: Mean(each)}, nil
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
