package ui

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/firstscreen"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/engine/history"
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

// show fills a template and adds it as a section. A page fails with its first section that
// cannot be made.
func (c *content) show(id, name string, data any) {
	if c.err != nil {
		return
	}
	body, err := page.Fill(pages().Lookup(name), data)
	c.sections, c.err = append(c.sections, section{id, body}), err
}

// listContent begins the page of a list over all runs.
func listContent(title string, p progress) *content {
	c := &content{title: title, nav: title, live: !p.Ready}
	c.show("title", "list title", struct {
		Title    string
		Progress progress
	}{title, p})
	return c
}

// pages are parsed when the first is needed.
var pages = sync.OnceValue(func() *template.Template { return page.Parse("pages", firstscreen.Parts+joined(".html"), nil) })

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

// navigation are the pages that every page leads to.
var navigation = []page.Link{{Text: "mleflow", Address: "/runs"}, {Text: "Runs", Address: "/runs"}, {Text: "Attempts", Address: "/attempts"}, {Text: "Competitions", Address: "/competitions"},
	{Text: "Agents", Address: "/agents"}, {Text: "Compare", Address: "/compare"}}

// serve writes a page, or its changes to who asks for a stream of events.
func (u *UI) serve(w http.ResponseWriter, r *http.Request, make func(*http.Request) (*content, error)) {
	c, err := make(r)
	if err != nil {
		u.fail(w, r, err)
		return
	}
	if streamed(r) {
		u.follow(w, r, c, make)
		return
	}
	u.write(w, http.StatusOK, c)
}

// streamed reports whether a page is asked for as it changes.
func streamed(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "text/event-stream")
}

// fail writes a page with the error.
func (u *UI) fail(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return
	}
	status, text := http.StatusInternalServerError, err.Error()
	if errors.Is(err, errNothing) || errors.Is(err, history.ErrNoRun) {
		status = http.StatusNotFound
	}
	c := &content{title: view.Either(status == http.StatusNotFound, "Not found", "Error")}
	if c.show("error", "error", struct{ Title, Text string }{c.title, text}); c.err != nil {
		http.Error(w, c.title, status)
		return
	}
	u.write(w, status, c)
}

// Page writes a page of the server, whose title is the text of its link in More.
func (u *UI) Page(w http.ResponseWriter, title string, body template.HTML) {
	u.write(w, http.StatusOK, &content{title: title, nav: title, sections: []section{{"body", body}}})
}

func (u *UI) write(w http.ResponseWriter, status int, c *content) {
	var body strings.Builder
	fmt.Fprintf(&body, `<main id="content"%s>`+"\n", view.When(c.live, ` data-live`))
	for _, s := range c.sections {
		fmt.Fprintf(&body, `<div data-section="%s">%s</div>`+"\n", s.id, s.body)
	}
	body.WriteString(`<p class="hidden" role="status" id="status"></p></main>` + "\n")
	nav := slices.Concat(navigation, u.More)
	for i := range nav {
		nav[i].Here = i > 0 && nav[i].Text == c.nav
	}
	f := page.Frame{Title: c.title + " · mleflow", Version: u.Version, Styles: []string{"/style.css"}, Scripts: []string{"/page.js"},
		Nav: nav, Wide: c.wide, Search: "/search", Query: c.query, Body: template.HTML(body.String())}
	var out bytes.Buffer
	if err := f.Write(&out); err != nil {
		http.Error(w, "The page cannot be written.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = u.below.WriteString(w, out.String())
}

const (
	// every is the interval at which a followed page is made again. beat is the longest
	// silence, so that a dead connection is noticed.
	followEvery = time.Second
	beat        = 15 * time.Second
)

// follow sends the sections of a page that have changed since it was made, until
// nothing changes any more.
func (u *UI) follow(w http.ResponseWriter, r *http.Request, c *content, make func(*http.Request) (*content, error)) {
	out := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // nginx would wait for more
	sent := map[string][32]byte{}
	last := time.Now()
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for {
		changed := map[string]string{}
		for _, s := range c.sections {
			if sum := sha256.Sum256([]byte(s.body)); sum != sent[s.id] {
				sent[s.id] = sum
				changed[s.id] = u.below.Replace(string(page.Clean([]byte(s.body))))
			}
		}
		if len(changed) > 0 {
			text, _ := json.Marshal(changed) // strings only
			fmt.Fprintf(w, "event: sections\ndata: %s\n\n", text)
			last = time.Now()
		} else if time.Since(last) > beat {
			fmt.Fprint(w, ": still here\n\n")
			last = time.Now()
		}
		if !c.live {
			fmt.Fprint(w, "event: end\ndata: {}\n\n")
		}
		if out.Flush() != nil || !c.live {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-tick.C:
		}
		next, err := make(r)
		if err != nil {
			return
		}
		c = next
	}
}

// factsOf are the values of a map by name.
func factsOf[V any](values map[string]V, write func(V) string) []page.Fact {
	return lists.Of(view.SortedKeys(values), func(name string) page.Fact { return page.Fact{Name: name, Value: write(values[name])} })
}

func escaped(text string) string { return url.QueryEscape(text) }

// bounded shortens a text to n bytes and adds how much is omitted.
func bounded(text []byte, n int) string {
	if len(text) <= n {
		return strings.ToValidUTF8(string(text), "\ufffd")
	}
	return strings.ToValidUTF8(string(text[:n]), "\ufffd") + "\n… " + view.Bytes(int64(len(text)-n)) + " more"
}

// oneLine is the beginning of a text on a line.
func oneLine(text string, n int) string {
	text = text[:min(len(text), 8*n)]
	return view.Cut(strings.Join(strings.Fields(strings.ToValidUTF8(text, "\ufffd")), " "), n)
}

// decode reads the JSON of a value of an event; false if it is not of this form.
func decode(text string, to any) bool { return text != "" && json.Unmarshal([]byte(text), to) == nil }

// UI serves the pages. It is for the use behind a Guard.
type UI struct {
	Source
	runs    *runIndex
	results *resultIndex
	models  shownModels
	turns   recent[cache.Ref, *outline]
	mux     *http.ServeMux
	// token is in the forms of this process.
	token string
	// below puts Base in front of the addresses in a page.
	below *strings.Replacer
}
