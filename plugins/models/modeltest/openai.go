package modeltest

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
)

// openAI speaks OpenAI's dialect.
type openAI struct{}

func (openAI) name() string { return "openai" }

func (openAI) key(r *http.Request) string {
	return strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
}

func (openAI) fail(f failure) any {
	kind, code := "invalid_request_error", any(nil)
	switch {
	case f.status == http.StatusUnauthorized:
		code = "invalid_api_key"
	case f.status == http.StatusTooManyRequests:
		kind, code = "requests", "rate_limit_exceeded"
	case f.status >= 500:
		kind = "server_error"
	}
	return object{"error": object{"message": f.text, "type": kind, "param": nil, "code": code}}
}

func (o openAI) failEvent(a *Ask, f failure) event {
	if a.Operation == "responses" {
		return event{"error", object{"type": "error", "code": "server_error", "message": f.text, "param": nil, "sequence_number": 1}}
	}
	return event{data: o.fail(f)}
}

var openAIPaths = map[string]string{
	"/chat/completions": "chat", "/completions": "completions", "/responses": "responses", "/responses/input_tokens": "input_tokens", "/embeddings": "embeddings",
}

func (openAI) ask(a *Ask) *failure {
	path := strings.TrimPrefix(a.Path, "/v1")
	if strings.HasPrefix(path, "/models") && a.Method == http.MethodGet {
		a.Operation, a.Model = "models", strings.TrimPrefix(strings.TrimPrefix(path, "/models"), "/")
		return nil
	}
	a.Operation = openAIPaths[path]
	switch {
	case a.Operation == "":
		return failed(http.StatusNotFound, "Unknown request URL: %s %s", a.Method, a.Path)
	case a.Method != http.MethodPost:
		return failed(http.StatusMethodNotAllowed, "Not allowed to %s", a.Method)
	}
	if f := a.read(); f != nil {
		return f
	}
	a.get("model", &a.Model)
	a.get("stream", &a.Stream)
	if a.Model == "" {
		return failed(http.StatusBadRequest, "you must provide a model parameter")
	}
	openAITools(a)
	switch a.Operation {
	case "chat":
		openAIChat(a)
	case "responses", "input_tokens":
		openAIInput(a)
	default:
		var text string
		a.get("prompt", &text)
		a.get("input", &text)
		a.Messages = append(a.Messages, Message{Role: "user", Text: text})
	}
	if len(a.Messages) == 0 {
		return failed(http.StatusBadRequest, "[] is too short - 'messages'")
	}
	return nil
}

func openAITools(a *Ask) {
	var tools []struct {
		Type, Name string
		Parameters json.RawMessage
		Function   struct {
			Name       string
			Parameters json.RawMessage
		}
		Custom struct{ Name string }
	}
	a.get("tools", &tools)
	for _, t := range tools {
		a.Tools = append(a.Tools, Tool{t.Type, t.Name + t.Function.Name + t.Custom.Name, append(t.Parameters, t.Function.Parameters...)})
	}
}

func openAIChat(a *Ask) {
	var messages []struct {
		Role      string
		Content   json.RawMessage
		ToolCalls []struct {
			Function, Custom struct{ Name string }
		} `json:"tool_calls"`
	}
	a.get("messages", &messages)
	for _, m := range messages {
		out := Message{Role: m.Role, Text: textOf(m.Content)}
		if m.Role == "developer" {
			out.Role = "system"
		}
		for _, c := range m.ToolCalls {
			out.Calls = append(out.Calls, c.Function.Name+c.Custom.Name)
		}
		a.Messages = append(a.Messages, out)
	}
}

func openAIInput(a *Ask) {
	var text string
	a.get("instructions", &text)
	if text != "" {
		a.Messages = append(a.Messages, Message{Role: "system", Text: text})
	}
	text = ""
	a.get("input", &text)
	if text != "" {
		a.Messages = append(a.Messages, Message{Role: "user", Text: text})
		return
	}
	var items []struct {
		Type, Role, Name string
		Content, Output  json.RawMessage
	}
	a.get("input", &items)
	for _, i := range items {
		switch {
		case strings.HasSuffix(i.Type, "_output"):
			a.Messages = append(a.Messages, Message{Role: "tool", Text: textOf(i.Output)})
		case strings.HasSuffix(i.Type, "_call"):
			a.Messages = append(a.Messages, Message{Role: "assistant", Calls: []string{i.Name}})
		case i.Role == "developer":
			a.Messages = append(a.Messages, Message{Role: "system", Text: textOf(i.Content)})
		case i.Role != "":
			a.Messages = append(a.Messages, Message{Role: i.Role, Text: textOf(i.Content)})
		}
	}
}

