package modeltest

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Ask is a request in a form common to all dialects.
type Ask struct {
	// Number counts the requests of the server from 1.
	Number int
	// Dialect is "openai", "anthropic" or "gemini". Operation is "chat",
	// "completions", "responses", "input_tokens", "embeddings", "messages",
	// "count_tokens", "generateContent", "streamGenerateContent",
	// "countTokens", "embedContent", "batchEmbedContents" or "models".
	Dialect, Operation, Model string
	Stream                    bool
	// Messages are the conversation, including a system prompt.
	Messages []Message
	Tools    []Tool

	Method, Path string
	Query        url.Values
	Header       http.Header
	Body         []byte
	Time         time.Time

	fields map[string]json.RawMessage
	gone   <-chan struct{}
}

// Message is one message of a conversation. Role is "system", "user",
// "assistant" or "tool".
type Message struct {
	Role, Text string
	// Calls are the names of the tools that the assistant called.
	Calls []string
}

// Tool is a tool that the client offers.
type Tool struct {
	// Type is "function" for plain functions.
	Type, Name string
	Schema     json.RawMessage
}

// Last returns the text of the last message.
func (a *Ask) Last() string {
	if len(a.Messages) == 0 {
		return ""
	}
	return a.Messages[len(a.Messages)-1].Text
}

// Prompt returns the text of all messages.
func (a *Ask) Prompt() string {
	var b strings.Builder
	for _, m := range a.Messages {
		b.WriteString(m.Text)
		b.WriteByte('\n')
	}
	return b.String()
}

// Count returns the number of messages with a role.
func (a *Ask) Count(role string) (n int) {
	for _, m := range a.Messages {
		if m.Role == role {
			n++
		}
	}
	return n
}

// plain reports whether the answer needs no model.
func (a *Ask) plain() bool {
	return slices.Contains([]string{"models", "embeddings", "input_tokens", "count_tokens", "countTokens", "embedContent", "batchEmbedContents"}, a.Operation)
}

// read decodes the members of the body.
func (a *Ask) read() *failure {
	if err := json.Unmarshal(a.Body, &a.fields); err != nil {
		return failed(http.StatusBadRequest, "We could not parse the JSON body of your request: %v", err)
	}
	return nil
}

// get decodes a member of the body. A missing or malformed one leaves into
// unchanged.
func (a *Ask) get(name string, into any) {
	raw, ok := a.fields[name]
	if !ok {
		return
	}
	_ = json.Unmarshal(raw, into)
}

// block is a piece of a message in any dialect.
type block struct {
	Type, Text, Thinking, Name string
	Content                    json.RawMessage
	Output                     json.RawMessage
}

// textOf returns the text of a string or of a list of text blocks.
func textOf(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var blocks []block
	if json.Unmarshal(raw, &blocks) != nil {
		var one struct{ Content json.RawMessage }
		if json.Unmarshal(raw, &one) == nil && one.Content != nil {
			return textOf(one.Content)
		}
		return ""
	}
	var parts []string
	for _, b := range blocks {
		switch {
		case b.Text != "":
			parts = append(parts, b.Text)
		case b.Content != nil:
			parts = append(parts, textOf(b.Content))
		}
	}
	return strings.Join(parts, "\n")
}
