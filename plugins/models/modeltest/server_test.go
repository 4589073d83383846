package modeltest_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"testing"
	"time"

	"github.com/mleflow/mleflow/plugins/models/modeltest"
)

// TestServe serves by hand; see the package's documentation.
func TestServe(t *testing.T) {
	address := os.Getenv("MODELTEST")
	if address == "" {
		t.Skip("set MODELTEST to an address")
	}
	s := &modeltest.Server{Answer: byHand, Fault: faultByName, Models: strings.Fields(os.Getenv("MODELTEST_MODELS"))}
	fmt.Println(modeltest.StartAt(t, s, address))
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt)
	defer stop()
	<-ctx.Done()
	for _, c := range s.Calls() {
		fmt.Println(c.Status, c.Dialect, c.Operation, c.Model, len(c.Body), c.Gone)
	}
}

// byHand calls the tool echo where there is one, and otherwise solves digits, for
// AIDE in its own way.
func byHand(a *modeltest.Ask) modeltest.Answer {
	if strings.Contains(a.Prompt(), "Kaggle grandmaster") {
		return modeltest.AIDE(a)
	}
	if len(a.Tools) > 0 && a.Tools[0].Name == "echo" && a.Count("tool") == 0 {
		return modeltest.Answer{Text: "Calling.", Reasoning: "Thinking of it.", Tools: []modeltest.ToolCall{{Name: "echo", Arguments: map[string]any{"text": "ünï <code> & \"quotes\""}}}}
	}
	if _, ok := modeltest.ShellCall(a, ""); ok || strings.Contains(a.Prompt(), "demo-digits") {
		return modeltest.Digits(a)
	}
	return modeltest.Answer{Text: "Hello, this is the stand-in. 你好 🙂"}
}

// faultByName takes the fault that the model's name begins with, as in
// "fault-7-gpt".
func faultByName(a *modeltest.Ask) modeltest.Fault {
	var n int
	if _, err := fmt.Sscanf(a.Model, "fault-%d", &n); err != nil || n >= len(modeltest.Faults()) {
		return modeltest.Fault{}
	}
	return modeltest.Faults()[n].Fault
}

