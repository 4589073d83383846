package compare

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/lists"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"
)

// against says how two summarised tables differ.
func (t *Table) against(got *Table) Difference {
	changed, missing, extra := t.columns(got)
	sameNames := slices.EqualFunc(t.Columns, got.Columns, func(a, b Column) bool { return a.Name == b.Name })
	if t.Unordered != got.Unordered || t.Rows != got.Rows || t.Count != got.Count || len(missing)+len(extra) > 0 {
		return Difference{Text: strings.Join(tableNews(t, got), "; ")}
	}
	var ways, details []string
	note := func(differ bool, way, detail string) {
		if differ {
			ways, details = append(ways, way), append(details, detail)
		}
	}
	a, b := t.Form, got.Form
	note(a.LineEnds != b.LineEnds && a.LineEnds != "" && b.LineEnds != "", "line ends", "want "+a.LineEnds+", got "+b.LineEnds)
	note(a.Unterminated != b.Unterminated, "the line end of the last line", "the last line "+hasLacks(a.Unterminated)+" a line end")
	note(a.BOM != b.BOM, "a byte order mark", "the file "+hasLacks(b.BOM)+" a byte order mark")
	if !sameNames {
		ways = append(ways, "order of columns")
	}
	if len(changed) > 0 {
		ways = append(ways, "order of rows")
	}
	if len(ways) == 0 {
		ways = append(ways, "quoting, layout, or the spelling of numbers or missing values")
	}
	text := "the content is equal, the bytes differ in " + english.WordSeries(ways, "and")
	if len(details) > 0 {
		text += " (" + strings.Join(details, "; ") + ")"
	}
	return Difference{Same: true, Text: text}
}

func hasLacks(has bool) string {
	if has {
		return "has"
	}
	return "lacks"
}

// columns pairs the columns of two tables by name.
func (t *Table) columns(got *Table) (changed, missing, extra []string) {
	sums := map[string]string{}
	for _, c := range got.Columns {
		sums[c.Name] = c.Sum
	}
	for _, c := range t.Columns {
		sum, ok := sums[c.Name]
		switch delete(sums, c.Name); {
		case !ok:
			missing = append(missing, c.Name)
		case sum != c.Sum:
			changed = append(changed, c.Name)
		}
	}
	for _, c := range got.Columns {
		if _, left := sums[c.Name]; left {
			extra = append(extra, c.Name)
		}
	}
	return changed, missing, extra
}

// tableNews says which columns differ, and how many rows there are.
func tableNews(want, got *Table) (parts []string) {
	changed, missing, extra := want.columns(got)
	if len(missing) > 0 {
		parts = append(parts, english.Plural(len(missing), "column", "")+" missing: "+some(missing))
	}
	if len(extra) > 0 {
		parts = append(parts, english.Plural(len(extra), "extra column", "")+": "+some(extra))
	}
	if want.Rows != got.Rows {
		parts = append(parts, fmt.Sprintf("want %s, got %s", english.Plural(int(want.Rows), "row", ""), humanize.Comma(got.Rows)))
	} else if len(changed) > 0 {
		parts = append(parts, fmt.Sprintf("%d of %s differ: %s", len(changed), english.Plural(want.Count, "column", ""), some(changed)))
	}
	if len(parts) == 0 {
		parts = append(parts, "the tables differ in columns that are not listed")
	}
	return parts
}

// tableWalk gathers the differences of two tables that are read row by row.
type tableWalk struct {
	place       []int // of want's columns in got, -1 when missing
	known       int   // columns of got when place was made
	rows        int64 // that both have
	first       int64 // row that differs
	text        string
	differing   int64 // rows that differ
	numbersOnly bool
	largest     float64 // relative difference of two numbers
}

// walkTables compares two tables row by row.
func walkTables(ctx context.Context, format string, want, got Opener) (*tableWalk, error) {
	c := &tableWalk{numbersOnly: true}
	return c, pair(ctx, want, got, func(w, g io.Reader) error {
		a, err := newRows(format, w)
		if err != nil {
			return err
		}
		b, err := newRows(format, g)
		if err != nil {
			return err
		}
		for {
			x, wErr := a.next()
			y, gErr := b.next()
			if err := errors.Join(wErr, gErr); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return err
			}
			c.row(a.names, b.names, x, y)
		}
	})
}

// row compares two rows.
func (c *tableWalk) row(names, others, want, got []string) {
	if len(c.place) != len(names) || c.known != len(others) {
		c.known = len(others)
		c.place = lists.Of(names, func(name string) int { return slices.Index(others, name) })
	}
	c.rows++
	differs := false
	for i, cell := range want {
		at := c.place[i]
		if at < 0 || cell == got[at] || c.equal(cell, got[at]) {
			continue
		}
		if differs = true; c.first == 0 {
			c.first = c.rows
			c.text = fmt.Sprintf("row %s, column %s: want %s, got %s", humanize.Comma(c.rows), show(names[i]), show(cell), show(got[at]))
		}
	}
	if differs {
		c.differing++
	}
}

// equal reports whether two cells have one value, and notes how far apart
// numbers are.
func (c *tableWalk) equal(want, got string) bool {
	if isMissing(want) && isMissing(got) {
		return true
	}
	x, ok := number(want)
	y, too := number(got)
	if !ok || !too {
		c.numbersOnly = false
		return false
	}
	if x != y {
		c.largest = max(c.largest, math.Abs(x-y)/max(math.Abs(x), math.Abs(y)))
	}
	return x == y
}

// news says where tables of so many rows differ.
func (c *tableWalk) news(want, got int64) (parts []string) {
	switch {
	case c.first > 0:
		parts = append(parts, c.text)
		if want == got {
			parts = append(parts, fmt.Sprintf("%s of %s differ", humanize.Comma(c.differing), english.Plural(int(want), "row", "")))
		}
		if want == got && c.numbersOnly && c.largest < 1e-6 {
			parts = append(parts, fmt.Sprintf("all are numbers that are equal but for rounding, by at most %.1e of their size", c.largest))
		}
	case want > got:
		parts = append(parts, english.Plural(int(want-got), "row", "")+" missing at the end")
	case want < got:
		parts = append(parts, english.Plural(int(got-want), "extra row", "")+" at the end")
	}
	return parts
}

// some lists the first names and says how many more there are.
func some(names []string) string {
	const most = 5
	quoted := lists.Of(names[:min(len(names), most)], show)
	if len(names) > most {
		quoted = append(quoted, fmt.Sprintf("%d more", len(names)-most))
	}
	return english.WordSeries(quoted, "and")
}

// show quotes a cell, cut to fit a line.
func show(cell string) string {
	const longest = 60
	if len(cell) > longest {
		return strconv.Quote(cell[:longest]) + "…"
	}
	return strconv.Quote(cell)
}
