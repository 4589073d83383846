package aide

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/plugins/models/modeltest"
)

// dummyScore is what the dummy agent gets at demo-digits, where it submits the
// sample submission; the competition's definition says so, too.
const dummyScore = 0.075

// check sees that the agent asked the model, that it had these connections by the
// proxy and no others, that the model's faults were survived, that the score is more than the dummy's, and that the key is
// nowhere.
func check(t *testing.T, p *place, m *modeltest.Server, outputs map[string]string, printed string, connections []string, least float64) (prompts []string) {
	t.Helper()
	if outputs["outcome"] != "finished" {
		t.Errorf("outcome %v", outputs["outcome"])
	}
	score, err := strconv.ParseFloat(outputs["score"], 64)
	if err != nil || score < least || score <= dummyScore {
		t.Errorf("score %q, want %v at least; the dummy's is %v", outputs["score"], least, dummyScore)
	}
	var statuses []int
	reviews := 0
	for _, c := range m.Calls() {
		statuses = append(statuses, c.Status)
		switch {
		case c.Status != http.StatusOK:
		case len(c.Tools) > 0:
			reviews++
		default:
			prompts = append(prompts, c.Prompt())
		}
	}
	if len(statuses) < 3 || !slices.Equal(statuses[:2], []int{429, 500}) || slices.ContainsFunc(statuses[2:], func(s int) bool { return s != 200 }) {
		t.Errorf("the model's replies: %v", statuses)
	}
	ends, n := p.connections(outputs["network_log"])
	if diff := cmp.Diff(connections, ends); diff != "" {
		t.Errorf("connections (-want +got):\n%s%s", diff, p.text(outputs["network_log"]))
	}
	dirs := []string{p.cache, p.daemon.Dir}
	found, files := search(t, m.Key, dirs...)
	if len(found) > 0 || strings.Contains(printed, m.Key) {
		t.Errorf("the key is in %v, or was printed", found)
	}
	if found, _ := search(t, m.Models[0], dirs...); len(found) == 0 {
		t.Error("the search for the key would not find anything")
	}
	t.Logf("score %v after %d requests by %d connections, %d of them reviews; the key is in none of %d files", score, len(statuses), n, reviews, files)
	return prompts
}

// outputs are added to a pipeline whose attempt is step.agent-run.solve[key].
func wanted(key string) string {
	return strings.ReplaceAll(`
output "outcome"     { value = step.agent-run.solve[KEY].outcome }
output "network_log" { value = step.agent-run.solve[KEY].network_log }
output "stats"       { value = step.agent-run.solve[KEY].stats }
output "score"       { value = step.grade.score[KEY].score }
`, "KEY", `"`+key+`"`)
}

// testAIDE lets AIDE search for a solution of demo-digits: the first one that the
// model writes has a bug, the second fixes it, the third is better. Its model is
// one for which AIDE has a fixed address.
func testAIDE(t *testing.T) {
	m := &modeltest.Server{Key: "sk-canary-" + rand.Text(), Models: []string{"gpt-4o-2024-08-06"}, Answer: modeltest.AIDE, Fault: faulty}
	address := serve(t, m)
	p := newAgentPlace(t, m, `mleflow { extends = "aide.hcl" }`, "aide")
	args := []string{
		"-var", "base_url=http://" + address + "/v1", "-var", "key=env:CANARY", "-var", "runtime=containerd",
		"-var", "aide_steps=3", "-var", "aide_drafts=1", "-var", "timeout=15m", "-var", "aide_step_hours=0.05",
	}
	start := time.Now()
	outputs, ran, printed := p.apply(args...)
	t.Logf("%d steps ran in %v; stats %v", ran, time.Since(start).Round(time.Second), outputs["stats"])
	prompts := check(t, p, m, outputs, printed, nil, 0.97)
	if len(m.Calls()) != 2+3+3 || len(prompts) != 3 || !strings.Contains(prompts[1], "KeyError") || !strings.Contains(prompts[2], "NearestCentroid") {
		t.Errorf("%d requests, %d solutions; AIDE should fix its first solution and improve the second", len(m.Calls()), len(prompts))
	}
	for _, fact := range []string{"submission/submission.csv", "validate", "Handwritten digits", "at most 3", "Left: "} {
		if !strings.Contains(prompts[0], fact) {
			t.Errorf("the prompt does not say %q", fact)
		}
	}
	if _, ran, _ := p.apply(args...); ran != 0 {
		t.Errorf("%d steps ran again", ran)
	}
}

