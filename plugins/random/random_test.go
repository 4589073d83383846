package random_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/plugins/random"
)

func TestErrors(t *testing.T) {
	state, gen, py := random.NewRandomState(0), random.NewGenerator(0), random.NewPython(0)
	nan := math.NaN()
	for _, c := range []struct {
		name string
		draw func() error
		want string
	}{
		{"RandomState.Integer", func() error { _, err := state.Integer(3, 3); return err }, "low 3 is not below high 3"},
		{"RandomState.Integers", func() error { _, err := state.Integers(3, 2, 1); return err }, "low 3 is not below high 2"},
		{"Generator.Integer", func() error { _, err := gen.Integer(3, 3); return err }, "low 3 is not below high 3"},
		{"Python.Integer", func() error { _, err := py.Integer(4, 3); return err }, "from 4 to 3"},
		{"Python.Integer whole range", func() error { _, err := py.Integer(math.MinInt64, math.MaxInt64); return err }, "no 64-bit range"},
		{"Python.Choice", func() error { _, err := py.Choice(0); return err }, "empty"},
		{"Python.Choices", func() error { _, err := py.Choices(0, 1); return err }, "empty"},
		{"Python.Sample", func() error { _, err := py.Sample(3, 4); return err }, "4 wanted of 3"},
		{"Python.Sample negative", func() error { _, err := py.Sample(3, -1); return err }, "-1 wanted of 3"},
		{"Python.WeightedChoices", func() error { _, err := py.WeightedChoices(nil, 1); return err }, "add up to 0"},
		{"Python.WeightedChoices NaN", func() error { _, err := py.WeightedChoices([]float64{1, nan}, 1); return err }, "add up to NaN"},
		{"Choice too many", func() error { _, err := gen.Choice(3, 4, false); return err }, "4 different ones wanted of 3"},
		{"Choice of nothing", func() error { _, err := state.Choice(0, 1, true); return err }, "empty"},
		{"Choice negative", func() error { _, err := state.Choice(3, -1, true); return err }, "negative"},
		{"Choice of less than nothing", func() error { _, err := gen.Choice(-3, 0, true); return err }, "population of -3"},
		{"weights do not sum to 1", func() error { _, err := gen.WeightedChoice([]float64{0.5, 0.4}, 1, true); return err }, "sum to 0.9"},
		{"weight NaN", func() error { _, err := state.WeightedChoice([]float64{1, nan}, 1, true); return err }, "position 1 is NaN"},
		{"weight negative", func() error { _, err := state.WeightedChoice([]float64{2, -1}, 1, true); return err }, "position 1 is -1"},
		{"weights zero", func() error { _, err := gen.WeightedChoice([]float64{1, 0}, 2, false); return err }, "only 1 have"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := c.draw(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want a message with %q", err, c.want)
			}
		})
	}
	// A refused draw consumes nothing.
	if got, want := state.Below(1<<40), random.NewRandomState(0).Below(1<<40); got != want {
		t.Errorf("after errors: %d, want %d", got, want)
	}
}

func TestPermutationTypes(t *testing.T) {
	want := random.NewRandomState(9).Permutation(1000)
	wide := make([]int, 0, len(want))
	for _, v := range random.Permutation[int32](random.NewRandomState(9), 1000) {
		wide = append(wide, int(v))
	}
	if diff := cmp.Diff(want, wide); diff != "" {
		t.Error(diff)
	}
	if got := random.Permutation[int](random.NewRandomState(9), -1); len(got) != 0 {
		t.Errorf("negative n: %v", got)
	}
}

func TestShuffleOfText(t *testing.T) {
	words := strings.Fields("a b c d e f g h i j")
	random.Shuffle(random.NewPython(0), words)
	// random.Random(0).shuffle(list("abcdefghij")), CPython 3.11.7
	if want := strings.Fields("h i b f d e c a j g"); !slices.Equal(words, want) {
		t.Errorf("got %v, want %v", words, want)
	}
}
