package ui

import (
	"embed"
	"html/template"
	"io/fs"
	"strings"
	"sync"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/firstscreen"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
)

// content is a page: its sections below each other.
type content struct {
	title, nav string
	query      string
	wide       bool
	sections   []section
	// live reports whether the page may change: its run has not ended, or the index is
	// not complete.
	live bool
	err  error
}

// section is a part of a page that changes as a whole. The identifier is one
// of the program.
type section struct {
	id   string
	body template.HTML
}

// add fills a template and adds it as a section.
func (c *content) add(id, name string, data any) error {
	body, err := fill(name, data)
	if err == nil {
		c.sections = append(c.sections, section{id, body})
	}
	return err
}

// show is add for a page that is made as a whole, which fails with its first section that
// cannot be made.
func (c *content) show(id, name string, data any) {
	if c.err == nil {
		c.err = c.add(id, name, data)
	}
}

// list begins the page of a list over all runs.
func list(title string, p progress) *content {
	c := &content{title: title, nav: title, live: !p.Ready}
	c.show("title", "list title", listTitle{title, p})
	return c
}

// pages are parsed when the first is needed.
var pages = sync.OnceValue(func() *template.Template { return page.Parse("pages", firstscreen.Parts+joined(".html"), nil) })

// fill fills the template of a section.
func fill(name string, data any) (template.HTML, error) {
	return page.Fill(pages().Lookup(name), data)
}

//go:embed assets
var assets embed.FS

// joined returns the assets with a suffix, one after the other.
func joined(suffix string) string {
	var all strings.Builder
	names, _ := fs.Glob(assets, "assets/*"+suffix) // the pattern is well-formed
	for _, name := range names {
		text, _ := assets.ReadFile(name) // it is embedded
		all.Write(text)
	}
	return all.String()
}
