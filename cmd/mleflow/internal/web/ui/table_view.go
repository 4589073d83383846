package ui

import (
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
)

// gridRows is the number of rows that are sent at once; the script asks for others as
// they are scrolled to.
const gridRows = 100

// tableView is a table as its templates show it.
type tableView struct {
	*table
	Query           string
	Fields          []chooser
	Grouping        []choice
	Grouped, Fold   bool
	Shown           []columnChoice
	Hidden          []page.Fact
	Heads           []heading
	Rows            []shownRow
	Pages           pager
	All             int
	Filtered, Acted bool
	// Custom reports whether somebody chose the columns.
	Custom bool
	Reset  string
	// Widest are the longest texts of the columns, so that their widths do not depend
	// on the rows that are there.
	Widest []string
}

// columnChoice is a column that can be shown, and pinned.
type columnChoice struct {
	page.Head
	Chosen, Pinned bool
}

// heading is the head of a column: a link that sorts by it.
type heading struct {
	Title, Link, Sorted string
	// Class is the class of its head, CellClass that of its cells.
	Class, CellClass string
}

// shownRow is a line with the cells of the chosen columns only, whose heads it has, too.
type shownRow struct {
	gridLine
	Shown []cell
	Heads []heading
	Acted bool
}

// show adds the table's form and its rows to a page.
func (t *table) show(c *content, r *http.Request) {
	v := t.view(r)
	c.show("form", "grid form", v)
	c.show("grid", "grid", v)
}

// view is the table as an address asks for it.
func (t *table) view(r *http.Request) *tableView {
	q := r.URL.Query()
	lines := t.arrange(q)
	v := &tableView{table: t, Query: q.Get("q"), Filtered: t.filtered(q), Fold: q.Get("fold") != "", Custom: q.Has("col"), All: max(t.Total, len(t.Lines)),
		Acted: slices.ContainsFunc(t.Lines, func(l gridLine) bool { return l.Address != "" || l.Compare != "" })}
	v.Grouped = slices.Contains(t.Groups, q.Get("group"))
	from, to, p := paged(r, max(t.Total, len(lines)), gridRows)
	v.Pages = p
	v.choosers(q)
	shown, pinned := t.columns(q, lines)
	writers := make([]func(float64) string, len(t.Columns))
	for i, c := range t.Columns {
		writers[i] = writer(c, lines, i)
		v.Shown = append(v.Shown, columnChoice{c, slices.Contains(shown, i), slices.Contains(shown[:pinned], i)})
	}
	for at, i := range shown {
		v.Heads = append(v.Heads, t.headOf(q, t.Columns[i], at > 0 && at < pinned, p.Total <= gridRows))
		if len(lines) > gridRows {
			v.Widest = append(v.Widest, widest(lines, i, writers[i]))
		}
	}
	v.Rows = lists.Of(lines[from-t.Start:to-t.Start], func(l gridLine) shownRow { return shownRow{l, t.shown(l, shown, writers), v.Heads, v.Acted} })
	return v
}

// choosers are the fields of the form besides the search.
func (v *tableView) choosers(q url.Values) {
	for _, key := range v.Facets {
		i := v.at(key)
		values := map[string]bool{}
		for _, l := range v.Lines {
			values[l.Cells[i].Text] = l.Cells[i].All == nil
			for _, text := range l.Cells[i].All {
				values[text] = true
			}
		}
		maps.DeleteFunc(values, func(text string, is bool) bool { return !is || text == "" || text == "–" })
		if len(values) > 1 || q.Get(key) != "" {
			v.Fields = append(v.Fields, chooser{key, v.Columns[i].Title, choices(q.Get(key), view.SortedKeys(values)...)})
		}
	}
	v.Fields = append(v.Fields, v.Choosers...)
	if len(v.Groups) > 0 && len(v.Lines) > 1 {
		v.Grouping = choices(q.Get("group"), v.Groups...)
		v.Grouping[0].Text = "nothing"
		for i := range v.Grouping {
			v.Grouping[i].Text = strings.ReplaceAll(v.Grouping[i].Text, "+", " and ")
		}
	}
	for _, key := range append([]string{"sort", "dir"}, v.Keep...) {
		if value := q.Get(key); value != "" {
			v.Hidden = append(v.Hidden, page.Fact{Name: key, Value: value})
		}
	}
	v.Reset = v.Path
	for _, key := range v.Keep {
		v.Reset = withQuery(v.Reset, key, q.Get(key))
	}
}

// columns are the indexes of the columns that an address shows: the first, those that are
// pinned beside it, and the chosen ones, or those that have a value in some line. Pinned is
// the number of the former.
func (t *table) columns(q url.Values, lines []gridLine) (shown []int, pinned int) {
	var rest []int
	for i, c := range t.Columns {
		given := q["col"]
		switch {
		case i == 0 || slices.Contains(q["pin"], c.Key):
			shown = append(shown, i)
		case slices.Contains(given, c.Key) || len(given) == 0 && !c.Extra && (q.Get("sort") == c.Key || slices.ContainsFunc(lines, func(l gridLine) bool { return filled(l.Cells[i], c.Kind) })):
			rest = append(rest, i)
		}
	}
	return append(shown, rest...), len(shown)
}

func filled(c cell, kind page.Kind) bool {
	return c.Text != "" || kind > page.Ends && !math.IsNaN(c.Value)
}

