package message

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/mleflow/mleflow/plugins/models/dialect"
)

// Response returns a model's answer from a whole or streamed response.
func Response(provider string, _ dialect.Operation, raw []byte) Message {
	d := &draft{Message: Message{Role: "assistant"}}
	switch events := stream(raw); provider {
	case "anthropic":
		anthropicResponse(d, events)
	case "gemini":
		geminiResponse(d, events)
	default:
		openAIResponse(d, events)
	}
	return d.message()
}

// stream returns the JSON values of a response: a single object, the elements
// of an array, or the data of server-sent events.
func stream(raw []byte) []body {
	trimmed := bytes.TrimSpace(raw)
	switch {
	case bytes.HasPrefix(trimmed, []byte("{")):
		return []body{object(trimmed)}
	case bytes.HasPrefix(trimmed, []byte("[")):
		var all []body
		_ = json.Unmarshal(trimmed, &all)
		return all
	}
	var all []body
	var data []byte
	for line := range bytes.SplitSeq(raw, []byte("\n")) {
		line = bytes.TrimSuffix(line, []byte("\r"))
		if value, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			data = append(append(data, bytes.TrimPrefix(value, []byte(" "))...), '\n')
			continue
		}
		if len(line) > 0 || len(data) == 0 {
			continue
		}
		if b := object(data); b != nil {
			all = append(all, b)
		}
		data = nil
	}
	if b := object(data); b != nil { // truncated before the blank line
		all = append(all, b)
	}
	return all
}

// parts reads content that is a string or a list of typed parts.
func parts(raw []byte, texts ...string) string {
	if s := text(raw); s != "" {
		return s
	}
	var said []string
	for _, r := range list(raw) {
		p := object(r)
		if s := text(r); p == nil && s != "" {
			said = append(said, s)
			continue
		}
		said = append(said, part(p, texts))
	}
	return join(said...)
}

// part returns the text of a part, or its type in brackets.
func part(p body, texts []string) string {
	for _, name := range append([]string{"text", "refusal"}, texts...) {
		if p.has(name) {
			return p.text(name)
		}
	}
	if kind := p.text("type"); kind != "" {
		return "[" + strings.ToValidUTF8(kind, "") + "]"
	}
	return ""
}

// speaker maps a dialect's role to one of the roles of Message.
func speaker(role string) string {
	switch role {
	case "system", "developer":
		return "system"
	case "assistant", "model":
		return "assistant"
	case "tool", "function":
		return "tool"
	}
	return "user"
}
