package ui

import (
	"fmt"
	"math"
	"net/url"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/competitions/board"
)

// cell is a value of a row.
type cell = page.Cell

// nothing is the number of a cell without one.
var nothing = page.Nothing

// listedCell is a cell with the first of some names, of which rows can be chosen by each.
func listedCell(names []string) cell {
	c := cell{Text: strings.Join(names[:min(len(names), 2)], ", "), All: names}
	if more := len(names) - 2; more > 0 {
		c.Text += fmt.Sprintf(" +%d", more)
	}
	return c
}

// gridLine is a row of a table: a cell for every column.
type gridLine struct {
	Cells []cell
	// Address and Compare are what the actions of the row copy or lead to.
	Address, Compare string
	// Also is searched besides the cells.
	Also string
	// Members is the number of rows in a group.
	Members int
}

// table is a list that can be searched, filtered, sorted and grouped, and whose columns can
// be chosen and pinned, by its address.
type table struct {
	// Noun is a row in a few words, Path the address of the page; Keep are the
	// parameters of the address that tell which page it is.
	Noun, Path string
	// Retry begins the command that runs the step of a row again; "" if there is none.
	Retry string
	// Empty is what is said if there are no rows at all.
	Empty       string
	Keep        []string
	Placeholder string
	Columns     []page.Head
	// Facets are the columns by whose values rows are chosen, Groups those by which rows
	// can be grouped. "agent+competition" names two columns.
	Facets, Groups []string
	// Split is a column by which groups are divided, too, if its rows differ.
	Split string
	// Legend explains letters below the table.
	Legend []page.Fact
	// Choosers are further fields of the form; the page has applied them.
	Choosers []chooser
	Lines    []gridLine
	// Start is the place of the first line in a list of Total, if the lines are one page
	// of it already.
	Start, Total int
}

// fillTable adds a line for each row. About returns a line without cells.
func fillTable[R any](t *table, columns []page.Column[R], rows []R, about func(R) gridLine) {
	t.Columns = page.Heads(columns)
	for _, row := range rows {
		l := about(row)
		l.Cells = page.Cells(columns, row)
		t.Lines = append(t.Lines, l)
	}
}

// at is the index of a column, -1 if there is none of that key.
func (t *table) at(key string) int {
	return slices.IndexFunc(t.Columns, func(c page.Head) bool { return c.Key == key })
}

// filtered reports whether an address chooses among the rows.
func (t *table) filtered(q url.Values) bool {
	return q.Get("q") != "" || slices.ContainsFunc(t.Facets, func(key string) bool { return q.Get(key) != "" })
}

// arranged reports whether an address needs all rows at once.
func (t *table) arranged(q url.Values) bool {
	return t.filtered(q) || q.Get("sort") != "" || q.Get("group") != ""
}

// chosen are the lines that an address asks for.
func (t *table) chosen(q url.Values) []gridLine {
	find := queryOf(q.Get("q"))
	want := map[int]string{}
	for _, key := range t.Facets {
		if v := q.Get(key); v != "" {
			want[t.at(key)] = v
		}
	}
	return slices.DeleteFunc(slices.Clone(t.Lines), func(l gridLine) bool { return !l.has(want) || !l.says(find) })
}

func (l gridLine) has(want map[int]string) bool {
	for i, v := range want {
		if l.Cells[i].Text != v && !slices.Contains(l.Cells[i].All, v) {
			return false
		}
	}
	return true
}

// says reports whether a line holds all words.
func (l gridLine) says(find searchWords) bool {
	if len(find) == 0 {
		return true
	}
	parts := []string{l.Address, l.Also}
	for _, c := range l.Cells {
		parts = append(append(parts, c.Text, c.Sub), c.All...)
	}
	return find.in(parts...)
}

// sorted sorts lines by a column; rows without a value are last in both directions.
func (t *table) sorted(lines []gridLine, i int, down bool) {
	text := t.Columns[i].Kind <= page.Ends
	slices.SortStableFunc(lines, func(x, y gridLine) int {
		a, b := x.Cells[i], y.Cells[i]
		c, without := 0, 0
		if text {
			c, without = board.CompareNames(a.Text+" "+a.Sub, b.Text+" "+b.Sub), board.Count(a.Text == "")-board.Count(b.Text == "")
		} else {
			without = board.Count(math.IsNaN(a.Value)) - board.Count(math.IsNaN(b.Value))
			c = board.Count(a.Value > b.Value) - board.Count(a.Value < b.Value)
		}
		switch {
		case without != 0:
			return without
		case down:
			return -c
		}
		return c
	})
}

// arrange are the lines of an address in their order, with those of groups.
func (t *table) arrange(q url.Values) []gridLine {
	lines := t.chosen(q)
	by := t.at(q.Get("sort"))
	down := q.Get("dir") == "desc"
	if by >= 0 {
		t.sorted(lines, by, down)
	}
	if !slices.Contains(t.Groups, q.Get("group")) {
		return lines
	}
	heads, members := t.grouped(lines, q)
	if by >= 0 {
		t.sorted(heads, by, down)
	}
	var out []gridLine
	for _, h := range heads {
		out = append(out, h)
		if q.Get("fold") == "" {
			out = append(out, members[h.Cells[0].Text]...)
		}
	}
	return out
}

