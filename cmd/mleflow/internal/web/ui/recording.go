package ui

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/plugins/models/transcript"
	"github.com/mleflow/mleflow/plugins/models/transcript/message"
)

// recording is a transcript that is open, with its outline.
type recording struct {
	*transcript.Reader
	*outline
}

// openTranscript opens the transcript of an attempt: that of its outputs or, while it runs,
// the one that is being written. It returns nil without an exchange, or why there is none.
func openTranscript(ctx context.Context, a *shownAttempt) (t *recording, missing string, err error) {
	outlineNow := outlineOf
	var r *transcript.Reader
	if a.growing != nil {
		if a.growing.Transcript == "" {
			return nil, a.missing, nil
		}
		r, err = openKept(a)
	} else {
		ref, missing := a.output("transcript")
		if missing != "" {
			return nil, missing, nil
		}
		if _, err := tree.Find(ctx, a.store, ref, transcript.EventsFile); none(err) {
			return nil, "", nil
		}
		r, err = transcript.OpenReader(tree.NewFS(ctx, a.store, ref))
		outlineNow = func(r *transcript.Reader) (*outline, error) {
			return a.outlines.get(ref, func() (*outline, error) { return outlineOf(r) })
		}
	}
	if err != nil || r == nil {
		return nil, "", err
	}
	all, err := outlineNow(r)
	if err != nil || len(all.turns) == 0 {
		return nil, "", errors.Join(err, r.Close())
	}
	return &recording{r, all}, "", nil
}

// openKept opens the transcript that is being written; nil if nothing was asked yet.
func openKept(a *shownAttempt) (*transcript.Reader, error) {
	if !strings.HasPrefix(a.growing.Transcript, "agent-models-") {
		return nil, nil
	}
	dir, err := a.Source.Kept(a.growing.Transcript)
	if err != nil {
		return nil, err
	}
	r, err := transcript.OpenReader(os.DirFS(filepath.Join(dir, "transcript")))
	if none(err) {
		return nil, nil
	}
	return r, err
}

// endOf is the end of a body's last range.
func endOf(b transcript.Body) (end int64) {
	for _, p := range b.Pieces {
		end = max(end, p[0]+p[1])
	}
	return end
}

const (
	// searching is how long a search reads before it answers with what it has, and maxFound
	// the number of exchanges that it answers with.
	searching = 1500 * time.Millisecond
	maxFound  = 100
	// aroundFound is the number of bytes shown on either side of what was found.
	aroundFound = 80
)

// foundTurns is what a search in a transcript found.
type foundTurns struct {
	// Asked reports whether there was a search. Query is the text, Errors a search for
	// failures.
	Asked  bool
	Query  string
	Errors bool
	Rows   []foundRow
	// Until is the last exchange that was read; Next leads to the search in the rest.
	Until, Total int
	Next, Back   string
}

// foundRow is an exchange in which a text was found.
type foundRow struct {
	Number, Link        string
	Before, Hit, Behind string
}

// failures are how tools and programs say that they failed.
var failures = []string{"Traceback (most recent call last)", "CUDA out of memory", "command not found"}

// findTurns searches the transcript for what an address asks for.
func findTurns(ctx context.Context, a *shownAttempt, t *recording, address *url.URL) foundTurns {
	q := address.Query()
	f := foundTurns{Query: strings.TrimSpace(q.Get("find")), Errors: q.Has("errors"), Total: len(t.turns), Back: a.link("transcript")}
	f.Asked = f.Query != "" || f.Errors
	if !f.Asked {
		return f
	}
	s := &searcher{recording: t, needles: needles(f.Query)}
	if f.Errors {
		s.needles = needles(failures...)
	}
	from, _ := strconv.Atoi(q.Get("since"))
	end := time.Now().Add(searching)
	for f.Until = max(0, from); f.Until < f.Total && len(f.Rows) < maxFound && time.Now().Before(end) && ctx.Err() == nil; f.Until++ {
		row, at := s.in(f.Until)
		if _, failed := slices.BinarySearch(t.failed, f.Until); row.Hit == "" && f.Errors && failed {
			row.Hit, at = "The exchange failed.", f.Until
		}
		row.Number, row.Link = strconv.Itoa(at+1), turnAddress(a, at+1)
		if n := len(f.Rows); row.Hit != "" && (n == 0 || f.Rows[n-1].Number != row.Number) {
			f.Rows = append(f.Rows, row)
		}
	}
	if f.Until < f.Total {
		q.Set("since", strconv.Itoa(f.Until))
		f.Next = (&url.URL{Path: address.Path, RawQuery: q.Encode()}).String()
	}
	return f
}

