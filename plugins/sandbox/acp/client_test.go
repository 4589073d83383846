package acp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

// TestReady chooses the methods of authentication that need no person.
func TestReady(t *testing.T) {
	t.Setenv("SET", "1")
	for text, want := range map[string]bool{
		`{"id":"login","name":"Log in with a browser"}`:                              false,
		`{"id":"gemini-api-key","name":"Use Gemini API key"}`:                        true,
		`{"id":"x","vars":[{"name":"SET"}]}`:                                         true,
		`{"id":"x","vars":[{"name":"NOT_SET_HERE"}]}`:                                false,
		`{"id":"x","vars":[{"name":"SET"},{"name":"NOT_SET_HERE","optional":true}]}`: true,
	} {
		var m authMethod
		if err := json.Unmarshal([]byte(text), &m); err != nil || m.ready() != want {
			t.Errorf("%s: %v, want %v: %v", text, m.ready(), want, err)
		}
	}
}

// TestFraming reads messages in lines and with headers, after a byte order mark and between
// other lines, as soon as they are whole, and answers in kind.
func TestFraming(t *testing.T) {
	const hello = `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}`
	length := fmt.Sprintf("Content-Length: %d\r\n", len(hello))
	for name, tt := range map[string]struct {
		text   string
		framed bool
	}{
		"line":                  {hello + "\n", false},
		"CRLF":                  {hello + "\r\n", false},
		"byte order mark":       {"\ufeff" + hello + "\n", false},
		"banner":                {"Welcome!\nContent: none\n" + hello + "\n", false},
		"headers":               {length + "\r\n" + hello, true},
		"mark and headers":      {"\ufeff" + length + "\r\n" + hello, true},
		"another header first":  {"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\n" + length + "\r\n" + hello, true},
		"small letters, LF":     {strings.ToLower(strings.ReplaceAll(length, "\r", "")) + "\n" + hello, true},
		"banner, then headers":  {"Welcome!\n" + length + "\r\n" + hello, true},
		"broken over two lines": {fmt.Sprintf("Content-Length: %d\r\n\r\n", len(hello)+1) + strings.Replace(hello, ",", ",\n", 1), true},
	} {
		t.Run(name, func(t *testing.T) {
			out, agent := io.Pipe() // stays open: nothing may wait for its end
			defer agent.Close()
			go func() { _, _ = io.WriteString(agent, tt.text) }()
			var sent, printed strings.Builder
			c := &client{in: &sent, last: 1, transcript: &transcript{shown: &printed, kept: &strings.Builder{}, left: 1 << 20}}
			c.read(out)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			var result struct{ ProtocolVersion int }
			if err := c.response(ctx, "initialize", &result); err != nil || result.ProtocolVersion != 1 {
				t.Fatalf("got %+v, %v", result, err)
			}
			c.send(object{})
			if strings.HasPrefix(sent.String(), "Content-Length: 17\r\n\r\n") != tt.framed {
				t.Errorf("sent %q", sent.String())
			}
		})
	}
}

// TestWrongFrames end the session at once.
func TestWrongFrames(t *testing.T) {
	for _, text := range []string{"Content-Length: lots\r\n\r\n", "Content-Length: -1\r\n\r\n", "Content-Length: 999999999999\r\n\r\n", "Content-Type: " + strings.Repeat("x\r\nX: ", headerBytes)} {
		out, agent := io.Pipe()
		defer agent.Close()
		go func() { _, _ = io.WriteString(agent, text) }()
		c := &client{transcript: &transcript{shown: io.Discard, kept: io.Discard}}
		c.read(out)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		if _, err := c.next(ctx); err == nil || ctx.Err() != nil {
			t.Errorf("%.40q: %v", text, err)
		}
		cancel()
	}
}

// TestRecordIsLimited keeps whole lines and says that some are missing.
func TestRecordIsLimited(t *testing.T) {
	var kept strings.Builder
	tr := &transcript{kept: &kept, left: 150}
	for range 5 {
		tr.keep("agent", []byte(`{"jsonrpc":"2.0","method":"x"}`))
	}
	lines := strings.Split(strings.TrimSpace(kept.String()), "\n")
	for _, line := range lines {
		if !json.Valid([]byte(line)) {
			t.Errorf("%s is no JSON", line)
		}
	}
	if len(lines) != 2 || lines[1] != `{"truncated":true}` {
		t.Errorf("lines %q", lines)
	}
}
