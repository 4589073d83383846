package rehearsal

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/pattern"
	"github.com/mleflow/mleflow/plugins/numeric/stat"
)

const (
	mostValues = 50  // distinct values of a category
	mostChars  = 200 // characters of an id
)

type kind uint8

const (
	blank kind = iota
	number
	date
	category // and booleans
	text
	id
)

// column is the statistics of all columns of one name, without those of sample submissions
// if others have it.
type column struct {
	name       string
	sample     bool // only sample submissions have it; its cells do not depend on hidden values
	counts     map[string]int
	n, missing int
	gap        string // a missing cell as it is written

	kind     kind
	values   []string // the distinct ones
	layout   string   // of dates; "" of numbers, wordy of other cells
	whole    bool     // the numbers are integers
	quantile []float64
	pattern  *idPattern
}

var gaps = []string{"", "NA", "na", "N/A", "<NA>", "NaN", "nan", "NULL", "null", "None"}

// add counts a cell. It returns "" if the cell is missing.
func (c *column) add(cell string, sample bool) string {
	isGap := slices.Contains(gaps, cell)
	switch {
	case sample && !c.sample:
	case isGap:
		c.n, c.missing, c.gap = c.n+1, c.missing+1, cell
	default:
		c.n++
		c.counts[cell]++
	}
	if isGap {
		return ""
	}
	return cell
}

const wordy = "-"

