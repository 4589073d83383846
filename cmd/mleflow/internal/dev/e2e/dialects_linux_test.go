package e2e

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mleflow/mleflow/plugins/models/modeltest"
)

// TestDialects has a small client of each dialect solve demo-digits in the runtime
// sandbox, without a network, and once more there from its transcript, without key
// and provider: the same bytes.
func TestDialects(t *testing.T) {
	try := exec.Command("/bin/true")
	try.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID}
	if err := try.Run(); err != nil {
		t.Skipf("the kernel refuses user namespaces: %v", err)
	}
	for dialect := range talks {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			key := "sk-canary-" + rand.Text()
			server := &modeltest.Server{Key: key, Models: []string{"m-1"}, Answer: modeltest.Digits}
			address := modeltest.Start(t, server)
			if dialect == "chat" || dialect == "responses" {
				address += "/v1"
			}
			dir, again := t.TempDir(), t.TempDir()
			p := modelPlace(t, dir, "sandbox", dialect, fmt.Sprintf("key = \"env:CANARY\"\nbase_url = %q", address), "CANARY="+key)
			outputs, _ := p.finish()
			var stats struct {
				Network  string
				Isolated bool
			}
			if err := json.Unmarshal([]byte(outputs["stats"]), &stats); err != nil || stats.Network != "none" || !stats.Isolated {
				t.Errorf("stats %s: %v", outputs["stats"], err)
			}
			if !strings.Contains(outputs["board"], "0.91111") {
				t.Errorf("board:\n%s", outputs["board"])
			}
			for _, c := range server.Calls() {
				if c.Operation != dialect || c.Status != http.StatusOK {
					t.Errorf("the provider was asked for %s: status %d", c.Operation, c.Status)
				}
			}
			if n := len(server.Calls()); n != 3 {
				t.Errorf("the provider was asked %d times", n)
			}
			recording := filepath.Join(again, "recording")
			if out, errs, code := p.run("get", "latest", "step.agent-run.solve.transcript", "-o", recording); code != 0 {
				t.Fatalf("exit %d\n%s%s", code, out, errs)
			}
			withoutCanary(t, dir, key)
			withoutCanary(t, recording, key)
			server.Reset()
			replayed, _ := modelPlace(t, again, "sandbox", dialect, `replay = "recording/transcript"`).finish()
			for _, name := range []string{"submission", "code", "outcome"} {
				if replayed[name] != outputs[name] {
					t.Errorf("replayed, %s is %s, not %s", name, replayed[name], outputs[name])
				}
			}
			if n := len(server.Calls()); n != 0 {
				t.Errorf("the replay asked the provider %d times", n)
			}
		})
	}
}
