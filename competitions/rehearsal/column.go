package rehearsal

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/pattern"
)

const (
	mostRows   = 200_000 // of a table that are read
	mostCells  = 20_000_000
	mostValues = 50  // distinct values of a category
	mostChars  = 200 // characters of an id
)

type kind uint8

const (
	blank kind = iota
	number
	date
	boolean
	category
	text
	id
)

// column collects the statistics of a table's column, or of a value that occurs in the
// same place of JSON records.
type column struct {
	name    string
	file    string
	loose   bool // the values do not depend on the hidden one
	n       int
	missing int
	gap     string // a missing cell as it is written

	// The distinct values and each cell's index among them, or -1: kept while the column
	// can be one of categories or ids.
	values []string
	counts []int
	index  map[string]int
	cells  []int

	numbers  []float64 // cells as numbers, or as seconds of dates, while all of them are
	notInt   bool
	places   int // decimal places
	exponent bool
	layout   string // of dates
	spaces   bool
	words    []float64
	seen     map[uint64]bool // digests of the cells

	kind     kind
	quantile []float64 // of numbers, or of the words of a text
	pattern  *idPattern
	codes    map[string]string // replacements of a category's values
	chosen   []string          // ids to draw in turn
	turn     int
	met      map[string]bool // values that are drawn
	again    string          // the value to draw next
}

func newColumn(name string) *column {
	return &column{name: name, index: map[string]int{}, seen: map[uint64]bool{}, layout: "-"}
}

