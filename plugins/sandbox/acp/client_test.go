package acp

import (
	"encoding/json"
	"strings"
	"testing"
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
