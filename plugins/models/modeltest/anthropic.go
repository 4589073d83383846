package modeltest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// anthropic speaks Anthropic's dialect.
type anthropic struct{}

func (anthropic) name() string { return "anthropic" }

func (anthropic) key(r *http.Request) string {
	if k := r.Header.Get("X-Api-Key"); k != "" {
		return k
	}
	return strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
}

func (anthropic) fail(f failure) any {
	kinds := map[int]string{
		400: "invalid_request_error", 401: "authentication_error", 402: "billing_error", 403: "permission_error", 404: "not_found_error",
		408: "timeout_error", 413: "request_too_large", 429: "rate_limit_error", 529: "overloaded_error",
	}
	kind := kinds[f.status]
	if kind == "" {
		kind = "api_error"
	}
	return object{"type": "error", "error": object{"type": kind, "message": f.text}}
}

func (p anthropic) failEvent(_ *Ask, f failure) event { return event{"error", p.fail(f)} }

func (anthropic) ask(a *Ask) *failure {
	switch path := a.Path; {
	case strings.HasPrefix(path, "/v1/models") && a.Method == http.MethodGet:
		a.Operation, a.Model = "models", strings.TrimPrefix(strings.TrimPrefix(path, "/v1/models"), "/")
		return nil
	case path == "/v1/messages":
		a.Operation = "messages"
	case path == "/v1/messages/count_tokens":
		a.Operation = "count_tokens"
	default:
		return failed(http.StatusNotFound, "Not found")
	}
	if a.Method != http.MethodPost {
		return failed(http.StatusMethodNotAllowed, "Method Not Allowed")
	}
	if a.Header.Get("Anthropic-Version") == "" {
		return failed(http.StatusBadRequest, "anthropic-version: header is required")
	}
	if f := a.read(); f != nil {
		return f
	}
	var most int64
	a.get("model", &a.Model)
	a.get("stream", &a.Stream)
	a.get("max_tokens", &most)
	switch {
	case a.Model == "":
		return failed(http.StatusBadRequest, "model: Field required")
	case most < 1 && a.Operation == "messages":
		return failed(http.StatusBadRequest, "max_tokens: Field required")
	}
	anthropicConversation(a)
	if a.Count("user")+a.Count("tool") == 0 {
		return failed(http.StatusBadRequest, "messages: at least one message is required")
	}
	return nil
}

func anthropicConversation(a *Ask) {
	if system := textOf(a.fields["system"]); system != "" {
		a.Messages = append(a.Messages, Message{Role: "system", Text: system})
	}
	var tools []struct {
		Type, Name  string
		InputSchema json.RawMessage `json:"input_schema"`
	}
	a.get("tools", &tools)
	for _, t := range tools {
		if t.Type == "" || t.Type == "custom" {
			t.Type = "function"
		}
		a.Tools = append(a.Tools, Tool{t.Type, t.Name, t.InputSchema})
	}
	var messages []struct {
		Role    string
		Content json.RawMessage
	}
	a.get("messages", &messages)
	for _, m := range messages {
		out := Message{Role: m.Role, Text: textOf(m.Content)}
		var blocks []block
		_ = json.Unmarshal(m.Content, &blocks)
		for _, b := range blocks {
			switch b.Type {
			case "tool_use":
				out.Calls = append(out.Calls, b.Name)
			case "tool_result":
				out.Role = "tool"
			}
		}
		a.Messages = append(a.Messages, out)
	}
}

func (anthropic) reply(s *Server, a *Ask, answer Answer) reply {
	u := answer.Usage
	switch a.Operation {
	case "models":
		one := func(name string) object {
			return object{"type": "model", "id": name, "display_name": name, "created_at": "2026-01-01T00:00:00Z"}
		}
		if a.Model != "" {
			return reply{body: one(a.Model)}
		}
		data := list{}
		for _, m := range s.Models {
			data = append(data, one(m))
		}
		return reply{body: object{"data": data, "has_more": false, "first_id": nil, "last_id": nil}}
	case "count_tokens":
		return reply{body: object{"input_tokens": u.Input}}
	}
	reason, blocks := "end_turn", anthropicBlocks(answer)
	if len(answer.Tools) > 0 {
		reason = "tool_use"
	}
	usage := object{
		"input_tokens": u.Input - u.CacheRead - u.CacheWrite, "cache_read_input_tokens": u.CacheRead, "cache_creation_input_tokens": u.CacheWrite,
		"cache_creation": object{"ephemeral_5m_input_tokens": u.CacheWrite, "ephemeral_1h_input_tokens": 0}, "output_tokens": u.Output, "service_tier": "standard",
	}
	message := object{
		"id": fmt.Sprintf("msg_%d", a.Number), "type": "message", "role": "assistant", "model": a.Model, "content": blocks,
		"stop_reason": reason, "stop_sequence": nil, "usage": usage,
	}
	if !a.Stream {
		return reply{body: message}
	}
	return reply{events: anthropicEvents(message, blocks, usage, u.Output, reason)}
}

func anthropicBlocks(answer Answer) list {
	blocks := list{}
	if answer.Reasoning != "" {
		blocks = append(blocks, object{"type": "thinking", "thinking": answer.Reasoning, "signature": "c2lnbmF0dXJl"})
	}
	if answer.Text != "" {
		blocks = append(blocks, object{"type": "text", "text": answer.Text})
	}
	for _, t := range answer.Tools {
		input := t.Arguments
		if input == nil {
			input = object{}
		}
		blocks = append(blocks, object{"type": "tool_use", "id": strings.Replace(t.ID, "call_", "toolu_", 1), "name": t.Name, "input": input})
	}
	return blocks
}

func anthropicEvents(message object, blocks list, usage object, output int64, reason string) []event {
	var events []event
	say := func(kind string, o object) {
		o["type"] = kind
		events = append(events, event{kind, o})
	}
	message["content"], message["stop_reason"] = list{}, nil
	usage["output_tokens"] = 1
	say("message_start", object{"message": message})
	say("ping", object{})
	for i, b := range blocks {
		block := b.(object)
		delta := func(kind, part, text string) {
			say("content_block_delta", object{"index": i, "delta": object{"type": kind, part: text}})
		}
		begin := func(o object) { say("content_block_start", object{"index": i, "content_block": o}) }
		switch block["type"] {
		case "text":
			begin(object{"type": "text", "text": ""})
			for _, p := range pieces(block["text"].(string)) {
				delta("text_delta", "text", p)
			}
		case "thinking":
			begin(object{"type": "thinking", "thinking": "", "signature": ""})
			for _, p := range pieces(block["thinking"].(string)) {
				delta("thinking_delta", "thinking", p)
			}
			delta("signature_delta", "signature", block["signature"].(string))
		case "tool_use":
			begin(object{"type": "tool_use", "id": block["id"], "name": block["name"], "input": object{}})
			for _, p := range pieces(string(encode(block["input"]))) {
				delta("input_json_delta", "partial_json", p)
			}
		}
		say("content_block_stop", object{"index": i})
	}
	say("message_delta", object{"delta": object{"stop_reason": reason, "stop_sequence": nil}, "usage": object{"output_tokens": output}})
	say("message_stop", object{})
	return events
}
