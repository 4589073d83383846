package split

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Appending to one part must not write into the other, though they share
// memory.
func TestPartsDoNotOverlap(t *testing.T) {
	for _, unshuffled := range []bool{false, true} {
		train, test, err := TrainTestSplit(10, Options{Test: Size(3), Train: Size(4), Unshuffled: unshuffled})
		if err != nil {
			t.Fatal(err)
		}
		before := slices.Clone(append(slices.Clone(train), test...))
		_, _ = append(train, 99), append(test, 99)
		if diff := cmp.Diff(before, append(slices.Clone(train), test...)); diff != "" {
			t.Errorf("unshuffled %v: %s", unshuffled, diff)
		}
	}
}

func TestErrors(t *testing.T) {
	eight := make([]int, 8)
	for _, c := range []struct {
		options Options
		want    string // part of the message
	}{
		{Options{Test: Size(8)}, "there are only 8 rows"},
		{Options{Test: Size(1.5)}, "strictly between 0 and 1"},
		{Options{Test: Size(math.NaN())}, "strictly between 0 and 1"},
		{Options{Train: Size(-1)}, "train_size = -1"},
		{Options{Seed: -1}, "random_state = -1"},
		{Options{Stratify: eight[1:]}, "7 classes for 8 rows"},
		{Options{Stratify: eight, Unshuffled: true}, "drop shuffle = false"},
		{Options{Stratify: []int{0, 0, 0, 0, 0, 0, 0, 1}}, "single row"},
		{Options{Stratify: []int{0, 0, 1, 1, 2, 2, 3, 3}}, "cannot hold all of 4 classes"},
	} {
		t.Run(c.want, func(t *testing.T) {
			if _, _, err := TrainTestSplit(8, c.options); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want a message with %q", err, c.want)
			}
		})
	}
}

// Any number of rows, none included, is refused or gives rows that exist; it
// never panics.
func TestNothingToSplit(t *testing.T) {
	for n := range 4 {
		for _, o := range []Options{
			{}, {Stratify: make([]int, n)}, {Test: Size(0.5)}, {Test: Size(math.Inf(1)), Train: Size(math.Inf(-1))},
		} {
			train, test, err := TrainTestSplit(n, o)
			if err != nil {
				continue
			}
			for _, row := range slices.Concat(train, test) {
				if row < 0 || row >= n {
					t.Errorf("%d rows give row %d: %+v", n, row, o)
				}
			}
		}
	}
}

func BenchmarkTrainTestSplit(b *testing.B) {
	for _, c := range []struct {
		name string
		rows int
	}{{"rows=1000", 1000}, {"rows=1000000", 1_000_000}, {"rows=55000000", 55_000_000}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := TrainTestSplit(c.rows, Options{Test: Size(0.1)}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkStratified(b *testing.B) {
	classes := labels(1_000_000, 120, true)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := TrainTestSplit(len(classes), Options{Test: Size(0.1), Stratify: classes}); err != nil {
			b.Fatal(err)
		}
	}
}
