package message

import (
	"cmp"
	"encoding/json"
	"strings"
)

func chatMessages(m body, _ []byte) []Message { return []Message{chatMessage(m)} }

func chatMessage(m body) Message {
	out := Message{Role: speaker(m.text("role")), Text: parts(m["content"]), Reasoning: join(m.text("reasoning_content"), m.text("reasoning"))}
	out.Text = join(out.Text, m.text("refusal"))
	if out.Role == "tool" {
		out.Results = []Result{{ID: m.text("tool_call_id"), Name: m.text("name"), Text: out.Text}}
		out.Text = ""
	}
	for _, raw := range m.list("tool_calls") {
		out.Calls = append(out.Calls, chatCall(object(raw)))
	}
	return out
}

func chatCall(c body) Call {
	f, custom := c.object("function"), c.object("custom")
	return Call{c.text("id"), f.text("name") + custom.text("name"), f.text("arguments") + custom.text("input")}
}

// itemOrText reads an element of the input of the responses API, completions and
// embeddings.
func itemOrText(b body, raw []byte) []Message {
	m := item(b)
	if s := text(raw); s != "" {
		m = Message{Role: "user", Text: s}
	}
	if m.IsZero() {
		return nil
	}
	return []Message{m}
}

// follow merges consecutive items of the assistant into one message.
func follow(said []Said) []Said {
	out := said[:0:0]
	for i := 0; i < len(said); {
		end := i + 1
		for said[i].Role == "assistant" && end < len(said) && said[end].Role == "assistant" {
			end++
		}
		if end == i+1 {
			out = append(out, said[i])
		} else {
			d := &draft{Message: Message{Role: "assistant"}}
			for _, s := range said[i:end] {
				d.add(s.Message)
			}
			out = append(out, saying(d.message())...)
		}
		i = end
	}
	return out
}

func item(i body) Message {
	switch kind := i.text("type"); {
	case kind == "message" || kind == "":
		return Message{Role: speaker(i.text("role")), Text: parts(i["content"])}
	case kind == "reasoning":
		return Message{Role: "assistant", Reasoning: join(parts(i["summary"]), parts(i["content"]))}
	case strings.HasSuffix(kind, "_output"):
		return Message{Role: "tool", Results: []Result{{ID: i.text("call_id"), Text: cmp.Or(parts(i["output"]), compactIf(i["output"]))}}}
	case strings.HasSuffix(kind, "_call"):
		name := cmp.Or(i.text("name"), strings.TrimSuffix(kind, "_call"))
		arguments := cmp.Or(i.text("arguments"), i.text("input"), compactIf(i["action"]), compactIf(i["arguments"]))
		return Message{Role: "assistant", Calls: []Call{{cmp.Or(i.text("call_id"), i.text("id")), name, arguments}}}
	default:
		return Message{Role: "user", Text: "[" + kind + "]"}
	}
}

// compactIf compacts a value. It returns "" for a missing value, null and a
// string.
func compactIf(raw json.RawMessage) string {
	if len(raw) == 0 || string(raw) == "null" || raw[0] == '"' {
		return ""
	}
	return compact(raw)
}

// openAIResponse reads responses of all of the dialect's operations.
func openAIResponse(d *draft, events []body) {
	var choice chatChoice
	var items []json.RawMessage
	var partial strings.Builder
	for _, e := range events {
		d.Error = cmp.Or(d.Error, failure(e))
		switch e.text("type") {
		case "response.output_item.done":
			items = append(items, e["item"])
		case "response.output_text.delta":
			partial.WriteString(e.text("delta"))
		case "response.completed", "response.incomplete", "response.failed":
			r := e.object("response")
			d.Error = cmp.Or(d.Error, failure(r))
			if out := r.list("output"); len(out) > 0 {
				items = out
			}
		default:
			items = append(items, e.list("output")...)
			choice.add(e)
		}
	}
	for _, raw := range items {
		d.add(item(object(raw)))
	}
	if len(items) == 0 {
		d.text = append(d.text, partial.String()...)
	}
	d.text, d.reasoning = append(d.text, choice.text...), append(d.reasoning, choice.reasoning...)
	for _, c := range choice.calls {
		c.Arguments = string(c.arguments)
		d.Calls = append(d.Calls, c.Call)
	}
}

// chatChoice assembles choice 0 of a chat completion.
type chatChoice struct {
	text, reasoning []byte
	calls           []chatPart
}

type chatPart struct {
	Call
	index     int
	arguments []byte
}

func (c *chatChoice) add(e body) {
	for _, raw := range e.list("choices") {
		one := object(raw)
		if i := string(one["index"]); i != "" && i != "0" {
			continue
		}
		c.text = append(c.text, one.text("text")...)
		for _, name := range []string{"message", "delta"} {
			m := one.object(name)
			said := chatMessage(m)
			c.text, c.reasoning = append(c.text, said.Text...), append(c.reasoning, said.Reasoning...)
			for at, raw := range m.list("tool_calls") {
				c.call(object(raw), at)
			}
		}
	}
}

// call adds a part of a tool call. Parts with the same index belong together.
func (c *chatChoice) call(raw body, at int) {
	if raw.has("index") {
		_ = json.Unmarshal(raw["index"], &at)
	}
	part := chatCall(raw)
	i := len(c.calls) - 1
	for i >= 0 && c.calls[i].index != at {
		i--
	}
	if i < 0 {
		i = len(c.calls)
		c.calls = append(c.calls, chatPart{index: at})
	}
	p := &c.calls[i]
	p.ID, p.Name = cmp.Or(p.ID, part.ID), cmp.Or(p.Name, part.Name)
	p.arguments = append(p.arguments, part.Arguments...)
}
