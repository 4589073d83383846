package acp

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/mleflow/mleflow/plugins/models/modeltest"
)

const pipeline = `
model "main" {
  provider = %q
  base_url = %q
  key      = "env:CANARY"
  models   = ["*"]
  price "*" {
    input  = "0 USD"
    output = "0 USD"
  }
}
agent "real" {
  acp    = [%s]
  models = [model.main]
  env    = { %s }
}
step "download" "raw" { competition = "demo-digits" }
step "prepare" "data" {
  competition = "demo-digits"
  raw         = step.download.raw.tree
}
step "agent-run" "solve" {
  agent       = agent.real
  competition = "demo-digits"
  data        = step.prepare.data.public
  runtime     = "process"
  timeout     = "8m"
}
step "grade" "score" {
  competition = "demo-digits"
  submission  = step.agent-run.solve.submission
  answers     = step.prepare.data.private
}
output "score"   { value = step.grade.score.score }
output "outcome" { value = step.agent-run.solve.outcome }
`

// agents are programs of npm.
var agents = []struct{ name, npm, provider, version, args, env string }{
	{"opencode", "opencode-ai@1.18.33", "openai", "/v1", `"acp"`,
		`OPENCODE_CONFIG_CONTENT = jsonencode({ model = "gateway/gpt-5.5", small_model = "gateway/gpt-5.5", autoupdate = false, permission = "allow", provider = { gateway = { npm = "@ai-sdk/openai-compatible", options = { baseURL = "{env:OPENAI_BASE_URL}", apiKey = "{env:OPENAI_API_KEY}" }, models = { "gpt-5.5" = { limit = { context = 200000, output = 32000 } } } } } })`},
	{"qwen", "@qwen-code/qwen-code@0.24.4", "openai", "/v1", `"--acp", "--auth-type", "openai"`, `OPENAI_MODEL = "gpt-5.5"`},
	{"gemini", "@google/gemini-cli@0.61.0", "gemini", "", `"--acp", "--model", "gemini-2.5-pro"`, `GEMINI_CLI_TRUST_WORKSPACE = "true", GEMINI_DEFAULT_AUTH_TYPE = "gemini-api-key"`},
}

var score = regexp.MustCompile(`(?m)^score = ([0-9.]+)`)

// TestAgents has each agent solve demo-digits with a stand-in for the provider. If
// MLEFLOW_TEST_ACP is a folder, packages are installed there, and kept.
func TestAgents(t *testing.T) {
	kept := os.Getenv("MLEFLOW_TEST_ACP")
	if kept == "" {
		t.Skip("it installs packages of npm: set MLEFLOW_TEST_ACP=1, or a folder to keep the packages in")
	}
	program := cmp.Or(os.Getenv("MLEFLOW_TEST_ACP_PROGRAM"), filepath.Join(t.TempDir(), "mleflow"))
	if os.Getenv("MLEFLOW_TEST_ACP_PROGRAM") == "" {
		run(t, nil, "go", "build", "-o", program, "github.com/mleflow/mleflow/cmd/mleflow")
	}
	for _, a := range agents {
		t.Run(a.name, func(t *testing.T) {
			dir := kept
			if !filepath.IsAbs(dir) {
				dir = t.TempDir()
			}
			bin := filepath.Join(dir, "node_modules", ".bin", a.name)
			if _, err := os.Stat(bin); err != nil {
				run(t, nil, "npm", "install", "--no-audit", "--no-fund", "--prefix", dir, a.npm)
			}
			m := &modeltest.Server{Key: "sk-canary", Answer: modeltest.Digits}
			address := modeltest.Start(t, m) + a.version
			file := filepath.Join(t.TempDir(), "acp.hcl")
			text := fmt.Sprintf(pipeline, a.provider, address, strconv.Quote(bin)+", "+a.args, a.env)
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			env := []string{"CANARY=" + m.Key, "MLEFLOW_CACHE_DIR=" + t.TempDir()}
			out := run(t, env, program, "apply", file)
			found := score.FindSubmatch(out)
			if found == nil {
				t.Fatalf("no score:\n%s\n%s", out, run(t, env, program, "logs", "latest", "step.agent-run.solve"))
			}
			if got, err := strconv.ParseFloat(string(found[1]), 64); err != nil || got < 0.8 || !regexp.MustCompile(`(?m)^outcome = finished`).Match(out) {
				t.Errorf("score %s, want 0.8 at least and the outcome finished:\n%s", found[1], out)
			}
			t.Logf("%d requests, score %s", len(m.Calls()), found[1])
		})
	}
}

func run(t *testing.T, env []string, name string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Logf("%s: %v\n%s", name, err, out)
	}
	return out
}
