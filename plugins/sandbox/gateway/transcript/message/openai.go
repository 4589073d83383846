package message

import (
	"cmp"
	"encoding/json"
	"strings"
)

func chatRequest(b body) (said []*draft, tools []Tool) {
	for _, raw := range b.list("messages") {
		m := chatMessage(object(raw))
		d := &draft{Message: Message{Role: m.Role}}
		d.add(m)
		said = append(said, d)
	}
	return said, openAITools(b)
}

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

func openAITools(b body) (tools []Tool) {
	for _, raw := range b.list("tools") {
		t := object(raw)
		if t.has("function") {
			t = t.object("function")
		}
		name := cmp.Or(t.text("name"), t.text("type"))
		if name != "" {
			tools = append(tools, Tool{name, t.text("description"), t["parameters"]})
		}
	}
	return tools
}

// responsesRequest reads requests of the responses API, completions and
// embeddings.
func responsesRequest(b body) (said []*draft, tools []Tool) {
	if s := b.text("instructions"); s != "" {
		said = follow(said, Message{Role: "system", Text: s})
	}
	for _, name := range []string{"input", "prompt"} {
		if s := b.text(name); s != "" {
			said = follow(said, Message{Role: "user", Text: s})
		}
		for _, raw := range b.list(name) {
			m := item(object(raw))
			if s := text(raw); s != "" {
				m = Message{Role: "user", Text: s}
			}
			said = follow(said, m)
		}
	}
	return said, openAITools(b)
}

// follow adds an item of the responses API. Items of the assistant that follow
// one another are one message.
func follow(said []*draft, m Message) []*draft {
	if m.IsZero() {
		return said
	}
	if n := len(said); n == 0 || m.Role != "assistant" || said[n-1].Role != "assistant" {
		said = append(said, &draft{Message: Message{Role: m.Role}})
	}
	said[len(said)-1].add(m)
	return said
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

// compactIf is compact of a value that is there.
func compactIf(raw json.RawMessage) string {
	if len(raw) == 0 || string(raw) == "null" || raw[0] == '"' {
		return ""
	}
	return compact(raw)
}

// openAIResponse reads responses of all operations of the dialect.
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

// chatChoice puts together the choice 0 of chat completions.
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

// call adds a part of a call: those of one index belong together.
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
