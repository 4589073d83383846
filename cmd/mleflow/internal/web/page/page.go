package page

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"maps"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/leaf/plain"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/history"
)

//go:embed style.css
var base string

//go:embed firstscreen.css
var screenStyle string

var style = base + screenStyle

// Style returns the style sheet of all pages.
func Style() string { return style }

//go:embed parts.html
var parts string

// Parse parses a template that may use the parts and functions of this package
// besides its own functions. Every value but HTML is escaped. It panics if the
// template, which is part of the program, is malformed.
func Parse(name, text string, funcs map[string]any) *template.Template {
	all := maps.Clone(functions)
	maps.Copy(all, funcs)
	return template.Must(template.New(name).Funcs(all).Parse(parts + text))
}

// Fill fills a template.
func Fill(t *template.Template, data any) (template.HTML, error) {
	var b bytes.Buffer
	err := t.Execute(&b, data)
	return template.HTML(b.String()), err
}

// Frame is the document around the content of a page.
type Frame struct {
	Title, Version string
	// Policy is the content security policy of a document that is a file, which
	// holds the style sheet itself. A server sends its policy as a header, and
	// Policy is empty; Styles and Scripts are the addresses of its files.
	Policy          string
	Styles, Scripts []string
	// Nav leads to other pages; the header that has it is left out without any.
	Nav []Link
	// Wide lets the content take the whole width of a large screen.
	Wide bool
	// Search is the address of the search form; none without one. Query is the searched
	// text.
	Search, Query string
	Body          template.HTML
}

// Link is a link. Address must be made by the program, with foreign parts escaped by
// url.PathEscape or url.Values.
type Link struct {
	Text, Address string
	// Here marks the page that is shown.
	Here bool
}

