package acp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// LogFile is the record of messages, in LOGS_DIR: JSON lines with time, from ("agent" or
// "client") and message. Beyond recordBytes, nothing is added but a line that says so.
const (
	LogFile     = "acp.jsonl"
	recordBytes = 64 << 20
)

// transcript records messages and prints updates for people.
type transcript struct {
	shown  io.Writer
	kept   io.Writer
	left   int
	inText string
}

// keep records a message.
func (t *transcript) keep(from string, line []byte) {
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"time":%q,"from":%q,"message":`, time.Now().UTC().Format(time.RFC3339Nano), from)
	b.Write(bytes.TrimSuffix(line, []byte("\n")))
	b.WriteString("}\n")
	if t.left < 0 {
		return
	}
	if t.left -= b.Len(); t.left < 0 {
		b.Reset()
		b.WriteString(`{"truncated":true}` + "\n")
	}
	_, _ = t.kept.Write(b.Bytes()) // a full disk is the agent's own
}

// update is a notification session/update.
type update struct {
	Update struct {
		SessionUpdate, Title, Status, ToolCallID string
		Content                                  json.RawMessage
		Entries                                  []struct{ Content, Status string }
	}
}

// show prints an update.
func (t *transcript) show(method string, params json.RawMessage) {
	var u update
	if method != "session/update" || json.Unmarshal(params, &u) != nil {
		return
	}
	var content struct{ Text string }
	switch kind := u.Update.SessionUpdate; kind {
	case "agent_message_chunk", "agent_thought_chunk":
		_ = json.Unmarshal(u.Update.Content, &content) // an image has no text
		if t.inText != kind {
			t.line("%s", map[string]string{"agent_message_chunk": "[message]", "agent_thought_chunk": "[thought]"}[kind])
		}
		t.inText = kind
		fmt.Fprint(t.shown, content.Text)
	case "tool_call":
		t.line("[tool] %s", u.Update.Title)
	case "tool_call_update":
		if u.Update.Status != "" {
			t.line("[tool] %s: %s", u.Update.ToolCallID, u.Update.Status)
		}
	case "plan":
		for _, e := range u.Update.Entries {
			t.line("[plan] %s: %s", e.Status, e.Content)
		}
	}
}

// line prints a line of its own.
func (t *transcript) line(format string, args ...any) {
	if t.inText != "" {
		fmt.Fprintln(t.shown)
	}
	t.inText = ""
	fmt.Fprintf(t.shown, format+"\n", args...)
}
