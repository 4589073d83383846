package plain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// gap separates two columns of a table.
const gap = 2

// Table writes columns side by side, two spaces apart, and at most width wide (0:
// no limit), like pandas: a table that is wider continues below after an empty
// line, and repeats its first keys columns. In the continuation, the key columns
// are shortened in the middle if they would fill the width. A cell is never cut, so
// a cell wider than width makes its line wider. The cells of a column are padded to
// its width.
func Table(columns [][]string, keys, width int) string {
	if len(columns) == 0 {
		return ""
	}
	if width <= 0 || Size(columns) <= width || len(columns) <= keys {
		return join(columns)
	}
	return strings.Join(bands(columns, keys, width), "\n\n")
}

// Fold formats every table in a text as Table does. A table is a paragraph of at
// least two lines with two spaces at the same positions. Everything else does not
// change.
func Fold(text string, keys, width int) string {
	if width <= 0 {
		return text
	}
	paragraphs := strings.Split(text, "\n\n")
	for i, p := range paragraphs {
		paragraphs[i] = foldParagraph(p, keys, width)
	}
	return strings.Join(paragraphs, "\n\n")
}

func foldParagraph(text string, keys, width int) string {
	end := strings.TrimLeft(text, "\n")
	lead, body := text[:len(text)-len(end)], strings.TrimRight(end, "\n")
	trail := end[len(body):]
	lines := strings.Split(body, "\n")
	if len(lines) < 2 || !slices.ContainsFunc(lines, func(l string) bool { return utf8.RuneCountInString(l) > width }) {
		return text
	}
	return lead + Table(split(lines), keys, width) + trail
}

// split returns the columns of a table, each with a cell of its width a line.
func split(lines []string) [][]string {
	table := make([][]rune, len(lines))
	total := 0
	for i, l := range lines {
		table[i] = []rune(l)
		total = max(total, len(table[i]))
	}
	for i, row := range table {
		table[i] = append(row, []rune(strings.Repeat(" ", total-len(row)))...)
	}
	blank := func(c int) bool {
		return !slices.ContainsFunc(table, func(row []rune) bool { return row[c] != ' ' })
	}
	var columns [][]string
	for from := 0; from < total; {
		to := from
		for to < total && !(blank(to) && (to+1 == total || blank(to+1))) {
			to++
		}
		column := make([]string, len(table))
		for i, row := range table {
			column[i] = string(row[from:to])
		}
		columns = append(columns, column)
		for from = to; from < total && blank(from); {
			from++
		}
	}
	return columns
}

// bands lays columns out below each other, each band at most width wide if its
// columns allow that.
func bands(columns [][]string, keys, width int) (out []string) {
	short := slices.Clone(columns[:keys])
	if Size(short) > width/2 {
		for i, column := range short {
			short[i] = Shorten(column, (width/2-gap*keys)/keys)
		}
	}
	var band [][]string
	for i, column := range columns {
		grown := append(slices.Clone(band), column)
		if len(band) == 0 || Size(grown) <= width {
			band = grown
			continue
		}
		out = append(out, join(band))
		band = append(slices.Clone(short[:min(i, keys)]), column)
		if i < keys && Size(band) > width {
			band = [][]string{column}
		}
	}
	return append(out, join(band))
}

// Pad makes the cells of a column safe to show and equally wide.
func Pad(column []string, right bool) []string {
	out, width := make([]string, len(column)), 0
	for i, cell := range column {
		out[i] = Line(cell)
		width = max(width, utf8.RuneCountInString(out[i]))
	}
	for i, cell := range out {
		if pad := strings.Repeat(" ", width-utf8.RuneCountInString(cell)); right {
			out[i] = pad + cell
		} else {
			out[i] = cell + pad
		}
	}
	return out
}

// Size returns the width of columns side by side.
func Size(columns [][]string) int {
	total := -gap
	for _, column := range columns {
		total += gap + utf8.RuneCountInString(column[0])
	}
	return total
}

