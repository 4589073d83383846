package random_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/plugins/numeric/random"
)

func TestErrors(t *testing.T) {
	state, py := random.NewRandomState(0), random.NewPython(0)
	for _, c := range []struct {
		name string
		draw func() error
		want string
	}{
		{"RandomState.Integer", func() error { _, err := state.Integer(3, 3); return err }, "low 3 is not below high 3"},
		{"RandomState.Integers", func() error { _, err := state.Integers(3, 2, 1); return err }, "low 3 is not below high 2"},
		{"Python.Choice", func() error { _, err := py.Choice(0); return err }, "empty"},
		{"Python.Sample", func() error { _, err := py.Sample(3, 4); return err }, "4 wanted of 3"},
		{"Python.Sample negative", func() error { _, err := py.Sample(3, -1); return err }, "-1 wanted of 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := c.draw(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want a message with %q", err, c.want)
			}
		})
	}
	// A refused draw consumes nothing.
	if got, want := state.Permutation(40), random.NewRandomState(0).Permutation(40); !slices.Equal(got, want) {
		t.Errorf("after errors: %v, want %v", got, want)
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