// FilePolicy is the content security policy of a document that needs nothing
// but its own style sheet: no script, no requests.
var FilePolicy = sync.OnceValue(func() string {
	sum := sha256.Sum256([]byte(style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'"
})

var frame = sync.OnceValue(func() *template.Template { return Parse("frame", `{{template "document" .}}`, nil) })

// Write writes a document.
func (f Frame) Write(w io.Writer) error {
	var b bytes.Buffer
	data := struct {
		Frame
		Style template.CSS
	}{f, ""}
	if len(f.Styles) == 0 {
		data.Style = template.CSS(style)
	}
	err := frame().Execute(&b, data)
	if err == nil {
		_, err = w.Write(Clean(bytes.TrimLeft(b.Bytes(), "\n")))
	}
	if err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	return nil
}

// Clean removes control characters from a finished document or a part of one. Escaping
// prevents strings from becoming tags; only this prevents them from changing the
// direction of adjacent text, or from covering it with marks.
func Clean(document []byte) []byte {
	marks := 0
	return bytes.Map(func(r rune) rune {
		if r < 0x300 || !unicode.In(r, unicode.Mn, unicode.Me) {
			marks = 0
			return r
		}
		if marks++; marks > marksShown {
			return -1
		}
		return r
	}, plain.Source(document))
}

// marksShown is the largest number of combining marks on one character. Languages need
// fewer.
const marksShown = 6

// functions are the functions available to every template of a page.
var functions = map[string]any{
	"add":       func(a, b int) int { return a + b },
	"bytes":     view.Bytes,
	"color":     func(i int) int { return i % Palette },
	"count":     func(n int) string { return view.Count(int64(n)) },
	"date":      Date,
	"duration":  view.Duration,
	"isZero":    time.Time.IsZero,
	"join":      strings.Join,
	"isolated":  func(text string) bool { return !strings.Contains(text, conditions.NotIsolated) },
	"key":       addr.KeyOf,
	"known":     func(v float64) bool { return !math.IsNaN(v) },
	"plural":    view.Plural,
	"published": competitions.Published,
	"rate":      Rate,
	"score":     Score,
	"seconds":   func(s float64) string { return view.Duration(view.Seconds(s)) },
	"trim":      strings.TrimSpace,
}

// Fact is a name and a value.
type Fact struct {
	Name, Value string
	// Class colours the value, such as "bad".
	Class string
}

// Facts are facts in the order in which a page shows them.
type Facts []Fact

// Add adds a fact unless its value is empty.
func (f *Facts) Add(name, value, class string) {
	if value != "" {
		*f = append(*f, Fact{name, value, class})
	}
}

// Count adds a number unless it is 0.
func (f *Facts) Count(name string, n int64, class string) {
	if n > 0 {
		f.Add(name, view.Count(n), class)
	}
}

// Rate writes a percentage of a group: mean and standard error over seeds, "66.7 ± 16.7". The
// standard error of one seed is not known; without a mean it is "–".
func Rate(figures board.Split, name string, seeds int) string {
	e, ok := figures[name]
	switch mean := strconv.FormatFloat(float64(e.Mean), 'f', 1, 64); {
	case !ok || math.IsNaN(float64(e.Mean)):
		return "–"
	case seeds <= 1:
		return mean
	default:
		return mean + " ± " + strconv.FormatFloat(float64(e.SEM), 'f', 1, 64)
	}
}

// Date writes a time as "2 January 2006, 15:04:05 UTC".
func Date(t time.Time) string { return t.UTC().Format("2 January 2006, 15:04:05 UTC") }

// Verdict is the state of a run and its class. One whose steps all ended well is no success
// if its attempts have no score.
func Verdict(state history.State, bad, all int) (text, class string) {
	switch {
	case state != history.Finished || bad == 0:
		return string(state), string(state)
	case bad == all:
		return "finished, no attempt has a score", "bad"
	}
	return fmt.Sprintf("finished, %s of %s attempts without a score", view.Count(int64(bad)), view.Count(int64(all))), "warn"
}

// Score writes a score with six significant digits, or more if its integer part needs
// them. It uses an exponent only where a person would.
func Score(v float64) string {
	if math.IsNaN(v) {
		return "NaN"
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64)
	if err != nil || math.Abs(v) >= 1e6 {
		rounded = math.Round(v)
	}
	return view.Score(rounded)
}

// Name is the key of a step's instance as tables write it, with dots between its parts.
func Name(address string) string { return strings.ReplaceAll(addr.KeyOf(address), "/", " · ") }

// Kind is the kind of the values of a column: how they are written, aligned, ordered and
// averaged.
type Kind int

// The kinds of columns. Those from Points on are aligned at the right.
const (
	Words   Kind = iota // in natural order
	Badges              // words as a pill
	Ends                // how something ended, as a pill
	Medals              // ordered from none to gold
	Points              // scores, with the same decimals in the whole column
	Amounts             // integers
	Shares              // percentages
	Dollars             // amounts in US dollars
	Spells              // durations in seconds
	Moments             // times in seconds since 1970
	Figures             // numbers that are already written as texts
)

// Head describes a column of a table.
type Head struct {
	// Key names the column in addresses; tables that never change have none.
	Key, Title string
	Kind       Kind
	// Class is the class of its cells, besides that of numbers.
	Class string
	// Extra columns are shown only if somebody chooses them. The texts of Long ones have
	// several lines in a table that is sent at once.
	Extra, Long bool
	// Within is the key of a column whose values must agree for a mean to make sense,
	// such as the competition of scores.
	Within string
}

// Align is the class of the head of the column.
func (h Head) Align() string {
	return view.When(h.Kind >= Points, "num")
}

// Classes are the classes of a cell of the column.
func (h Head) Classes() string { return cmp.Or(h.Class, h.Align()) }

// Column is a column of a table whose rows are values of type R. One of Text, Value and
// Of makes its cells.
type Column[R any] struct {
	Key, Title  string
	Kind        Kind
	Class       string
	Extra, Long bool
	Within      string

	Text  func(R) string
	Value func(R) float64
	Of    func(R) Cell
}

// Cell is a value of a row. Link must be made by the program, or checked.
type Cell struct {
	// Text is what is shown; numbers without one are written in the style of the column.
	// Sub follows the text, or stands below it on a narrow screen.
	Text, Sub, Link string
	// Class colours the text. All are the values that a list in the text stands for.
	Class string
	All   []string
	// Value is a number; NaN if there is none. SEM is the standard error of a mean.
	Value, SEM float64
	// Mean marks the value of a group.
	Mean bool
	// Pill and Medal say how the text is drawn. Outside is a link to another site.
	Pill, Medal, Outside bool
}

// Integrity is the badge of an attempt that has ended, with the label and its rules.
func Integrity(a *results.Attempt) Cell {
	if a.Made.Outcome == "" {
		return Cell{}
	}
	i := a.Integrity()
	classes := map[grading.Integrity]string{grading.Clean: "good", grading.Suspect: "warn", grading.Tampered: "bad"}
	return Cell{Text: i.Text(), Class: cmp.Or(classes[i.Label], "unknown"), Pill: true}
}

// Nothing is the cell of a number that is not known.
var Nothing = Cell{Value: math.NaN()}

// Count returns the cell of a number.
func Count(n int) Cell { return Cell{Value: float64(n)} }

// If returns the cell if it is known, else Nothing.
func (c Cell) If(known bool) Cell {
	if known {
		return c
	}
	return Nothing
}

func (c Column[R]) cell(row R) Cell {
	switch {
	case c.Text != nil:
		return Cell{Text: c.Text(row)}
	case c.Value != nil:
		return Cell{Value: c.Value(row)}
	}
	return c.Of(row)
}

// Heads returns the heads of columns.
func Heads[R any](columns []Column[R]) []Head {
	heads := make([]Head, len(columns))
	for i, c := range columns {
		heads[i] = Head{c.Key, c.Title, c.Kind, c.Class, c.Extra, c.Long, c.Within}
	}
	return heads
}

// Cells returns the cells of a row.
func Cells[R any](columns []Column[R], row R) []Cell {
	cells := make([]Cell, len(columns))
	for i, c := range columns {
		cells[i] = c.cell(row)
	}
	return cells
}

// Grid is a table that never changes, for the template "sheet".
type Grid struct {
	Caption string
	Heads   []Head
	Rows    [][]Cell
}

// NewGrid makes a table with a line for each row.
func NewGrid[R any](caption string, rows []R, columns ...Column[R]) Grid {
	return Grid{caption, Heads(columns), lists.Of(rows, func(row R) []Cell { return Cells(columns, row) })}
}