// grouped are the heads of the groups in natural order, and the members of each by the
// text of its head.
func (t *table) grouped(lines []gridLine, q url.Values) ([]gridLine, map[string][]gridLine) {
	keys := lists.Of(strings.Split(q.Get("group"), "+"), t.at)
	members, first := map[string][]gridLine{}, map[string]url.Values{}
	split := t.at(t.Split)
	if split >= 0 && same(lines, split) {
		split = -1
	}
	for _, l := range lines {
		var names []string
		only := url.Values{}
		for _, i := range keys {
			names = append(names, l.Cells[i].Text)
			only.Set(t.Columns[i].Key, l.Cells[i].Text)
		}
		name := strings.Join(names, " · ")
		if text := l.Cells[max(split, 0)].Text; split >= 0 && text != "" {
			name += " (" + strings.ToLower(t.Columns[split].Title) + " " + text + ")"
			only.Set(t.Split, text)
		}
		members[name], first[name] = append(members[name], l), only
	}
	var heads []gridLine
	for _, name := range view.SortedKeys(members) {
		link := t.link(q, "group", "", "fold", "")
		for key, v := range first[name] {
			link = withQuery(link, key, v[0])
		}
		heads = append(heads, t.head(cell{Text: name, Link: link}, members[name]))
	}
	return heads, members
}

// head is the line of a group: the means of its members.
func (t *table) head(title cell, members []gridLine) gridLine {
	cells := []cell{title}
	for i, c := range t.Columns[1:] {
		cells = append(cells, meanCell(c, members, i+1, t.at(c.Within)))
	}
	return gridLine{Cells: cells, Members: len(members)}
}

// meanCell is the mean of a column's values with its standard error. Of words it is what all
// rows share; of medals it is the share of rows with one, and of ends how many ended well.
func meanCell(c page.Head, members []gridLine, i, within int) cell {
	if c.Kind < page.Ends || within >= 0 && !same(members, within) {
		if c.Kind < page.Ends && same(members, i) {
			return members[0].Cells[i]
		}
		return nothing
	}
	if c.Kind == page.Ends {
		well := 0
		for _, l := range members {
			well += board.Count(l.Cells[i].Class == "good")
		}
		return cell{Text: fraction(well, len(members)), Value: float64(well)}
	}
	if first := members[0].Cells[i]; c.Kind == page.Medals && math.IsNaN(first.Value) && same(members, i) {
		return first
	}
	var values []float64
	for _, l := range members {
		v := l.Cells[i].Value
		if c.Kind == page.Medals && !math.IsNaN(v) {
			v = float64(100 * board.Count(v > 0))
		}
		if !math.IsNaN(v) {
			values = append(values, v)
		}
	}
	m, sem := meanOf(values)
	return cell{Value: m, SEM: sem, Mean: c.Kind != page.Moments}
}

func same(lines []gridLine, i int) bool {
	return !slices.ContainsFunc(lines, func(l gridLine) bool { return l.Cells[i].Text != lines[0].Cells[i].Text })
}

// meanOf is the mean of values and its standard error; NaN where there are too few.
func meanOf(values []float64) (mean, sem float64) {
	e := board.NewEstimate(values)
	if len(values) < 2 {
		return float64(e.Mean), math.NaN()
	}
	return float64(e.Mean), float64(e.SEM)
}

// link is the address of the page with parameters changed: pairs of names and values,
// where an empty value removes a parameter. It starts at the first page of rows.
func (t *table) link(q url.Values, pairs ...string) string {
	u := url.URL{Path: t.Path, RawQuery: q.Encode()}
	return withQuery(u.String(), append([]string{"page", ""}, pairs...)...)
}

func withQuery(address string, pairs ...string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	q := u.Query()
	for i := 0; i < len(pairs); i += 2 {
		if q.Del(pairs[i]); pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	u.RawQuery = q.Encode()
	return u.String()
}

// searchWords are the words of a search; something holds them if one text has them all.
type searchWords []string

func queryOf(text string) searchWords { return strings.Fields(strings.ToLower(text)) }

func (q searchWords) in(parts ...string) bool {
	text := strings.ToLower(strings.Join(parts, " "))
	return !slices.ContainsFunc(q, func(w string) bool { return !strings.Contains(text, w) })
}

// chooser is a select of a form.
type chooser struct {
	Name, Title string
	Options     []choice
}

// fraction writes how many of all.
func fraction(n, of int) string {
	return fmt.Sprintf("%s of %s", view.Count(int64(n)), view.Count(int64(of)))
}

// choice is an option of a form.
type choice struct {
	Value, Text string
	Chosen      bool
}

func choices(chosen string, values ...string) []choice {
	some := lists.Of(values, func(v string) choice { return choice{v, v, v == chosen} })
	return append([]choice{{"", "any", chosen == ""}}, some...)
}
