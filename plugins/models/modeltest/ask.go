package modeltest

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Ask is a request, in one form for all dialects.
type Ask struct {
	// Number counts the requests of the server from 1.
	Number int
	// Dialect is "openai", "anthropic" or "gemini", Operation what is asked for:
	// "chat", "completions", "responses", "input_tokens", "embeddings", "messages",
	// "count_tokens", "generateContent", "streamGenerateContent", "countTokens",
	// "embedContent", "batchEmbedContents", "models".
	Dialect, Operation, Model string
	Stream                    bool
	// Messages are the conversation, a system prompt among them.
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

// Message is one of a conversation. Role is "system", "user", "assistant" or
// "tool".
type Message struct {
	Role, Text string
	// Calls are the names of the tools that the assistant called.
	Calls []string
}

// Tool is one that the client offers.
type Tool struct {
	// Type is "function" for plain functions.
	Type, Name string
	Schema     json.RawMessage
}

// Last is the text of the last message.
func (a *Ask) Last() string {
	if len(a.Messages) == 0 {
		return ""
	}
	return a.Messages[len(a.Messages)-1].Text
}

// Prompt is the text of all messages.
func (a *Ask) Prompt() string {
	var b strings.Builder
	for _, m := range a.Messages {
		b.WriteString(m.Text)
		b.WriteByte('\n')
	}
	return b.String()
}

// Count is the number of messages of a role.
func (a *Ask) Count(role string) (n int) {
	for _, m := range a.Messages {
		if m.Role == role {
			n++
		}
	}
	return n
}

// plain says that no model is needed for an answer.
func (a *Ask) plain() bool {
	return slices.Contains([]string{"models", "embeddings", "input_tokens", "count_tokens", "countTokens", "embedContent", "batchEmbedContents"}, a.Operation)
}

// read takes the body apart.
func (a *Ask) read() *failure {
	if err := json.Unmarshal(a.Body, &a.fields); err != nil {
		return failed(http.StatusBadRequest, "We could not parse the JSON body of your request: %v", err)
	}
	return nil
}

// get reads a member of the body, in either spelling.
func (a *Ask) get(name string, into any) {
	raw, ok := a.fields[name]
	if !ok {
		return
	}
	_ = json.Unmarshal(raw, into)
}

// block is a piece of a message, of whatever dialect.
type block struct {
	Type, Text, Thinking, Name string
	Content                    json.RawMessage
	Output                     json.RawMessage
}

// textOf is the text in a value that may be a string, or blocks of texts.
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
