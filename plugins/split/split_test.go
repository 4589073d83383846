package split

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCodes(t *testing.T) {
	text := []string{"b", "10", "a", "b", "é", "9", "Z"}
	if diff := cmp.Diff([]int32{4, 0, 3, 4, 5, 1, 2}, Sorted(text)); diff != "" {
		t.Errorf("Sorted: %s", diff)
	}
	if diff := cmp.Diff([]int32{0, 1, 2, 0, 3, 4, 5}, Appearance(text)); diff != "" {
		t.Errorf("Appearance: %s", diff)
	}
	if diff := cmp.Diff([]int32{1, 0, 2, 1}, Sorted([]int64{5, -7, math.MaxInt64, 5})); diff != "" {
		t.Errorf("Sorted of numbers: %s", diff)
	}
	if got := Sorted([]float64{math.NaN(), 1, math.NaN()}); !slices.Equal(got, []int32{0, 1, 0}) {
		t.Errorf("Sorted with NaN: %v", got)
	}
}

func TestRowsOf(t *testing.T) {
	codes := []int32{2, 0, 2, -1, 1 << 30, 0}
	for _, c := range []struct {
		name   string
		picked []int
		want   []int
	}{
		{"in the order picked", []int{0, 2}, []int{1, 5, 0, 2}},
		{"unknown code", []int{7, -1}, []int{3}},
		{"large code", []int{1 << 30}, []int{4}},
		{"picked twice", []int{2, 2}, []int{0, 2, 0, 2}},
		{"nothing", nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, RowsOf(codes, c.picked)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Codes with gaps, negative or huge, mean the same as dense ones.
func TestCodesNeedNotBeDense(t *testing.T) {
	dense := Sorted(labels(500, 17, true))
	sparse := make([]int32, len(dense))
	for i, c := range dense {
		sparse[i] = c*100_000_000 - 800_000_000
	}
	o := Options{Test: Share(0.3), Seed: 4}
	wantTrain, wantTest, err := GroupShuffleSplit(dense, o)
	if err != nil {
		t.Fatal(err)
	}
	train, test, err := GroupShuffleSplit(sparse, o)
	if err != nil || !slices.Equal(train, wantTrain) || !slices.Equal(test, wantTest) {
		t.Errorf("groups: err %v, test %v, want %v", err, test, wantTest)
	}
	even := make([]int32, 40)
	for i := range even {
		even[i] = int32(i%4) * -1_000_000
	}
	if _, _, err := TrainTestSplit(40, Options{Test: Share(0.25), Stratify: even}); err != nil {
		t.Errorf("stratify: %v", err)
	}
}

func TestFillGroups(t *testing.T) {
	groups := []int32{0, 1, 1, 2, 0, 0, 3, 3} // sizes 3, 2, 1, 2
	for _, c := range []struct {
		name        string
		size        int
		train, test []int
	}{
		{"a later group fits", 4, []int{1, 2, 6, 7}, []int{0, 4, 5, 3}},
		{"exactly full", 5, []int{3, 6, 7}, []int{0, 4, 5, 1, 2}},
		{"none", 0, []int{0, 4, 5, 1, 2, 3, 6, 7}, nil},
		{"all", 8, nil, []int{0, 4, 5, 1, 2, 3, 6, 7}},
	} {
		t.Run(c.name, func(t *testing.T) {
			train, test, err := FillGroups(groups, c.size)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([][]int{c.train, c.test}, [][]int{train, test}); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNarrowRowNumbers(t *testing.T) {
	wide, _, err := TrainTestSplit(70_000, Options{Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	train, _, err := TrainTestSplitOf[uint32](70_000, Options{Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range train {
		if int(r) != wide[i] {
			t.Fatalf("row %d: %d, want %d", i, r, wide[i])
		}
	}
}

// Appending to one part must not write into the other, though they share
// memory.
func TestPartsDoNotOverlap(t *testing.T) {
	for _, unshuffled := range []bool{false, true} {
		train, test, err := TrainTestSplit(10, Options{Test: Count(3), Train: Count(4), Unshuffled: unshuffled})
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
	eight := make([]int32, 8)
	for _, c := range []struct {
		splitter string
		args     Args
		want     string // part of the message
	}{
		{"train_test_split", Args{Test: Count(8)}, "there are only 8 rows"},
		{"train_test_split", Args{Test: Share(1.5)}, "strictly between 0 and 1"},
		{"train_test_split", Args{Test: Share(math.NaN())}, "strictly between 0 and 1"},
		{"train_test_split", Args{Train: Count(0)}, "train_size = 0"},
		{"train_test_split", Args{Seed: -1}, "random_state = -1"},
		{"train_test_split", Args{Stratify: eight[1:]}, "7 classes for 8 rows"},
		{"train_test_split", Args{Stratify: eight, Unshuffled: true}, "drop shuffle = false"},
		{"train_test_split", Args{Stratify: []int32{0, 0, 0, 0, 0, 0, 0, 1}}, "single row"},
		{"train_test_split", Args{Stratify: []int32{0, 0, 1, 1, 2, 2, 3, 3}}, "cannot hold all of 4 classes"},
		{"group_shuffle_split", Args{Groups: eight}, "split 1 groups"},
		{"group_shuffle_split", Args{Groups: eight[1:]}, "7 values for 8 rows"},
		{"train_test_split_each", Args{Groups: []int32{0, 0, 0, 0, 0, 0, 0, 1}, Test: Share(0.1)}, "split group 1 of 1 rows"},
		{"train_test_split_each", Args{Groups: eight, Few: 9, Test: Count(8)}, "no training rows"},
		{"train_test_split_each", Args{Groups: eight, Stratify: eight}, "does not apply"},
		{"fill_groups", Args{Groups: eight, Test: Count(-1)}, "negative"},
		{"sample", Args{Test: Count(9)}, "9 different ones wanted of 8"},
		{"sample", Args{Test: Share(1.25)}, "needs replace = true"},
		{"sample", Args{Test: Count(1), Weights: []float64{1}}, "1 weights for 8 rows"},
		{"sample", Args{Test: Count(1), Weights: make([]float64, 8)}, "sum to 0"},
		{"sample", Args{Test: Count(1), Weights: []float64{1, 1, 1, -1, 1, 1, 1, 1}}, "weight -1 of row 3"},
		{"sample", Args{Test: Count(3), Weights: []float64{1, 1, 0, 0, 0, 0, 0, 0}}, "only 2 have a positive probability"},
		{"k_fold", Args{Fold: 5}, "with 5 folds"},
		{"k_fold", Args{Folds: 9}, "there are only 8 rows"},
		{"k_fold", Args{Folds: 1}, "at least 2"},
		{"k_fold", Args{Folds: 4, Fold: 4}, "fold = 4"},
		{"k_fold", Args{Folds: 4, Fold: -1}, "fold = -1"},
		{"stratified_k_fold", Args{Folds: 4, Stratify: []int32{0, 1, 2, 3, 0, 1, 2, 3}}, "largest class has only 2"},
		{"group_k_fold", Args{Folds: 2, Groups: eight}, "only 1 groups"},
	} {
		t.Run(c.splitter+"/"+c.want, func(t *testing.T) {
			s, err := Find(c.splitter)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Split(8, c.args); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want a message with %q", err, c.want)
			}
		})
	}
}

// A splitter of any number of rows, none included, refuses or names rows that
// exist; it never panics.
func TestNothingToSplit(t *testing.T) {
	for _, s := range All() {
		for n := range 4 {
			column := make([]int32, n)
			for _, a := range []Args{
				{Groups: column, Stratify: column, Folds: 2},
				{Groups: column, Stratify: column, Folds: 2, Few: 5, Test: Share(0.5)},
				{Test: Share(math.Inf(1)), Train: Count(math.MinInt)},
			} {
				parts, err := s.Split(n, a)
				if err != nil {
					continue
				}
				for _, row := range slices.Concat(parts.Train, parts.Test) {
					if row < 0 || row >= n {
						t.Errorf("%s of %d rows gives row %d: %+v", s.Name, n, row, a)
					}
				}
			}
		}
	}
}

func TestRegistry(t *testing.T) {
	documented := make(map[string]bool)
	for _, d := range ArgDocs() {
		documented[d.Name] = true
	}
	used := make(map[string]bool)
	for _, s := range All() {
		if s.Doc == "" || s.Split == nil {
			t.Errorf("%s lacks its doc or its function", s.Name)
		}
		for _, a := range s.Args {
			used[a] = true
		}
	}
	if diff := cmp.Diff(documented, used); diff != "" {
		t.Errorf("arguments documented and used: %s", diff)
	}
	if !slices.IsSortedFunc(All(), func(a, b Splitter) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("All is not sorted")
	}
	if _, err := Find("shuffle"); err == nil || !strings.Contains(err.Error(), "train_test_split_each") {
		t.Errorf("Find of an unknown name: %v", err)
	}
	defer func() {
		if recover() == nil {
			t.Error("register accepts a name twice")
		}
	}()
	register(trainTestSplit(), kFold(), trainTestSplit())
}

func BenchmarkTrainTestSplit(b *testing.B) {
	for _, c := range []struct {
		name string
		rows int
	}{{"rows=1000", 1000}, {"rows=1000000", 1_000_000}, {"rows=55000000", 55_000_000}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := TrainTestSplitOf[uint32](c.rows, Options{Test: Share(0.1)}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkStratified(b *testing.B) {
	classes := Sorted(labels(1_000_000, 120, true))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := TrainTestSplit(len(classes), Options{Test: Share(0.1), Stratify: classes}); err != nil {
			b.Fatal(err)
		}
	}
}
