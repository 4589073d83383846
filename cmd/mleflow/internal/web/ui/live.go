package ui

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/engine/history"
)

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
		follow(w, r, c, make)
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
	c := &content{title: "Not found"}
	if status != http.StatusNotFound {
		c.title = "Error"
	}
	if c.add("error", "error", struct{ Title, Text string }{c.title, text}) != nil {
		http.Error(w, c.title, status)
		return
	}
	u.write(w, status, c)
}

func (u *UI) write(w http.ResponseWriter, status int, c *content) {
	var body strings.Builder
	following := ""
	if c.live {
		following = ` data-live`
	}
	fmt.Fprintf(&body, `<main id="content"%s>`+"\n", following)
	for _, s := range c.sections {
		fmt.Fprintf(&body, `<div data-section="%s">%s</div>`+"\n", s.id, s.body)
	}
	body.WriteString(`<p class="hidden" role="status" id="status"></p></main>` + "\n")
	nav := append([]page.Link(nil), navigation...)
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
	_, _ = w.Write(out.Bytes())
}

const (
	// every is the interval at which a followed page is made again. beat is the longest
	// silence, so that a dead connection is noticed.
	every = time.Second
	beat  = 15 * time.Second
)

// follow sends the sections of a page that have changed since it was made, until
// nothing changes any more.
func follow(w http.ResponseWriter, r *http.Request, c *content, make func(*http.Request) (*content, error)) {
	out := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	sent := map[string][32]byte{}
	last := time.Now()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		changed := map[string]string{}
		for _, s := range c.sections {
			if sum := sha256.Sum256([]byte(s.body)); sum != sent[s.id] {
				sent[s.id] = sum
				changed[s.id] = string(page.Clean([]byte(s.body)))
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
