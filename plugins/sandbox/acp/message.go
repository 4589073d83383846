package acp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

const (
	// messageBytes limits a message.
	messageBytes = 64 << 20
	// strayLines is the number of lines before the first message that may be something
	// else, such as a greeting.
	strayLines = 100
	// headerBytes limits the headers of a message.
	headerBytes = 4096
)

// The codes of errors, by JSON-RPC and ACP.
const (
	codeNoMethod = -32601
	codeAuth     = -32000
)

// object is a JSON object that the client sends.
type object = map[string]any

// message is a message of the agent: a request, a notification (without ID) or a
// response (without Method).
type message struct {
	Version string `json:"jsonrpc"`
	ID      json.RawMessage
	Method  string
	Params  json.RawMessage
	Result  json.RawMessage
	Error   *callError
}

// callError is the error of a response.
type callError struct {
	Code    int
	Message string
	Data    json.RawMessage
}

func (e *callError) Error() string {
	if len(e.Data) > 0 {
		return fmt.Sprintf("%s (%d): %.2000s", e.Message, e.Code, e.Data)
	}
	return fmt.Sprintf("%s (%d)", e.Message, e.Code)
}

// read starts to read the agent's lines. It sets the client's end before it closes
// lines.
func (c *client) read(out io.Reader) {
	lines := make(chan []byte)
	c.lines = lines
	go func() {
		defer close(lines)
		all := bufio.NewScanner(out)
		all.Buffer(make([]byte, 0, 64<<10), messageBytes+headerBytes)
		all.Split(c.split)
		for all.Scan() {
			if line := bytes.TrimSpace(all.Bytes()); len(line) > 0 {
				lines <- bytes.Clone(line)
			}
		}
		c.end = all.Err()
	}()
}

// headers are those of the Language Server Protocol, the size first.
var headers = []string{"Content-Length", "Content-Type"}

var errHeaders = fmt.Errorf("a message begins with headers without a valid Content-Length, of at most %d MiB", messageBytes>>20)

// bom is the byte order mark, which some programs on Windows begin with.
var bom = []byte("\ufeff")

// split splits the agent's output into lines or, where it has the headers of the Language
// Server Protocol, into messages. An agent that sends such headers reads them, too.
func (c *client) split(data []byte, atEOF bool) (advance int, token []byte, err error) {
	begin := len(data) - len(bytes.TrimPrefix(data, bom))
	advance, token, err = bufio.ScanLines(data[begin:], atEOF)
	if name, _, _ := bytes.Cut(token, []byte(":")); advance == 0 || !slices.ContainsFunc(headers, func(h string) bool { return strings.EqualFold(h, string(name)) }) {
		return begin + advance, token, err
	}
	size := -1
	for at := begin; at-begin < headerBytes; at += advance {
		advance, token, err = bufio.ScanLines(data[at:], atEOF)
		name, value, _ := strings.Cut(string(token), ":")
		switch {
		case advance == 0 || err != nil:
			return 0, nil, err
		case len(token) == 0 && size < 0:
			return at + advance, nil, nil
		case len(token) == 0 && len(data)-at-advance < size:
			if atEOF {
				return len(data), nil, nil
			}
			return 0, nil, nil
		case len(token) == 0:
			c.framed.Store(true)
			return at + advance + size, data[at+advance : at+advance+size], nil
		case strings.EqualFold(name, headers[0]):
			if size, err = strconv.Atoi(strings.TrimSpace(value)); err != nil || size < 0 || size > messageBytes {
				return 0, nil, errHeaders
			}
		}
	}
	return 0, nil, errHeaders
}

// next returns the agent's next message. Lines that are something else are printed.
func (c *client) next(ctx context.Context) (m message, err error) {
	for {
		select {
		case line, ok := <-c.lines:
			if !ok {
				return m, c.ended()
			}
			if err := json.Unmarshal(line, &m); err == nil && m.Version == "2.0" {
				c.spoke = true
				var one bytes.Buffer
				_ = json.Compact(&one, line) // it is valid
				c.keep("agent", one.Bytes())
				return m, nil
			}
			c.line("[output] %s", line)
			if c.strays++; c.strays == 1 {
				c.stray = fmt.Sprintf("%.200q", line)
			}
			if !c.spoke && c.strays >= strayLines {
				return m, c.ended()
			}
			m = message{}
		case <-ctx.Done():
			return m, context.Cause(ctx)
		}
	}
}

// ended returns the reason why there is no further message.
func (c *client) ended() error {
	switch {
	case errors.Is(c.end, bufio.ErrTooLong):
		return fmt.Errorf("a message of the agent has more than %d MiB", messageBytes>>20)
	case c.end != nil:
		return fmt.Errorf("read the agent's output: %w", c.end)
	case !c.spoke && c.strays > 0:
		return fmt.Errorf("the program does not speak ACP: it printed %s, which is no JSON-RPC message. Many agents need a flag or sub-command, such as --acp or acp", c.stray)
	}
	return fmt.Errorf("the agent closed its output before the end of its turn: %v", c.cmd.ProcessState)
}

// send sends a message. An agent that is gone has closed its output, too.
func (c *client) send(m object) {
	m["jsonrpc"] = "2.0"
	line, err := json.Marshal(m)
	if err != nil {
		panic(err) // the client's own types
	}
	c.keep("client", line)
	if c.framed.Load() {
		_, _ = fmt.Fprintf(c.in, "%s: %d\r\n\r\n%s", headers[0], len(line), line)
		return
	}
	_, _ = c.in.Write(append(line, '\n'))
}

// call sends a request and decodes the result.
func (c *client) call(ctx context.Context, method string, params object, result any) error {
	c.last++
	c.send(object{"id": c.last, "method": method, "params": params})
	return c.response(ctx, method, result)
}

// response waits for the response to the last request, and serves the agent meanwhile.
func (c *client) response(ctx context.Context, method string, result any) error {
	for {
		m, err := c.next(ctx)
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("%s: the agent does not answer: %w", method, context.Cause(ctx))
		case err != nil:
			return err
		case m.Method != "":
			if err := c.take(m); err != nil {
				return err
			}
		case string(m.ID) != fmt.Sprint(c.last): // to nobody
		case m.Error != nil:
			return fmt.Errorf("%s: the agent answered: %w", method, m.Error)
		default:
			if err := json.Unmarshal(m.Result, result); err != nil {
				return fmt.Errorf("%s: the agent's answer %.200s: %w", method, m.Result, err)
			}
			return nil
		}
	}
}
