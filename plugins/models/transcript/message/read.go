package message

import (
	"bytes"
	"cmp"
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
	dialect.EachEvent(raw, func(data []byte) {
		if b := object(data); b != nil {
			all = append(all, b)
		}
	})
	return all
}

// parts reads content that is a string or a list of typed parts. Parts without a text are named by
// their types in brackets.
func parts(raw []byte) string {
	if s := text(raw); s != "" {
		return s
	}
	var said []string
	for _, r := range list(raw) {
		p := object(r)
		switch {
		case p == nil:
			said = append(said, text(r))
		case p.has("text"):
			said = append(said, p.text("text"))
		case p.has("refusal"):
			said = append(said, p.text("refusal"))
		case p.text("type") != "":
			said = append(said, "["+strings.ToValidUTF8(p.text("type"), "")+"]")
		}
	}
	return join(said...)
}

// tools reads the tools that a request offers: functions, alone or in lists of declarations, and
// those of the provider, which are named by their types.
func tools(list []json.RawMessage) (all []Tool) {
	for _, raw := range list {
		t := object(raw)
		if t.has("function") {
			t = t.object("function")
		}
		for _, name := range []string{"functionDeclarations", "function_declarations"} {
			all = append(all, tools(t.list(name))...)
		}
		if name := cmp.Or(t.text("name"), t.text("type")); name != "" {
			schema := cmp.Or(string(t["parametersJsonSchema"]), string(t["input_schema"]), string(t["parameters"]))
			all = append(all, Tool{name, t.text("description"), schema})
		}
	}
	return all
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
