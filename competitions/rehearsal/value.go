package rehearsal

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// slope returns how much a column depends on the hidden value: the same for columns of
// one name, and not at all in a sample submission.
func (c *column) slope(seed string) float64 {
	if c.loose {
		return 0
	}
	h := digest(seed + "\x00" + c.name)
	slope := 0.8 + float64(h>>40%16)/100
	if h>>32%2 == 0 {
		return -slope
	}
	return slope
}

// at returns the quantile of u.
func (c *column) at(u float64) float64 {
	i := min(int(u*10), 9)
	return c.quantile[i] + float64((c.quantile[i+1]-c.quantile[i])*(u*10-float64(i)))
}

func (c *column) format(v float64) string {
	if !c.notInt {
		v = math.Round(v)
	}
	if c.exponent {
		return strconv.FormatFloat(v, 'g', 6, 64)
	}
	return strconv.FormatFloat(v, 'f', min(c.places, 10), 64)
}

func (c *column) date(v float64) string { return time.Unix(int64(v), 0).UTC().Format(c.layout) }

// pick returns the category of u. It has the share of rows that it has in the raw data,
// but at least half of an equal share. One that is drawn for the first time is drawn
// again, because many splits need two rows of a class. Where each occurs once, they are
// taken in turn.
func (c *column) pick(u float64) (v string) {
	all := 0
	for _, n := range c.counts {
		all += n
	}
	least, sum := float64(all)/float64(2*len(c.values)), 0.0
	for _, n := range c.counts {
		sum += max(least, float64(n))
	}
	if all == len(c.values) {
		c.turn++
		return c.values[(c.turn-1)%len(c.values)]
	}
	if v = c.again; v != "" {
		c.again = ""
		return v
	}
	left := u * sum
	for i, n := range c.counts {
		if left -= max(least, float64(n)); left < 0 || i == len(c.counts)-1 {
			v = c.values[i]
			break
		}
	}
	if !c.met[v] {
		c.met[v], c.again = true, v
	}
	return v
}

// code returns the replacement of a category's value, or the value.
func (c *column) code(v string) string {
	if code, ok := c.codes[v]; ok && c.kind == category {
		return code
	}
	return v
}

// inTurn returns the next of a column's ids: those that other files have, if there are
// any.
func (d *drawing) inTurn(c *column) string {
	if c.chosen == nil {
		stems := d.stems(c.values)
		for try := 0; c.chosen == nil; try++ {
			for i, v := range c.values {
				if d.entity(stems[i]).chosen {
					c.chosen = append(c.chosen, v)
				}
			}
			if c.chosen == nil {
				d.choose(stems, filesOf(d.quota))
			}
		}
	}
	c.turn++
	return d.rename(c.chosen[(c.turn-1)%len(c.chosen)], c.pattern)
}

// words draws the vocabulary: made of syllables, so that it is no language's.
func (d *drawing) words(n int) (all []string) {
	for range n {
		word := ""
		for range 2 + d.IntN(2) {
			word += string("bdfgklmnprstvz"[d.IntN(14)]) + string("aeiou"[d.IntN(5)])
		}
		all = append(all, word)
	}
	return all
}

// sentence draws a text: four of ten words depend on u. It differs from all cells of the
// column in the raw data.
func (d *drawing) sentence(c *column, u float64) string {
	n := min(60, max(1, int(c.at(d.Float64()))))
	for ; ; n++ {
		var words []string
		for range n {
			at := 200 + d.IntN(len(d.vocabulary)-200)
			if d.IntN(10) < 4 {
				at = min(int(u*20), 19)*10 + d.IntN(10)
			}
			words = append(words, d.vocabulary[at])
		}
		if cell := strings.Join(words, " "); !c.seen[digest(cell)] {
			return cell
		}
	}
}
