package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/image"
)

// contrast runs the same thief in a container with the layout of MLE-bench: the
// answers bound at /private, which only root may enter, graders and definitions
// in the image, the grading server inside, the network open, docker's usual
// capabilities. user is the thief's: the reference's is nonroot, and an agent
// that may use sudo or runs privileged is root.
func (p *plot) contrast(t *testing.T, user string) []finding {
	// A mount point needs a folder in the image.
	const private = "/private/data/demo-cancer/prepared/private"
	recipe := image.Static(rogue, "rogue")
	recipe.Files = append(recipe.Files,
		image.File{Host: filepath.Join(p.secrets, "mlebench"), Guest: "/mlebench"},
		image.File{Host: "../../../../../../competitions/shipped/demo-cancer/competition.hcl", Guest: "/mlebench/demo-cancer.hcl"},
		image.File{Guest: "/private/", Mode: 0o700}, image.File{Guest: private + "/"})
	made, err := (&image.Builder{Dir: filepath.Join(p.dir, "images")}).Build(t.Context(), recipe, os.Stderr)
	must(t, err)
	var home string
	for try := 1; ; try++ {
		var exit executor.Exit
		var said string
		if home, exit, said, err = p.contrastOnce(t, user, private, made.Path, try); err == nil && exit.OK() {
			break
		}
		// A probe that fills the process table may leave no thread for the
		// agent itself, which is then ended by its own runtime with status 2.
		if try == 3 || err != nil || exit.Code != 2 {
			t.Fatalf("contrast as %s: %+v, %v\n%s", user, exit, err, said)
		}
	}
	list := readFindings(t, filepath.Join(home, "logs", "probes.jsonl"))
	p.judgeContrast(t, user, list)
	return list
}

// contrastOnce runs the probes once and returns the agent's home and what it
// printed last.
func (p *plot) contrastOnce(t *testing.T, user, private, path string, try int) (home string, exit executor.Exit, said string, err error) {
	t.Helper()
	home = filepath.Join(t.TempDir(), "home")
	env := p.aims()
	for _, name := range []string{"agent", "code", "logs", "submission"} {
		must(t, os.MkdirAll(filepath.Join(home, name), 0o777))
		must(t, os.Chmod(filepath.Join(home, name), 0o777))
		env[strings.ToUpper(name)+"_DIR"] = "/home/" + name
	}
	must(t, os.Mkdir(filepath.Join(home, "data"), 0o755))
	must(t, os.Chmod(home, 0o777))
	env["AIM_USER"], env["AIM_ANSWERS"] = user, private+"/test.csv"
	var logs bytes.Buffer
	exit, err = p.executor().Run(t.Context(), executor.Spec{
		ID: fmt.Sprint(t.Name(), user, try), Image: path, Dir: "/home", Command: []string{"/usr/bin/rogue", "reference"}, Env: env,
		Mounts: []executor.Mount{
			{Host: home, Guest: "/home"},
			{Host: filepath.Join(p.dir, "prepared/demo-cancer/prepared/public"), Guest: "/home/data", ReadOnly: true},
			{Host: filepath.Join(p.secrets, "private"), Guest: private, ReadOnly: true},
		},
		Limits:  executor.Limits{Timeout: 5 * time.Minute, MemoryBytes: 1 << 30, Processes: 300, FileBytes: 300 << 20},
		Network: executor.Network{Open: true},
		Sandbox: executor.Sandbox{HostUsers: true, User: "0:0", Capabilities: []string{"CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FSETID", "CAP_FOWNER", "CAP_MKNOD", "CAP_NET_RAW", "CAP_SETGID", "CAP_SETUID", "CAP_SETFCAP", "CAP_SETPCAP", "CAP_NET_BIND_SERVICE", "CAP_SYS_CHROOT", "CAP_KILL", "CAP_AUDIT_WRITE"}},
	}, &logs)
	return home, exit, tail(strings.ReplaceAll(strings.ToValidUTF8(logs.String(), ""), "flood\x00 flood\n", "")), err
}