var layouts = []string{"", time.DateOnly, time.DateTime, time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02 15:04:05 MST", "2006/01/02", "01/02/2006", "02.01.2006"}

// add counts a cell.
func (c *column) add(cell string) {
	c.n++
	if slices.Contains([]string{"", "NA", "na", "N/A", "<NA>", "NaN", "nan", "NULL", "null", "None"}, cell) {
		c.missing++
		c.gap = strings.Clone(cell)
		c.cells = append(c.cells, -1)
		return
	}
	if c.addNumber(cell); c.layout == "-" {
		c.seen[digest(cell)] = true
		c.spaces = c.spaces || strings.ContainsAny(cell, " \t\n")
		c.words = append(c.words, float64(len(strings.Fields(cell))))
	}
	if c.index == nil {
		return
	}
	i, ok := c.index[cell]
	if !ok {
		i, cell = len(c.values), strings.Clone(cell)
		c.index[cell] = i
		c.values, c.counts = append(c.values, cell), append(c.counts, 0)
	}
	c.counts[i]++
	c.cells = append(c.cells, i)
	if len(c.values) > mostValues && (c.spaces || len(cell) > mostChars || c.layout == "" && c.notInt) {
		c.index, c.values, c.counts, c.cells = nil, nil, nil, nil
	}
}

// addNumber keeps a cell as a number or a date in the layout of the first cell. The layout
// of numbers is "", that of other cells "-".
func (c *column) addNumber(cell string) {
	first := c.n-c.missing == 1
	at := slices.IndexFunc(layouts, func(layout string) bool {
		if !first && layout != c.layout {
			return false
		}
		_, ok := parse(layout, cell)
		return ok
	})
	if at < 0 {
		c.layout, c.numbers = "-", nil
		return
	}
	c.layout = layouts[at]
	v, _ := parse(c.layout, cell)
	c.numbers = append(c.numbers, v)
	c.notInt = c.notInt || v != math.Trunc(v)
	if _, decimals, ok := strings.Cut(cell, "."); ok {
		c.places = max(c.places, len(decimals))
	}
	c.exponent = c.exponent || strings.ContainsAny(cell, "eE")
}

// parse returns a number, or the seconds of a date in a layout.
func parse(layout, cell string) (float64, bool) {
	if layout != "" {
		at, err := time.Parse(layout, cell)
		return float64(at.Unix()), err == nil
	}
	v, err := strconv.ParseFloat(cell, 64)
	return v, err == nil && !math.IsInf(v, 0) && !math.IsNaN(v) && !strings.ContainsAny(cell, "xX_pP")
}

func (c *column) isNumber() bool { return c.layout == "" }

// unique reports whether no value occurs twice.
func (c *column) unique() bool { return c.index != nil && len(c.values) == c.n-c.missing }

var namesID = pattern.New(`(?i:^$|^unnamed|^index$|(^|[_ -])(id|key|no|uid|uuid)$|^(image|img|file|photo|row))|[a-z](Id|ID)$`)

// decide sets the column's kind, as far as it follows from the column alone.
func (c *column) decide(noValues bool) {
	switch {
	case c.n == c.missing:
		c.kind = blank
	case c.isCategory(noValues):
		c.kind = category
		if c.isBoolean() {
			c.kind = boolean
		}
	case c.index != nil && c.isNumber() && c.places == 0 && namesID.Regexp().MatchString(c.name) && (c.unique() || len(c.values) > mostValues),
		c.index != nil && c.layout == "-" && !c.spaces:
		c.kind = id
	case c.isNumber():
		c.kind = number
	case c.layout != "-":
		c.kind = date
	default:
		c.kind = text
	}
}

// isCategory reports whether the values are few and short and most of them occur
// again. Without values, numbers with decimals stay numbers.
func (c *column) isCategory(noValues bool) bool {
	if c.index == nil || len(c.values) > mostValues || c.n-c.missing < 2*len(c.values) || noValues && c.notInt {
		return false
	}
	once := 0
	for i, v := range c.values {
		if c.counts[i] == 1 {
			once++
		}
		if len(v) > 40 || len(strings.Fields(v)) > 5 {
			return false
		}
	}
	return 2*once <= len(c.values)
}

func (c *column) isBoolean() bool {
	for _, v := range c.values {
		if !slices.Contains([]string{"0", "1", "0.0", "1.0", "true", "false", "t", "f", "yes", "no", "y", "n"}, strings.ToLower(v)) {
			return false
		}
	}
	return len(c.values) == 2
}

// sortValues sorts a category's values, numbers by size. It forgets those of a single row,
// unless all are.
func (c *column) sortValues() {
	counts := map[string]int{}
	for i, v := range c.values {
		if c.kind == boolean || c.counts[i] > 1 || slices.Max(c.counts) == 1 {
			counts[v] = c.counts[i]
		}
	}
	c.values, c.counts = slices.SortedFunc(maps.Keys(counts), byNumber), nil
	for _, v := range c.values {
		c.counts = append(c.counts, counts[v])
	}
	c.index, c.cells = nil, nil
}

// byNumber compares numbers by size and other strings by their bytes.
func byNumber(a, b string) int {
	x, _ := strconv.ParseFloat(a, 64)
	y, _ := strconv.ParseFloat(b, 64)
	return cmp.Or(cmp.Compare(x, y), strings.Compare(a, b))
}

const month = 30 * 24 * 3600 // seconds

// summarize replaces the numbers by quantiles. Without values they have two digits, dates
// are whole months, and the limits are farther apart; those of proportions are 0 and 1.
func (c *column) summarize(noValues bool) {
	from := c.numbers
	if c.kind == text {
		from = c.words
	}
	slices.Sort(from)
	for i := range 11 {
		if len(from) > 0 {
			c.quantile = append(c.quantile, from[(len(from)-1)*i/10])
		}
	}
	c.numbers, c.words = nil, nil
	if !noValues || c.kind != number && c.kind != date {
		return
	}
	q := c.quantile
	lo, hi := q[0], q[10]
	wider := max((hi-lo)/20, math.Abs(lo)/1e6)
	q[0], q[10] = lo-wider, hi+wider
	for i := range q {
		if c.kind == date {
			q[i] = math.Round(q[i]/month) * month
			continue
		}
		q[i], _ = strconv.ParseFloat(strconv.FormatFloat(q[i], 'g', 2, 64), 64)
	}
	if lo >= 0 {
		q[0] = max(q[0], 0)
	}
	if lo >= 0 && hi <= 1 {
		q[0], q[10] = 0, 1
	}
	slices.Sort(q)
}
