package page

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"maps"
	"sync"
	"unicode"

	"github.com/mleflow/mleflow/cache/leaf/plain"
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
