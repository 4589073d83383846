package modeltest

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Server is a stand-in for a provider. The zero value takes every key and model
// and repeats what it is told.
type Server struct {
	// Key is the only one that is taken, Models are the only ones that there are.
	Key    string
	Models []string
	// Answer is the model. Requests are answered at the same time.
	Answer func(*Ask) Answer
	// Fault says what goes wrong with a request; the zero Fault is nothing.
	Fault func(*Ask) Fault
	// Gzip compresses responses for clients that take that.
	Gzip bool
	// Created is the time in responses, in seconds; ids count requests from 1.
	Created int64

	mu    sync.Mutex
	calls []Call
}

// Call is a request that came.
type Call struct {
	Ask
	// Status is what it was answered with, 0 if there was no answer.
	Status int
	// Gone says that the client did not wait for the end.
	Gone bool
}

// Answer is what a model says.
type Answer struct {
	Text, Reasoning string
	Tools           []ToolCall
	// Usage is what is reported; counted from the texts if it is nil.
	Usage *Usage
	// Status refuses the request instead, for the reason in Text.
	Status int
}

// Usage is a number of tokens of each kind. Input includes the two of caches,
// Output the thoughts.
type Usage struct{ Input, CacheRead, CacheWrite, Output, Reasoning int64 }

// ToolCall is a call of a tool of the client. Input is that of a tool that takes
// plain text; others have Arguments.
type ToolCall struct {
	Name      string
	Arguments any
	Input     string
	// ID is made up if it is empty.
	ID string
}

// Start serves for the time of a test, on a port of 127.0.0.1, and returns the
// address, such as http://127.0.0.1:4711.
func Start(t testing.TB, s *Server) string {
	t.Helper()
	return StartAt(t, s, "127.0.0.1:0")
}

// StartAt serves at an address of this machine.
func StartAt(t testing.TB, s *Server, address string) string {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	return "http://" + l.Addr().String()
}

// Calls are the requests so far, in the order of their coming.
func (s *Server) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// Reset forgets the requests so far.
func (s *Server) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = nil
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := readBody(w, r)
	s.mu.Lock()
	number := len(s.calls) + 1
	s.calls = append(s.calls, Call{})
	s.mu.Unlock()
	a := &Ask{Number: number, Method: r.Method, Path: r.URL.Path, Query: r.URL.Query(), Header: r.Header.Clone(), Body: body, Time: time.Now(), gone: r.Context().Done()}
	p := protocolOf(r)
	a.Dialect = p.name()
	call := Call{Ask: *a}
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		call.Gone = r.Context().Err() != nil
		s.calls[number-1] = call
	}()
	rep := s.reply(p, a, r, err)
	call.Ask = *a
	var f Fault
	if s.Fault != nil {
		f = s.Fault(a)
	}
	call.Status = s.send(w, r, p, a, rep, f)
}

// readBody reads a request's body, decoded.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	var from io.Reader = http.MaxBytesReader(w, r.Body, 64<<20)
	if r.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(from)
		if err != nil {
			return nil, err
		}
		from = z
	}
	return io.ReadAll(from)
}

// protocol is a dialect as its server speaks it.
type protocol interface {
	name() string
	key(r *http.Request) string
	// ask finds out what is asked for; it fills in the Ask.
	ask(a *Ask) *failure
	// reply writes an answer.
	reply(s *Server, a *Ask, answer Answer) reply
	// fail is an error as the provider writes it, alone and within a stream.
	fail(f failure) any
	failEvent(a *Ask, f failure) event
}

// failure is an error of a provider.
type failure struct {
	status int
	text   string
}

func failed(status int, format string, args ...any) *failure {
	return &failure{status, fmt.Sprintf(format, args...)}
}

// reply is a response: a body, or events.
type reply struct {
	status int
	body   any
	events []event
	// array says that the events are the items of a JSON array.
	array bool
}

// event is one server-sent event. Its data is a string, or written as JSON.
type event struct {
	name string
	data any
}

// protocolOf finds the dialect by the path and the headers.
func protocolOf(r *http.Request) protocol {
	switch {
	case strings.HasPrefix(r.URL.Path, "/v1/messages"), r.Header.Get("Anthropic-Version") != "", r.Header.Get("X-Api-Key") != "":
		return anthropic{}
	case strings.HasPrefix(r.URL.Path, "/v1beta/"), r.Header.Get("X-Goog-Api-Key") != "", r.URL.Query().Has("key"), strings.Contains(r.URL.Path, ":"):
		return gemini{}
	}
	return openAI{}
}

// reply is what there is to say, before anything goes wrong.
func (s *Server) reply(p protocol, a *Ask, r *http.Request, err error) reply {
	refuse := func(f *failure) reply { return reply{status: f.status, body: p.fail(*f)} }
	if s.Key != "" && p.key(r) != s.Key {
		return refuse(failed(http.StatusUnauthorized, "Incorrect API key provided."))
	}
	if err != nil {
		return refuse(failed(http.StatusBadRequest, "The body cannot be read: %v", err))
	}
	if f := p.ask(a); f != nil {
		return refuse(f)
	}
	if len(s.Models) > 0 && a.Model != "" && !slices.Contains(s.Models, a.Model) {
		return refuse(failed(http.StatusNotFound, "The model %q does not exist.", a.Model))
	}
	answer := Answer{Text: "You said: " + a.Last()}
	if s.Answer != nil && !a.plain() {
		answer = s.Answer(a)
	}
	if answer.Status != 0 {
		return refuse(failed(answer.Status, "%s", answer.Text))
	}
	for i := range answer.Tools {
		if answer.Tools[i].ID == "" {
			answer.Tools[i].ID = fmt.Sprintf("call_%d_%d", a.Number, i+1)
		}
	}
	if answer.Usage == nil {
		answer.Usage = &Usage{Input: int64(len(a.Body)/4 + 1), Output: int64((len(answer.Text)+len(answer.Reasoning)+len(encode(answer.Tools)))/4 + 1), Reasoning: int64(len(answer.Reasoning) / 4)}
	}
	rep := p.reply(s, a, answer)
	rep.status = http.StatusOK
	return rep
}

// encode is JSON as servers write it, without escapes for HTML.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // a test's own value
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// object is a JSON object; list an array.
type (
	object = map[string]any
	list   = []any
)

// pieces cuts a text into pieces as streams have them, at the ends of words.
func pieces(text string) []string {
	var out []string
	for len(text) > 0 {
		n := strings.IndexByte(text[1:], ' ') + 1
		if n == 0 {
			n = len(text)
		}
		for n < len(text) && n < 16 {
			next := strings.IndexByte(text[n+1:], ' ')
			if next < 0 {
				n = len(text)
				break
			}
			n += next + 1
		}
		out, text = append(out, text[:n]), text[n:]
	}
	return out
}
