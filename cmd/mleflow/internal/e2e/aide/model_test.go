package aide

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// model is a stand-in for a server of OpenAI's protocol, as its reference
// documents POST /v1/chat/completions: keys, errors, tools, usage. Its first
// answers are faults that such servers have: too many requests, an error of its
// own. Then it answers with what its author thought of.
type model struct {
	// key is the one that is taken, name the model that there is.
	key, name string
	// write answers a prompt with a text, review one that asks for a call of
	// a function, with the arguments.
	write  func(prompt string) string
	review func(prompt string) map[string]any

	mu    sync.Mutex
	asked int
	// statuses are the replies', tools how many were calls of functions, and
	// prompts what was asked for text.
	statuses []int
	tools    int
	prompts  []string
}

// request is what of a request the stand-in reads.
type request struct {
	Model    string `json:"model"`
	Messages []struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	} `json:"messages"`
	Tools []struct {
		Type     string `json:"type"`
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	} `json:"tools"`
}

// serve serves at an address of this machine that a proxy is asked for, unlike
// 127.0.0.1, and returns it.
func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	return l.Addr().String()
}

// ServeHTTP implements http.Handler.
func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	status, body := m.reply(w, r)
	m.statuses = append(m.statuses, status)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false) // as the servers do: the shell's agent has no parser
	_ = out.Encode(body)
}

func (m *model) reply(w http.ResponseWriter, r *http.Request) (int, any) {
	var req request
	switch {
	case r.URL.Path != "/v1/chat/completions":
		return fault(http.StatusNotFound, "Unknown request URL: %s %s", r.Method, r.URL.Path)
	case r.Method != http.MethodPost:
		return fault(http.StatusMethodNotAllowed, "Not allowed to %s", r.Method)
	case r.Header.Get("Authorization") != "Bearer "+m.key:
		return fault(http.StatusUnauthorized, "Incorrect API key provided.")
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 16<<20)).Decode(&req); err != nil {
		return fault(http.StatusBadRequest, "We could not parse the JSON body of your request: %v", err)
	}
	switch {
	case req.Model != m.name:
		return fault(http.StatusNotFound, "The model %q does not exist.", req.Model)
	case len(req.Messages) == 0:
		return fault(http.StatusBadRequest, "[] is too short - 'messages'")
	}
	m.asked++
	switch m.asked {
	case 1:
		w.Header().Set("Retry-After", "1")
		return fault(http.StatusTooManyRequests, "Rate limit reached for %s.", m.name)
	case 2:
		return fault(http.StatusInternalServerError, "The server had an error while processing your request.")
	}
	return http.StatusOK, m.completion(req)
}

// fault is an error as the protocol has it.
func fault(status int, format string, args ...any) (int, any) {
	return status, map[string]any{"error": map[string]any{"message": fmt.Sprintf(format, args...), "type": "error", "param": nil, "code": nil}}
}

func (m *model) completion(req request) any {
	var prompt strings.Builder
	for _, message := range req.Messages {
		fmt.Fprintln(&prompt, message.Content)
	}
	message, reason := map[string]any{"role": "assistant", "refusal": nil}, "stop"
	if len(req.Tools) > 0 {
		m.tools++
		arguments, err := json.Marshal(m.review(prompt.String()))
		if err != nil {
			arguments = []byte("{}")
		}
		message["content"] = nil
		message["tool_calls"] = []any{map[string]any{
			"id": "call_" + strconv.Itoa(m.asked), "type": "function",
			"function": map[string]any{"name": req.Tools[0].Function.Name, "arguments": string(arguments)},
		}}
	} else {
		m.prompts = append(m.prompts, prompt.String())
		message["content"] = m.write(prompt.String())
	}
	return map[string]any{
		"id": "chatcmpl-" + strconv.Itoa(m.asked), "object": "chat.completion", "created": 1700000000, "model": req.Model,
		"choices": []any{map[string]any{"index": 0, "message": message, "logprobs": nil, "finish_reason": reason}},
		"usage":   map[string]any{"prompt_tokens": prompt.Len() / 4, "completion_tokens": 100, "total_tokens": prompt.Len()/4 + 100},
	}
}

// The solutions that the model writes for demo-digits. The first has a bug: there
// is no such column.
const (
	draft = `import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score

train = pd.read_csv("input/train.csv")
x, y = train.drop(columns=["id", "label"]), train["label"]
print("Validation accuracy:", cross_val_score(LogisticRegression(max_iter=2000), x, y, cv=3).mean())
`
	mended = `import pandas as pd
from sklearn.neighbors import NearestCentroid
from sklearn.model_selection import cross_val_score

train, test = pd.read_csv("input/train.csv"), pd.read_csv("input/test.csv")
columns = [c for c in train.columns if c.startswith("pixel_")]
x, y = train[columns], train["digit"]
model = NearestCentroid()
print("Validation accuracy:", cross_val_score(model, x, y, cv=3).mean())
pd.DataFrame({"id": test["id"], "digit": model.fit(x, y).predict(test[columns])}).to_csv("working/submission.csv", index=False)
`
	improved = `import pandas as pd
from sklearn.svm import SVC
from sklearn.model_selection import cross_val_score

train, test = pd.read_csv("input/train.csv"), pd.read_csv("input/test.csv")
columns = [c for c in train.columns if c.startswith("pixel_")]
x, y = train[columns], train["digit"]
model = SVC(C=10, gamma=0.001)
print("Validation accuracy:", cross_val_score(model, x, y, cv=3).mean())
pd.DataFrame({"id": test["id"], "digit": model.fit(x, y).predict(test[columns])}).to_csv("working/submission.csv", index=False)
`
)

// solution answers AIDE's three questions: a first solution, a mended one, a
// better one.
func solution(prompt string) string {
	plan, code := "Fit a linear model to the pixels.", draft
	switch {
	case strings.Contains(prompt, "Previous (buggy) implementation"):
		plan, code = "There is no column label; it is called digit. Compare with the mean of each digit.", mended
	case strings.Contains(prompt, "Previous solution"):
		plan, code = "Use a support vector machine with a radial kernel instead.", improved
	}
	return plan + "\n\n```python\n" + code + "```\n"
}

var accuracy = regexp.MustCompile(`Validation accuracy: ([0-9.]+)`)

// judgement reads what a solution printed, as the function submit_review wants
// it.
func judgement(prompt string) map[string]any {
	_, output, _ := strings.Cut(prompt, "Execution output")
	found := accuracy.FindStringSubmatch(output)
	if found == nil || strings.Contains(output, "Traceback") {
		return map[string]any{"is_bug": true, "summary": "It failed; read the names of the columns.", "metric": nil, "lower_is_better": false}
	}
	value, _ := strconv.ParseFloat(found[1], 64)
	return map[string]any{"is_bug": false, "summary": "It ran.", "metric": value, "lower_is_better": false}
}
