package xlsx

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/mleflow/mleflow/plugins/data/table"
)

// isDateFormat reports whether a format shows a part of a date: a letter of one outside of
// quotes, brackets and escapes, in what holds for positive numbers.
func isDateFormat(code string) bool {
	for i := 0; i < len(code) && code[i] != ';'; i++ {
		switch c := code[i]; c {
		case '\\', '_', '*':
			i++
		case '"', '[':
			until := byte('"')
			if c == '[' {
				until = ']'
			}
			end := strings.IndexByte(code[i+1:], until)
			if end < 0 {
				return false
			}
			if inside := code[i+1 : i+1+end]; c == '[' && strings.Trim(strings.ToLower(inside), "hms") == "" {
				return true
			}
			i += end + 1
		case 'd', 'm', 'h', 'y', 's', 'D', 'M', 'H', 'Y', 'S':
			return true
		}
	}
	return false
}

// cell is a cell of a sheet.
type cell struct {
	text string
	// day is set for a date and a date with a time of day.
	day, timed bool
}

// sheetReader reads the cells of a sheet.
type sheetReader struct {
	*workbook
	rows     [][]cell
	width    int
	row, col int    // the place of the next cell
	kind     string // of the cell that is read
	style    int
	text     strings.Builder
	inText   bool
}

func (s *sheetReader) token(t xml.Token) error {
	switch t := t.(type) {
	case xml.StartElement:
		return s.start(t)
	case xml.CharData:
		if s.inText {
			s.text.Write(t)
		}
	case xml.EndElement:
		switch t.Name.Local {
		case "v", "t":
			s.inText = false
		case "c":
			return s.end()
		case "row":
			s.row++
		}
	}
	return nil
}

func (s *sheetReader) start(t xml.StartElement) (err error) {
	switch t.Name.Local {
	case "row":
		s.col = 0
		if r := attribute(t, "r"); r != "" {
			n, err := strconv.Atoi(r)
			if err != nil || n < 1 || n > mostRows {
				return fmt.Errorf("row %.20q is not between 1 and %d", r, mostRows)
			}
			s.row = n - 1
		}
	case "c":
		s.kind, s.style = attribute(t, "t"), 0
		s.text.Reset()
		if style := attribute(t, "s"); style != "" {
			if s.style, err = strconv.Atoi(style); err != nil {
				return fmt.Errorf("style %.20q is not a number", style)
			}
		}
		if r := attribute(t, "r"); r != "" {
			s.row, s.col, err = cellPlace(r)
		}
	case "v", "t":
		s.inText = true
	}
	return err
}

func attribute(t xml.StartElement, name string) string {
	for _, a := range t.Attr {
		if a.Name.Local == name && a.Name.Space == "" {
			return a.Value
		}
	}
	return ""
}

// cellPlace reads the place of a cell such as AB12.
func cellPlace(r string) (row, col int, err error) {
	i := 0
	for ; i < len(r) && i < 4 && r[i] >= 'A' && r[i] <= 'Z'; i++ {
		col = 26*col + int(r[i]-'A') + 1
	}
	row, err = strconv.Atoi(r[i:])
	if err != nil || i == 0 || col > mostColumns || row < 1 || row > mostRows {
		return 0, 0, fmt.Errorf("cell %.20q is no place of a sheet", r)
	}
	return row - 1, col - 1, nil
}

// end notes a cell.
func (s *sheetReader) end() error {
	c, err := s.cell(s.text.String())
	if err != nil {
		return err
	}
	row, col := s.row, s.col
	s.col++
	if c.text == "" {
		return nil
	}
	if s.width = max(s.width, col+1); max(row+1, len(s.rows)) > mostCells/s.width || col >= mostColumns || row >= mostRows {
		return fmt.Errorf("the sheet has more than %d cells", mostCells)
	}
	for len(s.rows) <= row {
		s.rows = append(s.rows, nil)
	}
	for len(s.rows[row]) <= col {
		s.rows[row] = append(s.rows[row], cell{})
	}
	s.rows[row][col] = c
	return nil
}

// cell returns what a cell of the text holds.
func (s *sheetReader) cell(text string) (cell, error) {
	switch s.kind {
	case "s":
		n, err := strconv.Atoi(text)
		if text == "" {
			return cell{}, nil
		}
		if err != nil || n < 0 || n >= len(s.strings) {
			return cell{}, fmt.Errorf("there is no string %.20q", text)
		}
		return cell{text: s.strings[n]}, nil
	case "e":
		return cell{}, nil
	case "b":
		return cell{text: map[string]string{"0": "False", "1": "True"}[text]}, nil
	case "str", "inlineStr", "d":
		return cell{text: text}, nil
	}
	if text == "" {
		return cell{}, nil
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return cell{}, fmt.Errorf("%.20q is not a number", text)
	}
	if s.style >= 0 && s.style < len(s.dates) && s.dates[s.style] {
		return s.date(x)
	}
	if x == math.Trunc(x) && math.Abs(x) < 1<<63 {
		return cell{text: strconv.FormatInt(int64(x), 10)}, nil
	}
	return cell{text: table.FloatValue(x).String()}, nil
}

// date returns a number of days, rounded to milliseconds, as a date; below a day it is a
// time of day.
func (s *sheetReader) date(days float64) (cell, error) {
	if !(days >= 0 && days < 2958466) { // 31 December 9999
		return cell{}, fmt.Errorf("%v is not a date", days)
	}
	whole := math.Floor(days)
	at := s.since.AddDate(0, 0, int(whole)).Add(time.Duration(math.RoundToEven((days-whole)*86_400_000)) * time.Millisecond)
	if whole == 0 {
		return cell{text: at.Format("15:04:05.999")}, nil
	}
	if whole < 60 && s.since.Year() == 1899 {
		at = at.AddDate(0, 0, 1) // Excel has a 29 February 1900
	}
	midnight := at.Equal(at.Truncate(24 * time.Hour))
	return cell{text: at.Format("2006-01-02 15:04:05.999"), day: true, timed: !midnight}, nil
}

// csv writes the cells as a CSV file; dates without a time of day in all of a column lose it.
func (s *sheetReader) csv() []byte {
	timed := make([]bool, s.width)
	for _, row := range s.rows {
		for k, c := range row {
			timed[k] = timed[k] || c.timed
		}
	}
	var out bytes.Buffer
	for _, row := range s.rows {
		for k := range s.width {
			if k > 0 {
				out.WriteByte(',')
			}
			if k >= len(row) {
				continue
			}
			text := row[k].text
			if row[k].day && !timed[k] {
				text, _, _ = strings.Cut(text, " ")
			}
			writeQuoted(&out, text)
		}
		if s.width == 1 && (len(row) == 0 || row[0].text == "") {
			out.WriteString(`""`) // an empty line would be no row
		}
		out.WriteByte('\n')
	}
	return out.Bytes()
}

// writeQuoted writes a cell, in quotes if it needs them.
func writeQuoted(out *bytes.Buffer, text string) {
	if !strings.ContainsAny(text, ",\"\r\n") {
		out.WriteString(text)
		return
	}
	out.WriteByte('"')
	out.WriteString(strings.ReplaceAll(text, `"`, `""`))
	out.WriteByte('"')
}
