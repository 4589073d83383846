package grading

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/pattern"
	"github.com/mleflow/mleflow/cache/leaf/plain"
)

// The most of a submission's first line that a hint reads, and of its columns that
// it names.
const (
	hintBytes   = 64 << 10
	hintColumns = 10
)

// missingColumn is the reason of a submission without a column.
var missingColumn = pattern.New(`^column "(.*)" is missing$`)

// Hint adds to the report's reason for people. If a column is missing, it lists the
// columns of the file and a possible cause. It is "" if there is nothing to add.
// It is no part of the report.
func Hint(r Report, path string) string {
	m := missingColumn.Regexp().FindStringSubmatch(r.Reason)
	if m == nil {
		return ""
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, hintBytes))
	if err != nil {
		return ""
	}
	line, _, _ := bytes.Cut(head, []byte("\n"))
	return columnHint(m[1], strings.TrimRight(string(line), "\r"))
}

// columnHint is about a column that the first line of a file does not have.
func columnHint(missing, line string) string {
	text, marked := strings.CutPrefix(line, "\ufeff")
	names := strings.Split(text, ",")
	var shown []string
	cause := ""
	for i, name := range names {
		name = strings.Trim(name, `"`)
		if i < hintColumns {
			shown = append(shown, plain.Line(name[:min(len(name), 60)]))
		}
		if cause == "" && name != missing && strings.EqualFold(strings.TrimSpace(name), strings.TrimSpace(missing)) {
			cause = fmt.Sprintf("%q differs by case or spaces", plain.Line(name))
		}
	}
	if more := len(names) - len(shown); more > 0 {
		shown = append(shown, fmt.Sprintf("and %d more", more))
	}
	if len(names) == 1 {
		for _, sign := range [][2]string{{";", "semicolons"}, {"\t", "tabs"}, {"|", "bars"}} {
			if strings.Contains(text, sign[0]) {
				cause = "they are separated by " + sign[1] + ", not by commas"
			}
		}
	}
	if marked && cause == "" {
		cause = "the file begins with a byte order mark"
	}
	hint := "the columns of the file are " + strings.Join(shown, ", ")
	if cause != "" {
		hint += " (" + cause + ")"
	}
	return hint
}
