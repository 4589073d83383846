package e2e

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/ui/browsertest"
	"github.com/mleflow/mleflow/plugins/models/modeltest"
)

// watched is added to the pipeline of an agent with a model: a step that fails.
const watched = `
step "exec" "broken" {
  command = ["sh", "-c", "until [ -e SIGNS/fail ]; do sleep 0.1; done; echo the disk is on fire; exit 3"]
}
`

// TestWatch watches a real apply in another process on the page that mleflow ui
// serves: its start, an attempt whose transcript and code grow, a failure, the end.
// No page is loaded again.
func TestWatch(t *testing.T) {
	b := browsertest.Open(t)
	t.Cleanup(browsertest.Close)
	dir := t.TempDir()
	await := func(name string) string {
		return "until [ -e " + filepath.Join(dir, name) + " ]; do sleep 0.1; done"
	}
	server := &modeltest.Server{Key: "sk-watched", Models: []string{"m-1"}, Answer: func(a *modeltest.Ask) modeltest.Answer {
		if a.Count("assistant") == 0 {
			return modeltest.Answer{Text: "First a plan.\n```bash\necho 'print(111)' > $CODE_DIR/main.py; " + await("one") + "; echo planned\n```"}
		}
		return modeltest.Answer{Text: "Then the rest.\n```bash\necho 'print(222)' > $CODE_DIR/main.py; " + await("two") + "; cp $MLEFLOW_SAMPLE $SUBMISSION_DIR/submission.csv; echo COMPLETE\n```"}
	}}
	p := modelPlace(t, dir, "process", "chat", fmt.Sprintf("key = \"env:CANARY\"\nbase_url = %q", modeltest.Start(t, server)+"/v1"), "CANARY=sk-watched")
	text, err := os.ReadFile(p.file)
	if err == nil {
		err = os.WriteFile(p.file, []byte(strings.Replace(string(text), `timeout     = "5m"`, "timeout = \"5m\"\n  snapshot_every = \"1s\"", 1)+strings.ReplaceAll(watched, "SIGNS", dir)), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	sign := func(name string) {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	base, first := p.pages()
	runs := b.Tab(browsertest.Forms()[0])
	runs.Go(first)
	runs.Wait(`document.body.innerText.includes('Nothing has been applied')`)

	apply := p.command("apply", p.file, "--keep-going", "--parallelism", "3")
	if err := apply.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = apply.Process.Kill(); _ = apply.Wait() })
	runs.Wait(`document.querySelector('tbody a') && document.querySelector('.pill.running')`)
	run := b.Tab(browsertest.Forms()[1])
	run.Go(first)
	run.Go(base + strings.Trim(runs.Run(`document.querySelector('tbody a').getAttribute('href')`), `"`))
	run.Run("window.same = true")
	run.Wait(`document.querySelector('[data-section=running]').innerText.includes('step.agent-run.solve') && document.body.innerText.includes('step.exec.broken')`)

	step := base + strings.Replace(strings.Trim(run.Run(`location.pathname`), `"`), "/runs/", "/step/", 1) + "?address=step.agent-run.solve"
	said, code, changes := b.Tab(browsertest.Forms()[0]), b.Tab(browsertest.Forms()[3]), b.Tab(browsertest.Forms()[1])
	for tab, part := range map[*browsertest.Tab]string{said: "transcript", code: "code", changes: "code&view=changes"} {
		tab.Go(first)
		tab.Go(step + "&tab=" + part)
		tab.Run("window.same = true")
	}
	said.Wait(`document.body.innerText.includes('1 exchange so far') && document.body.innerText.includes('First a plan.')`)
	code.Wait(`document.body.innerText.includes('print(111)')`)
	sign("one")
	said.Wait(`document.body.innerText.includes('2 exchanges so far') && document.body.innerText.includes('Then the rest.')`)
	code.Wait(`document.body.innerText.includes('print(222)')`)
	changes.Wait(`document.querySelector('del')?.innerText.includes('print(111)') && document.querySelector('ins').innerText.includes('print(222)')`)
	shoot(t, map[string]*browsertest.Tab{"watched-run": run, "watched-transcript": said, "watched-code": code})
	said.Run(`[...document.querySelectorAll('a')].find(a => a.innerText === 'Turn 2').click()`)
	said.Wait(`document.querySelector('[data-section=turn]')?.innerText.includes('Then the rest.')`)
	said.Run("window.same = true")

	sign("fail")
	run.Wait(`document.querySelector('[data-section=problems]').innerText.includes('the disk is on fire')`)
	sign("two")
	run.Wait(`document.querySelector('.pill.failed') && !document.querySelector('[data-live]') && document.body.innerText.includes('1 failed') || document.querySelector('.facts .failed')`)
	code.Wait(`!document.querySelector('[data-live]') && document.body.innerText.includes('print(222)')`)
	said.Wait(`!document.querySelector('[data-live]') && document.body.innerText.replace(/\s+/g, ' ').includes('2 exchanges ')`)
	if err := apply.Wait(); apply.ProcessState.ExitCode() != 1 {
		t.Errorf("apply ends with %v", err)
	}
	runs.Wait(`document.querySelector('.pill.failed')`)
	shoot(t, map[string]*browsertest.Tab{"watched-end": run})
	for name, tab := range map[string]*browsertest.Tab{"the run": run, "the transcript": said, "the code": code, "its changes": changes} {
		if tab.Run("window.same === true") != "true" {
			t.Errorf("the page of %s was loaded again", name)
		}
		for _, fault := range tab.Faults() {
			t.Errorf("%s: %.400s", name, fault)
		}
	}
}

// pages serves the local page and returns its address without the token, and with
// it.
func (p *place) pages() (base, first string) {
	p.t.Helper()
	cmd := p.command("ui")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	first = strings.TrimSpace(strings.TrimPrefix(line, "Open "))
	base, _, found := strings.Cut(first, "/?token=")
	if err != nil || !found {
		p.t.Fatalf("ui prints %q: %v", line, err)
	}
	return base, first
}

// shoot takes pictures, if MLEFLOW_SHOTS names a folder for them.
func shoot(t *testing.T, tabs map[string]*browsertest.Tab) {
	t.Helper()
	if dir := os.Getenv("MLEFLOW_SHOTS"); dir != "" {
		for name, tab := range tabs {
			tab.Shot(filepath.Join(dir, name+".png"))
		}
	}
}
