package compare

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// tables compares two tables row by row.
func tables(ctx context.Context, format string, want, got Opener) (Difference, error) {
	c, err := walkTables(ctx, format, want, got, lag{})
	if err != nil {
		return Difference{}, err
	}
	if c.equalRows() {
		return c.same(), nil
	}
	if len(c.missing)+len(c.extra) > 0 || c.first == 0 {
		return c.difference(), nil
	}
	if c.wantRows == c.gotRows && c.differing == 1 { // one row cannot change its place
		return c.difference(), nil
	}
	if c.wantRows == c.gotRows {
		return c.orElse(ctx, format, want, got)
	}
	return c.shifted(ctx, format, want, got)
}

// lag is a number of rows of one table that are passed over.
type lag struct {
	row         int64 // the first, from 1
	inWant, got int64 // how many
}

// tableWalk is what is found while two tables are read.
type tableWalk struct {
	want, got      records
	json           bool
	wantNames      []string // as of the last alignment
	gotNames       []string
	place          []int // of want's columns in got, -1 when missing
	missing, extra []string

	wantRows, gotRows   int64
	first               int64 // row that differs
	firstColumn         int
	firstWant, firstGot string
	differing           int64 // rows that differ
	columns             map[int]bool
	spelledMissing      bool
	spelledNumber       bool
	numbersOnly         bool
	largest             float64 // relative difference of two numbers
}

func walkTables(ctx context.Context, format string, want, got Opener, l lag) (*tableWalk, error) {
	c := &tableWalk{json: strings.HasPrefix(format, "json"), columns: map[int]bool{}, numbersOnly: true}
	err := pair(ctx, want, got, func(w, g io.Reader) (err error) {
		if c.want, err = newRecords(format, w); err != nil {
			return err
		}
		if c.got, err = newRecords(format, g); err != nil {
			return err
		}
		return c.walk(l)
	})
	return c, err
}

func (c *tableWalk) walk(l lag) error {
	c.align()
	for {
		if c.wantRows+1 == l.row {
			if err := skip(c.want, l.inWant); err != nil {
				return err
			}
			if err := skip(c.got, l.got); err != nil {
				return err
			}
		}
		w, wErr := c.want.next()
		g, gErr := c.got.next()
		if wErr == io.EOF || gErr == io.EOF {
			return c.rest(wErr, gErr)
		}
		if err := firstError(wErr, gErr); err != nil {
			return err
		}
		c.wantRows++
		c.gotRows++
		c.align()
		c.row(w, g)
	}
}

func skip(r records, n int64) error {
	for range n {
		if _, err := r.next(); err != nil {
			return err
		}
	}
	return nil
}