// asks is one request of each operation.
var asks = []struct{ path, body, want string }{
	{"/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"Hi"}]}`, `"content":"You said: Hi"`},
	{"/v1/chat/completions", `{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":[{"type":"text","text":"Hi"}]}]}`, "data: [DONE]"},
	{"/v1/completions", `{"model":"m","prompt":"Hi"}`, `"text":"You said: Hi"`},
	{"/v1/responses", `{"model":"m","input":"Hi"}`, `"text":"You said: Hi"`},
	{"/v1/responses", `{"model":"m","stream":true,"input":[{"role":"user","content":[{"type":"input_text","text":"Hi"}]}]}`, "event: response.completed"},
	{"/v1/embeddings", `{"model":"m","input":["Hi","Ho"]}`, `"index":1`},
	{"/v1/messages", `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"Hi"}]}`, `"text":"You said: Hi"`},
	{"/v1/messages", `{"model":"m","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"Hi"}]}`, "event: message_stop"},
	{"/v1/messages/count_tokens", `{"model":"m","messages":[{"role":"user","content":"Hi"}]}`, `"input_tokens"`},
	{"/v1beta/models/m:generateContent", `{"contents":[{"parts":[{"text":"Hi"}]}]}`, `"text":"You said: Hi"`},
	{"/v1beta/models/m:streamGenerateContent?alt=sse", `{"contents":[{"parts":[{"text":"Hi"}]}]}`, `"finishReason":"STOP"`},
	{"/v1beta/models/m:streamGenerateContent", `{"contents":[{"parts":[{"text":"Hi"}]}]}`, `"finishReason":"STOP"`},
	{"/v1beta/models/m:countTokens", `{"contents":[{"parts":[{"text":"Hi"}]}]}`, `"totalTokens"`},
	{"/v1beta/models/m:embedContent", `{"content":{"parts":[{"text":"Hi"}]}}`, `"values"`},
	{"/v1beta/models/m:batchEmbedContents", `{"requests":[{"content":{"parts":[{"text":"Hi"}]}}]}`, `"values"`},
}

func post(ctx context.Context, address, path, body string) (int, http.Header, string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address+path, strings.NewReader(body))
	if err != nil {
		return 0, nil, "", err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer k")
	if strings.HasPrefix(path, "/v1/messages") {
		r.Header.Set("Anthropic-Version", "2023-06-01")
	}
	if strings.HasPrefix(path, "/v1beta") {
		r.Header.Set("X-Goog-Api-Key", "k")
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(r)
	if err != nil {
		return 0, nil, "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return resp.StatusCode, resp.Header, string(data), err
}

func TestAnswers(t *testing.T) {
	for _, zip := range []bool{false, true} {
		s := &modeltest.Server{Key: "k", Gzip: zip}
		address := modeltest.Start(t, s)
		for _, a := range asks {
			status, header, body, err := post(t.Context(), address, a.path, a.body)
			if err != nil || status != http.StatusOK || !strings.Contains(body, a.want) {
				t.Errorf("%s: %d, %v, %s", a.path, status, err, body)
			}
			checkJSON(t, header.Get("Content-Type"), body)
		}
		if calls := s.Calls(); len(calls) != len(asks) || calls[0].Status != 200 || calls[0].Model != "m" {
			t.Errorf("%d calls: %+v", len(calls), calls)
		}
	}
}

// checkJSON sees that a body, or each event of a stream, is JSON.
func checkJSON(t *testing.T, kind, body string) {
	t.Helper()
	if !strings.HasPrefix(kind, "text/event-stream") {
		if !json.Valid([]byte(body)) {
			t.Errorf("no JSON: %s", body)
		}
		return
	}
	lines := bufio.NewScanner(strings.NewReader(body))
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if ok && data != "[DONE]" && !json.Valid([]byte(data)) {
			t.Errorf("no JSON: %s", data)
		}
	}
}

func TestRefusals(t *testing.T) {
	address := modeltest.Start(t, &modeltest.Server{Key: "other", Models: []string{"x"}})
	for _, a := range asks {
		if status, _, body, err := post(t.Context(), address, a.path, a.body); err != nil || status != http.StatusUnauthorized || !json.Valid([]byte(body)) {
			t.Errorf("%s: %d, %v, %s", a.path, status, err, body)
		}
	}
	address = modeltest.Start(t, &modeltest.Server{Models: []string{"x"}})
	for _, a := range asks {
		if status, _, _, _ := post(t.Context(), address, a.path, a.body); status != http.StatusNotFound {
			t.Errorf("%s: a model that there is not: %d", a.path, status)
		}
		if status, _, _, _ := post(t.Context(), address, a.path, "{"); status != http.StatusBadRequest {
			t.Errorf("%s: a broken body: %d", a.path, status)
		}
	}
}

// TestFaults sees each fault in each kind of stream.
func TestFaults(t *testing.T) {
	faults := modeltest.Faults()
	if len(faults) < 20 {
		t.Fatalf("%d faults", len(faults))
	}
	for _, f := range faults {
		s := &modeltest.Server{Fault: func(*modeltest.Ask) modeltest.Fault { return f.Fault }}
		address := modeltest.Start(t, s)
		for _, a := range asks {
			ctx, cancel := t.Context(), context.CancelFunc(func() {})
			if f.Never || f.Hang {
				ctx, cancel = context.WithTimeout(ctx, 50*time.Millisecond)
			}
			status, _, body, err := post(ctx, address, a.path, a.body)
			cancel()
			if f.Status != 0 && status != f.Status {
				t.Errorf("%s, %s: status %d", f.Name, a.path, status)
			}
			if f.Whole && (err != nil || status != http.StatusOK || f.Drip == 0 && !strings.Contains(body, a.want)) {
				t.Errorf("%s, %s: %d, %v, %s", f.Name, a.path, status, err, body)
			}
			if (f.Reset || f.Close || f.Never) && err == nil {
				t.Errorf("%s, %s: no error", f.Name, a.path)
			}
		}
	}
}

func TestDigits(t *testing.T) {
	s := &modeltest.Server{Answer: modeltest.Digits}
	address := modeltest.Start(t, s)
	const tool = `"tools":[{"type":"function","function":{"name":"shell","parameters":{"properties":{"command":{"type":"array"}},"required":["command"]}}}]`
	_, _, body, err := post(t.Context(), address, "/v1/chat/completions", `{"model":"m",`+tool+`,"messages":[{"role":"user","content":"Go"}]}`)
	if err != nil || !strings.Contains(body, `"arguments":"{\"command\":[\"bash\",\"-c\",\"awk`) {
		t.Error(err, body)
	}
	_, _, body, err = post(t.Context(), address, "/v1/chat/completions", `{"model":"m",`+tool+`,"messages":[{"role":"tool","content":"1"},{"role":"tool","content":"2"}]}`)
	if err != nil || !strings.Contains(body, `"finish_reason":"stop"`) {
		t.Error(err, body)
	}
	_, _, body, err = post(t.Context(), address, "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"Go"}]}`)
	if err != nil || !bytes.Contains([]byte(body), []byte("```bash\\nawk")) {
		t.Error(err, body)
	}
}
