package metric

import (
	"cmp"
	"errors"
	"maps"
	"math"
	"slices"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/numeric/libm"
)

var logMAE = Metric{
	Name: "log_mae", Better: Lower,
	Doc: `Mean over groups of the natural logarithm of the mean absolute difference.
Groups are the values of a column of the answers and count the same. A group without difference makes the score minus infinity. Missing and infinite values and strings have no score.`,
	Source:       "scikit-learn 1.5 mean_absolute_error, numpy.log",
	Params:       []Param{{Name: "group", Kind: TextParam, Doc: "the column of the answers whose values are the groups"}},
	Placeholders: Placeholders{"group": {"a"}},
	New: func(a Args) (Scorer, error) {
		return func(in Input) (Score, error) { return scoreLogMAE(in, a.text("group")) }, nil
	},
}

func scoreLogMAE(in Input, group string) (Score, error) {
	p, err := in.single()
	if err != nil {
		return Score{}, err
	}
	truth, pred, err := read(p, finiteFloats)
	if err != nil {
		return Score{}, err
	}
	groups, err := rowsByGroup(in.answers(group))
	if err != nil {
		return Score{}, err
	}
	var each []float64
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		rows := groups[name]
		each = append(each, libm.Log(maeOf(pick(truth, rows), pick(pred, rows))))
	}
	return Score{Value: Mean(each)}, nil
}

// rowsByGroup returns the rows of every value of a column, or the error with which it
// could not be found; missing cells belong to no group.
func rowsByGroup(columns []*table.Column, err error) (map[string][]int, error) {
	if err != nil {
		return nil, err
	}
	c := columns[0]
	present := lists.Where(rowsOf(c.Len()), func(i int) bool { return !c.IsMissing(i) })
	return lists.By(present, c.Text), nil
}

// rowsOf returns the numbers of n rows.
func rowsOf(n int) []int { return table.Collect(n, func(i int) int { return i }) }

func pick[T any](v []T, rows []int) []T { return lists.Of(rows, func(row int) T { return v[row] }) }

var haversine = Metric{
	Name: "haversine_quantiles", Better: Lower,
	Doc: `Mean over groups of (median + 95 % quantile) / 2 of the great-circle distance in metres between predicted and true positions.
Targets: latitude, then longitude, in degrees. Groups are the values of a column of both tables; rows pair within a group in order. The earth is a sphere of radius 6,371,000 m; quantiles are interpolated linearly. A missing or infinite coordinate gives NaN. A group with another number of rows has no score.`,
	Source: "numpy 1.26 quantile; metric of the Google Smartphone Decimeter Challenge 2022",
	Params: []Param{{Name: "group", Kind: TextParam, Doc: "the column whose values are the groups"}},
	New: func(a Args) (Scorer, error) {
		return func(in Input) (Score, error) { return scoreHaversine(in, a.text("group")) }, nil
	},
}

func scoreHaversine(in Input, group string) (Score, error) {
	coordinates, err := in.angles("haversine_quantiles needs two targets, latitude and longitude", radians)
	if err != nil {
		return Score{}, err
	}
	truth, err := rowsByGroup(in.answers(group))
	if err != nil {
		return Score{}, err
	}
	pred, err := rowsByGroup(in.submitted(group))
	if err != nil {
		return Score{}, err
	}
	latitude, _ := in.Prediction.Column(in.Targets[0]) // which was read
	half := latitude.Kind() == table.Bool
	var each []float64
	inOrder := func(a, b string) int { return cmp.Compare(truth[a][0], truth[b][0]) }
	for _, name := range slices.SortedFunc(maps.Keys(truth), inOrder) {
		t, p := truth[name], pred[name]
		if len(t) != len(p) {
			return Score{}, unscorable("column %q: %s has %d rows; expected %d", group, quote(name), len(p), len(t))
		}
		distances := make([]float64, len(t))
		for i := range t {
			distances[i] = haversineOf(coordinates[0][p[i]], coordinates[1][p[i]], coordinates[2][t[i]], coordinates[3][t[i]], half)
		}
		each = append(each, Mean([]float64{quantileOf(distances, 0.5), quantileOf(distances, 0.95)}))
	}
	return Score{Value: Mean(each)}, nil
}

