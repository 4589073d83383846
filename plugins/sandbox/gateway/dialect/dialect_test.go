package dialect_test

import (
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/plugins/sandbox/gateway/dialect"
)

// read reads a POST.
func read(t *testing.T, name, path, body string, grants ...dialect.Ability) (*dialect.Request, *dialect.Refusal) {
	t.Helper()
	granted := dialect.Grants{}
	for _, a := range grants {
		granted[a] = true
	}
	r, err := dialect.Named(name).Read("POST", path, url.Values{}, http.Header{"Content-Type": {"application/json"}}, []byte(body), granted)
	var refusal *dialect.Refusal
	if err != nil && !errors.As(err, &refusal) {
		t.Fatalf("%v is no refusal", err)
	}
	return r, refusal
}

// hello is the least request of each operation, with something to be put into
// it.
var hello = map[string]struct{ dialect, path, begin, end string }{
	"chat":      {"openai", "/v1/chat/completions", `{"model":"m",`, `"messages":[{"role":"user","content":"Hi"}]}`},
	"responses": {"openai", "/v1/responses", `{"model":"m",`, `"input":"Hi"}`},
	"embedding": {"openai", "/v1/embeddings", `{"model":"m",`, `"input":["Hi"]}`},
	"messages":  {"anthropic", "/v1/messages", `{"model":"m","max_tokens":5,`, `"messages":[{"role":"user","content":"Hi"}]}`},
	"count":     {"anthropic", "/v1/messages/count_tokens", `{"model":"m",`, `"messages":[{"role":"user","content":"Hi"}]}`},
	"generate":  {"gemini", "/v1beta/models/m:generateContent", `{`, `"contents":[{"role":"user","parts":[{"text":"Hi"}]}]}`},
	"stream":    {"gemini", "/v1beta/models/m:streamGenerateContent", `{`, `"contents":[{"role":"user","parts":[{"text":"Hi"}]}]}`},
	"embed":     {"gemini", "/v1beta/models/m:embedContent", `{`, `"content":{"parts":[{"text":"Hi"}]}}`},
	"embeds":    {"gemini", "/v1beta/models/m:batchEmbedContents", `{`, `"requests":[{"model":"models/m","content":{"parts":[{"text":"Hi"}]}}]}`},
}

