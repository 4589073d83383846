package metric

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/numeric/libm"
)

var logMAE = Metric{
	Name:   "log_mae",
	Better: Lower,
	Doc: `Mean over groups of the natural logarithm of the mean absolute difference.
Groups are the values of a column of the answers and count the same. A group without difference makes the score minus infinity. Missing and infinite values and strings have no score.`,
	Source:       "scikit-learn 1.5 mean_absolute_error, numpy.log",
	Params:       []Param{{Name: "group", Kind: TextParam, Doc: "the column of the answers whose values are the groups"}},
	Placeholders: Placeholders{"group": {"a"}},
	New: func(a Args) (Scorer, error) {
		group := a.text("group")
		return scorerFunc(func(in Input) (Score, error) { return scoreLogMAE(in, group) }), nil
	},
}

func scoreLogMAE(in Input, group string) (Score, error) {
	p, err := in.single()
	if err != nil {
		return Score{}, err
	}
	pred, err := finiteFloats(p.pred)
	if err != nil {
		return Score{}, err
	}
	truth, err := finiteFloats(p.truth)
	if err != nil {
		return Score{}, err
	}
	groups, err := rowsByGroup(in.Truth, group)
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

// rowsByGroup returns the rows of every value of a column of the answers;
// missing cells belong to no group.
func rowsByGroup(t *table.Table, column string) (map[string][]int, error) {
	c, err := t.Column(column)
	if err != nil {
		return nil, fmt.Errorf("answers: %w", err)
	}
	out := map[string][]int{}
	for i := range c.Len() {
		if !c.IsMissing(i) {
			out[c.Text(i)] = append(out[c.Text(i)], i)
		}
	}
	return out, nil
}

func pick[T any](v []T, rows []int) []T {
	out := make([]T, len(rows))
	for i, r := range rows {
		out[i] = v[r]
	}
	return out
}

var haversine = Metric{
	Name:   "haversine_quantiles",
	Better: Lower,
	Doc: `Mean over groups of (median + 95 % quantile) / 2 of the great-circle distance in metres between predicted and true positions.
Targets: latitude, then longitude, in degrees. Groups are the values of a column of both tables; rows pair within a group in order. The earth is a sphere of radius 6,371,000 m; quantiles are interpolated linearly. A missing or infinite coordinate gives NaN. A group with another number of rows has no score.`,
	Source: "numpy 1.26 quantile; metric of the Google Smartphone Decimeter Challenge 2022",
	Params: []Param{{Name: "group", Kind: TextParam, Doc: "the column whose values are the groups"}},
	New: func(a Args) (Scorer, error) {
		group := a.text("group")
		return scorerFunc(func(in Input) (Score, error) { return scoreHaversine(in, group) }), nil
	},
}

func scoreHaversine(in Input, group string) (Score, error) {
	coordinates, err := in.angles("haversine_quantiles needs two targets, latitude and longitude", radians)
	if err != nil {
		return Score{}, err
	}
	truth, err := rowsByGroup(in.Truth, group)
	if err != nil {
		return Score{}, err
	}
	pred, err := rowsByGroup(in.Prediction, group)
	if err != nil {
		return Score{}, &Unscorable{Column: group, Reason: "is missing"}
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
		return mapped(degrees, func(x float64) float64 { return x * halfDegree }), nil
	}
	return mapped(degrees, func(x float64) float64 { return x * (math.Pi / 180) }), nil
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
