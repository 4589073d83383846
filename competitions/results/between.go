package results

import (
	"slices"

	"github.com/mleflow/mleflow/competitions/board"
)

// Between compares attempts that were chosen already, whatever their class, at some
// competitions. Without one that both sides tried it is board.ErrNothingShared.
func Between(first, second Side, ids []string) (*Comparison, error) {
	c := &Comparison{First: first.Name, Second: second.Name}
	for i, side := range []Side{first, second} {
		for _, a := range side.Attempts {
			if a.counts() && slices.Contains(ids, a.Competition()) {
				c.Of[i] = append(c.Of[i], a)
			}
		}
	}
	keys := map[string]bool{}
	for _, a := range c.Of[0] {
		keys[a.Key()] = a.Key() != ""
	}
	for _, a := range c.Of[1] {
		c.Same += board.Count(keys[a.Key()])
	}
	x, y := competitionsOf(c.Of[0]), competitionsOf(c.Of[1])
	c.FirstOnly, c.SecondOnly = without(x, y), without(y, x)
	var err error
	if c.Comparison, err = board.Compare(graded(c.Of[0]), graded(c.Of[1]), ids); err != nil {
		return c, err
	}
	for _, id := range without(x, c.FirstOnly) {
		c.at(id)
	}
	return c, nil
}
