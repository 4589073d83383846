package dialect_test

import (
	"errors"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/plugins/models/dialect"
)

// read reads a POST.
func read(t *testing.T, name, path, body string, grants ...dialect.Ability) (*dialect.Request, *dialect.Refusal) {
	t.Helper()
	granted := dialect.Grants{}
	for _, a := range grants {
		granted[a] = true
	}
	r, err := dialect.Named(name).Read(dialect.Incoming{Method: "POST", Path: path, Query: url.Values{}, Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte(body)}, granted)
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

// TestAbilitiesAreDocumented finds each ability in the page for users.
func TestAbilitiesAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/models.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range dialect.Abilities() {
		if !strings.Contains(string(page), "| `"+string(a.Ability)+"` | "+a.Text) {
			t.Errorf("docs/models.md lacks %s: %s", a.Ability, a.Text)
		}
	}
}

// TestEndpoints has paths that pass, and ones that do not, whatever their
// spelling.
func TestEndpoints(t *testing.T) {
	for _, c := range []struct {
		dialect, method, path string
		query                 string
		want                  dialect.Ability
	}{
		{"openai", "GET", "/v1/models", "", ""},
		{"openai", "GET", "/v1/models/gpt-5.5", "", ""},
		{"openai", "GET", "/v1/files", "", dialect.Files},
		{"openai", "POST", "/v1/files/file-1/content", "", dialect.Files},
		{"openai", "POST", "/v1/batches", "", dialect.Batch},
		{"openai", "POST", "/v1/fine_tuning/jobs", "", dialect.FineTuning},
		{"openai", "POST", "/v1/vector_stores/vs/search", "", dialect.FileSearch},
		{"openai", "GET", "/v1/responses/resp_1", "", dialect.ServerState},
		{"openai", "POST", "/v1/containers", "", dialect.CodeInterpreter},
		{"openai", "GET", "/v1/organization/usage", "", dialect.UnknownFields},
		{"openai", "POST", "/v1/images/generations", "", dialect.UnknownFields},
		{"openai", "POST", "/v1//chat/completions", "", dialect.UnknownFields},
		{"openai", "POST", "/v1/models/../files", "", dialect.UnknownFields},
		{"openai", "POST", "/v1/chat/completions/", "", dialect.UnknownFields},
		{"openai", "POST", "/v1/chat%2Fcompletions", "", dialect.UnknownFields},
		{"openai", "POST", "/V1/chat/completions", "", dialect.UnknownFields},
		{"openai", "GET", "/v1/models", "x=1", dialect.UnknownFields},
		{"anthropic", "GET", "/v1/models", "beta=true&limit=9", ""},
		{"anthropic", "POST", "/v1/messages/batches", "", dialect.Batch},
		{"anthropic", "GET", "/v1/messages", "", dialect.UnknownFields},
		{"anthropic", "POST", "/v1/files", "", dialect.Files},
		{"anthropic", "POST", "/v1/complete", "", dialect.UnknownFields},
		{"gemini", "GET", "/v1beta/models", "key=virtual&pageSize=9", ""},
		{"gemini", "GET", "/v1/models/gemini-3", "", ""},
		{"gemini", "GET", "/v1beta/models", "$httpMethod=POST", dialect.UnknownFields},
		{"gemini", "GET", "/v1beta/models", "fields=models", dialect.UnknownFields},
		{"gemini", "POST", "/upload/v1beta/files", "", dialect.Files},
		{"gemini", "POST", "/v1beta/models/m:batchGenerateContent", "", dialect.UnknownFields},
		{"gemini", "POST", "/v1beta/cachedContents", "", dialect.ServerState},
		{"gemini", "POST", "/v1beta/tunedModels/m:generateContent", "", dialect.FineTuning},
		{"gemini", "POST", "/v1beta/models/m:generateContent:streamGenerateContent", "", dialect.UnknownFields},
		{"gemini", "POST", "/v1beta/interactions", "", dialect.UnknownFields},
	} {
		query, err := url.ParseQuery(c.query)
		if err != nil {
			t.Fatal(err)
		}
		r, err := dialect.Named(c.dialect).Read(dialect.Incoming{Method: c.method, Path: c.path, Query: query, Header: http.Header{}}, nil)
		var refusal *dialect.Refusal
		switch {
		case c.want == "" && (err != nil || r.Query.Has("key")):
			t.Errorf("%s %s: %v, %+v", c.method, c.path, err, r)
		case c.want != "" && (!errors.As(err, &refusal) || refusal.Reason != dialect.NotAllowed || refusal.Ability != c.want):
			t.Errorf("%s %s?%s: %v, want %s", c.method, c.path, c.query, err, c.want)
		}
	}
}

