package e2e

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/plugins/models/modeltest"
)

// object is one of JSON.
type object = map[string]any

// talks are how a conversation is sent in each dialect: the address, the headers
// beyond the content type, and the body. Texts are what was said in turn, first by
// the user.
var talks = map[string]func(texts []string) (url string, headers []string, body object){
	"chat": func(texts []string) (string, []string, object) {
		return os.Getenv("OPENAI_BASE_URL") + "/chat/completions", []string{"Authorization", "Bearer " + os.Getenv("OPENAI_API_KEY")},
			object{"model": "m-1", "max_tokens": 4000, "messages": said(texts, "assistant", func(text string) (string, any) { return "content", text })}
	},
	"responses": func(texts []string) (string, []string, object) {
		return os.Getenv("OPENAI_BASE_URL") + "/responses", []string{"Authorization", "Bearer " + os.Getenv("OPENAI_API_KEY")},
			object{"model": "m-1", "max_output_tokens": 4000, "store": false, "input": said(texts, "assistant", func(text string) (string, any) { return "content", text })}
	},
	"messages": func(texts []string) (string, []string, object) {
		return os.Getenv("ANTHROPIC_BASE_URL") + "/v1/messages", []string{"X-Api-Key", os.Getenv("ANTHROPIC_API_KEY"), "Anthropic-Version", "2023-06-01"},
			object{"model": "m-1", "max_tokens": 4000, "messages": said(texts, "assistant", func(text string) (string, any) { return "content", text })}
	},
	"generateContent": func(texts []string) (string, []string, object) {
		return os.Getenv("GOOGLE_GEMINI_BASE_URL") + "/v1beta/models/m-1:generateContent", []string{"X-Goog-Api-Key", os.Getenv("GEMINI_API_KEY")},
			object{"generationConfig": object{"maxOutputTokens": 4000}, "contents": said(texts, "model", func(text string) (string, any) { return "parts", []object{{"text": text}} })}
	},
}

// said is a conversation: texts of the user and of the model in turn.
func said(texts []string, model string, content func(string) (name string, value any)) (list []object) {
	for i, text := range texts {
		name, value := content(text)
		list = append(list, object{"role": []string{"user", model}[i%2], name: value})
	}
	return list
}

// commands is the first text in a response, wherever it is, with commands.
func commands(v any) string {
	switch v := v.(type) {
	case string:
		if strings.Contains(v, "```bash\n") {
			return v
		}
	case []any:
		for _, e := range v {
			if text := commands(e); text != "" {
				return text
			}
		}
	case object:
		for _, e := range v {
			if text := commands(e); text != "" {
				return text
			}
		}
	}
	return ""
}

// converse is an agent: it asks a model what to do in the dialect that DIALECT
// names, runs the commands that it is told, and says what they printed, until it
// is told that this was all.
func converse() error {
	texts := []string{"Solve demo-digits."}
	for {
		url, headers, body := talks[os.Getenv("DIALECT")](texts)
		data, err := json.Marshal(body)
		if err != nil {
			return err
		}
		req, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(data))
		if err != nil {
			return err
		}
		req.Header.Set("Content-Type", "application/json")
		for i := 0; i < len(headers); i += 2 {
			req.Header.Set(headers[i], headers[i+1])
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		var response any
		err = json.NewDecoder(res.Body).Decode(&response)
		res.Body.Close()
		answer := commands(response)
		if err != nil || answer == "" {
			return fmt.Errorf("the model answers with status %d: %v: %w", res.StatusCode, response, err)
		}
		_, block, _ := strings.Cut(answer, "```bash\n")
		command, _, _ := strings.Cut(block, "```")
		out, err := exec.Command("sh", "-c", command).CombinedOutput()
		fmt.Printf("%s", out)
		if err != nil || strings.Contains(command, "COMPLETE") {
			return err
		}
		texts = append(texts, answer, string(out))
	}
}

const modelPipeline = `
model "main" {
  provider = "PROVIDER"
  models   = ["m-*"]
  MODEL
  price "m-*" {
    input      = "1 USD"
    output     = "2 USD"
    max_output = 4000
  }
  budget { cost = "1 USD" }
}
agent "talker" {
  command = ["./agent", "converse"]
  files   = { "agent" = "agent" }
  env     = { DIALECT = "DIALECT" }
  models  = [model.main]
}
step "download" "raw" { competition = "demo-digits" }
step "prepare" "data" {
  competition = "demo-digits"
  raw         = step.download.raw.tree
}
step "agent-run" "solve" {
  agent       = agent.talker
  competition = "demo-digits"
  data        = step.prepare.data.public
  runtime     = "RUNTIME"
  timeout     = "5m"
}
step "grade" "score" {
  competition = "demo-digits"
  submission  = step.agent-run.solve.submission
  answers     = step.prepare.data.private
  labels      = { agent = "talker", seed = "0" }
}
step "aggregate" "board" {
  reports  = [step.grade.score.report]
  attempts = [step.agent-run.solve]
}
output "submission" { value = step.agent-run.solve.submission }
output "code"       { value = step.agent-run.solve.logs }
output "stats"      { value = step.agent-run.solve.stats }
output "outcome"    { value = step.agent-run.solve.outcome }
output "board"      { value = step.aggregate.board.table }
`

