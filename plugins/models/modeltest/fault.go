package modeltest

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Fault describes the failure of one response. Its fields may be combined.
type Fault struct {
	// Status answers with the provider's error of that status. Text is its
	// message. RetryAfter and Header are additional headers.
	Status     int
	Text       string
	RetryAfter string
	Header     map[string]string
	// Body replaces the whole answer. ContentType replaces the right content
	// type.
	Body, ContentType string
	// Before is a wait before the header. Never waits until the client has
	// gone.
	Before time.Duration
	Never  bool
	// Reset resets the connection before the header. Close closes it.
	Reset, Close bool
	// Cut ends the body after this many bytes by closing the connection without
	// a proper end. CutByReset resets the connection instead. Short ends the
	// body as if it were complete.
	Cut        int
	CutByReset bool
	Short      bool
	// Pause is a wait after each piece of Drip bytes, or after each event.
	Pause time.Duration
	Drip  int
	// Silence is a wait after the first event. Hang waits until the client has
	// gone.
	Silence time.Duration
	Hang    bool
	// Malformed breaks the JSON of the second event. Overloaded replaces it by
	// the provider's error and ends the stream. Unknown inserts an event of an
	// unknown type and a comment before it.
	Malformed, Overloaded, Unknown bool
	// CRLF ends lines in CR and LF. Multiline spreads an event's data over
	// several lines.
	CRLF, Multiline bool
	// NoUsage omits the usage.
	NoUsage bool
	// BadGzip sends the first half of a gzip stream.
	BadGzip bool
	// Redirect answers with status 307 and this address.
	Redirect string
}

// NamedFault is an element of Faults.
type NamedFault struct {
	Name string
	Fault
	// Whole means that a client receives the whole answer in spite of the
	// fault.
	Whole bool
	// Retry means that another try may help and that no part of an answer was
	// sent.
	Retry bool
}

// Faults returns one fault of each kind, with short waits for tests.
func Faults() []NamedFault {
	const wait = 30 * time.Millisecond
	return []NamedFault{
		{Name: "429 with Retry-After", Fault: Fault{Status: 429, RetryAfter: "0"}, Retry: true},
		{Name: "429 with a date in Retry-After", Fault: Fault{Status: 429, RetryAfter: "Wed, 21 Oct 2015 07:28:00 GMT"}, Retry: true},
		{Name: "429 without Retry-After", Fault: Fault{Status: 429}, Retry: true},
		{Name: "429 with nonsense in Retry-After", Fault: Fault{Status: 429, RetryAfter: "soon"}, Retry: true},
		{Name: "400", Fault: Fault{Status: 400, Text: "Invalid value."}},
		{Name: "404", Fault: Fault{Status: 404, Text: "The model does not exist."}},
		{Name: "408", Fault: Fault{Status: 408}, Retry: true},
		{Name: "500", Fault: Fault{Status: 500}, Retry: true},
		{Name: "502 in HTML", Fault: Fault{Status: 502, ContentType: "text/html", Body: "<html><h1>502 Bad Gateway</h1></html>"}, Retry: true},
		{Name: "503", Fault: Fault{Status: 503, RetryAfter: "0"}, Retry: true},
		{Name: "504 without a body", Fault: Fault{Status: 504, Body: "\x00"}, Retry: true},
		{Name: "529 overloaded", Fault: Fault{Status: 529}, Retry: true},
		{Name: "redirect", Fault: Fault{Redirect: "http://127.0.0.1:1/"}},
		{Name: "reset before the header", Fault: Fault{Reset: true}, Retry: true},
		{Name: "closed before the header", Fault: Fault{Close: true}, Retry: true},
		{Name: "header never sent", Fault: Fault{Never: true}, Retry: true},
		{Name: "late header", Fault: Fault{Before: wait}, Whole: true},
		{Name: "cut", Fault: Fault{Cut: 150}},
		{Name: "cut by reset", Fault: Fault{Cut: 150, CutByReset: true}},
		{Name: "short", Fault: Fault{Cut: 150, Short: true}},
		{Name: "malformed event", Fault: Fault{Malformed: true}},
		{Name: "overloaded within the stream", Fault: Fault{Overloaded: true}},
		{Name: "unknown event and comment", Fault: Fault{Unknown: true}, Whole: true},
		{Name: "slow drip", Fault: Fault{Drip: 40, Pause: time.Millisecond}, Whole: true},
		{Name: "long silence", Fault: Fault{Silence: wait}, Whole: true},
		{Name: "silence without end", Fault: Fault{Hang: true}},
		{Name: "CR and LF", Fault: Fault{CRLF: true}, Whole: true},
		{Name: "data on several lines", Fault: Fault{Multiline: true}, Whole: true},
		{Name: "wrong content type", Fault: Fault{ContentType: "text/plain"}, Whole: true},
		{Name: "no usage", Fault: Fault{NoUsage: true}, Whole: true},
		{Name: "broken gzip", Fault: Fault{BadGzip: true}},
		{Name: "not JSON at all", Fault: Fault{Body: "Service Temporarily Unavailable"}},
	}
}

