package view

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"sync"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/leaf/plain"
	"github.com/mleflow/mleflow/engine/event"
)

// Output is a stream that remembers the first failed write, so that a command can report
// it once at its end. It is safe for concurrent use.
type Output struct {
	w   io.Writer
	mu  sync.Mutex
	err error
}

// NewOutput returns an Output in front of w.
func NewOutput(w io.Writer) *Output { return &Output{w: w} }

// Write implements io.Writer.
func (o *Output) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	o.note(err)
	return n, err
}

// note remembers the first error.
func (o *Output) note(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.err = cmp.Or(o.err, err)
}

// Err returns the error of the first write that failed.
func (o *Output) Err() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// Underlying returns the stream that an Output is in front of, or w.
func Underlying(w io.Writer) io.Writer {
	if o, ok := w.(*Output); ok {
		return o.w
	}
	return w
}

// file returns the file that a stream writes to, if it is one.
func file(w io.Writer) (*os.File, bool) {
	f, ok := Underlying(w).(*os.File)
	return f, ok
}

// Style colours texts; its zero value leaves them as they are.
type Style struct{ on bool }

// StyleFor returns the style for a stream: plain if it is no terminal or the user wants
// no colours.
func StyleFor(w io.Writer, plain bool) Style { return Style{on: !plain && IsTerminal(w)} }

// IsTerminal reports whether w is a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := file(w)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Width returns the columns of a terminal, or 0 when w is none.
func Width(w io.Writer) int {
	f, ok := file(w)
	if !ok {
		return 0
	}
	width, _, _ := term.GetSize(int(f.Fd())) // 0 with an error
	return width
}

// Bold makes s stand out.
func (s Style) Bold(text string) string { return s.sgr("1", text) }

// Dim makes s step back.
func (s Style) Dim(text string) string { return s.sgr("2", text) }

// Good marks success.
func (s Style) Good(text string) string { return s.sgr("32", text) }

// Bad marks failure.
func (s Style) Bad(text string) string { return s.sgr("31", text) }

// Warn marks what needs attention.
func (s Style) Warn(text string) string { return s.sgr("33", text) }

// accent marks what is under way.
func (s Style) accent(text string) string { return s.sgr("36", text) }

// Colored reports whether the style colours.
func (s Style) Colored() bool { return s.on }

func (s Style) sgr(code, text string) string {
	if !s.on || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Table is a table of strings in aligned columns.
type Table struct {
	header []string
	right  []bool
	rows   [][]string
	// keys and width are those of Fit; without a width the table is as wide as
	// its cells.
	keys, width int
}

// NewTable returns a table with the given column names. A name that begins
// with ">" makes its column right-aligned.
func NewTable(columns ...string) *Table {
	t := &Table{header: make([]string, len(columns)), right: make([]bool, len(columns))}
	for i, c := range columns {
		t.header[i], t.right[i] = strings.CutPrefix(c, ">")
	}
	return t
}

// Fit limits the table to a width: further columns continue below, after a repetition of
// the first keys columns.
func (t *Table) Fit(keys, width int) { t.keys, t.width = keys, width }

// Row adds a row, whose strings it makes safe to show; missing cells are empty.
func (t *Table) Row(cells ...string) {
	row := make([]string, len(t.header))
	for i := range min(len(row), len(cells)) {
		row[i] = cell(cells[i])
	}
	t.rows = append(t.rows, row)
}

// Write writes the header and the rows, two spaces between columns. Errors are for the
// stream to remember.
func (t *Table) Write(w io.Writer, style Style) {
	var b strings.Builder
	for i, band := range strings.Split(plain.Table(t.columns(), t.keys, t.width), "\n\n") {
		if i > 0 {
			b.WriteString("\n")
		}
		header, rows, _ := strings.Cut(band, "\n")
		b.WriteString(style.Bold(header) + "\n")
		if rows != "" {
			b.WriteString(rows + "\n")
		}
	}
	fmt.Fprint(w, b.String())
}

// section writes a table with rows after an empty line; nothing without rows.
func (t *Table) section(w io.Writer, style Style) {
	if len(t.rows) > 0 {
		fmt.Fprintln(w)
		t.Write(w, style)
	}
}

// columns returns the cells, padded.
func (t *Table) columns() [][]string {
	columns := make([][]string, len(t.header))
	for i, name := range t.header {
		cells := lists.Of(t.rows, func(row []string) string { return row[i] })
		columns[i] = plain.Pad(append([]string{name}, cells...), t.right[i])
	}
	return columns
}

// Text drops terminal sequences from a text from outside and replaces control
// characters by blanks, so that it cannot disturb a terminal, hide what was
// written before it or pass for something else. Line breaks and tabs stay.
func Text(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && plain.Control(r) {
			return ' '
		}
		return r
	}, ansi.Strip(strings.ReplaceAll(s, "\r\n", "\n")))
}

// Cut is the beginning of a text of more than n characters, and an ellipsis.
func Cut(text string, n int) string {
	if runes := []rune(text); len(runes) > n {
		return string(runes[:n]) + "…"
	}
	return text
}

// OneLine is Text on a single line, without surrounding space.
func OneLine(s string) string { return strings.TrimSpace(cell(s)) }

// cell is Text on a single line.
func cell(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) {
		return s // as most are
	}
	return strings.Map(func(r rune) rune {
		if plain.Control(r) {
			return ' '
		}
		return r
	}, ansi.Strip(s))
}

// severalLines are the fields of events whose line breaks stay.
var severalLines = map[reflect.Type]string{
	reflect.TypeFor[event.StepRetry](): "Error", reflect.TypeFor[event.StepFinished](): "Error", reflect.TypeFor[event.Published](): "Error",
	reflect.TypeFor[event.Warning](): "Message", reflect.TypeFor[event.OutputValue](): "Value",
}

// cleaned returns an event whose strings are safe to show, except those in maps.
func cleaned(e event.Event) event.Event {
	v := reflect.New(reflect.TypeOf(e)).Elem()
	v.Set(reflect.ValueOf(e))
	clean(v)
	return v.Interface().(event.Event)
}

// clean makes the strings of a value safe. It copies what the value refers to.
func clean(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if text := v.String(); text != "" {
			v.SetString(OneLine(text))
		}
	case reflect.Struct:
		var whole string
		several, ok := severalLines[v.Type()]
		if ok {
			whole = Text(v.FieldByName(several).String())
		}
		for _, f := range v.Fields() {
			if f := f; f.CanSet() {
				clean(f)
			}
		}
		if ok {
			v.FieldByName(several).SetString(whole)
		}
	case reflect.Slice:
		v.Set(reflect.AppendSlice(reflect.Zero(v.Type()), v))
		for i := range v.Len() {
			clean(v.Index(i))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			to := reflect.New(v.Type().Elem())
			to.Elem().Set(v.Elem())
			clean(to.Elem())
			v.Set(to)
		}
	}
}
