package sandbox

import (
	"bufio"
	"fmt"
	"strings"
	"testing"
)

// slowPipeline runs an agent for some seconds in the runtime sandbox.
const slowPipeline = `
step "download" "raw" { competition = "demo-cancer" }
step "prepare" "data" {
  competition = "demo-cancer"
  raw         = step.download.raw.tree
}
agent "slow" {
  image   = %q
  command = ["/usr/bin/rogue", "work", "4"]
}
step "agent-run" "work" {
  agent       = agent.slow
  competition = "demo-cancer"
  data        = step.prepare.data.public
  runtime     = "sandbox"
  timeout     = "2m"
  resources { memory = "256MiB" }
}
output "stats" { value = step.agent-run.work.stats }
output "outcome" { value = step.agent-run.work.outcome }
`

// TestKilledByAnyUser kills mleflow, as a user without privileges, while an agent runs
// in the runtime sandbox: the agent goes on, and the next apply takes it over.
func TestKilledByAnyUser(t *testing.T) {
	h := newSandboxHost(t)
	file := h.write("slow.hcl", fmt.Sprintf(slowPipeline, h.image))
	first := h.command("apply", file, "--json")
	events, err := first.StdoutPipe()
	must(t, err)
	must(t, first.Start())
	// Before this event mleflow has not yet written down how to find the agent again.
	for lines := bufio.NewScanner(events); lines.Scan(); {
		if line := lines.Text(); strings.Contains(line, `"step_phase"`) && strings.Contains(line, `"running"`) {
			break
		}
	}
	must(t, first.Process.Kill())
	_ = first.Wait()
	if len(processes()) == 0 {
		t.Error("the agent died with mleflow")
	}
	outputs, _ := h.apply(file)
	for _, want := range []string{`"resumed":true`, `"runtime":"sandbox"`, `"memory":"`} {
		if !strings.Contains(outputs["stats"], want) {
			t.Errorf("stats %s lack %s", outputs["stats"], want)
		}
	}
	if outputs["outcome"] != "finished" {
		t.Errorf("outcome %s", outputs["outcome"])
	}
	h.clean()
}
