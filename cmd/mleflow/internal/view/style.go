package view

import (
	"io"

	"golang.org/x/term"
)

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
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
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
