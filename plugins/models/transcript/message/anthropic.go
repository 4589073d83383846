package message

import (
	"cmp"
	"encoding/json"
)

func anthropicHead(b body) []Said {
	if s := parts(b["system"]); s != "" {
		return saying(Message{Role: "system", Text: s})
	}
	return nil
}

func anthropicMessage(m body, _ []byte) []Message {
	one := &draft{Message: Message{Role: speaker(m.text("role"))}, text: []byte(text(m["content"]))}
	for _, raw := range m.list("content") {
		addBlock(one, object(raw))
	}
	if one.Role != "user" || len(one.Results) == 0 {
		return []Message{one.message()}
	}
	// A user's text next to tool results follows them.
	after := Message{Role: "user", Text: string(one.text)}
	one.Role, one.text = "tool", nil
	if after.Text == "" {
		return []Message{one.message()}
	}
	return []Message{one.message(), after}
}

// addBlock adds a block of content to a message.
func addBlock(d *draft, b body) {
	switch kind := b.text("type"); kind {
	case "text":
		d.text = line(d.text, b.text("text"))
	case "thinking":
		d.reasoning = line(d.reasoning, b.text("thinking"))
	case "redacted_thinking":
		d.reasoning = line(d.reasoning, "[redacted]")
	case "tool_use", "server_tool_use", "mcp_tool_use":
		d.Calls = append(d.Calls, Call{b.text("id"), b.text("name"), compactIf(b["input"])})
	case "tool_result":
		d.Results = append(d.Results, Result{ID: b.text("tool_use_id"), Text: parts(b["content"]), Failed: string(b["is_error"]) == "true"})
	default:
		d.text = line(d.text, "["+kind+"]")
	}
}

// block is a content block of a stream, with the pieces that followed it.
type block struct {
	body
	text, thinking, input []byte
}

func anthropicResponse(d *draft, events []body) {
	var blocks []*block
	open := map[string]*block{} // by index in the stream
	for _, e := range events {
		d.Error = cmp.Or(d.Error, failure(e))
		for _, raw := range e.list("content") {
			blocks = append(blocks, &block{body: object(raw)})
		}
		switch e.text("type") {
		case "content_block_start":
			b := &block{body: e.object("content_block")}
			blocks, open[string(e["index"])] = append(blocks, b), b
		case "content_block_delta":
			if b, delta := open[string(e["index"])], e.object("delta"); b != nil {
				b.text = append(b.text, delta.text("text")...)
				b.thinking = append(b.thinking, delta.text("thinking")...)
				b.input = append(b.input, delta.text("partial_json")...)
			}
		}
	}
	for _, b := range blocks {
		if b.body != nil {
			addBlock(d, b.whole())
		}
	}
}

// whole merges the block with its pieces.
func (b *block) whole() body {
	for name, more := range map[string][]byte{"text": b.text, "thinking": b.thinking} {
		if len(more) > 0 {
			b.body[name], _ = json.Marshal(b.body.text(name) + string(more))
		}
	}
	if len(b.input) > 0 {
		b.body["input"] = b.input
	}
	return b.body
}