// busyboxPipeline makes an image of one program, as Debian's package
// busybox-static has it, with files, a text and commands, and runs an agent of
// the reference's shape in it, in a shell.
const busyboxPipeline = `
variable "base_url" {}
variable "address" {}
variable "packages" {}

step "exec" "base" {
  command = ["sh", "-ec", "mkdir bin; cp /bin/busybox bin/; tar -c bin"]
}

step "image" "agent" {
  base_content = step.exec.base.stdout
  env          = { PATH = "/bin" }
  run = [
    ["/bin/busybox", "--install", "-s", "/bin"],
    ["/bin/sh", "-ec", "mkdir -p /etc /home/agent; id -u > /etc/builder; ls /sys/class/net > /etc/interfaces-of-builder; if [ -n \"$OPENAI_API_KEY\" ]; then exit 1; fi"],
    ["/bin/sh", "-ec", "wget -q -O /etc/package http://${var.packages}/package; if wget -q -O - http://${var.address}/; then exit 1; fi"],
  ]
  network { allow = [var.packages] }
  texts = {
    "/etc/passwd" = "root:x:0:0:root:/:/bin/sh\nagent:x:1000:1000:agent:/home/agent:/bin/sh\n"
    "/home/agent/start.sh" = <<-EOT
      #!/bin/sh
      set -eu
      cd $AGENT_DIR
      test "$(pwd) $SUBMISSION_DIR $LOGS_DIR $CODE_DIR" = "/home/agent /home/submission /home/logs /home/code"
      test -f /home/instructions.txt && test -f /home/data/description.md
      test "$(cat /etc/builder /etc/interfaces-of-builder /etc/package | tr '\n' ' ')" = "0 lo the package "
      echo "the key is $OPENAI_API_KEY"
      printf '{"model":"%s","messages":[{"role":"user","content":"Write a shell script."}]}' "$1" > request
      tries=0
      ask() {
        head='POST %s/chat/completions HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Length: %s\r\nConnection: close\r\n\r\n'
        { printf "$head" $OPENAI_BASE_URL $2 $OPENAI_API_KEY $(wc -c < request); cat request; sleep 1; } | nc -w 30 127.0.0.1 3128 > reply
        head -n 1 reply | grep -q ' 200 '
      }
      until ask "$@"; do
        tries=$((tries + 1))
        test $tries -lt 10
        sleep 1
      done
      printf '%b' "$(sed -n 's/.*sh\\n\(awk.*submission.csv\)\\n.*/\1/p' reply)" > $CODE_DIR/solution.sh
      sh $CODE_DIR/solution.sh
      unset http_proxy HTTP_PROXY # wget knows no exceptions
      wget -q -O - http://localhost:5000/health
      if wget -q -T 5 -O - http://127.0.0.3:9/; then exit 1; fi
    EOT
  }
}

agent "shell" {
  image   = step.image.agent.image
  command = ["sh", "/home/agent/start.sh"]
  args    = ["stand-in-1", var.address]
  env     = { OPENAI_BASE_URL = var.base_url }
  secrets = { OPENAI_API_KEY = "env:OPENAI_API_KEY" }
}

step "download" "raw" { competition = "demo-digits" }

step "prepare" "data" {
  competition = "demo-digits"
  raw         = step.download.raw.tree
}

step "agent-run" "solve" {
  for_each    = ["0"]
  agent       = agent.shell
  competition = "demo-digits"
  data        = step.prepare.data.public
  runtime     = "containerd"
  timeout     = "5m"
  network { allow = [var.address] }
}

step "grade" "score" {
  for_each    = ["0"]
  competition = "demo-digits"
  submission  = step.agent-run.solve[each.key].submission
  answers     = step.prepare.data.private
}

output "image" { value = step.image.agent.digest }
`

// TestModelAgent does what TestAgents does with a shell for an agent: it takes no
// network and seconds.
func TestModelAgent(t *testing.T) {
	if _, err := os.Stat("/bin/busybox"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip("it needs Debian's busybox-static: ", err)
	}
	m := &modeltest.Server{Key: "sk-canary-" + rand.Text(), Models: []string{"stand-in-1"}, Fault: faulty, Answer: func(*modeltest.Ask) modeltest.Answer {
		return modeltest.Answer{Text: "The nearest mean.\n\n```sh\n" + modeltest.Centroids + "```\n"}
	}}
	address := serve(t, m)
	p := newPlace(t, busyboxPipeline+wanted("0"), "", "OPENAI_API_KEY="+m.Key)
	packages := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "the package") }))
	args := []string{"-var", "base_url=http://" + address + "/v1", "-var", "address=" + address, "-var", "packages=" + packages}
	outputs, _, printed := p.apply(args...)
	check(t, p, m, outputs, printed, []string{"allowed " + address}, 0.8)
	if _, ran, _ := p.apply(args...); ran != 0 {
		t.Errorf("%d steps ran again", ran)
	}
	changed := strings.Replace(busyboxPipeline, "agent:x:1000:1000:agent:", "agent:x:1000:1000:somebody:", 1)
	if err := os.WriteFile(p.file, []byte(changed+wanted("0")), 0o600); err != nil {
		t.Fatal(err)
	}
	again, ran, _ := p.apply(args...)
	if ran != 2 || again["image"] == outputs["image"] {
		t.Errorf("after a change of the image %d steps ran, want the image and the agent, who submits the same again; image %s, before %s", ran, again["image"], outputs["image"])
	}
}
