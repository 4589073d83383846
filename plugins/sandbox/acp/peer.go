package acp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
)

const (
	// messageBytes limits a message.
	messageBytes = 64 << 20
	// strayLines is the number of lines before the first message that may be something
	// else, such as a greeting.
	strayLines = 100
	// atOnce is the number of the agent's requests that are served at once.
	atOnce = 256
)

// The codes of errors, by JSON-RPC and ACP.
const (
	codeNoMethod = -32601
	codeParams   = -32602
	codeInternal = -32603
	codeAuth     = -32000
)

// errClosed means that the agent ended, or closed its output.
var errClosed = errors.New("the agent closed its output before the end of its turn")

// message is a request, a notification (without ID) or a response (without Method).
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *callError      `json:"error,omitempty"`
}

// callError is the error of a response.
type callError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func (e *callError) Error() string {
	if len(e.Data) > 0 {
		return fmt.Sprintf("%s (%d): %.2000s", e.Message, e.Code, e.Data)
	}
	return fmt.Sprintf("%s (%d)", e.Message, e.Code)
}

// peer is a connection to an agent.
type peer struct {
	// serve answers a request, notice takes a notification, stray takes a line that is
	// no message, and record takes every message.
	serve  func(method string, params json.RawMessage) (any, error)
	notice func(method string, params json.RawMessage)
	stray  func(line []byte)
	record func(from string, line []byte)

	out     chan []byte
	serving chan struct{}
	mu      sync.Mutex
	last    int
	waiting map[string]chan message
	// done is closed at the end of the connection, after err is set.
	done chan struct{}
	err  error
}

func (p *peer) start(in io.Writer, out io.Reader) {
	p.out, p.serving = make(chan []byte), make(chan struct{}, atOnce)
	p.waiting, p.done = map[string]chan message{}, make(chan struct{})
	go func() {
		for {
			select {
			case line := <-p.out:
				_, _ = in.Write(line) // an agent that is gone has closed its output, too
			case <-p.done:
				return
			}
		}
	}()
	go func() {
		p.err = p.read(out)
		close(p.done)
	}()
}

func (p *peer) read(out io.Reader) error {
	lines, spoke, strays, first := bufio.NewScanner(out), false, 0, ""
	lines.Buffer(make([]byte, 0, 64<<10), messageBytes)
	for lines.Scan() {
		line := bytes.TrimSpace(lines.Bytes())
		var m message
		if len(line) == 0 {
			continue
		}
		if err := json.Unmarshal(line, &m); err != nil || m.Version != "2.0" {
			p.stray(line)
			if first == "" {
				first = fmt.Sprintf("%.200q", line)
			}
			if strays++; !spoke && strays >= strayLines {
				break
			}
			continue
		}
		spoke = true
		p.record("agent", line)
		p.take(m)
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return fmt.Errorf("a message of the agent has more than %d MiB", messageBytes>>20)
	case err != nil && !errors.Is(err, os.ErrClosed):
		return fmt.Errorf("read the agent's output: %w", err)
	case !spoke && first != "":
		return fmt.Errorf("the program does not speak ACP: it printed %s, which is no JSON-RPC message. Many agents need a flag or sub-command, such as --acp or acp", first)
	}
	return errClosed
}

// take handles a message. The slices of m are copies.
func (p *peer) take(m message) {
	switch {
	case m.Method == "":
		p.mu.Lock()
		defer p.mu.Unlock()
		if to := p.waiting[string(m.ID)]; to != nil {
			delete(p.waiting, string(m.ID))
			to <- m
		}
	case len(m.ID) == 0 || string(m.ID) == "null":
		p.notice(m.Method, m.Params)
	default:
		select {
		case p.serving <- struct{}{}:
			go func() {
				defer func() { <-p.serving }()
				result, err := p.serve(m.Method, m.Params)
				p.answer(m.ID, result, err)
			}()
		default:
			go p.answer(m.ID, nil, fmt.Errorf("more than %d requests at once", atOnce))
		}
	}
}

func (p *peer) answer(id json.RawMessage, result any, err error) {
	m := message{ID: id}
	if err == nil {
		m.Result, err = json.Marshal(result)
	}
	if err != nil && !errors.As(err, &m.Error) {
		m.Error = &callError{Code: codeInternal, Message: err.Error()}
	}
	p.send(m)
}

func (p *peer) send(m message) {
	m.Version = "2.0"
	line, err := json.Marshal(m)
	if err != nil {
		panic(err) // the raw parts are valid
	}
	select {
	case p.out <- append(line, '\n'):
		p.record("client", line)
	case <-p.done:
	}
}

func (p *peer) notify(method string, params any) {
	raw, err := json.Marshal(params)
	if err != nil {
		panic(err) // the client's own types
	}
	p.send(message{Method: method, Params: raw})
}

// ask sends a request and returns the channel of its response.
func (p *peer) ask(method string, params any) <-chan message {
	raw, err := json.Marshal(params)
	if err != nil {
		panic(err) // the client's own types
	}
	p.mu.Lock()
	p.last++
	id, to := strconv.Itoa(p.last), make(chan message, 1)
	p.waiting[id] = to
	p.mu.Unlock()
	go p.send(message{ID: json.RawMessage(id), Method: method, Params: raw})
	return to
}

// call sends a request and decodes the result.
func (p *peer) call(ctx context.Context, method string, params, result any) error {
	return p.wait(ctx, method, p.ask(method, params), result)
}

func (p *peer) wait(ctx context.Context, method string, from <-chan message, result any) error {
	select {
	case m := <-from:
		return m.decode(method, result)
	case <-p.done:
		select {
		case m := <-from: // it came last
			return m.decode(method, result)
		default:
			return p.err
		}
	case <-ctx.Done():
		return fmt.Errorf("%s: the agent does not answer: %w", method, context.Cause(ctx))
	}
}

func (m *message) decode(method string, result any) error {
	if m.Error != nil {
		return fmt.Errorf("%s: the agent answered: %w", method, m.Error)
	}
	if err := json.Unmarshal(m.Result, result); err != nil {
		return fmt.Errorf("%s: the agent's answer %.200s: %w", method, m.Result, err)
	}
	return nil
}
