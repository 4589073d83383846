package compare

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The ways in which bytes differ while the content is equal. A table's come
// first, then those of archives.
const (
	lineEndings   = "line ends"
	lastLineEnd   = "the line end of the last line"
	byteOrderMark = "a byte order mark"
	emptyLines    = "empty lines"
	quoting       = "quoting"
	missingSpell  = "spelling of missing values"
	numberSpell   = "spelling of numbers"
	columnOrder   = "order of columns"
	rowOrder      = "order of rows"
	layout        = "layout" // blanks, escapes and the order of keys in JSON
	memberOrder   = "order of members"
	memberTimes   = "times of members"
	packing       = "compression"
	header        = "header fields"
)

// Difference says how a file differs from what it should be.
type Difference struct {
	// Same says that the content is equal though the bytes differ.
	Same bool
	// Text says all that is known in one line.
	Text string
}

// same returns the difference of equal contents.
func same(ways ...string) Difference {
	d := Difference{Same: true, Text: "the content is equal, the bytes differ"}
	if len(ways) > 0 {
		d.Text += " in " + listed(ways)
	}
	return d
}

// because adds what exactly differs to a text.
func (d Difference) because(details ...string) Difference {
	if details = slices.DeleteFunc(details, func(s string) bool { return s == "" }); len(details) > 0 {
		d.Text += " (" + strings.Join(details, "; ") + ")"
	}
	return d
}

// listed writes a list as people do: a, b and c.
func listed(items []string) string {
	if n := len(items); n > 1 {
		return strings.Join(items[:n-1], ", ") + " and " + items[n-1]
	}
	return strings.Join(items, "")
}

// some lists the first names and says how many more there are.
func some(names []string) string {
	const most = 5
	quoted := make([]string, 0, most+1)
	for i, name := range names {
		if i == most {
			quoted = append(quoted, fmt.Sprintf("%d more", len(names)-most))
			break
		}
		quoted = append(quoted, show([]byte(name)))
	}
	return listed(quoted)
}

// longestCell is how much of a cell is shown.
const longestCell = 60

// show quotes a cell, cut to what fits a line.
func show(cell []byte) string {
	if cell == nil {
		return "nothing"
	}
	if len(cell) > longestCell {
		return strconv.Quote(string(cell[:longestCell])) + "…"
	}
	return strconv.Quote(string(cell))
}

// count writes a number with its noun, thousands apart.
func count(n int64, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return Thousands(n) + " " + noun
}

// Thousands writes a number with commas.
func Thousands(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// formWays compares how two tables are written.
func formWays(want, got Form) (ways, details []string) {
	note := func(differ bool, way, detail string) {
		if differ {
			ways, details = append(ways, way), append(details, detail)
		}
	}
	note(want.LineEnds != got.LineEnds && want.LineEnds != "" && got.LineEnds != "", lineEndings, "want "+want.LineEnds+", got "+got.LineEnds)
	note(want.Unterminated != got.Unterminated, lastLineEnd, hasLacks(!got.Unterminated, "the last line", "a line end"))
	note(want.BOM != got.BOM, byteOrderMark, hasLacks(got.BOM, "the file", "a byte order mark"))
	note(want.Blank != got.Blank, emptyLines, fmt.Sprintf("want %d empty lines, got %d", want.Blank, got.Blank))
	note(want.Quoted != got.Quoted, quoting, fmt.Sprintf("want %s in quotes, got %s", count(want.Quoted, "field"), Thousands(got.Quoted)))
	return ways, details
}

func hasLacks(has bool, who, what string) string {
	if has {
		return who + " has " + what
	}
	return who + " lacks " + what
}
