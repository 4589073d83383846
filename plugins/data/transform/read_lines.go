package transform

import (
	"fmt"
	"io/fs"
	"strings"
	"unicode/utf8"

	"github.com/mleflow/mleflow/plugins/data/table"
)

var linesVerb = Verb{
	Name: "text_lines", Params: []string{"path", "options"},
	Summary: "The lines of a text file in the raw data, as a column line.",
	Detail:  "As in Python's text mode, \\n, \\r\\n and \\r end lines. With all_ends = true so do, as in str.splitlines, \\v, \\f, U+001C to U+001E, U+0085, U+2028 and U+2029.",
	Source:  "open(path)",
	Func:    readLines,
}

// lineOptions are the options of text_lines.
type lineOptions struct {
	AllEnds bool `verb:"all_ends"`
}

func readLines(in *Input, path string, o *lineOptions) (*table.Column, error) {
	data, err := fs.ReadFile(in.Raw, path)
	if err != nil {
		return nil, fmt.Errorf("text_lines: %w", err)
	}
	if !utf8.Valid(data) {
		return nil, fmt.Errorf("text_lines %s: the file is not valid UTF-8", path)
	}
	text := string(data)
	if o.AllEnds {
		text = allEnds.Replace(text)
	}
	var lines []string
	err = scanLines(strings.NewReader(text), func(line []byte, _ bool) error {
		lines = append(lines, string(line))
		return nil
	})
	return table.FromTexts("line", lines, nil), err
}

// allEnds turns the rarer line ends of str.splitlines into \n.
var allEnds = strings.NewReplacer("\v", "\n", "\f", "\n", "\x1c", "\n", "\x1d", "\n", "\x1e", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")
