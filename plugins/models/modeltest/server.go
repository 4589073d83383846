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

// Server is a stand-in for a provider. The zero value accepts every key and
// model and repeats the last message.
type Server struct {
	// Key is the only accepted key and Models are the only models, if they are
	// set.
	Key    string
	Models []string
	// Answer plays the model. It is called concurrently.
	Answer func(*Ask) Answer
	// Fault chooses the failure of a request. The zero Fault means none.
	Fault func(*Ask) Fault
	// Tokens makes chat completions and completions report tokens.
	Tokens *TokenServer
	// Gzip compresses responses for clients that accept it.
	Gzip bool
	// Created is the time in responses, in seconds since 1970. IDs count
	// requests from 1.
	Created int64

	mu    sync.Mutex
	calls []Call
}

// Call is a received request.
type Call struct {
	Ask
	// Status is the status of the answer, or 0 if there was none.
	Status int
	// Gone reports that the client left before the end.
	Gone bool
}

// Answer is the output of a model.
type Answer struct {
	Text, Reasoning string
	Tools           []ToolCall
	// Usage is the reported usage. If it is nil, it is estimated from the
	// texts.
	Usage *Usage
	// Status refuses the request with this status and the reason in Text.
	Status int
}

// Usage is a number of tokens of each kind. Input includes CacheRead and
// CacheWrite. Output includes Reasoning.
type Usage struct{ Input, CacheRead, CacheWrite, Output, Reasoning int64 }

// ToolCall is a call of a client's tool. Input is for tools that accept plain
// text; others have Arguments.
type ToolCall struct {
	Name      string
	Arguments any
	Input     string
	// ID is generated if it is empty.
	ID string
}

// Start serves for the duration of a test, on a free port of 127.0.0.1. It
// returns the address, such as http://127.0.0.1:4711.
func Start(t testing.TB, s *Server) string {
	t.Helper()
	return StartAt(t, s, "127.0.0.1:0")
}

// StartAt is like Start but serves at the given address of this machine.
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

// Calls returns the requests so far, in the order of arrival.
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
	call.Status = s.send(w, r, outcome{p, a, rep, f})
}

// readBody reads and decodes a request's body.
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

// protocol is the server side of a dialect.
type protocol interface {
	name() string
	key(r *http.Request) string
	// ask parses the request into the Ask.
	ask(a *Ask) *failure
	// reply encodes an answer.
	reply(s *Server, a *Ask, answer Answer) reply
	// fail encodes a provider's error, failEvent one within a stream.
	fail(f failure) any
	failEvent(a *Ask, f failure) event
}

// failure is a provider's error.
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
	// array means that the events are the items of a JSON array.
	array bool
}

// event is one server-sent event. Data that is not a string is encoded as JSON.
type event struct {
	name string
	data any
}

// protocolOf recognizes the dialect by the path and the headers.
func protocolOf(r *http.Request) protocol {
	switch {
	case strings.HasPrefix(r.URL.Path, "/v1/messages"), r.Header.Get("Anthropic-Version") != "", r.Header.Get("X-Api-Key") != "":
		return anthropic{}
	case strings.HasPrefix(r.URL.Path, "/v1beta/"), r.Header.Get("X-Goog-Api-Key") != "", r.URL.Query().Has("key"), strings.Contains(r.URL.Path, ":"):
		return gemini{}
	}
	return openAI{}
}

// reply returns the reply without any fault.
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
	if s.Tokens != nil {
		if f := s.Tokens.refuse(a); f != nil {
			return refuse(f)
		}
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

// encode returns JSON without escapes for HTML, as servers write it.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // the value comes from a test
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// object is a JSON object, list an array.
type (
	object = map[string]any
	list   = []any
)

// pieces cuts a text into the pieces of a stream, at the ends of words.
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
