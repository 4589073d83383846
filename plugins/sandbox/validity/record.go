package validity

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// CheckQueries refuses a log that no server with these options writes: too many queries, one
// that is missing or out of order, one too early, a rank that does not follow from the
// scores. Lost is the number of lines that cannot be read; each may be a missing query.
func (o QueryOptions) CheckQueries(list []Query, lost int) error {
	var last time.Time
	before, free := 0, 0
	numbers := map[int]bool{}
	var scores []float64 // rounded, the better first
	for _, one := range list {
		switch err := one.check(); {
		case err != nil:
			return err
		case one.Number == 0:
			free++
			continue
		case one.Number > o.Most:
			return fmt.Errorf("%s is there, and the attempt had %d", one, o.Most)
		case one.Number <= before:
			return fmt.Errorf("%s comes after query %d", one, before)
		case o.wait(last, one.Time) > 0:
			return fmt.Errorf("%s came %v after the one before, and there are at least %v between two", one, one.Time.Sub(last), o.Every)
		}
		rank := 0
		if one.Score != nil {
			at, _ := slices.BinarySearchFunc(scores, rounded(*one.Score), o.compare)
			rank, scores = at+1, slices.Insert(scores, at, rounded(*one.Score))
		}
		if one.Rank != 0 && one.Rank != rank {
			return fmt.Errorf("%s has rank %d, which does not follow from the scores", one, one.Rank)
		}
		before, numbers[one.Number] = one.Number, true
		if one.Time.After(last) {
			last = one.Time
		}
	}
	for n := 1; n < before; n++ {
		if lost -= count(!numbers[n]); lost < 0 {
			return fmt.Errorf("query %d is missing", n)
		}
	}
	if free > o.Most {
		return fmt.Errorf("%d invalid files are free, and at most %d can be", free, o.Most)
	}
	return nil
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// CheckCalls refuses a log of queries without a file that the log of requests has a verdict on.
func CheckCalls(list []Query, calls []Call) error {
	outcomes := make(map[string]string, len(list))
	for _, one := range list {
		outcomes[one.SHA256] = one.Outcome
	}
	for _, c := range calls {
		if c.Path != "/score" || c.SHA256 == "" || !c.Valid && c.Class == "" {
			continue
		}
		want := QueryScored
		if !c.Valid {
			want = QueryInvalid
		}
		if got, found := outcomes[c.SHA256]; !found || got != want {
			return fmt.Errorf("the attempt's log of requests has a query at %s, with the file %.12s, which is %s; the queries have none",
				c.Time.Format(time.RFC3339), c.SHA256, want)
		}
	}
	return nil
}

// String names a query.
func (q Query) String() string { return fmt.Sprintf("query %d", q.Number) }

// check refuses what contradicts itself.
func (q Query) check() error {
	scored := q.Outcome == QueryScored
	switch {
	case !slices.Contains([]string{"", QueryScored, QueryInvalid}, q.Outcome):
		return fmt.Errorf("%s has the unknown outcome %q", q, q.Outcome)
	case scored != (q.Score != nil), scored && q.Number == 0:
		return fmt.Errorf("%s of the file %.12s has the outcome %q, which its score contradicts", q, q.SHA256, q.Outcome)
	case q.Score != nil && (math.IsNaN(*q.Score) || math.IsInf(*q.Score, 0)):
		return errors.New("a score is not finite")
	}
	return nil
}
