package modeltest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// gemini speaks Gemini's dialect.
type gemini struct{}

func (gemini) name() string { return "gemini" }

func (gemini) key(r *http.Request) string {
	if k := r.Header.Get("X-Goog-Api-Key"); k != "" {
		return k
	}
	return r.URL.Query().Get("key")
}

func (gemini) fail(f failure) any {
	kinds := map[int]string{
		400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 408: "CANCELLED",
		429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED", 529: "UNAVAILABLE",
	}
	kind := kinds[f.status]
	if kind == "" {
		kind = "UNKNOWN"
	}
	return object{"error": object{"code": f.status, "message": f.text, "status": kind}}
}

func (p gemini) failEvent(_ *Ask, f failure) event { return event{data: p.fail(f)} }

var geminiOperations = []string{"generateContent", "streamGenerateContent", "countTokens", "embedContent", "batchEmbedContents"}

func (gemini) ask(a *Ask) *failure {
	_, rest, _ := strings.Cut(strings.TrimPrefix(a.Path, "/"), "/")
	if a.Method == http.MethodGet && (rest == "models" || strings.HasPrefix(rest, "models/")) {
		a.Operation, a.Model = "models", strings.TrimPrefix(strings.TrimPrefix(rest, "models"), "/")
		return nil
	}
	model, verb, _ := strings.Cut(strings.TrimPrefix(rest, "models/"), ":")
	if a.Method != http.MethodPost || !strings.HasPrefix(rest, "models/") || !slices.Contains(geminiOperations, verb) {
		return failed(http.StatusNotFound, "Requested entity was not found.")
	}
	a.Operation, a.Model, a.Stream = verb, model, verb == "streamGenerateContent"
	if f := a.read(); f != nil {
		return f
	}
	for name, raw := range a.fields { // the provider accepts both spellings
		if words := strings.Split(name, "_"); len(words) > 1 {
			for i, w := range words[1:] {
				words[i+1] = strings.ToUpper(w[:1]) + w[1:]
			}
			a.fields[strings.Join(words, "")] = raw
		}
	}
	geminiConversation(a)
	if len(a.Messages) == 0 && (verb == "generateContent" || verb == "streamGenerateContent") {
		return failed(http.StatusBadRequest, "* GenerateContentRequest.contents: contents is not specified")
	}
	return nil
}

type geminiContent struct {
	Role  string
	Parts []struct {
		Text             string
		FunctionCall     *struct{ Name string }
		FunctionResponse *struct{ Response json.RawMessage }
	}
}

func geminiConversation(a *Ask) {
	var tools []struct {
		FunctionDeclarations []struct {
			Name                 string
			Parameters           json.RawMessage
			ParametersJSONSchema json.RawMessage `json:"parametersJsonSchema"`
		}
	}
	a.get("tools", &tools)
	for _, t := range tools {
		for _, f := range t.FunctionDeclarations {
			a.Tools = append(a.Tools, Tool{"function", f.Name, append(f.Parameters, f.ParametersJSONSchema...)})
		}
	}
	var system geminiContent
	var contents []geminiContent
	a.get("systemInstruction", &system)
	a.get("contents", &contents)
	if len(system.Parts) > 0 {
		system.Role = "system"
		contents = append([]geminiContent{system}, contents...)
	}
	for _, c := range contents {
		m := Message{Role: c.Role}
		switch c.Role {
		case "model":
			m.Role = "assistant"
		case "":
			m.Role = "user"
		}
		for _, p := range c.Parts {
			m.Text += p.Text
			if p.FunctionCall != nil {
				m.Calls = append(m.Calls, p.FunctionCall.Name)
			}
			if p.FunctionResponse != nil {
				m.Role = "tool"
				m.Text += string(p.FunctionResponse.Response)
			}
		}
		a.Messages = append(a.Messages, m)
	}
}

func (gemini) reply(s *Server, a *Ask, answer Answer) reply {
	u := answer.Usage
	switch a.Operation {
	case "models":
		one := func(name string) object {
			return object{"name": "models/" + name, "displayName": name, "version": "1", "inputTokenLimit": 1048576, "outputTokenLimit": 65536, "supportedGenerationMethods": geminiOperations}
		}
		if a.Model != "" {
			return reply{body: one(a.Model)}
		}
		data := list{}
		for _, m := range s.Models {
			data = append(data, one(m))
		}
		return reply{body: object{"models": data}}
	case "countTokens":
		return reply{body: object{"totalTokens": u.Input}}
	case "embedContent":
		return reply{body: object{"embedding": object{"values": vector(string(a.Body))}}}
	case "batchEmbedContents":
		var requests []json.RawMessage
		a.get("requests", &requests)
		data := list{}
		for _, r := range requests {
			data = append(data, object{"values": vector(string(r))})
		}
		return reply{body: object{"embeddings": data}}
	}
	return geminiContents(a, answer)
}

func geminiContents(a *Ask, answer Answer) reply {
	u := answer.Usage
	chunk := func(parts list, reason string, output, thoughts int64) object {
		candidate := object{"index": 0, "content": object{"role": "model", "parts": parts}}
		if reason != "" {
			candidate["finishReason"] = reason
		}
		usage := object{"promptTokenCount": u.Input, "candidatesTokenCount": output, "totalTokenCount": u.Input + output + thoughts}
		if thoughts > 0 {
			usage["thoughtsTokenCount"] = thoughts
		}
		if u.CacheRead > 0 {
			usage["cachedContentTokenCount"] = u.CacheRead
		}
		return object{"candidates": list{candidate}, "usageMetadata": usage, "modelVersion": a.Model, "responseId": fmt.Sprintf("r%d", a.Number)}
	}
	var calls list
	for _, t := range answer.Tools {
		args := t.Arguments
		if args == nil {
			args = object{}
		}
		calls = append(calls, object{"functionCall": object{"name": t.Name, "args": args}, "thoughtSignature": "c2lnbmF0dXJl"})
	}
	if !a.Stream {
		parts := list{}
		if answer.Reasoning != "" {
			parts = append(parts, object{"text": answer.Reasoning, "thought": true})
		}
		if answer.Text != "" {
			parts = append(parts, object{"text": answer.Text})
		}
		return reply{body: chunk(append(parts, calls...), "STOP", u.Output-u.Reasoning, u.Reasoning)}
	}
	var events []event
	if answer.Reasoning != "" {
		events = append(events, event{data: chunk(list{object{"text": answer.Reasoning, "thought": true}}, "", 0, u.Reasoning)})
	}
	for _, p := range pieces(answer.Text) {
		events = append(events, event{data: chunk(list{object{"text": p}}, "", 1, u.Reasoning)})
	}
	if calls == nil {
		calls = list{object{"text": ""}}
	}
	events = append(events, event{data: chunk(calls, "STOP", u.Output-u.Reasoning, u.Reasoning)})
	return reply{events: events, array: a.Query.Get("alt") != "sse"}
}