// judgeContrast sees that the probes find what is there to be found: a test
// that cannot fail is none.
func (p *plot) judgeContrast(t *testing.T, user string, list []finding) {
	found := map[string]bool{}
	open := 0
	for _, f := range list {
		if f.Open {
			open++
		}
		for what, token := range p.planted {
			if strings.Contains(strings.Join(f.Canaries, " "), token) {
				found[what] = true
			}
		}
		for _, what := range []string{"answers", "thresholds"} {
			for _, c := range f.Canaries {
				if strings.HasPrefix(c, what+" in ") {
					found["the "+what] = true
				}
			}
		}
	}
	want := []string{"definition", "grader", "server", "abstract", "the thresholds"}
	if user == "root" {
		want = append(want, "answers", "the answers")
	}
	for _, what := range want {
		if !found[what] && os.Getenv("MLEFLOW_PROBE") == "" {
			t.Errorf("as %s in the reference's layout no probe finds %s; found %v", user, what, found)
		}
	}
	t.Logf("reference's layout as %s: %d of %d probes open, found %v", user, open, len(list), found)
}

// publish writes the table of PROBES.md, or compares it with what is there: which
// probes there are, not what they got this time.
func (p *plot) publish(t *testing.T, ours, sandbox, as, root []finding) {
	const file = "PROBES.md"
	text, err := os.ReadFile(file)
	must(t, err)
	if os.Getenv("UPDATE_GOLDEN") != "" {
		text = []byte(generated + p.table(ours, sandbox, as, root))
		must(t, os.WriteFile(file, text, 0o644))
	}
	for _, f := range ours {
		t.Logf("%-34s %s", f.Probe, f.Got)
		if !strings.Contains(string(text), "| "+f.Probe+" |") && os.Getenv("MLEFLOW_PROBE") == "" {
			t.Errorf("PROBES.md does not have the probe %q; UPDATE_GOLDEN=1 go test ./cmd/mleflow/internal/dev/e2e/sandbox -run Thief writes it again", f.Probe)
		}
	}
}

// table holds nothing that is different every time: no canary, path, address or
// number of this machine.
func (p *plot) table(ours, sandbox, as, root []finding) string {
	var out strings.Builder
	opened := func(list []finding) (n, canaries int) {
		for _, f := range list {
			if f.Open {
				n++
			}
			canaries += len(f.Canaries)
		}
		return n, canaries
	}
	_, oursFound := opened(ours)
	asOpen, _ := opened(as)
	rootOpen, _ := opened(root)
	_, sandboxFound := opened(sandbox)
	fmt.Fprintf(&out, tableHead, oursFound, sandboxFound, len(ours), asOpen, rootOpen)
	for i, f := range ours {
		fmt.Fprintf(&out, "| %s | %s | %s | %s | %s | %s |\n", f.Probe, cell(f.Tried), p.outcome(f, true), p.outcome(sandbox[i], true), p.outcome(as[i], false), p.outcome(root[i], false))
	}
	return out.String()
}

// generated begins PROBES.md.
const generated = `<!-- Generated by the test TestThief: UPDATE_GOLDEN=1 go test ./cmd/mleflow/internal/dev/e2e/sandbox -run Thief -->

# Probes
`

const tableHead = `
Canaries found: %d in containerd and %d in the sandbox, in %d probes. In the container with MLE-bench's layout %d probes get more than they
should (open, found) as the user nonroot, and %d as root. An asterisk: checked from outside.

| Probe | What it tries | containerd | sandbox, as any user | MLE-bench's layout, nonroot | MLE-bench's layout, root |
| --- | --- | --- | --- | --- | --- |
`

func cell(s string) string { return strings.ReplaceAll(s, "|", "\\|") }

// outcome says in a few words what a probe got.
func (p *plot) outcome(f finding, detail bool) string {
	var found []string
	for _, c := range f.Canaries {
		what, _, _ := strings.Cut(c, " in ")
		for name, token := range p.planted {
			if token == what {
				what = "canary in " + name
			}
		}
		found = append(found, what)
	}
	switch {
	case len(found) > 0:
		return "**found: " + strings.Join(found, ", ") + "**"
	case f.Open:
		return "**open**"
	case strings.Contains(f.Got, "the host sees"):
		return "nothing\\*"
	}
	return "nothing"
}
