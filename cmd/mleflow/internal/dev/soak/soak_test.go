package soak

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/plan"
)

const terabyte = int64(1e12)

func of(t *testing.T, complexities ...string) (list []competition) {
	t.Helper()
	all, err := competitions()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		if slices.Contains(complexities, c.Complexity) {
			list = append(list, c)
		}
	}
	return list
}

// TestFigures compares the figures with what is published of the set: 75
// competitions with 3,284 GB in three splits, and 7 for development.
func TestFigures(t *testing.T) {
	for _, tt := range []struct {
		complexity string
		n          int
		gb         float64
	}{{"low", 22, 157.73}, {"medium", 38, 1239.90}, {"high", 15, 1886.06}, {"dev", 7, 0}} {
		list, sum := of(t, tt.complexity), 0.0
		for _, c := range list {
			sum += c.SizeGB
		}
		if len(list) != tt.n || math.Abs(sum-tt.gb) > 0.01 {
			t.Errorf("%s: %d competitions, %.2f GB", tt.complexity, len(list), sum)
		}
	}
}

// TestSoak runs the sets on disks and quotas of several sizes: what the
// forecast says fits is done, what it says does not is said before anything
// runs and fails for lack of space; the disk never holds more than it has.
func TestSoak(t *testing.T) {
	sets := map[string][]string{"low": {"low"}, "high": {"high"}, "all": {"low", "medium", "high", "dev"}}
	limits := []struct{ disk, quota int64 }{
		{2 * terabyte, 0}, {4 * terabyte, 0}, {8 * terabyte, 0}, {8 * terabyte, 2 * terabyte}, {8 * terabyte, 5 * terabyte},
	}
	verdicts := map[plan.Verdict]int{}
	for name, complexities := range sets {
		for _, parallel := range []int{1, 8, 64} {
			for _, l := range limits {
				list := of(t, complexities...)
				d := newDisk(l.disk, l.quota)
				out, err := run(t.Context(), d, list, parallel)
				if err != nil {
					t.Fatal(err)
				}
				f, res := out.Forecast, out.Result
				verdicts[f.Verdict]++
				t.Logf("%s, %d at a time, disk %d TB, quota %d TB: %s (%d GB to keep, peak %d, need %d by %s); %+v, held %d GB, began with %v", name, parallel,
					l.disk/terabyte, l.quota/terabyte, f.Verdict, f.CacheBytes/1e9, f.PeakBytes/1e9, f.NeedBytes/1e9, f.NeedStep, res.Counts, d.Most/1e9, out.Order[:min(1, len(out.Order))])
				limit, _ := d.limit()
				if d.Most > limit || d.reserved != 0 {
					t.Errorf("%s: %d of %d were held, %d are still reserved", name, d.Most, limit, d.reserved)
				}
				if out.Asked.OK != len(list) {
					t.Errorf("%s: %+v were asked of %d", name, out.Asked, len(list))
				}
				if f.Verdict != plan.TooLarge && (res.Status != event.Ran || d.Used() != f.CacheBytes) {
					t.Errorf("%s: the forecast says %q, then %v, %d of %d bytes", name, f.Verdict, res.Failures, d.Used(), f.CacheBytes)
				}
				for _, fail := range res.Failures {
					if !errors.Is(fail.Err, cache.ErrSpace) && !errors.Is(fail.Err, cache.ErrQuota) {
						t.Errorf("%s: %v", name, fail.Err)
					}
				}
			}
		}
	}
	if verdicts[plan.Fits] == 0 || verdicts[plan.Waits] == 0 || verdicts[plan.TooLarge] == 0 {
		t.Errorf("the test shows little: %v", verdicts)
	}
}

// TestSoakSplitAfterSplit runs all of the set on a disk that has no space for
// all: what earlier splits left is evicted, what the present one needs is not.
func TestSoakSplitAfterSplit(t *testing.T) {
	d := newDisk(3*terabyte, 0)
	for _, complexity := range []string{"low", "medium", "high", "low"} {
		out, err := run(t.Context(), d, of(t, complexity), 4)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %s, %d evicted so far, %d GB held", complexity, out.Forecast.Verdict, d.Dropped, d.Used()/1e9)
		if out.Result.Status != event.Ran || out.Forecast.Verdict == plan.TooLarge {
			t.Errorf("%s: %s, %v", complexity, out.Forecast.Verdict, out.Result.Failures)
		}
	}
	if d.Dropped == 0 {
		t.Error("nothing had to be evicted; the test shows nothing")
	}
}