func (o openAI) reply(s *Server, a *Ask, answer Answer) reply {
	switch a.Operation {
	case "models":
		return reply{body: openAIModels(s, a)}
	case "embeddings":
		return reply{body: openAIEmbeddings(a, answer)}
	case "input_tokens":
		return reply{body: object{"object": "response.input_tokens", "input_tokens": answer.Usage.Input}}
	case "responses":
		return openAIResponse(s, a, answer)
	}
	if s.Tokens != nil {
		return s.Tokens.reply(s, a, answer)
	}
	return openAICompletion(s, a, answer)
}

func openAIModels(s *Server, a *Ask) any {
	one := func(name string) object {
		return object{"id": name, "object": "model", "created": s.Created, "owned_by": "modeltest"}
	}
	if a.Model != "" {
		return one(a.Model)
	}
	data := list{}
	for _, m := range s.Models {
		data = append(data, one(m))
	}
	return object{"object": "list", "data": data}
}

// vector returns a deterministic embedding of a text.
func vector(text string) []float32 {
	v := make([]float32, 8)
	for i := range len(text) {
		v[i%len(v)] += float32(text[i])
	}
	return v
}

func openAIEmbeddings(a *Ask, answer Answer) any {
	var inputs []json.RawMessage
	if a.get("input", &inputs); inputs == nil {
		inputs = append(inputs, a.fields["input"])
	}
	var format string
	a.get("encoding_format", &format)
	data := list{}
	for i, in := range inputs {
		v := vector(string(in))
		var out any = v
		if format == "base64" {
			var raw []byte
			for _, x := range v {
				raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
			}
			out = base64.StdEncoding.EncodeToString(raw)
		}
		data = append(data, object{"object": "embedding", "index": i, "embedding": out})
	}
	return object{"object": "list", "model": a.Model, "data": data, "usage": object{"prompt_tokens": answer.Usage.Input, "total_tokens": answer.Usage.Input}}
}

func openAIUsage(u *Usage) object {
	return object{
		"prompt_tokens": u.Input, "completion_tokens": u.Output, "total_tokens": u.Input + u.Output,
		"prompt_tokens_details":     object{"cached_tokens": u.CacheRead, "audio_tokens": 0},
		"completion_tokens_details": object{"reasoning_tokens": u.Reasoning, "audio_tokens": 0},
	}
}

func openAICompletion(s *Server, a *Ask, answer Answer) reply {
	id := fmt.Sprintf("chatcmpl-%d", a.Number)
	reason, message := "stop", object{"role": "assistant", "content": answer.Text, "refusal": nil}
	var calls list
	for i, t := range answer.Tools {
		reason = "tool_calls"
		calls = append(calls, object{"index": i, "id": t.ID, "type": "function", "function": object{"name": t.Name, "arguments": arguments(t)}})
	}
	if answer.Reasoning != "" {
		message["reasoning_content"] = answer.Reasoning
	}
	if !a.Stream {
		if calls != nil {
			for _, c := range calls {
				delete(c.(object), "index")
			}
			message["tool_calls"] = calls
			if answer.Text == "" {
				message["content"] = nil
			}
		}
		choice := object{"index": 0, "message": message, "logprobs": nil, "finish_reason": reason}
		kind := "chat.completion"
		if a.Operation == "completions" {
			choice, kind = object{"index": 0, "text": answer.Text, "logprobs": nil, "finish_reason": reason}, "text_completion"
		}
		return reply{body: object{"id": id, "object": kind, "created": s.Created, "model": a.Model, "choices": list{choice}, "usage": openAIUsage(answer.Usage)}}
	}
	var options struct {
		IncludeUsage bool `json:"include_usage"`
	}
	a.get("stream_options", &options)
	var events []event
	chunk := func(choices list) object {
		o := object{"id": id, "object": "chat.completion.chunk", "created": s.Created, "model": a.Model, "choices": choices}
		if options.IncludeUsage {
			o["usage"] = nil
		}
		events = append(events, event{data: o})
		return o
	}
	say := func(delta object, reason any) {
		choice := object{"index": 0, "delta": delta, "finish_reason": reason}
		if a.Operation == "completions" {
			choice = object{"index": 0, "text": delta["content"], "finish_reason": reason}
		}
		chunk(list{choice})
	}
	say(object{"role": "assistant", "content": ""}, nil)
	for _, p := range pieces(answer.Reasoning) {
		say(object{"reasoning_content": p}, nil)
	}
	for _, p := range pieces(answer.Text) {
		say(object{"content": p}, nil)
	}
	for i, t := range answer.Tools {
		say(object{"tool_calls": list{object{"index": i, "id": t.ID, "type": "function", "function": object{"name": t.Name, "arguments": ""}}}}, nil)
		for _, p := range pieces(arguments(t)) {
			say(object{"tool_calls": list{object{"index": i, "function": object{"arguments": p}}}}, nil)
		}
	}
	say(object{}, reason)
	if options.IncludeUsage {
		chunk(list{})["usage"] = openAIUsage(answer.Usage)
	}
	return reply{events: append(events, event{data: "[DONE]"})}
}