func join(columns [][]string) string {
	lines := make([]string, len(columns[0]))
	for i := range lines {
		var line strings.Builder
		for c, column := range columns {
			if c > 0 {
				line.WriteString(strings.Repeat(" ", gap))
			}
			line.WriteString(column[i])
		}
		lines[i] = strings.TrimRight(line.String(), " ")
	}
	return strings.Join(lines, "\n")
}

// Wrap breaks a line between words so that no line is wider than width, unless
// a word is.
func Wrap(text string, width int) string {
	var out strings.Builder
	at := 0
	for i, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case at+1+n > width:
			out.WriteString("\n")
			at = 0
		default:
			out.WriteString(" ")
			at++
		}
		out.WriteString(word)
		at += n
	}
	return out.String()
}

// Shorten shortens the cells that are longer than width, so that different cells stay
// different. What the long cells have in common goes first, then the middle of what is left;
// cells that would still look alike are numbered: "name…~2". One character is left of a
// cell in any case, and a width below four may leave cells alike.
func Shorten(column []string, width int) []string {
	width = max(width, 1)
	var long []string
	taken, short := map[string]bool{}, map[string]string{}
	for _, cell := range column {
		if text := strings.TrimRight(cell, " "); utf8.RuneCountInString(text) <= width {
			taken[text] = true
		} else if !slices.Contains(long, text) {
			long = append(long, text)
		}
	}
	whole, parts := distinguish(long, ",/ "), distinguish(long, ",/ -_=:")
	for i, text := range long {
		kept := whole[i]
		if utf8.RuneCountInString(kept) > width {
			kept = parts[i]
		}
		one := cut(kept, width)
		for n := 2; taken[one] && width > 3; n++ {
			mark := fmt.Sprintf("~%d", n)
			one = cut(kept, max(width-len(mark), 1)) + mark
		}
		taken[one], short[text] = true, one
	}
	out := make([]string, len(column))
	for i, cell := range column {
		text := strings.TrimRight(cell, " ")
		if s, ok := short[text]; ok {
			text = s
		}
		out[i] = text + strings.Repeat(" ", max(0, min(width, utf8.RuneCountInString(cell))-utf8.RuneCountInString(text)))
	}
	return out
}

// cut removes the middle of a text that is longer than width.
func cut(s string, width int) string {
	text := []rune(s)
	if len(text) <= width {
		return s
	}
	head := width / 2
	return string(text[:head]) + "…" + string(text[len(text)-(width-head-1):])
}

// distinguish replaces by "…" the parts that all names have in common: parts at the same
// place where the names have as many, else those at the beginning and the end. A part ends
// with one of the characters of ends.
func distinguish(names []string, ends string) []string {
	if len(names) < 2 {
		return names
	}
	parts, fewest, equal := make([][]string, len(names)), 0, true
	for i, name := range names {
		for name != "" {
			n := strings.IndexAny(name, ends) + 1
			n = cmp.Or(n, len(name))
			parts[i], name = append(parts[i], name[:n]), name[n:]
		}
		if equal = equal && len(parts[i]) == len(parts[0]); i == 0 || len(parts[i]) < fewest {
			fewest = len(parts[i])
		}
	}
	// same reports whether all have one part at a place from the beginning or the end.
	same := func(at int, fromEnd bool) bool {
		return !slices.ContainsFunc(parts, func(p []string) bool {
			if fromEnd {
				return p[len(p)-1-at] != parts[0][len(parts[0])-1-at]
			}
			return p[at] != parts[0][at]
		})
	}
	first, last := 0, 0
	for first < fewest && same(first, false) {
		first++
	}
	for last < fewest-first-1 && same(last, true) { // something is left of each
		last++
	}
	out := make([]string, len(names))
	for i, p := range parts {
		var text strings.Builder
		for at, part := range p {
			switch common := at < first || at >= len(p)-last || equal && same(at, false); {
			case !common:
				text.WriteString(part)
			case !strings.HasSuffix(text.String(), "…"):
				text.WriteString("…")
			}
		}
		out[i] = text.String()
	}
	return out
}
