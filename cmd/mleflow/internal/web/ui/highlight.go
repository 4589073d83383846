package ui

import (
	"html"
	"html/template"
	"path"
	"strings"
	"time"

	"github.com/alecthomas/chroma/v2"
	"github.com/alecthomas/chroma/v2/lexers"
)

const (
	// maxColoured and maxColouredLine bound the text that is highlighted. More, and long
	// lines, which no person wrote, are shown as they are.
	maxColoured     = 256 << 10
	maxColouredLine = 2000
	// colouring bounds the time of one text: a lexer is a list of regular expressions,
	// and the text is the agent's.
	colouring = 200 * time.Millisecond
)

// classes are the classes of the style sheet by kinds of tokens, the most special
// first.
var classes = []struct {
	kind  chroma.TokenType
	class string
}{
	{chroma.KeywordConstant, "hn"}, {chroma.NameFunction, "hf"}, {chroma.NameClass, "hf"}, {chroma.NameBuiltin, "hf"}, {chroma.NameDecorator, "hf"}, {chroma.NameTag, "hk"}, {chroma.NameAttribute, "hf"},
	{chroma.OperatorWord, "hk"}, {chroma.Keyword, "hk"}, {chroma.LiteralString, "hs"}, {chroma.LiteralNumber, "hn"}, {chroma.Comment, "hc"},
	{chroma.GenericInserted, "hs"}, {chroma.GenericDeleted, "hd"}, {chroma.GenericHeading, "hk"}, {chroma.GenericSubheading, "hk"},
}

func classOf(kind chroma.TokenType) string {
	for _, c := range classes {
		if kind == c.kind || c.kind%100 == 0 && kind.InSubCategory(c.kind) || c.kind%1000 == 0 && kind.InCategory(c.kind) {
			return c.class
		}
	}
	return ""
}

// coloured writes text in a language as HTML with a class for each kind of token, line
// by line without their ends. Language is a name that people use, such as "py", or a
// file's name.
func coloured(language, text string) []template.HTML {
	text = strings.ToValidUTF8(text, "\ufffd")
	c := &colours{left: text}
	end := time.Now().Add(colouring)
	if next := tokens(language, text); next != nil {
		c.all(next, end)
	}
	c.put("", len(c.left))
	c.end()
	return c.lines
}

// tokens returns the tokens of a text in a language, nil if it is shown as it is.
func tokens(language, text string) chroma.Iterator {
	if len(text) > maxColoured || language == "" {
		return nil
	}
	for line := range strings.Lines(text) {
		if len(line) > maxColouredLine {
			return nil
		}
	}
	lexer := lexers.Get(language)
	if lexer == nil {
		lexer = lexers.Match(path.Base(language))
	}
	if lexer == nil {
		return nil
	}
	next, err := lexer.Tokenise(&chroma.TokeniseOptions{State: "root"}, text)
	if err != nil {
		return nil
	}
	return next
}

// colours are lines that are being written.
type colours struct {
	lines []template.HTML
	line  strings.Builder
	// class is that of the last token, "" without one.
	class string
	// left is what was not written of the text.
	left string
}

// all writes tokens until the time is over. A lexer that gives up panics: what is left
// is written without colours.
func (c *colours) all(next chroma.Iterator, end time.Time) {
	defer func() { _ = recover() }()
	for t := next(); t != chroma.EOF && time.Now().Before(end); t = next() {
		c.put(classOf(t.Type), len(t.Value))
	}
}

// put writes the next bytes of the text. A lexer may add a line end, which is not there.
func (c *colours) put(class string, n int) {
	n = min(n, len(c.left))
	text := c.left[:n]
	c.left = c.left[n:]
	for i, part := range strings.Split(text, "\n") {
		if i > 0 {
			c.end()
		}
		if part != "" {
			c.enter(class)
			c.line.WriteString(html.EscapeString(part))
		}
	}
}

// enter goes on in a class.
func (c *colours) enter(class string) {
	if class == c.class {
		return
	}
	if c.class != "" {
		c.line.WriteString("</span>")
	}
	if c.class = class; class != "" {
		c.line.WriteString(`<span class="` + class + `">`)
	}
}

// end ends the line.
func (c *colours) end() {
	c.enter("")
	c.lines = append(c.lines, template.HTML(c.line.String()))
	c.line.Reset()
}

// block is coloured as one text.
func block(language, text string) template.HTML {
	var b strings.Builder
	for i, l := range coloured(language, text) {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(string(l))
	}
	return template.HTML(b.String())
}
