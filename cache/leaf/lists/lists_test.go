package lists_test

import (
	"errors"
	"slices"
	"strconv"
	"testing"

	"github.com/mleflow/mleflow/cache/leaf/lists"
)

func TestOf(t *testing.T) {
	if got := lists.Of([]int{3, 1}, strconv.Itoa); !slices.Equal(got, []string{"3", "1"}) {
		t.Errorf("lists.Of = %q", got)
	}
	if got := lists.Of(nil, strconv.Itoa); got == nil || len(got) != 0 {
		t.Errorf("lists.Of of nothing = %#v, want an empty list", got)
	}
}

func TestOfMap(t *testing.T) {
	joined := func(name string, n int) string { return name + strconv.Itoa(n) }
	if got := lists.OfMap(map[string]int{"b": 2, "a": 1, "c": 3}, joined); !slices.Equal(got, []string{"a1", "b2", "c3"}) {
		t.Errorf("lists.OfMap = %q", got)
	}
}

func TestWhere(t *testing.T) {
	odd := func(n int) bool { return n%2 == 1 }
	if got := lists.Where([]int{3, 4, 5}, odd); !slices.Equal(got, []int{3, 5}) {
		t.Errorf("lists.Where = %v", got)
	}
	if got := lists.Where([]int{4}, odd); got != nil {
		t.Errorf("lists.Where of none = %#v, want nil", got)
	}
}

func TestGroups(t *testing.T) {
	list := []string{"b10", "a2", "a10", "b1"}
	kind := func(name string) string { return name[:1] }
	want := [][]string{{"b10", "b1"}, {"a2", "a10"}}
	if got := lists.Grouped(list, kind); !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("lists.Grouped = %q, want %q", got, want)
	}
	if got := lists.By(list, kind); len(got) != 2 || !slices.Equal(got["a"], want[1]) {
		t.Errorf("lists.By = %q", got)
	}
}

func TestEach(t *testing.T) {
	var seen []int
	failure := errors.New("three")
	err := lists.Each([]int{2, 3, 4}, func(n int) error {
		seen = append(seen, n)
		if n == 3 {
			return failure
		}
		return nil
	})
	if err != failure || !slices.Equal(seen, []int{2, 3}) {
		t.Errorf("lists.Each = %v after %v", err, seen)
	}
	if err := lists.Each(seen, func(int) error { return nil }); err != nil {
		t.Errorf("lists.Each = %v", err)
	}
}

func TestSum(t *testing.T) {
	if got := lists.Sum([]string{"a", "", "bcd"}, func(s string) int { return len(s) }); got != 4 {
		t.Errorf("lists.Sum = %d, want 4", got)
	}
}

func TestSet(t *testing.T) {
	if got := lists.Set([]string{"a", "b", "a"}); len(got) != 2 || !got["a"] || !got["b"] || got["c"] {
		t.Errorf("lists.Set = %v", got)
	}
}