func TestPlainRequestsPass(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(hello)) {
		h := hello[name]
		body := h.begin + h.end
		r, refusal := read(t, h.dialect, h.path, body)
		if refusal != nil {
			t.Errorf("%s: %v", name, refusal)
			continue
		}
		if string(r.Body) != body || r.Model != "m" || len(r.Changed) > 0 || r.Hidden || r.InputTokens < int64(len(body)) {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// TestAbilitiesAreRefused shows for each of them that a request with it is
// refused, and let through where it is granted.
func TestAbilitiesAreRefused(t *testing.T) {
	for _, c := range []struct {
		where   string
		ability dialect.Ability
		extra   string
	}{
		{"chat", dialect.WebSearch, `"web_search_options":{}`},
		{"chat", dialect.WebSearch, `"\u0077eb_search_options":{}`},
		{"chat", dialect.UnknownFields, `"Tools":[]`},
		{"chat", dialect.UnknownFields, `"plugins":[{"id":"web"}]`},
		{"chat", dialect.UnknownFields, `"tools":[{"type":"web_search"}]`},
		{"chat", dialect.Audio, `"modalities":["text","audio"],"audio":null`},
		{"chat", dialect.Premium, `"service_tier":"priority"`},
		{"responses", dialect.WebSearch, `"tools":[{"type":"function","name":"f"},{"type":"web_search_preview_2025_03_11"}]`},
		{"responses", dialect.WebSearch, `"tools":[{"type":"web_search","external_web_access":false}]`},
		{"responses", dialect.CodeInterpreter, `"tools":[{"type":"code_interpreter","container":{"type":"auto"}}]`},
		{"responses", dialect.CodeInterpreter, `"tools":[{"type":"shell","environment":{"type":"container_auto"}}]`},
		{"responses", dialect.FileSearch, `"tools":[{"type":"file_search","vector_store_ids":["v"]}]`},
		{"responses", dialect.MCP, `"tools":[{"type":"mcp","server_label":"x","server_url":"https://x"}]`},
		{"responses", dialect.ImageGeneration, `"tools":[{"type":"image_generation"}]`},
		{"responses", dialect.ServerState, `"previous_response_id":"resp_1"`},
		{"responses", dialect.ServerState, `"conversation":"conv_1"`},
		{"responses", dialect.ServerState, `"background":true`},
		{"responses", dialect.ServerState, `"prompt":{"id":"p"}`},
		{"messages", dialect.WebSearch, `"tools":[{"type":"web_search_20250305","name":"web_search"}]`},
		{"messages", dialect.WebFetch, `"tools":[{"type":"web_fetch_20250910","name":"web_fetch"}]`},
		{"messages", dialect.CodeInterpreter, `"tools":[{"type":"code_execution_20250825","name":"code_execution"}]`},
		{"messages", dialect.CodeInterpreter, `"container":{"skills":[]}`},
		{"messages", dialect.MCP, `"mcp_servers":[{"type":"url","url":"https://x","name":"x"}]`},
		{"messages", dialect.OtherModels, `"fallbacks":"default"`},
		{"messages", dialect.Premium, `"speed":"fast"`},
		{"messages", dialect.UnknownFields, `"tools":[{"type":"teleport_20300101","name":"x"}]`},
		{"count", dialect.WebSearch, `"tools":[{"type":"web_search_20250305","name":"web_search"}]`},
		{"generate", dialect.WebSearch, `"tools":[{"googleSearch":{}}]`},
		{"generate", dialect.WebSearch, `"tools":[{"google_search":{}}]`},
		{"stream", dialect.WebSearch, `"tools":[{"google_search_retrieval":{}}]`},
		{"generate", dialect.WebFetch, `"tools":[{"urlContext":{}}]`},
		{"generate", dialect.CodeInterpreter, `"tools":[{"codeExecution":{}}]`},
		{"generate", dialect.ServerState, `"cachedContent":"cachedContents/x"`},
		{"generate", dialect.ServerState, `"cached_content":"cachedContents/x"`},
		{"generate", dialect.RemoteFiles, `"systemInstruction":{"parts":[{"fileData":{"fileUri":"https://x"}}]}`},
		{"generate", dialect.ImageGeneration, `"generationConfig":{"responseModalities":["IMAGE"]}`},
	} {
		h := hello[c.where]
		body := h.begin + c.extra + "," + h.end
		_, refusal := read(t, h.dialect, h.path, body)
		if refusal == nil || refusal.Reason != dialect.NotAllowed || refusal.Ability != c.ability {
			t.Errorf("%s %s: refused as %+v, want %s", c.where, c.extra, refusal, c.ability)
			continue
		}
		if _, refusal := read(t, h.dialect, h.path, body, c.ability); refusal != nil {
			t.Errorf("%s %s: granted, but %v", c.where, c.extra, refusal)
		}
	}
}

func TestRemoteFilesAreRefused(t *testing.T) {
	for _, c := range []struct{ dialect, path, body string }{
		{"openai", "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"X"}}]}]}`},
		{"openai", "/v1/responses", `{"model":"m","input":[{"role":"user","content":[{"type":"input_image","image_url":"X"}]}]}`},
		{"openai", "/v1/responses", `{"model":"m","input":[{"type":"function_call_output","call_id":"c","output":[{"type":"input_image","image_url":"X"}]}]}`},
	} {
		for _, address := range []string{"https://example.com/a.png", "http://10.0.0.1", " data:image/png;base64,AA", "DATA:x", "file:///etc/passwd", "gs://x"} {
			_, refusal := read(t, c.dialect, c.path, strings.Replace(c.body, "X", address, 1))
			if refusal == nil || refusal.Ability != dialect.RemoteFiles {
				t.Errorf("%s: %+v", address, refusal)
			}
		}
		if _, refusal := read(t, c.dialect, c.path, strings.Replace(c.body, "X", "data:image/png;base64,iVBORw0KGgo=", 1)); refusal != nil {
			t.Errorf("an image in the body: %v", refusal)
		}
	}
}

// TestJSONTraps has bodies that two readers may understand differently.
func TestJSONTraps(t *testing.T) {
	const inner = `"messages":[{"role":"user","content":"Hi"}]`
	for name, body := range map[string]string{
		"a name twice":             `{"model":"m","model":"other",` + inner + `}`,
		"twice with an escape":     `{"model":"m","mode\u006c":"other",` + inner + `}`,
		"twice deep inside":        `{"model":"m","metadata":{"a":{"b":1,"b":2}},` + inner + `}`,
		"a byte order mark":        "\xef\xbb\xbf" + `{"model":"m",` + inner + `}`,
		"something after it":       `{"model":"m",` + inner + `}{"model":"other"}`,
		"no UTF-8":                 `{"model":"m","user":"` + "\xff" + `",` + inner + `}`,
		"UTF-16":                   "{\x00\"\x00m\x00",
		"a comment":                `{"model":"m",/* */` + inner + `}`,
		"a trailing comma":         `{"model":"m",` + inner + `,}`,
		"single quotes":            `{'model':'m'}`,
		"NaN":                      `{"model":"m","temperature":NaN,` + inner + `}`,
		"a leading zero":           `{"model":"m","n":01,` + inner + `}`,
		"a control character":      `{"model":"m","user":"` + "\x01" + `",` + inner + `}`,
		"deep nesting":             `{"model":"m","metadata":` + strings.Repeat("[", 100000) + strings.Repeat("]", 100000) + `,` + inner + `}`,
		"many values":              `{"model":"m","logit_bias":[` + strings.Repeat("0,", 1<<20) + `0],` + inner + `}`,
		"an array":                 `[{"model":"m",` + inner + `}]`,
		"nothing":                  ``,
		"a limit as a string":      `{"model":"m","max_tokens":"9",` + inner + `}`,
		"a limit with an exponent": `{"model":"m","max_tokens":1e9,` + inner + `}`,
		"a huge limit":             `{"model":"m","max_tokens":99999999999999999999,` + inner + `}`,
		"stream as a string":       `{"model":"m","stream":"true",` + inner + `}`,
		"a model in a list":        `{"model":["m"],` + inner + `}`,
		"no model":                 `{` + inner + `}`,
		"a model with a newline":   `{"model":"m\n",` + inner + `}`,
	} {
		_, refusal := read(t, "openai", "/v1/chat/completions", body)
		if refusal == nil || refusal.Reason != dialect.BadRequest {
			t.Errorf("%s: %+v", name, refusal)
		}
	}
	_, refusal := read(t, "gemini", "/v1beta/models/m:generateContent", `{"generationConfig":{"maxOutputTokens":1,"max_output_tokens":9000}}`)
	if refusal == nil {
		t.Error("a name in two spellings passed")
	}
}

func TestUsageIsAskedFor(t *testing.T) {
	const inner = `"messages":[{"role":"user","content":"Hi"}]}`
	for body, want := range map[string]string{
		` { "model":"m","stream":true,` + inner:                                              ` {"stream_options":{"include_usage":true}, "model":"m","stream":true,` + inner,
		`{"stream_options":null,"model":"m","stream":true,` + inner:                          `{"stream_options":{"include_usage":true},"model":"m","stream":true,` + inner,
		`{"stream_options": { },"model":"m","stream":true,` + inner:                          `{"stream_options": {"include_usage":true},"model":"m","stream":true,` + inner,
		`{"stream_options":{"include_usage": false },"model":"m","stream":true,` + inner:     `{"stream_options":{"include_usage": true },"model":"m","stream":true,` + inner,
		`{"stream_options":{"include_obfuscation":false},"model":"m","stream":true,` + inner: `{"stream_options":{"include_usage":true,"include_obfuscation":false},"model":"m","stream":true,` + inner,
		`{"stream_options":{"include_usage":true},"model":"m","stream":true,` + inner:        "",
		`{"model":"m","stream":false,` + inner:                                               "",
	} {
		r, refusal := read(t, "openai", "/v1/chat/completions", body)
		if refusal != nil {
			t.Fatal(refusal)
		}
		if want == "" {
			want = body
		}
		if diff := cmp.Diff(want, string(r.Body)); diff != "" {
			t.Error(diff)
		}
		if (len(r.Changed) == 1) != (want != body) {
			t.Errorf("changed %v", r.Changed)
		}
	}
}

func TestBounds(t *testing.T) {
	for _, c := range []struct {
		where, extra    string
		output, choices int64
	}{
		{"chat", `"max_tokens":10,"max_completion_tokens":20,"n":3`, 20, 3},
		{"chat", `"max_tokens":null,"n":0`, 0, 1},
		{"chat", `"max_tokens":-1`, 0, 1},
		{"responses", `"max_output_tokens":7`, 7, 1},
		{"embedding", `"dimensions":8`, 0, 0},
		{"messages", `"thinking":{"type":"enabled","budget_tokens":1024}`, 5, 1},
		{"generate", `"generationConfig":{"maxOutputTokens":10,"candidateCount":2,"thinkingConfig":{"thinkingBudget":100}}`, 110, 2},
		{"stream", `"generation_config":{"max_output_tokens":10,"thinking_config":{"thinking_budget":-1}}`, 10, 1},
	} {
		h := hello[c.where]
		r, refusal := read(t, h.dialect, h.path, h.begin+c.extra+","+h.end)
		if refusal != nil {
			t.Errorf("%s: %v", c.extra, refusal)
			continue
		}
		if r.OutputTokens != c.output || r.Choices != c.choices {
			t.Errorf("%s: %d of %d", c.extra, r.Choices, r.OutputTokens)
		}
	}
}

func TestKeys(t *testing.T) {
	for _, d := range dialect.All() {
		h, q := http.Header{"Authorization": {"Bearer virtual"}}, url.Values{"key": {"virtual"}}
		if got := d.Key(h, q); got != "virtual" {
			t.Errorf("%s: key %q", d.Name(), got)
		}
		d.SetKey(h, q, "real")
		if got := d.Key(h, q); got != "real" || strings.Contains(q.Encode(), "key") {
			t.Errorf("%s: key %q, query %v", d.Name(), got, q)
		}
		h.Add("Authorization", "Bearer other")
		h.Add("Authorization", "Bearer real")
		if got := d.Key(h, q); got != "" {
			t.Errorf("%s: one of several keys is taken: %q", d.Name(), got)
		}
	}
}
