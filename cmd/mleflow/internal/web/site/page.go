package site

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"strings"
	"sync"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
)

//go:embed pages.html
var pagesText string

var pages = sync.OnceValue(func() *template.Template {
	return page.Parse("board", pagesText, map[string]any{"letter": letter, "disclosed": disclosedGrid, "evaluation": view.Evaluation})
})

// document is a page: a template with its data, or findings and sections.
type document struct {
	Title, Version string
	Template       string
	Data           any
	Lead           []string
	Findings       []Finding
	Sections       []section
}

// section is a part of a page; empty parts are not shown.
type section struct {
	Title string
	Text  []string
	Grids []page.Grid
	Plots []plot
}

// plot is a drawing; with People, it has a legend of medal lines, with Names one of lines.
type plot struct {
	Title, Note string
	Plot        template.HTML
	People      *page.AmongPeople
	// Names are the names of the lines, in the order of their colors.
	Names []string
}

// cell is a value of a table. A link must be made by this package, or checked.
type cell = page.Cell

// texts returns a column of strings; the name of a column of numbers begins with ">".
func texts[R any](name string, of func(R) string) page.Column[R] {
	c := page.Column[R]{Title: name, Text: of}
	if title, number := strings.CutPrefix(name, ">"); number {
		c.Title, c.Kind = title, page.Figures
	}
	return c
}

// links returns a column of names that lead to other pages of the board.
func links[R any](name string, of func(R) (text, address string)) page.Column[R] {
	return page.Column[R]{Title: name, Class: "name", Of: func(r R) (c cell) { c.Text, c.Link = of(r); return }}
}

// cells returns a column of cells.
func cells[R any](name string, of func(R) cell) page.Column[R] {
	return page.Column[R]{Title: name, Of: of}
}

// indexed returns a column of a table whose rows are lists of strings.
func indexed(name string, i int) page.Column[[]string] {
	return texts(name, func(row []string) string { return row[i] })
}

// pill is a cell in a colour.
func pill(text, class string) cell { return cell{Text: text, Class: class, Pill: class != ""} }

// outside is a link to another site.
func outside(text, address string) cell { return cell{Text: text, Link: address, Outside: true} }

// write writes a page. Up is the path from it to the folder of the board.
func (d document) write(up string) ([]byte, error) {
	t, data := pages(), any(d)
	if d.Template != "" {
		t, data = t.Lookup(d.Template), d.Data
	}
	body, err := page.Fill(t, data)
	if err != nil {
		return nil, fmt.Errorf("fill page: %w", err)
	}
	var out bytes.Buffer
	frame := page.Frame{
		Title: d.Title, Version: d.Version, Policy: page.FilePolicy(), Body: body, Wide: true,
		Nav: []page.Link{{Text: "Board", Address: up + "index.html", Here: up == ""}, {Text: "Competitions", Address: up + "index.html#competitions"}, {Text: "Bundles", Address: up + "index.html#bundles"}},
	}
	err = frame.Write(&out)
	return out.Bytes(), err
}

// slug returns a file name for a foreign name: letters that are safe in every file system
// and address, and a part of the digest that is long enough against collisions.
func slug(name string) string {
	safe := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, name)
	sum := sha256.Sum256([]byte(name))
	return strings.Trim(safe[:min(len(safe), 40)], "-") + "-" + hex.EncodeToString(sum[:8])
}

func agentPath(name string) string     { return "agents/" + slug(name) + ".html" }
func competitionPath(id string) string { return "competitions/" + slug(id) + ".html" }
func bundlePath(b *Bundle) string      { return "bundles/" + b.Manifest[:16] + ".html" }
func points(v float64) string          { return fmt.Sprintf("%+.2f", v) }