// TestHeaders lets no header pass that could mean something else to a provider.
func TestHeaders(t *testing.T) {
	for _, d := range dialect.All() {
		h := hello[map[string]string{"openai": "chat", "anthropic": "messages", "gemini": "generate"}[d.Name()]]
		header := http.Header{"Content-Type": {"application/json; charset=UTF-8"}, "User-Agent": {"x"}}
		for _, name := range []string{"Authorization", "X-Api-Key", "X-Goog-Api-Key", "X-Http-Method-Override", "X-Goog-User-Project", "Openai-Organization", "Cookie", "X-Forwarded-For", "Host", "Content-Encoding", "Transfer-Encoding"} {
			header.Set(name, "virtual")
		}
		r, err := d.Read(dialect.Incoming{Method: "POST", Path: h.path, Query: url.Values{}, Header: header, Body: []byte(h.begin + h.end)}, nil)
		if err != nil {
			t.Fatalf("%s, with the request of hello: %v", d.Name(), err)
		}
		if diff := cmp.Diff(http.Header{"Content-Type": {"application/json"}, "User-Agent": {"x"}}, r.Header); diff != "" {
			t.Errorf("%s:\n%s", d.Name(), diff)
		}
		for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/json; charset=utf-16", "application/json;;"} {
			header.Set("Content-Type", kind)
			if _, err := d.Read(dialect.Incoming{Method: "POST", Path: h.path, Query: url.Values{}, Header: header, Body: []byte(h.begin + h.end)}, nil); err == nil {
				t.Errorf("%s: %s passed", d.Name(), kind)
			}
		}
	}
}