// modelPlace is a pipeline whose agent talks to a model, with lines in the block
// of the model.
func modelPlace(t *testing.T, dir, runtime, dialect, lines string, env ...string) *place {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	provider := cmp.Or(map[string]string{"messages": "anthropic", "generateContent": "gemini"}[dialect], "openai")
	text := strings.NewReplacer("MODEL", lines, "RUNTIME", runtime, "PROVIDER", provider, `"DIALECT"`, strconv.Quote(dialect)).Replace(modelPipeline)
	file := filepath.Join(dir, "models.hcl")
	for path, text := range map[string][]byte{file: []byte(text), filepath.Join(dir, "agent"): program} {
		if err := os.WriteFile(path, text, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return &place{t: t, cache: filepath.Join(dir, "cache"), file: file, env: env}
}

// TestModels kills mleflow while its agent waits for a model. The next apply
// gives the answer that there was again, at no cost, and goes on. The provider's
// key is in no byte of what was written. The transcript answers a second
// pipeline, without key and provider, which gives the same bytes.
func TestModels(t *testing.T) {
	key := "sk-canary-" + rand.Text()
	var running *exec.Cmd
	asked := map[int]int{}
	server := &modeltest.Server{Key: key, Models: []string{"m-1"}, Answer: modeltest.Digits, Fault: func(a *modeltest.Ask) modeltest.Fault {
		turn := a.Count("assistant")
		if asked[turn]++; turn == 1 && asked[turn] == 1 {
			_ = running.Process.Kill()
			return modeltest.Fault{Never: true}
		}
		return modeltest.Fault{}
	}}
	dir, again := t.TempDir(), t.TempDir()
	p := modelPlace(t, dir, "process", "chat", fmt.Sprintf("key = \"env:CANARY\"\nbase_url = %q", modeltest.Start(t, server)+"/v1"), "CANARY="+key)
	running = p.command("apply", p.file)
	if err := running.Run(); err == nil {
		t.Fatal("mleflow was not killed")
	}
	outputs, _ := p.finish()
	if outputs["outcome"] != `"finished"` && outputs["outcome"] != "finished" {
		t.Errorf("outcome %s", outputs["outcome"])
	}
	if asked[0] != 1 || asked[1] != 2 || asked[2] != 1 {
		t.Errorf("the provider was asked %v times, by the turn of the conversation", asked)
	}
	board, errs, code := p.run("show", "--full")
	if code != 0 || !strings.Contains(board, "cost (USD)") || !strings.Contains(board, "0.91111") || !strings.Contains(outputs["board"], "0.91111") {
		t.Errorf("board: exit %d\n%s%s\n%s", code, board, errs, outputs["board"])
	}
	table, errs, code := p.run("leaderboard", "latest", "--table", "runs", "--split", "demo", "--pad-missing")
	if code != 0 || !strings.Contains(table, "Cost (USD)") {
		t.Errorf("leaderboard: exit %d\n%s%s", code, table, errs)
	}
	shown, _, _ := p.run("show", "latest", "--disclosure")
	if !strings.Contains(shown, "an earlier try answered 1 requests") || !strings.Contains(shown, "1 USD") {
		t.Errorf("disclosure:\n%s", shown)
	}
	recording := filepath.Join(again, "recording")
	for _, args := range [][]string{
		{"bundle", "latest", "-o", filepath.Join(dir, "run.bundle")}, {"verify", filepath.Join(dir, "run.bundle"), "--regrade"}, {"lock", p.file}, {"apply", "--locked", p.file},
		{"get", "latest", "step.agent-run.solve.transcript", "-o", recording},
	} {
		if out, errs, code := p.run(args...); code != 0 {
			t.Errorf("%v: exit %d\n%s%s", args, code, out, errs)
		}
	}
	files := withoutCanary(t, dir, key) + withoutCanary(t, recording, key)
	t.Logf("the key is in none of %d files", files)

	server.Reset()
	q := modelPlace(t, again, "process", "chat", `replay = "recording/transcript"`)
	replayed, _ := q.finish()
	for _, name := range []string{"submission", "code", "outcome"} {
		if replayed[name] != outputs[name] {
			t.Errorf("replayed, %s is %s, not %s", name, replayed[name], outputs[name])
		}
	}
	if n := len(server.Calls()); n != 0 {
		t.Errorf("the replay asked the provider %d times", n)
	}
}

// withoutCanary searches every byte below a folder for a key and returns the
// number of files.
func withoutCanary(t *testing.T, dir, key string) (files int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if files++; bytes.Contains(data, []byte(key)) {
			t.Errorf("%s holds the key", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
