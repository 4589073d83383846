package aide

import (
	"crypto/rand"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/plugins/models/modeltest"
)

// pipelines is the folder of the shipped pipelines.
const pipelines = "../../../../../../pipelines"

// oneAttempt is a pipeline like those that use the agents of pipelines/agents.
const oneAttempt = `
mleflow { extends = "mlebench.hcl" }
variable "set"   { default = "demo-digits" }
variable "seeds" { default = 1 }
variable "task"  { default = "own" }
variable "cpus"  { default = 1 }
`

// TestAgents has each agent of pipelines/agents solve demo-digits in its image,
// without a network, with a model that stands in for the provider's and is reached
// through the gateway.
func TestAgents(t *testing.T) {
	if os.Getenv("MLEFLOW_TEST_AGENTS") == "" {
		t.Skip("it makes images of Debian's, Python's and npm's packages, which takes minutes and a network: set MLEFLOW_TEST_AGENTS=1, or a folder to keep the cache in")
	}
	files, err := filepath.Glob(pipelines + "/agents/*.hcl")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		switch name := strings.TrimSuffix(filepath.Base(file), ".hcl"); name {
		case "base":
		case "reference": // fetched from GitHub; docs/agents.md says what was run
		case "aide":
			t.Run(name, testAIDE)
			t.Run("lost", testLost)
			t.Run("rehearsal", testRehearsal)
		default:
			t.Run(name, func(t *testing.T) { testAgent(t, name) })
		}
	}
}

// newAgentPlace is a place with the shipped pipelines and one that adds to them.
func newAgentPlace(t *testing.T, m *modeltest.Server, pipeline, agent string) *place {
	t.Helper()
	p := newPlace(t, "", "MLEFLOW_TEST_AGENTS", "CANARY="+m.Key)
	if err := os.CopyFS(filepath.Dir(p.file), os.DirFS(pipelines)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p.file, []byte(pipeline+wanted(agent+"/demo-digits/0")), 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

func testAgent(t *testing.T, name string) {
	m := &modeltest.Server{Key: "sk-canary-" + rand.Text(), Answer: modeltest.Digits}
	if answer := answers[name]; answer != nil {
		m.Answer = answer
	}
	address := "http://" + serve(t, m)
	p := newAgentPlace(t, m, oneAttempt, name)
	dir := filepath.Dir(p.file)
	if p := providers[name]; p == "" {
		address += "/v1"
	}
	args := append([]string{"-var", "agent=" + name, "-var", "runtime=containerd", "-var", "timeout=10m", "-var", "base_url=" + address, "-var", "key=env:CANARY"}, arguments[name]...)
	outputs, ran, printed := p.apply(args...)
	score, err := strconv.ParseFloat(outputs["score"], 64)
	if err != nil || score < 0.8 || outputs["outcome"] != "finished" {
		t.Errorf("outcome %s, score %q, want 0.8 at least", outputs["outcome"], outputs["score"])
	}
	var stats struct {
		Network  string
		Isolated bool
	}
	if err := json.Unmarshal([]byte(outputs["stats"]), &stats); err != nil || stats.Network != "none" || !stats.Isolated {
		t.Errorf("stats %s: %v", outputs["stats"], err)
	}
	for _, c := range m.Calls() {
		if c.Status != 200 {
			t.Errorf("%s %s: status %d", c.Method, c.Path, c.Status)
		}
	}
	told := func(c modeltest.Call) bool { return strings.Contains(c.Prompt(), "KeyError") }
	if answers[name] != nil && !slices.ContainsFunc(m.Calls(), told) {
		t.Error("the agent did not tell the model of the bug in its first program")
	}
	found, files := search(t, m.Key, p.cache, p.daemon.Dir, dir)
	if len(found) > 0 || strings.Contains(printed, m.Key) {
		t.Errorf("the key is in %v, or was printed", found)
	}
	t.Logf("%d steps, %d requests, score %v; the key is in none of %d files; stats %s", ran, len(m.Calls()), score, files, outputs["stats"])
}

// answers are those for agents that have no shell to offer. The first program of
// each has a bug, a KeyError.
var answers = map[string]func(*modeltest.Ask) modeltest.Answer{"mlab": modeltest.MLAB, "rd-agent": modeltest.RDAgent}

// arguments are those that some agents have besides.
var arguments = map[string][]string{"rd-agent": {"-var", "rd_agent_loops=2"}}

// providers are those whose address has no version in it.
var providers = map[string]string{"claude-code": "anthropic", "gemini-cli": "gemini"}