var layouts = []string{"", time.DateOnly, time.DateTime, time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02 15:04:05 MST", "2006/01/02", "01/02/2006", "02.01.2006", wordy}

// measure returns a number, the seconds of a date, or how many words a text has.
func measure(layout, cell string) (float64, bool) {
	switch layout {
	case wordy:
		return float64(len(strings.Fields(cell))), true
	case "":
		v, err := strconv.ParseFloat(cell, 64)
		return v, err == nil && !math.IsInf(v, 0) && !math.IsNaN(v) && !strings.ContainsAny(cell, "xX_pP")
	}
	at, err := time.Parse(layout, cell)
	return float64(at.Unix()), err == nil
}

var namesID = pattern.New(`(?i:^$|^unnamed|^index$|(^|[_ -])(id|key|no|uid|uuid)$|^(image|img|file|photo|row))|[a-z](Id|ID)$`)

// layoutOf returns the first layout that reads all values.
func layoutOf(values []string) string {
	at := slices.IndexFunc(layouts, func(layout string) bool {
		return every(values, func(v string) bool { _, ok := measure(layout, v); return ok })
	})
	return layouts[at] // wordy reads everything
}

func every(values []string, is func(v string) bool) bool {
	return !slices.ContainsFunc(values, func(v string) bool { return !is(v) })
}

// facts are what decides a column's kind.
type facts struct {
	*column
	*shape
	unique  bool // no value occurs twice
	headers bool // the values are names of columns
	few     bool // see isCategory
}

func (f facts) isHeader(v string) bool { return f.shape.columns[v] != nil }

func isBoolean(v string) bool { return slices.Contains(booleans, strings.ToLower(v)) }

// rules decide the kind of a column: the first that holds.
var rules = []struct {
	name  string
	kind  kind
	holds func(facts) bool
}{
	{"no values", blank, func(f facts) bool { return len(f.values) == 0 }},
	{"names of columns", category, func(f facts) bool { return f.headers }},
	{"few values", category, func(f facts) bool {
		return f.few && (!f.NoValues || f.layout == wordy || every(f.values, isBoolean))
	}},
	{"short words", id, func(f facts) bool {
		return f.layout == wordy && every(f.values, func(v string) bool { return len(v) <= mostChars && !strings.ContainsAny(v, " \t\n") })
	}},
	{"numbers of files", id, func(f facts) bool {
		return f.layout == "" && f.unique && every(f.values, func(v string) bool { return f.names[v] })
	}},
	{"integers under the name of an id", id, func(f facts) bool {
		return f.layout == "" && f.whole && namesID.Regexp().MatchString(f.name) && (f.unique || len(f.values) > mostValues)
	}},
	{"numbers", number, func(f facts) bool { return f.layout == "" }},
	{"dates", date, func(f facts) bool { return f.layout != wordy }},
	{"anything", text, func(facts) bool { return true }},
}

// decide sets the column's kind and eleven quantiles.
func (c *column) decide(s *shape) {
	c.values = slices.Sorted(maps.Keys(c.counts))
	c.layout = layoutOf(c.values)
	var cells []float64
	c.whole = true
	for _, v := range c.values {
		x, _ := measure(c.layout, v)
		cells = append(cells, slices.Repeat([]float64{x}, c.counts[v])...)
		c.whole = c.whole && x == math.Trunc(x)
	}
	f := facts{column: c, shape: s, unique: len(c.values) == c.n-c.missing}
	f.headers = c.layout == wordy && every(c.values, f.isHeader)
	f.few = !f.headers && c.isCategory()
	for _, r := range rules {
		if r.holds(f) {
			c.kind = r.kind
			break
		}
	}
	switch c.kind {
	case id:
		c.pattern = s.patternOf(c.values)
	case category:
		for _, v := range c.values {
			if s.NoValues && !f.isHeader(v) && !isBoolean(v) {
				s.codes[v] = classNames
			}
		}
	}
	slices.Sort(cells)
	for i := range min(11, 11*len(cells)) {
		c.quantile = append(c.quantile, c.blurred(cells[(len(cells)-1)*i/10], s.NoValues))
	}
}

// blurred returns a quantile. Without values a number has two digits, and a date is a
// whole month.
func (c *column) blurred(q float64, noValues bool) float64 {
	switch {
	case noValues && c.kind == date:
		return math.Round(q/month) * month
	case noValues && c.kind == number:
		q, _ = strconv.ParseFloat(strconv.FormatFloat(q, 'g', 2, 64), 64)
	}
	return q
}

const month = 30 * 24 * 3600 // seconds

var booleans = []string{"0", "1", "0.0", "1.0", "true", "false", "t", "f", "yes", "no", "y", "n"}

// classNames are the names of categories' values that are not copied.
var classNames = &idPattern{alphabet: []string{"c", classes[0], classes[0], classes[0]}, least: 4}

// isCategory reports whether the values are few and short and most of them occur again. It
// forgets those of a single row.
func (c *column) isCategory() bool {
	again := slices.DeleteFunc(slices.Clone(c.values), func(v string) bool { return c.counts[v] == 1 })
	long := func(v string) bool { return len(v) > 40 || len(strings.Fields(v)) > 5 }
	if len(c.values) > mostValues || c.n-c.missing < 2*len(c.values) || 2*len(again) < len(c.values) || slices.ContainsFunc(c.values, long) {
		return false
	}
	c.values = again
	return true
}

// at returns the quantile of u.
func (c *column) at(u float64) float64 {
	i := min(int(u*10), 9)
	return c.quantile[i] + float64((c.quantile[i+1]-c.quantile[i])*(u*10-float64(i)))
}

// cell draws a value of a column that depends on z: as much in all columns of its name, and
// not at all in a sample submission.
func (d *drawing) cell(c *column, z float64) string {
	if d.Float64()*float64(c.n) < float64(c.missing) || c.kind == blank {
		return c.gap
	}
	if d.hash(c.name)%2 == 0 {
		z = -z
	}
	if c.sample {
		z = d.normal()
	}
	u := stat.NormalCDF(float64(0.8*z) + float64(0.6*d.normal()))
	switch c.kind {
	case category:
		return d.code(c.pick(u))
	case date:
		return time.Unix(int64(c.at(u)), 0).UTC().Format(c.layout)
	case text:
		return d.sentence(c, u)
	}
	if c.whole {
		return strconv.FormatFloat(math.Round(c.at(u)), 'f', 0, 64)
	}
	return strconv.FormatFloat(c.at(u), 'g', 6, 64)
}

// pick returns the category of u. Two thirds have the shares of the raw data, the others
// equal ones.
func (c *column) pick(u float64) string {
	left := u * 1.5 * float64(c.n-c.missing)
	for _, v := range c.values {
		if left -= float64(c.counts[v]) + float64(c.n-c.missing)/float64(2*len(c.values)); left < 0 {
			return v
		}
	}
	return c.values[len(c.values)-1]
}

// syllables make words that are no language's.
var syllables = []string{"ba", "de", "fi", "go", "ku", "la", "me", "ni", "po", "ru"}

// sentence draws a text: four of ten words depend on u. It differs from all cells of the
// column in the raw data.
func (d *drawing) sentence(c *column, u float64) string {
	for n := min(60, max(1, int(c.at(d.Float64())))); ; n++ {
		var words []string
		for range n {
			at := d.IntN(500)
			if at < 200 {
				at = min(int(u*20), 19)*10 + at%10
			}
			words = append(words, syllables[at/100]+syllables[at/10%10]+syllables[at%10])
		}
		if cell := strings.Join(words, " "); c.counts[cell] == 0 {
			return cell
		}
	}
}
