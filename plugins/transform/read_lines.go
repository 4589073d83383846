package transform

import (
	"fmt"
	"io/fs"
	"strings"

	"github.com/mleflow/mleflow/plugins/table"
)

var linesVerb = Verb{
	Name: "text_lines", Params: []string{"path"},
	Summary: "The lines of a text file of the raw folder, as a column named line.",
	Detail:  "\\n, \\r\\n and \\r end a line, as in Python's text mode; the ends are not part of the lines. A last line without an end counts.",
	Source:  "open(path).read().splitlines() restricted to universal newlines",
	Func:    readLines,
}

func readLines(in *Input, path string) (*table.Column, error) {
	data, err := fs.ReadFile(in.Raw, path)
	if err != nil {
		return nil, fmt.Errorf("text_lines: %w", err)
	}
	return table.FromTexts("line", SplitLines(string(data)), nil), nil
}

// SplitLines cuts a text at \n, \r\n and \r.
func SplitLines(s string) []string {
	var out []string
	for s != "" {
		at := strings.IndexAny(s, "\r\n")
		if at < 0 {
			return append(out, s)
		}
		out = append(out, s[:at])
		if strings.HasPrefix(s[at:], "\r\n") {
			at++
		}
		s = s[at+1:]
	}
	return out
}
