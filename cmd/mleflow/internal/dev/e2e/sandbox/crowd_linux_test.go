package sandbox

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const crowdPipeline = `
locals { crowds = { storm = %[2]d, trees = 40, threads = 300, many = %[3]d } }
step "download" "raw" { competition = "demo-cancer" }
step "prepare" "data" {
  competition = "demo-cancer"
  raw         = step.download.raw.tree
}
agent "rogue" {
  image   = %[1]q
  command = ["/usr/bin/rogue"]
}
step "agent-run" "crowd" {
  for_each    = local.crowds
  agent       = merge(agent.rogue, { args = ["resist", each.key], env = { ROGUE_COUNT = tostring(each.value) } })
  competition = "demo-cancer"
  data        = step.prepare.data.public
  runtime     = "sandbox"
  timeout     = each.key == "many" ? "2m" : "3s"
  resources { memory = "1GiB" }
}
output "outcomes" { value = jsonencode({ for k, s in step.agent-run.crowd : k => s.outcome }) }
`

// TestCrowds ends agents that have very many processes, threads or files, and keeps what
// they submitted. MLEFLOW_STORM is how many sleeping children one has, MLEFLOW_MANY how
// many files; a machine may be asked for 16000 and 600000.
func TestCrowds(t *testing.T) {
	h := newSandboxHost(t)
	file := h.write("crowd.hcl", fmt.Sprintf(crowdPipeline, h.image, times(t, "MLEFLOW_STORM", 800), times(t, "MLEFLOW_MANY", 3000)))
	outputs, _ := h.apply(file)
	var got map[string]string
	must(t, json.Unmarshal([]byte(outputs["outcomes"]), &got))
	if diff := cmp.Diff(map[string]string{"storm": "timed_out", "trees": "timed_out", "threads": "timed_out", "many": "finished"}, got); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	for mode := range got {
		dir := h.materialise(t, fmt.Sprintf("step.agent-run.crowd[%q]", mode), "submission")
		if text, err := os.ReadFile(filepath.Join(dir, "submission.csv")); err != nil || string(text) != "resist "+mode+"\n" {
			t.Errorf("%s: submission %q, %v", mode, text, err)
		}
	}
	h.clean()
}