// arguments returns the arguments of a call as JSON text.
func arguments(t ToolCall) string {
	if t.Arguments == nil {
		return "{}"
	}
	return string(encode(t.Arguments))
}

// openAIItems returns the items of a response: thoughts, text, calls.
func openAIItems(a *Ask, answer Answer) []object {
	var items []object
	id := func(kind string) string { return fmt.Sprintf("%s_%d_%d", kind, a.Number, len(items)+1) }
	if answer.Reasoning != "" {
		items = append(items, object{"id": id("rs"), "type": "reasoning", "summary": list{object{"type": "summary_text", "text": answer.Reasoning}}, "encrypted_content": nil})
	}
	if answer.Text != "" || len(answer.Tools) == 0 {
		items = append(items, object{"id": id("msg"), "type": "message", "status": "completed", "role": "assistant", "content": list{
			object{"type": "output_text", "text": answer.Text, "annotations": list{}, "logprobs": list{}},
		}})
	}
	for _, t := range answer.Tools {
		custom := slices.ContainsFunc(a.Tools, func(o Tool) bool { return o.Type == "custom" && o.Name == t.Name })
		if custom {
			items = append(items, object{"id": id("ctc"), "type": "custom_tool_call", "status": "completed", "call_id": t.ID, "name": t.Name, "input": t.Input})
			continue
		}
		items = append(items, object{"id": id("fc"), "type": "function_call", "status": "completed", "call_id": t.ID, "name": t.Name, "arguments": arguments(t)})
	}
	return items
}

func openAIResponse(s *Server, a *Ask, answer Answer) reply {
	u := answer.Usage
	items := openAIItems(a, answer)
	output := list{}
	for _, i := range items {
		output = append(output, i)
	}
	response := func(status string, output list, usage any) object {
		return object{
			"id": fmt.Sprintf("resp_%d", a.Number), "object": "response", "created_at": s.Created, "status": status, "model": a.Model,
			"error": nil, "incomplete_details": nil, "instructions": nil, "metadata": object{}, "output": output, "parallel_tool_calls": true,
			"temperature": 1, "top_p": 1, "tool_choice": "auto", "tools": list{}, "usage": usage,
		}
	}
	usage := object{
		"input_tokens": u.Input, "input_tokens_details": object{"cached_tokens": u.CacheRead, "cache_write_tokens": u.CacheWrite},
		"output_tokens": u.Output, "output_tokens_details": object{"reasoning_tokens": u.Reasoning}, "total_tokens": u.Input + u.Output,
	}
	if !a.Stream {
		return reply{body: response("completed", output, usage)}
	}
	var events []event
	say := func(kind string, o object) {
		o["type"], o["sequence_number"] = kind, len(events)
		events = append(events, event{kind, o})
	}
	say("response.created", object{"response": response("in_progress", list{}, nil)})
	say("response.in_progress", object{"response": response("in_progress", list{}, nil)})
	for i, item := range items {
		openAIItem(say, i, item)
	}
	say("response.completed", object{"response": response("completed", output, usage)})
	return reply{events: events}
}

// openAIItem sends an item as a sequence of events.
func openAIItem(say func(string, object), index int, item object) {
	begun := object{}
	maps.Copy(begun, item)
	begun["status"] = "in_progress"
	at := func(o object) object {
		o["item_id"], o["output_index"] = item["id"], index
		return o
	}
	stream := func(kind, part, text string) {
		for _, p := range pieces(text) {
			say(kind+".delta", at(object{"delta": p}))
		}
		say(kind+".done", at(object{part: text}))
	}
	switch item["type"] {
	case "message":
		begun["content"] = list{}
		say("response.output_item.added", object{"output_index": index, "item": begun})
		part := item["content"].(list)[0].(object)
		say("response.content_part.added", at(object{"content_index": 0, "part": object{"type": "output_text", "text": "", "annotations": list{}, "logprobs": list{}}}))
		for _, p := range pieces(part["text"].(string)) {
			say("response.output_text.delta", at(object{"content_index": 0, "delta": p, "logprobs": list{}}))
		}
		say("response.output_text.done", at(object{"content_index": 0, "text": part["text"], "logprobs": list{}}))
		say("response.content_part.done", at(object{"content_index": 0, "part": part}))
	case "function_call":
		begun["arguments"] = ""
		say("response.output_item.added", object{"output_index": index, "item": begun})
		stream("response.function_call_arguments", "arguments", item["arguments"].(string))
	case "custom_tool_call":
		begun["input"] = ""
		say("response.output_item.added", object{"output_index": index, "item": begun})
		stream("response.custom_tool_call_input", "input", item["input"].(string))
	default:
		delete(begun, "status")
		say("response.output_item.added", object{"output_index": index, "item": begun})
	}
	say("response.output_item.done", object{"output_index": index, "item": item})
}