// rest counts the rows of the longer table.
func (c *tableWalk) rest(wErr, gErr error) error {
	count := func(r records, err error, rows *int64) error {
		for err == nil {
			*rows++
			_, err = r.next()
		}
		if err == io.EOF {
			return nil
		}
		return err
	}
	if err := count(c.want, wErr, &c.wantRows); err != nil {
		return err
	}
	err := count(c.got, gErr, &c.gotRows)
	c.align()
	return err
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// align pairs the columns by name. It does so again when a row brought some.
func (c *tableWalk) align() {
	if len(c.wantNames) == len(c.want.names()) && len(c.gotNames) == len(c.got.names()) && c.place != nil {
		return
	}
	c.wantNames, c.gotNames = c.want.names(), c.got.names()
	at := make(map[string]int, len(c.gotNames))
	for i, name := range c.gotNames {
		at[name] = i
	}
	c.place, c.missing, c.extra = make([]int, len(c.wantNames)), nil, nil
	known := map[string]bool{}
	for i, name := range c.wantNames {
		j, ok := at[name]
		if !ok {
			j = -1
			c.missing = append(c.missing, name)
		}
		c.place[i], known[name] = j, true
	}
	for _, name := range c.gotNames {
		if !known[name] {
			c.extra = append(c.extra, name)
		}
	}
}

// row compares two rows.
func (c *tableWalk) row(w, g [][]byte) {
	differs := false
	for i, cell := range w {
		j := c.place[i]
		if j < 0 || j < len(g) && bytes.Equal(cell, g[j]) && (cell == nil) == (g[j] == nil) {
			continue
		}
		var other []byte
		if j < len(g) {
			other = g[j]
		}
		if c.spelling(cell, other) {
			continue
		}
		if c.first == 0 {
			c.first, c.firstColumn = c.wantRows, i
			c.firstWant, c.firstGot = show(cell), show(other)
		}
		c.columns[i], differs = true, true
	}
	if differs {
		c.differing++
	}
}

// spelling reports whether two cells have one value, and notes how far apart
// numbers are.
func (c *tableWalk) spelling(w, g []byte) bool {
	if isMissing(w) && isMissing(g) {
		c.spelledMissing = true
		return true
	}
	x, ok := number(w)
	y, too := number(g)
	if !ok || !too {
		c.numbersOnly = false
		return false
	}
	if x == y {
		c.spelledNumber = true
		return true
	}
	c.largest = max(c.largest, math.Abs(x-y)/max(math.Abs(x), math.Abs(y)))
	return false
}

func (c *tableWalk) equalRows() bool {
	return c.first == 0 && c.wantRows == c.gotRows && len(c.missing)+len(c.extra) == 0
}

// same describes tables of equal content.
func (c *tableWalk) same(more ...string) Difference {
	ways, details := formWays(c.want.form(), c.got.form())
	if c.spelledMissing {
		ways = append(ways, missingSpell)
	}
	if c.spelledNumber {
		ways = append(ways, numberSpell)
	}
	if !c.json && !slices.Equal(c.wantNames, c.gotNames) {
		ways = append(ways, columnOrder)
	}
	if ways = append(ways, more...); len(ways) == 0 {
		ways = append(ways, layout)
	}
	return same(ways...).because(details...)
}

// orElse tells rows in another order from rows that differ.
func (c *tableWalk) orElse(ctx context.Context, format string, want, got Opener) (Difference, error) {
	sums := [2]string{}
	for i, open := range []Opener{want, got} {
		s, err := summariseBytes(ctx, "x."+format, open)
		if err != nil || s.Table == nil {
			return c.difference(), err
		}
		sums[i] = s.Table.Unordered
	}
	if sums[0] != sums[1] {
		return c.difference(), nil
	}
	return c.same(rowOrder).because(fmt.Sprintf("first in row %s", Thousands(c.first))), nil
}

// shifted tells rows that are missing or too many in the middle from rows that
// differ.
func (c *tableWalk) shifted(ctx context.Context, format string, want, got Opener) (Difference, error) {
	l := lag{row: c.first, inWant: max(0, c.wantRows-c.gotRows), got: max(0, c.gotRows-c.wantRows)}
	again, err := walkTables(ctx, format, want, got, l)
	if err != nil || !again.equalShifted() {
		return c.difference(), err
	}
	n, what := l.inWant, "missing from"
	if l.got > 0 {
		n, what = l.got, "too many in"
	}
	text := fmt.Sprintf("%s %s the table, at row %s; all others are equal (%s)", count(n, "row"), isAre(n)+what, Thousands(c.first), c.lengths())
	return Difference{Text: text}, nil
}

func isAre(n int64) string {
	if n == 1 {
		return "is "
	}
	return "are "
}

// equalShifted reports whether all rows but those passed over are equal.
func (c *tableWalk) equalShifted() bool { return c.first == 0 && c.wantRows == c.gotRows }

func (c *tableWalk) lengths() string {
	return fmt.Sprintf("want %s, got %s", count(c.wantRows, "row"), Thousands(c.gotRows))
}

// difference describes tables that differ.
func (c *tableWalk) difference() Difference {
	var parts []string
	if c.first > 0 {
		parts = append(parts, fmt.Sprintf("row %s, column %s: want %s, got %s", Thousands(c.first), show([]byte(c.wantNames[c.firstColumn])), c.firstWant, c.firstGot),
			fmt.Sprintf("%s of %s and %d of %s differ", Thousands(c.differing), count(min(c.wantRows, c.gotRows), "row"), len(c.columns), count(int64(len(c.wantNames)), "column")))
		if c.numbersOnly && c.largest < 1e-6 {
			parts = append(parts, fmt.Sprintf("all are numbers that are equal but for rounding, by at most %.1e of their size", c.largest))
		}
	}
	parts = append(parts, columnNews(c.missing, c.extra)...)
	parts = append(parts, rowNews(c.wantRows, c.gotRows, c.first == 0)...)
	return Difference{Text: strings.Join(parts, "; ")}
}

func columnNews(missing, extra []string) (parts []string) {
	if len(missing) > 0 {
		parts = append(parts, count(int64(len(missing)), "column")+" missing: "+some(missing))
	}
	if len(extra) > 0 {
		parts = append(parts, count(int64(len(extra)), "column")+" too many: "+some(extra))
	}
	return parts
}

// rowNews tells of different numbers of rows; atEnd says that the rows both
// tables have are equal.
func rowNews(want, got int64, atEnd bool) []string {
	lengths := fmt.Sprintf("want %s, got %s", count(want, "row"), Thousands(got))
	switch {
	case want == got:
		return nil
	case !atEnd:
		return []string{lengths}
	case want > got:
		return []string{"the last " + count(want-got, "row") + " missing; " + lengths}
	}
	return []string{count(got-want, "row") + " too many at the end; " + lengths}
}