// searcher looks for texts in what is new in each exchange.
type searcher struct {
	*recording
	needles []string
	// ends is the end of the requests that were read.
	ends int64
}

// needles are the forms of texts in lower case: as they are, and as JSON writes them,
// with and without letters beyond ASCII.
func needles(texts ...string) (out []string) {
	for _, t := range texts {
		quoted, _ := json.Marshal(t)
		inner := string(quoted[1 : len(quoted)-1])
		for _, form := range []string{t, inner, strconv.QuoteToASCII(t)} {
			form = strings.ToLower(strings.Trim(form, `"`))
			if form != "" && !slices.Contains(out, form) {
				out = append(out, form)
			}
		}
	}
	return out
}

// in looks for the texts in an exchange, and returns the turn that shows them: the
// result of a call is shown with the call.
func (s *searcher) in(i int) (row foundRow, at int) {
	e, err := s.At(s.turns[i].Span)
	if err != nil {
		return row, i
	}
	fresh := *e
	fresh.Request.Pieces = slices.DeleteFunc(slices.Clone(e.Request.Pieces), func(p [2]int64) bool { return p[0]+p[1] <= s.ends })
	s.ends = max(s.ends, endOf(e.Request))
	if body, err := s.Request(&fresh); err == nil && s.match(string(body)).Hit != "" {
		if row, at := s.inMessages(i); row.Hit != "" {
			return row, at
		}
	}
	body, err := s.Response(e)
	if err != nil {
		return row, i
	}
	text := string(body)
	if e.Response.Size() <= maxContext { // a stream has its text in pieces
		text = textOf(message.Response(e.Provider, e.Operation, body))
	}
	return s.match(text), i
}

// inMessages looks for the texts in what an exchange says that those before did not: bodies are
// stored in pieces, which repeat some of it.
func (s *searcher) inMessages(i int) (row foundRow, at int) {
	const before = 3
	var events []*transcript.Event
	for k := max(0, i-before); k <= i; k++ {
		e, err := s.At(s.turns[k].Span)
		if err != nil || e.Request.Size() > 2*maxContext {
			return row, i
		}
		events = append(events, e)
	}
	turns, err := s.Among(events)
	if err != nil {
		return row, i
	}
	calls := map[string]int{}
	for k, t := range turns {
		for _, c := range t.Reply.Calls {
			calls[c.ID] = i - len(turns) + 1 + k
		}
	}
	for _, m := range turns[len(turns)-1].Said {
		for _, r := range m.Results {
			if row := s.match(r.Text); row.Hit != "" {
				if at, ok := calls[r.ID]; ok {
					return row, at
				}
				return row, i
			}
		}
		if row := s.match(textOf(m)); row.Hit != "" {
			return row, i
		}
	}
	return row, i
}

// textOf is all text of a message but the results of calls.
func textOf(m message.Message) string {
	text := m.Text + "\n" + m.Reasoning + "\n" + m.Error
	for _, c := range m.Calls {
		text += "\n" + c.Name + " " + c.Arguments
	}
	return text
}

// match looks for the texts in another. Hit is empty if none is there.
func (s *searcher) match(text string) (row foundRow) {
	low := strings.ToLower(text)
	if len(low) != len(text) {
		text = low // some letters have another length in lower case
	}
	part := func(from, to int) string { return oneLine(text[max(0, from):min(to, len(text))], 2*aroundFound) }
	for _, n := range s.needles {
		if at := strings.Index(low, n); at >= 0 {
			return foundRow{Before: part(at-aroundFound, at), Hit: part(at, at+len(n)), Behind: part(at+len(n), at+len(n)+aroundFound)}
		}
	}
	return row
}

const maxContext = 8 << 20

// turnAddress is the address of an exchange.
func turnAddress(a *shownAttempt, n int) string {
	return a.link("transcript", "turn", strconv.Itoa(n)) + "#turn-" + strconv.Itoa(n)
}