// outcome is a reply together with its fault.
type outcome struct {
	dialect protocol
	ask     *Ask
	reply   reply
	fault   Fault
}

// send sends a reply with its fault. It returns the status, or 0 if none was
// sent.
func (s *Server) send(w http.ResponseWriter, r *http.Request, o outcome) int {
	rep, f := o.reply, o.fault
	switch {
	case !wait(r, f.Before), f.Never && !wait(r, time.Hour):
		return 0
	case f.Reset, f.Close:
		hangUp(w, f.Reset)
		return 0
	case f.Redirect != "":
		w.Header().Set("Location", f.Redirect)
		w.WriteHeader(http.StatusTemporaryRedirect)
		return http.StatusTemporaryRedirect
	}
	if f.Status != 0 {
		text := f.Text
		if text == "" {
			text = http.StatusText(f.Status)
		}
		rep = reply{status: f.Status, body: o.dialect.fail(failure{f.Status, text})}
	}
	parts, kind := s.render(o.dialect, o.ask, rep, f)
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("X-Request-Id", fmt.Sprintf("req_%d", o.ask.Number))
	if f.RetryAfter != "" {
		h.Set("Retry-After", f.RetryAfter)
	}
	for name, value := range f.Header {
		h.Set(name, value)
	}
	out := &sender{w: w, r: r, f: f, left: f.Cut}
	if f.BadGzip || s.Gzip && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		parts = zipped(parts)
	}
	if f.BadGzip {
		half := bytes.Join(parts, nil)
		parts = [][]byte{half[:len(half)/2]}
	}
	if len(rep.events) == 0 && !f.Short {
		h.Set("Content-Length", strconv.Itoa(len(bytes.Join(parts, nil))))
	}
	w.WriteHeader(rep.status)
	for i, part := range parts {
		if !out.send(part) || i == 0 && (!wait(r, f.Silence) || f.Hang && !wait(r, time.Hour)) {
			break
		}
	}
	return rep.status
}

// render encodes a reply as the pieces that are sent.
func (s *Server) render(p protocol, a *Ask, rep reply, f Fault) (parts [][]byte, kind string) {
	kind = "application/json"
	switch {
	case f.Body == "\x00":
	case f.Body != "":
		parts = [][]byte{[]byte(f.Body)}
	case len(rep.events) == 0:
		if f.NoUsage {
			dropUsage(rep.body)
		}
		parts = [][]byte{append(encode(rep.body), '\n')}
	case rep.array:
		for i, e := range faulty(p, a, rep.events, f) {
			lead := ",\r\n"
			if i == 0 {
				lead = "["
			}
			parts = append(parts, append([]byte(lead), dataOf(e)...))
		}
		parts = append(parts, []byte("]"))
	default:
		kind = "text/event-stream; charset=utf-8"
		for _, e := range faulty(p, a, rep.events, f) {
			parts = append(parts, written(e, f))
		}
	}
	if f.ContentType != "" {
		kind = f.ContentType
	}
	return parts, kind
}