// TestMediaAreBounded: an image counts what it may count at most, however small
// it is; what is in a PDF, nobody knows.
func TestMediaAreBounded(t *testing.T) {
	big := strings.Repeat("A", 1<<20)
	for _, c := range []struct {
		dialect, path, body string
		hidden              bool
	}{
		{"openai", "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,X"}}]}]}`, false},
		{"openai", "/v1/responses", `{"model":"m","input":[{"role":"user","content":[{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,X"}]}]}`, true},
		{"anthropic", "/v1/messages", `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"X"}}]}]}`, false},
		{"anthropic", "/v1/messages", `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"X"}}]}]}`, true},
		{"gemini", "/v1beta/models/m:generateContent", `{"contents":[{"parts":[{"inline_data":{"mime_type":"image/png","data":"X"}}]}]}`, false},
		{"gemini", "/v1beta/models/m:generateContent", `{"contents":[{"parts":[{"inlineData":{"mimeType":"application/pdf","data":"X"}}]}]}`, true},
	} {
		small, refusal := read(t, c.dialect, c.path, strings.Replace(c.body, "X", "AAAA", 1))
		if refusal != nil {
			t.Fatal(refusal)
		}
		large, _ := read(t, c.dialect, c.path, strings.Replace(c.body, "X", big, 1))
		if small.Hidden != c.hidden || large.Hidden != c.hidden {
			t.Errorf("%s: hidden %v", c.path, small.Hidden)
		}
		if !c.hidden && (small.InputTokens < 4784 || large.InputTokens > 80000) {
			t.Errorf("%s: an image counts from %d to %d", c.path, small.InputTokens, large.InputTokens)
		}
	}
}

// TestAbilitiesDeepInside has them where a filter may not look: in histories, in
// results of tools, in tools within tools.
func TestAbilitiesDeepInside(t *testing.T) {
	responses := func(item string) string { return `{"model":"m","input":[` + item + `]}` }
	messages := func(block string) string {
		return `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[` + block + `]}]}`
	}
	result := func(block string) string {
		return messages(`{"type":"tool_result","tool_use_id":"t","content":[` + block + `]}`)
	}
	const (
		toResponses, toMessages, toGemini = "/v1/responses", "/v1/messages", "/v1beta/models/m:generateContent"
	)
	for _, c := range []struct {
		dialect, path, body string
		ability             dialect.Ability
	}{
		{"openai", toResponses, responses(`{"type":"web_search_call","id":"ws","action":{}}`), dialect.WebSearch},
		{"openai", toResponses, responses(`{"type":"mcp_call","id":"x"}`), dialect.MCP},
		{"openai", toResponses, responses(`{"type":"item_reference","id":"x"}`), dialect.ServerState},
		{"openai", toResponses, responses(`{"type":"additional_tools","role":"developer","tools":[{"type":"web_search"}]}`), dialect.WebSearch},
		{"openai", toResponses, responses(`{"type":"tool_search_output","execution":"client","tools":[{"type":"mcp","server_url":"x"}]}`), dialect.MCP},
		{"openai", toResponses, responses(`{"type":"tool_search_output","execution":"client","tools":[{"type":"namespace","name":"n","tools":[{"type":"web_search"}]}]}`), dialect.UnknownFields},
		{"openai", toResponses, responses(`{"type":"unheard_of"}`), dialect.UnknownFields},
		{"openai", toResponses, responses(`{"role":"user","content":[{"type":"input_file","file_url":"https://x"}]}`), dialect.RemoteFiles},
		{"openai", toResponses, responses(`{"role":"user","content":[{"type":"input_image","file_id":"file-1"}]}`), dialect.Files},
		{"openai", toResponses, responses(`{"type":"computer_call_output","call_id":"c","output":{"type":"computer_screenshot","image_url":"https://x"}}`), dialect.RemoteFiles},
		{"openai", toResponses, responses(`{"type":"shell_call","call_id":"c","environment":{"type":"container_reference","container_id":"x"}}`), dialect.CodeInterpreter},
		{"openai", toResponses, responses(`{"type":"compaction_trigger"}`), dialect.Compaction},
		{"openai", toResponses, `{"model":"m","input":"x","tool_choice":{"type":"web_search_preview"}}`, dialect.WebSearch},
		{"openai", toResponses, `{"model":"m","input":"x","reasoning":{"mode":"pro"}}`, dialect.Premium},
		{"openai", toResponses, `{"model":"m","input":"x","tools":[{"type":"shell"}]}`, dialect.CodeInterpreter},
		{"openai", toResponses, `{"model":"m","input":"x","tools":[{"type":"shell","environment":null}]}`, dialect.CodeInterpreter},
		{"openai", toResponses, `{"model":"m","input":"x","tools":[{"type":"tool_search"}]}`, dialect.ToolSearch},
		{"openai", toResponses, `{"model":"o3-deep-research","input":"x"}`, dialect.WebSearch},
		{"openai", "/v1/chat/completions", `{"model":"gpt-4o-mini-search-preview-2025-03-11","messages":[]}`, dialect.WebSearch},
		{"openai", "/v1/chat/completions", `{"model":"openai/gpt-5:online","messages":[]}`, dialect.WebSearch},
		{"openai", "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":[{"type":"file","file":{"file_id":"f"}}]}]}`, dialect.Files},
		{"openai", "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"","format":"wav"}}]}]}`, dialect.Audio},
		{"anthropic", toMessages, messages(`{"type":"image","source":{"type":"url","url":"https://x"}}`), dialect.RemoteFiles},
		{"anthropic", toMessages, messages(`{"type":"document","source":{"type":"url","url":"https://x"}}`), dialect.RemoteFiles},
		{"anthropic", toMessages, messages(`{"type":"document","source":{"type":"file","file_id":"f"}}`), dialect.Files},
		{"anthropic", toMessages, messages(`{"type":"document","source":{"type":"content","content":[{"type":"image","source":{"type":"url","url":"https://x"}}]}}`), dialect.RemoteFiles},
		{"anthropic", toMessages, result(`{"type":"image","source":{"type":"url","url":"https://x"}}`), dialect.RemoteFiles},
		{"anthropic", toMessages, messages(`{"type":"server_tool_use","id":"s","name":"web_search","input":{}}`), dialect.WebSearch},
		{"anthropic", toMessages, messages(`{"type":"server_tool_use","id":"s","name":"unheard_of","input":{}}`), dialect.UnknownFields},
		{"anthropic", toMessages, messages(`{"type":"container_upload","file_id":"f"}`), dialect.Files},
		{"anthropic", toMessages, messages(`{"type":"mcp_tool_use","id":"m","name":"x","server_name":"y","input":{}}`), dialect.MCP},
		{"anthropic", toMessages, messages(`{"type":"tool_addition","tool":{"type":"tool_definition","definition":{"type":"web_search_20260318","name":"web_search"}}}`), dialect.WebSearch},
		{"anthropic", toMessages, `{"model":"m","max_tokens":1,"messages":[],"context_management":{"edits":[{"type":"compact_20260112"}]}}`, dialect.Compaction},
		{"anthropic", toMessages, `{"model":"m","max_tokens":1,"messages":[],"system":[{"type":"document","source":{"type":"url","url":"x"}}]}`, dialect.RemoteFiles},
		{"gemini", toGemini, `{"contents":[{"parts":[{"functionResponse":{"name":"f","parts":[{"file_data":{"file_uri":"x"}}]}}]}]}`, dialect.RemoteFiles},
		{"gemini", toGemini, `{"contents":{"parts":{"fileData":{"fileUri":"https://www.youtube.com/watch"}}}}`, dialect.RemoteFiles},
		{"gemini", toGemini, `{"contents":[],"tools":[{"functionDeclarations":[],"mcp_servers":[{"name":"x"}]}]}`, dialect.MCP},
		{"gemini", toGemini, `{"contents":[],"tools":[{"GoogleSearch":{}}]}`, dialect.UnknownFields},
		{"gemini", toGemini, `{"contents":[{"parts":[{"inlineData":{"mimeType":"AUDIO/wav","data":"AA"}}]}]}`, dialect.Audio},
		{"gemini", toGemini, `{"contents":[],"generation_config":{"speech_config":{}}}`, dialect.Audio},
		{"gemini", "/v1beta/models/m:countTokens", `{"generateContentRequest":{"tools":[{"googleSearch":{}}]}}`, dialect.WebSearch},
		{"gemini", "/v1beta/models/m:batchEmbedContents", `{"requests":[{"content":{"parts":[{"fileData":{"fileUri":"x"}}]}}]}`, dialect.RemoteFiles},
	} {
		_, refusal := read(t, c.dialect, c.path, c.body)
		if refusal == nil || refusal.Reason != dialect.NotAllowed || refusal.Ability != c.ability {
			t.Errorf("%s: refused as %+v, want %s", c.body, refusal, c.ability)
		}
	}
}

// TestAnotherModelInTheBody: what the path allows is not what the body names.
func TestAnotherModelInTheBody(t *testing.T) {
	for path, body := range map[string]string{
		"/v1beta/models/m:generateContent":    `{"model":"models/dear","contents":[]}`,
		"/v1beta/models/m:countTokens":        `{"generateContentRequest":{"model":"models/dear","contents":[]}}`,
		"/v1beta/models/m:batchEmbedContents": `{"requests":[{"model":"models/m"},{"model":"models/dear"}]}`,
	} {
		if _, refusal := read(t, "gemini", path, body); refusal == nil || refusal.Reason != dialect.BadRequest {
			t.Errorf("%s: %+v", path, refusal)
		}
	}
}
