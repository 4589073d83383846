package message

import (
	"cmp"
	"encoding/json"
)

func geminiHead(b body) (said []Said) {
	for _, name := range []string{"systemInstruction", "system_instruction"} {
		if b.has(name) {
			d := geminiContent(b.object(name))
			d.Role = "system"
			said = append(said, saying(d.message())...)
		}
	}
	return said
}

func geminiMessage(c body, _ []byte) []Message { return []Message{geminiContent(c).message()} }

func geminiContent(c body) *draft {
	d := &draft{Message: Message{Role: speaker(c.text("role"))}}
	for _, raw := range c.list("parts") {
		addPart(d, object(raw))
	}
	if d.Role == "user" && len(d.Results) > 0 {
		d.Role = "tool"
	}
	return d
}

// addPart adds a part. Texts of a stream are joined without a line end.
func addPart(d *draft, p body) {
	either := func(camel, snake string) body {
		if p.has(camel) {
			return p.object(camel)
		}
		return p.object(snake)
	}
	call, result := either("functionCall", "function_call"), either("functionResponse", "function_response")
	switch {
	case call != nil:
		d.Calls = append(d.Calls, Call{call.text("id"), call.text("name"), cmp.Or(compactIf(call["args"]), "{}")})
	case result != nil:
		d.Results = append(d.Results, Result{ID: result.text("id"), Name: result.text("name"), Text: geminiResult(result["response"])})
	case string(p["thought"]) == "true":
		d.reasoning = append(d.reasoning, p.text("text")...)
	case p.has("text"):
		d.text = append(d.text, p.text("text")...)
	case either("inlineData", "inline_data") != nil || either("fileData", "file_data") != nil:
		data := either("inlineData", "inline_data")
		d.text = line(d.text, "["+cmp.Or(data.text("mimeType"), data.text("mime_type"), "file")+"]")
	}
}

// geminiResult returns the text of a result, which is often its only member.
func geminiResult(raw json.RawMessage) string {
	b := object(raw)
	for _, name := range []string{"output", "result", "error"} {
		if len(b) == 1 && b.text(name) != "" {
			return b.text(name)
		}
	}
	return compact(raw)
}

func geminiResponse(d *draft, events []body) {
	for _, e := range events {
		d.Error = cmp.Or(d.Error, failure(e))
		for _, raw := range e.list("candidates") {
			c := object(raw)
			if i := string(c["index"]); i != "" && i != "0" {
				continue
			}
			for _, raw := range c.object("content").list("parts") {
				addPart(d, object(raw))
			}
		}
	}
}
