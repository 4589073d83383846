package dialect_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/plugins/models/dialect"
)

// marks are words that name an ability in some dialect, as names of members or
// as types. The walker below looks for them without knowing where they belong.
var marks = []string{
	"web_search", "web_fetch", "google_search", "googlesearch", "url_context", "urlcontext", "code_interpreter", "code_execution", "codeexecution",
	"file_search", "filesearch", "mcp_", "mcp", "mcpservers", "image_generation", "previous_response_id", "cached_content", "cachedcontent", "conversation",
	"filedata", "file_url", "file_id", "container", "container_auto", "fallbacks", "background", "item_reference", "plugins",
}

// freely are members whose content is the agent's own.
var freely = map[string]bool{
	"parameters": true, "input_schema": true, "metadata": true, "arguments": true, "args": true, "schema": true, "response": true, "input": true,
	"logit_bias": true, "chat_template_kwargs": true, "format": true, "action": true, "caller": true, "reasoning_details": true, "annotations": true,
	"cache_control": true, "citations": true, "labels": true, "response_format": true, "output_config": true, "tool_choice": true, "include": true,
	"guided_json": true, "json_schema": true, "structured_outputs": true, "grammar_triggers": true, "trace": true, "chat_template_args": true, "parsed": true,
	"parsed_arguments": true, "parsed_output": true, "extra_content": true, "max_price": true, "mm_processor_kwargs": true, "media_io_kwargs": true,
}

// suspicious walks over a body as encoding/json reads it and returns what could
// give the provider something else to do than to run the model.
func suspicious(v any, free bool) string {
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			low := strings.ToLower(name)
			if !free && inner != nil && inner != false && marked(low) && !empty(inner) {
				return name
			}
			if kind, ok := inner.(string); ok && !free && low == "type" && marked(strings.ToLower(kind)) {
				return kind
			}
			if link, ok := inner.(string); ok && !free && (low == "url" || low == "image_url" || low == "file_uri" || low == "fileuri") && !strings.HasPrefix(link, "data:") {
				return link
			}
			// the input of responses is a conversation, that of a tool is free
			_, conversation := inner.([]any)
			if s := suspicious(inner, free || freely[low] && !(low == "input" && conversation)); s != "" {
				return s
			}
		}
	case []any:
		for _, inner := range v {
			if s := suspicious(inner, free); s != "" {
				return s
			}
		}
	}
	return ""
}

func empty(v any) bool {
	items, ok := v.([]any)
	return ok && len(items) == 0
}

func marked(name string) bool {
	for _, m := range marks {
		if name == m || strings.HasPrefix(name, m+"_") || strings.HasSuffix(m, "_") && strings.HasPrefix(name, m) {
			return true
		}
	}
	return false
}

// FuzzRead looks for a body that passes and yet has what is not granted, or that
// encoding/json reads differently.
func FuzzRead(f *testing.F) {
	places := []struct{ dialect, path string }{
		{"openai", "/v1/chat/completions"}, {"openai", "/v1/responses"}, {"openai", "/v1/embeddings"}, {"anthropic", "/v1/messages"},
		{"gemini", "/v1beta/models/m:generateContent"}, {"gemini", "/v1beta/models/m:batchEmbedContents"},
	}
	for _, h := range hello {
		for i := range places {
			f.Add(uint8(i), []byte(h.begin+h.end))
		}
	}
	for i, body := range []string{
		`{"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AA"}}]}],"tools":[{"type":"function","function":{"name":"f","parameters":{"web_search":1}}}],"stream":true,"stream_options":{}}`,
		`{"model":"m","input":[{"role":"user","content":"x"},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":[{"type":"input_image","image_url":"data:image/png;base64,A"}]}],"tools":[{"type":"web_search"},{"type":"shell","environment":{"type":"local"}}]}`,
		`{"model":"m","input":[[1,2],[3]]}`,
		`{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"document","source":{"type":"base64","data":"AA"}}]}]}],"mcp_servers":[],"tools":[{"name":"x","input_schema":{}}]}`,
		`{"contents":[{"parts":[{"file_data":{"file_uri":"x"}},{"functionResponse":{"name":"f","response":{}}}]}],"tools":[{"google_search":{}},{"function_declarations":[]}],"generation_config":{"max_output_tokens":1}}`,
		`{"requests":[{"model":"models/m","content":{"parts":[{"text":"\ud83d\ude42"}]}}]}`,
	} {
		f.Add(uint8(i), []byte(body))
	}
	f.Fuzz(func(t *testing.T, place uint8, body []byte) {
		p := places[int(place)%len(places)]
		d := dialect.Named(p.dialect)
		r, err := d.Read(dialect.Incoming{Method: http.MethodPost, Path: p.path, Query: url.Values{}, Header: http.Header{}, Body: body}, nil)
		if err != nil {
			var refusal *dialect.Refusal
			if !errors.As(err, &refusal) || refusal.Text == "" {
				t.Fatalf("%v is no refusal", err)
			}
			if _, _, text := d.Error(*refusal); !json.Valid(text) {
				t.Fatalf("the refusal is no JSON: %s", text)
			}
			return
		}
		var v any
		if err := json.Unmarshal(r.Body, &v); err != nil {
			t.Fatalf("what passed is no JSON: %v", err)
		}
		if s := suspicious(v, false); s != "" {
			t.Fatalf("passed with %q: %s", s, body)
		}
		if len(r.Changed) == 0 && !bytes.Equal(r.Body, body) {
			t.Fatal("a body was changed without a word")
		}
		again, err := d.Read(dialect.Incoming{Method: http.MethodPost, Path: p.path, Query: url.Values{}, Header: http.Header{}, Body: r.Body}, nil)
		if err != nil || len(again.Changed) > 0 {
			t.Fatalf("what was forwarded does not pass itself: %v, %v", err, again)
		}
		if _, err := d.Canonical(string(r.Operation), body); err != nil {
			t.Fatalf("no canonical form: %v", err)
		}
		if r.InputTokens < 0 || r.OutputTokens < 0 || r.Choices < 0 || r.Stream && r.Operation == dialect.Embeddings && r.Choices > 0 {
			t.Fatalf("bounds %+v", r)
		}
	})
}

