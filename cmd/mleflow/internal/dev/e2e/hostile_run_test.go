package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/outcome"
)

// hostile is a pipeline with an honest agent, one that leaves 20 MB of commas
// as its submission, and one that sends the validity server 60 MiB of them.
const hostile = `
agent "honest" { command = ["mleflow", "agent", "dummy"] }
agent "commas" { command = ["sh", "-c", "head -c 20000000 /dev/zero | tr '\\0' , > $SUBMISSION_DIR/submission.csv"] }
agent "upload" { command = [%q, "upload"] }
locals { agents = { honest = agent.honest, commas = agent.commas, upload = agent.upload } }
step "download" "raw" { competition = "demo-digits" }
step "prepare" "data" {
  competition = "demo-digits"
  raw         = step.download.raw.tree
}
step "checksum" "data" {
  competition = "demo-digits"
  prepared    = step.prepare.data
}
step "agent-run" "solve" {
  for_each    = local.agents
  agent       = each.value
  competition = "demo-digits"
  data        = step.checksum.data.public
}
step "grade" "score" {
  for_each    = local.agents
  competition = "demo-digits"
  submission  = step.agent-run.solve[each.key].submission
  answers     = step.checksum.data.private
  labels      = { agent = each.key, seed = 0 }
}
step "aggregate" "board" { reports = values(step.grade.score)[*].report }
`

// upload is the agent of that name: it submits what the validity server says of
// a sea of commas, next to the sample submission.
func upload() error {
	const size = 60 << 20
	server := os.Getenv("MLEFLOW_GATEWAY")
	if !strings.Contains(server, "://") {
		server = "http://" + server
	}
	r, w := io.Pipe()
	form := multipart.NewWriter(w)
	go func() {
		part, err := form.CreateFormFile("file", "submission.csv")
		for n := 0; n < size && err == nil; n += 1 << 20 {
			_, err = part.Write(bytes.Repeat([]byte{','}, 1<<20))
		}
		if err == nil {
			err = form.Close()
		}
		w.CloseWithError(err)
	}()
	answer, err := http.Post(server+"/validate", form.FormDataContentType(), r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	said, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	sample, err := os.ReadFile(filepath.Join(os.Getenv("DATA_DIR"), "sample_submission.csv"))
	if err != nil {
		return err
	}
	folder := os.Getenv("SUBMISSION_DIR")
	return errors.Join(
		os.WriteFile(filepath.Join(folder, "submission.csv"), sample, 0o600),
		os.WriteFile(filepath.Join(os.Getenv("LOGS_DIR"), "verdict.json"), fmt.Appendf(nil, "%d %s", answer.StatusCode, said), 0o600),
	)
}

// TestHostileRun applies it: each submission gets its grade, what is graded is
// kept, and the process stays small, the children that it waits for included.
func TestHostileRun(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	p := newPlace(t, dir)
	if err := os.WriteFile(p.file, fmt.Appendf(nil, hostile, self), 0o600); err != nil {
		t.Fatal(err)
	}
	apply := p.command("apply", p.file)
	if out, err := apply.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if used := apply.ProcessState.SysUsage().(*syscall.Rusage).Maxrss; used > 700<<10 {
		t.Errorf("the run took %d MiB", used>>10)
	}
	results := filepath.Join(dir, "results")
	if stdout, stderr, code := p.run("get", "latest", "--all", "-o", results); code != 0 {
		t.Fatalf("get: exit %d\n%s%s", code, stdout, stderr)
	}
	for agent, want := range map[string]outcome.Submission{"honest": outcome.Scored, "upload": outcome.Scored, "commas": outcome.Invalid} {
		text, err := os.ReadFile(filepath.Join(results, agent, "demo-digits/0/report.json"))
		if err != nil {
			t.Fatal(err)
		}
		var r grading.Report
		if err := json.Unmarshal(text, &r); err != nil {
			t.Fatal(err)
		}
		if r.Outcome != want || (r.Reason == "") != (want == outcome.Scored) {
			t.Errorf("the submission of %s is %s (%s), want %s", agent, r.Outcome, r.Reason, want)
		}
	}
	verdict, err := os.ReadFile(filepath.Join(results, "upload/demo-digits/0/logs/verdict.json"))
	if err != nil || !strings.Contains(string(verdict), "200 {\"result\":\"Submission invalid! ") {
		t.Errorf("the validity server says %q (%v)", verdict, err)
	}
	stdout, stderr, code := p.run("apply", p.file)
	if code != 0 || !strings.Contains(stdout, "Nothing to do") {
		t.Errorf("again: exit %d\n%s%s", code, stdout, stderr)
	}
}
