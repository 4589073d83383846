package aide

import (
	"crypto/rand"
	"fmt"
	mrand "math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mleflow/mleflow/plugins/models/modeltest"
)

// testLost kills mleflow, or it and containerd with everything in containers, while AIDE
// searches (MLEFLOW_AIDE_KILLS says in how many attempts). AIDE begins again with the
// rest of its time, and what it had asked before is answered from the transcript.
func testLost(t *testing.T) {
	m := &modeltest.Server{Key: "sk-canary-" + rand.Text(), Models: []string{"gpt-4o-2024-08-06"}, Answer: modeltest.AIDE}
	p := newAgentPlace(t, m, `mleflow { extends = "aide.hcl" }`, "aide")
	base := filepath.Join(filepath.Dir(p.file), "mlebench.hcl")
	text, err := os.ReadFile(base)
	if err != nil {
		t.Fatal(err)
	}
	const at = "  timeout     = var.timeout\n"
	if err := os.WriteFile(base, []byte(strings.Replace(string(text), at, at+"  on_loss = \"restart\"\n  checkpoint_every = \"1s\"\n", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{
		"-var", "base_url=http://" + serve(t, m) + "/v1", "-var", "key=env:CANARY", "-var", "runtime=containerd",
		"-var", "aide_steps=3", "-var", "aide_drafts=1", "-var", "timeout=15m",
	}
	attempts, err := strconv.Atoi(os.Getenv("MLEFLOW_AIDE_KILLS"))
	if err != nil {
		attempts = 1
	}
	for n := range attempts {
		own := append(args, "-var", fmt.Sprintf("aide_step_hours=0.05%d1", n)) // a key of its own
		asked, machine := len(m.Calls()), n%2 == 0
		p.lose(m, machine, own)
		before := len(m.Calls()) - asked
		outputs, _, printed := p.apply(own...)
		score, err := strconv.ParseFloat(outputs["score"], 64)
		if err != nil || score < 0.97 || outputs["outcome"] != "finished" {
			t.Errorf("score %q, outcome %s", outputs["score"], outputs["outcome"])
		}
		found, files := search(t, m.Key, p.cache, p.daemon.Dir)
		if len(found) > 0 || strings.Contains(printed, m.Key) {
			t.Errorf("the key is in %v, or was printed", found)
		}
		t.Logf("machine lost: %v; %d requests before and %d after; score %v; the key is in none of %d files; stats %s",
			machine, before, len(m.Calls())-asked-before, score, files, outputs["stats"])
	}
}

// lose applies until some time after the agent's first request, and kills mleflow, or the
// whole machine.
func (p *place) lose(m *modeltest.Server, machine bool, args []string) {
	asked := len(m.Calls())
	cmd := exec.Command(mleflow, append([]string{"apply", p.file, "--cache-dir", p.cache}, args...)...)
	cmd.Env, cmd.SysProcAttr = p.env, &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	for until := time.Now().Add(20 * time.Minute); len(m.Calls()) == asked; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(until) {
			p.t.Fatal("the agent asked for nothing")
		}
	}
	time.Sleep(mrand.N(12 * time.Second))
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	_ = cmd.Wait()
	if machine {
		p.daemon.Crash(p.t)
		p.daemon.Restart(p.t)
	}
}