// plainFloats returns a column of numbers or booleans, with NaN for missing cells; strings
// are refused.
func plainFloats(c *table.Column) ([]float64, error) {
	if c.Len() > 0 && (c.Kind() == table.Text || c.Kind() == table.Mixed) {
		return nil, &Unscorable{Column: c.Name(), Reason: "is not numeric"}
	}
	return c.Floats(), nil
}

// halfDegree is a degree in half precision, in which numpy takes the angles of
// booleans.
const halfDegree = 0.0174560546875

// radians returns a column of degrees in radians, as numpy.deg2rad does.
func radians(c *table.Column) ([]float64, error) {
	degrees, err := plainFloats(c)
	switch {
	case err != nil:
		return nil, err
	case c.Kind() == table.Bool && c.MissingCount() > 0:
		return nil, &Unscorable{Column: c.Name(), Reason: "mixes booleans with missing cells"}
	case c.Kind() == table.Bool:
		return lists.Of(degrees, func(x float64) float64 { return x * halfDegree }), nil
	}
	return lists.Of(degrees, func(x float64) float64 { return x * (math.Pi / 180) }), nil
}

// haversineOf returns the distance in metres of two places given by latitude
// and longitude in radians. The first latitude may be 0 or a degree in half
// precision, in which its cosine is 1.
func haversineOf(latA, lngA, latB, lngB float64, half bool) float64 {
	cosA := 1.0
	if !half {
		cosA = libm.Cos(latA)
	}
	x, y := libm.Sin((latB-latA)/2), libm.Sin((lngB-lngA)/2)
	a := float64(x*x) + float64(float64(cosA*libm.Cos(latB))*float64(y*y))
	return 2 * 6371000 * libm.Asin(math.Sqrt(a))
}

// quantileOf returns the quantile q of v by linear interpolation, as
// numpy.quantile does; NaN where v holds a NaN or nothing.
func quantileOf(v []float64, q float64) float64 {
	if len(v) == 0 || slices.ContainsFunc(v, math.IsNaN) {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(v))
	place := float64(q * float64(len(v)-1))
	below := int(place)
	above := min(below+1, len(v)-1)
	part := place - float64(below)
	gap := sorted[above] - sorted[below]
	if part >= 0.5 {
		return sorted[above] - float64(gap*(1-part))
	}
	return sorted[below] + float64(gap*part)
}

var angularError = Metric{
	Name: "angular_error", Better: Lower,
	Doc: `Mean angle in radians between predicted and true directions.
Targets: azimuth, then zenith, in radians; any finite angles. The cosine, the scalar product of the unit vectors, is clipped to [-1, 1].`,
	Source: "metric of the IceCube competition (mean angular error)",
	New:    func(Args) (Scorer, error) { return scoreAngularError, nil },
}

func scoreAngularError(in Input) (Score, error) {
	angles, err := in.angles("angular_error needs two targets, azimuth and zenith", finiteFloats)
	if err != nil {
		return Score{}, err
	}
	of := func(i int) float64 { return angleOf(angles[0][i], angles[1][i], angles[2][i], angles[3][i]) }
	return Score{Value: Mean(table.Collect(len(angles[0]), of))}, nil
}

// angles returns the predicted and the true cells of two targets: first and second,
// first and second. need is the error without two.
func (in Input) angles(need string, as func(*table.Column) ([]float64, error)) (out [4][]float64, err error) {
	pairs, err := in.pairs()
	if err != nil || len(pairs) != 2 {
		return out, cmp.Or(err, errors.New(need))
	}
	for i, p := range pairs {
		if out[2+i], out[i], err = read(p, as); err != nil {
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