// headOf is the head of a column. The first click sorts words from a, all else from the
// largest. Long cells have several lines where the whole table is sent at once.
func (t *table) headOf(q url.Values, c page.Head, pinned, whole bool) heading {
	h := heading{Title: c.Title, Sorted: "none", Class: c.Align()}
	if pinned {
		h.Class = strings.TrimSpace(h.Class + " pin")
	}
	if h.CellClass = h.Class; c.Long && whole {
		h.CellClass = strings.TrimSpace(h.Class + " long")
	}
	next := view.Either(c.Kind <= page.Ends, "asc", "desc")
	switch {
	case q.Get("sort") != c.Key:
	case q.Get("dir") == "desc":
		h.Sorted, next = "descending", "asc"
	default:
		h.Sorted, next = "ascending", "desc"
	}
	h.Link = t.link(q, "sort", c.Key, "dir", next)
	return h
}

// shown are the cells of the chosen columns, as they are drawn.
func (t *table) shown(l gridLine, columns []int, writers []func(float64) string) []cell {
	return lists.Of(columns, func(i int) cell {
		c, kind := l.Cells[i], t.Columns[i].Kind
		c.Text = cellText(c, writers[i], kind)
		c.Pill, c.Medal = kind == page.Badges || kind == page.Ends && l.Members == 0, kind == page.Medals && !c.Mean && c.Value > 0
		return c
	})
}

// cellText is what a cell shows.
func cellText(c cell, write func(float64) string, kind page.Kind) string {
	switch {
	case c.Text != "" || kind <= page.Badges || math.IsNaN(c.Value):
		return c.Text
	case !c.Mean || math.IsNaN(c.SEM) || math.IsInf(c.SEM, 0):
		return write(c.Value)
	}
	return strings.TrimSuffix(write(c.Value), " %") + " ± " + write(c.SEM)
}

// writer returns how the numbers of a column are written: with as many decimals as the
// most precise of them needs, and one more for means of scores.
func writer(c page.Head, lines []gridLine, i int) func(float64) string {
	switch c.Kind {
	case page.Amounts:
		return func(v float64) string { return view.Count(int64(math.Round(v))) }
	case page.Shares, page.Medals:
		return func(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) + " %" }
	case page.Spells:
		return func(v float64) string { return view.Duration(view.Seconds(v)) }
	case page.Moments:
		return func(v float64) string { return time.Unix(int64(v), 0).Local().Format("2006-01-02 15:04") }
	}
	least := columnDecimals(c, lines, i)
	return func(v float64) string {
		if v != 0 && (math.Abs(v) >= 1e9 || math.Abs(v) < 1e-5) {
			return page.Score(v)
		}
		return strconv.FormatFloat(v, 'f', least, 64)
	}
}

// columnDecimals is the number of decimals of the most precise number of a column, from 2 to 5
// for scores. Amounts in dollars have 4 if all are below a dollar.
func columnDecimals(c page.Head, lines []gridLine, i int) int {
	least, means, largest := 2, 0, 0.0
	for _, l := range lines {
		switch v := l.Cells[i].Value; {
		case math.IsNaN(v):
		case l.Cells[i].Mean:
			means = 1
		default:
			least, largest = max(least, min(5, decimals(v))), max(largest, math.Abs(v))
		}
	}
	switch {
	case c.Kind == page.Points:
		return min(least+means, 5)
	case largest >= 1:
		return 2
	}
	return min(least, 4)
}

// decimals is the number of decimals of a score.
func decimals(v float64) int {
	_, after, _ := strings.Cut(page.Score(v), ".")
	return len(after)
}

// widest is the longest text of a column, cut where a cell is.
func widest(lines []gridLine, i int, write func(float64) string) string {
	var long []rune
	for _, l := range lines {
		c := l.Cells[i]
		if n := len(c.Text) + len(c.Sub); n > 0 && n <= len(long) {
			continue
		}
		text := cellText(c, write, page.Amounts)
		if c.Sub != "" {
			text += " · " + c.Sub
		}
		if runes := []rune(text[:min(len(text), 400)]); len(runes) > len(long) {
			long = runes
		}
	}
	return string(long[:min(len(long), 60)])
}

// pager is the position of a page in a long table.
type pager struct {
	From, To, Total  int
	Before, Next     string
	HasBefore, Later bool
}

// pagerOf is the position of some rows in a list, where at is the address of the page that
// begins with a row.
func pagerOf(from, to, total, size int, at func(row int) string) pager {
	return pager{From: min(from+1, total), To: to, Total: total, HasBefore: from > 0, Later: to < total, Before: at(from - size), Next: at(from + size)}
}

// paged returns the part of a table that an address asks for.
func paged(r *http.Request, total, size int) (from, to int, p pager) {
	at, _ := strconv.Atoi(r.URL.Query().Get("page"))
	last := max(0, (total-1)/size)
	at = min(max(at, 0), last)
	from, to = at*size, min(at*size+size, total)
	here := url.URL{Path: r.URL.Path, RawQuery: r.URL.RawQuery}
	p = pagerOf(from, to, total, size, func(row int) string {
		return withQuery(here.String(), "page", view.When(row >= size, strconv.Itoa(row/size)))
	})
	return from, to, p
}