// FuzzMeter reads responses in pieces as a whole, and compares what a whole JSON
// text reports with what encoding/json finds in it.
func FuzzMeter(f *testing.F) {
	for i := range metered {
		f.Add(uint8(i), uint8(7), []byte(metered[i].body))
	}
	f.Fuzz(func(t *testing.T, which, size uint8, body []byte) {
		c := metered[int(which)%len(metered)]
		d := dialect.Named(c.dialect)
		whole, pieces := d.Usage(&c.request), d.Usage(&c.request)
		_, _ = whole.Write(body)
		n := int(size)%97 + 1
		for at := 0; at < len(body); at += n {
			_, _ = pieces.Write(body[at:min(at+n, len(body))])
			if at%13 == 0 {
				_, _ = pieces.Usage()
			}
		}
		u, ok := whole.Usage()
		v, too := pieces.Usage()
		if u != v || ok != too || whole.Done() != pieces.Done() || whole.Failed() != pieces.Failed() {
			t.Fatalf("whole %+v %v %v %q, in pieces %+v %v %v %q", u, ok, whole.Done(), whole.Failed(), v, too, pieces.Done(), pieces.Failed())
		}
		if c.request.Stream || c.request.Operation != dialect.ChatCompletions {
			return
		}
		var r struct {
			Usage *struct {
				Prompt     *int64 `json:"prompt_tokens"`
				Completion int64  `json:"completion_tokens"`
			} `json:"usage"`
		}
		valid := json.Valid(body) && bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("{"))
		if valid && !whole.Done() {
			t.Fatal("a whole object is not done")
		}
		if !valid || json.Unmarshal(body, &r) != nil || r.Usage == nil || r.Usage.Prompt == nil || exotic(body) {
			return
		}
		if !ok || u.Input != max(0, *r.Usage.Prompt) || u.Output < r.Usage.Completion {
			t.Fatalf("%+v, %v; encoding/json finds %d and %d", u, ok, *r.Usage.Prompt, r.Usage.Completion)
		}
	})
}

// exotic says that encoding/json itself reads a body in a way of its own: names
// in other cases, or twice.
func exotic(body []byte) bool {
	low := bytes.ToLower(body)
	return bytes.Count(low, []byte("usage")) != 1 || bytes.Count(low, []byte("_tokens")) != bytes.Count(body, []byte("_tokens")) ||
		bytes.Count(low, []byte("prompt_tokens\"")) != 1 || bytes.Count(low, []byte("completion_tokens\"")) > 1 || bytes.ContainsAny(body, "\\\u017f\u212a") || !bytes.Equal(low, body)
}

// FuzzCanonical looks for a body whose canonical form is not its own canonical
// form's, or a prefix of a conversation with another form than in the whole.
func FuzzCanonical(f *testing.F) {
	f.Add([]byte(`{"model":"m","messages":[{"role":"user","content":"Hi"},{"role":"assistant","tool_calls":[{"id":"call_9","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"call_9","content":"took 3.1s at 2026-01-02 03:04:05"}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		d := dialect.Named("openai")
		whole, err := d.Canonical(string(dialect.ChatCompletions), body)
		if err != nil {
			return
		}
		for _, p := range append(whole.Parts, dialect.Part{Text: whole.Fixed}) {
			if !json.Valid(p.Text) {
				t.Fatalf("no JSON: %s", p.Text)
			}
		}
		again := []byte(`{"messages":[`)
		for i, p := range whole.Parts {
			if i > 0 {
				again = append(again, ',')
			}
			again = append(again, p.Text...)
		}
		again = append(again, "]}"...)
		second, err := d.Canonical(string(dialect.ChatCompletions), again)
		if err != nil {
			t.Fatalf("%v: %s", err, again)
		}
		for i := range whole.Parts {
			if !bytes.Equal(whole.Parts[i].Text, second.Parts[i].Text) {
				t.Fatalf("%s became %s", whole.Parts[i].Text, second.Parts[i].Text)
			}
		}
	})
}