// faulty returns the events with the faults that concern single events.
func faulty(p protocol, a *Ask, events []event, f Fault) []event {
	var out []event
	for i, e := range events {
		if i == 1 {
			switch {
			case f.Malformed:
				data := dataOf(e)
				e.data = string(data[:len(data)/2])
			case f.Overloaded:
				return append(out, p.failEvent(a, failure{529, "Overloaded"}))
			case f.Unknown:
				out = append(out, event{name: "x-unheard-of", data: object{"type": "x-unheard-of"}})
			}
		}
		if f.NoUsage {
			if dropUsage(e.data) {
				continue
			}
		}
		out = append(out, e)
	}
	return out
}

// dropUsage removes the usage of any dialect. It reports whether the event is
// empty without it.
func dropUsage(v any) (empty bool) {
	o, ok := v.(object)
	if !ok {
		return false
	}
	had := o["usage"] != nil
	delete(o, "usage")
	delete(o, "usageMetadata")
	for _, inner := range []string{"response", "message"} {
		dropUsage(o[inner])
	}
	choices, ok := o["choices"].(list)
	return had && ok && len(choices) == 0
}

func dataOf(e event) []byte {
	if s, ok := e.data.(string); ok {
		return []byte(s)
	}
	return encode(e.data)
}

// written encodes an event for the stream.
func written(e event, f Fault) []byte {
	var b bytes.Buffer
	end := "\n"
	if f.CRLF {
		end = "\r\n"
	}
	if f.Unknown {
		b.WriteString(": a comment" + end)
	}
	if e.name != "" {
		b.WriteString("event: " + e.name + end)
	}
	data := dataOf(e)
	if f.Multiline {
		data = bytes.Replace(data, []byte(`,"`), []byte(",\n\""), 1)
	}
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		b.WriteString("data: " + string(line) + end)
	}
	b.WriteString(end)
	return b.Bytes()
}

// zipped compresses the parts and flushes after each.
func zipped(parts [][]byte) [][]byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	var out [][]byte
	for i, p := range parts {
		_, _ = z.Write(p)
		_ = z.Flush()
		if i == len(parts)-1 {
			_ = z.Close()
		}
		out = append(out, bytes.Clone(b.Bytes()))
		b.Reset()
	}
	return out
}

// sender sends pieces according to a fault.
type sender struct {
	w    http.ResponseWriter
	r    *http.Request
	f    Fault
	left int
}

// send sends a piece. It returns false if the response ends there.
func (s *sender) send(p []byte) bool {
	for len(p) > 0 {
		n := len(p)
		if s.f.Drip > 0 {
			n = min(n, s.f.Drip)
		}
		if s.f.Cut > 0 {
			n = min(n, s.left)
			s.left -= n
		}
		if _, err := s.w.Write(p[:n]); err != nil {
			return false
		}
		_ = http.NewResponseController(s.w).Flush()
		p = p[n:]
		if !wait(s.r, s.f.Pause) {
			return false
		}
		if s.f.Cut > 0 && s.left == 0 {
			if !s.f.Short {
				hangUp(s.w, s.f.CutByReset)
			}
			return false
		}
	}
	return true
}

// wait waits for d. It returns false if the client left in the meantime.
func wait(r *http.Request, d time.Duration) bool {
	if d == 0 {
		return true
	}
	select {
	case <-r.Context().Done():
		return false
	case <-time.After(d):
		return true
	}
}

// hangUp closes or resets the connection.
func hangUp(w http.ResponseWriter, reset bool) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	if tcp, ok := c.(*net.TCPConn); ok && reset {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}
