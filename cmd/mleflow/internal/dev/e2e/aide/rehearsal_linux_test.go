package aide

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/rehearse"
	"github.com/mleflow/mleflow/plugins/models/modeltest"
)

// testRehearsal rehearses MLE-bench Lite with AIDE in its image: a real agent program asks
// for a solution of each competition, runs it and submits.
func testRehearsal(t *testing.T) {
	m := &modeltest.Server{Key: "sk-canary-" + rand.Text(), Models: []string{"gpt-4o-2024-08-06"}, Answer: modeltest.AIDEAnyTask}
	address := serve(t, m)
	p := newPlace(t, "", "MLEFLOW_TEST_AGENTS", "CANARY="+m.Key)
	if err := os.CopyFS(filepath.Dir(p.file), os.DirFS(pipelines)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p.file, []byte(`mleflow { extends = "aide.hcl" }`), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(mleflow, "rehearse", p.file, "--json", "--cache-dir", p.cache, "--timeout", "2m",
		"-var", "set=low", "-var", "base_url=http://"+address+"/v1", "-var", "key=env:CANARY", "-var", "runtime=containerd",
		"-var", "aide_steps=1", "-var", "aide_drafts=1", "-var", "cpus=1", "-var", "memory=2GiB")
	var out, errs bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr = p.env, &out, &errs
	start := time.Now()
	if err := cmd.Run(); err != nil {
		t.Errorf("rehearse: %v\n%s", err, tail(errs.String()))
	}
	var r rehearse.Report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatalf("%v:\n%s", err, tail(out.String()))
	}
	t.Logf("%d of %d ready in %v; %d requests; real run %+v", r.Ready, r.Attempts, time.Since(start).Round(time.Second), len(m.Calls()), r.Real)
	if r.Attempts != 22 || r.Ready != 22 {
		t.Errorf("%d of %d ready", r.Ready, r.Attempts)
	}
	for _, row := range r.Rows {
		if !row.Ready || row.Data == nil || row.Data.Opened < 2 || row.Tokens == nil || *row.Tokens == 0 {
			t.Errorf("%s: %+v, data %+v", row.Competition, row, row.Data)
		}
	}
	if real := r.Real; real.Tokens == nil || real.CostUSD == nil || real.Tokens.Low <= 0 || real.Tokens.High < 10*real.Tokens.Low || real.CostUSD.High < real.CostUSD.Low {
		t.Errorf("the real run: %+v", real)
	}
}
