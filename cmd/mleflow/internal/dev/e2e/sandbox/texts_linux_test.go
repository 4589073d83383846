package sandbox

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/image"
)

// TestTextsInContainers compares the texts of some competitions with their pins
// where an agent reads them, in its container. Like TestTextsOfTheReference of
// package e2e it needs MLEFLOW_REFERENCE, a checkout of the reference.
func TestTextsInContainers(t *testing.T) {
	checkout := os.Getenv("MLEFLOW_REFERENCE")
	if checkout == "" {
		t.Skip("compares with the reference's own texts; name a checkout in MLEFLOW_REFERENCE")
	}
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		t.Skip("needs busybox-static")
	}
	h := newHost(t)
	made, err := (&image.Builder{Dir: filepath.Join(h.dir, "busybox")}).Build(context.Background(), image.Static(busybox, "busybox"), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	var runs strings.Builder
	tried := []string{"leaf-classification", "AI4Code", "spaceship-titanic", "vesuvius-challenge-ink-detection"}
	for _, id := range tried {
		for _, form := range []competitions.Task{competitions.TaskReference, competitions.TaskObfuscated} {
			pins := pinsOf(t, id, form)
			fmt.Fprintf(&runs, "%q = { competition = %q, task = %q, sums = \"%s  /home/data/description.md\\n%s  /home/instructions.txt\\n\" }\n",
				id+"/"+string(form), id, form, pins.Description.SHA256, pins.Instructions.SHA256)
		}
	}
	file := h.write("texts.hcl", fmt.Sprintf(`
locals {
  runs = {
    %s
  }
}
step "exec" "data" {
  command = ["sh", "-c", "echo id,x >sample_submission.csv; echo old >description.md"]
  outputs = ["sample_submission.csv", "description.md"]
}
agent "reader" {
  image   = %q
  command = ["/usr/bin/busybox", "sh", "-ec", "echo -n \"$SUMS\" | busybox sha256sum -c; ! busybox touch /home/data/description.md; busybox cp /home/mleflow.txt /home/submission/submission.csv"]
}
step "agent-run" "solve" {
  for_each    = local.runs
  agent       = agent.reader
  competition = each.value.competition
  task        = each.value.task
  env         = { SUMS = each.value.sums }
  data        = step.exec.data.tree
  runtime     = "containerd"
}
output "outcomes" { value = join(" ", values(step.agent-run.solve)[*].outcome) }
`, runs.String(), made.Path))
	outputs, _ := h.apply(file, "--adopt", checkout)
	if want := strings.TrimSpace(strings.Repeat("finished ", 2*len(tried))); strings.Trim(outputs["outcomes"], `"`) != want {
		logs, _, _ := h.run("logs", "latest")
		t.Errorf("outcomes %s\n%s", outputs["outcomes"], tail(logs))
	}
	h.clean()
}

func pinsOf(t *testing.T, id string, form competitions.Task) competitions.Texts {
	t.Helper()
	catalog, err := competitions.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	def, err := catalog.Get(id)
	if err != nil {
		t.Fatal(err)
	}
	pins, err := competitions.Reference().Texts(def, form)
	if err != nil {
		t.Fatal(err)
	}
	return pins
}
