package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// strangersKey is a text that no output may have. It has the form of a key.
const strangersKey = "sk-Canary0123456789abcdefXYZ"

// strangers are the commands that look at a stranger's pipeline without running it.
var strangers = []string{
	"validate p.hcl", "plan p.hcl", "plan p.hcl --json", "plan p.hcl --offline", "explain p.hcl step.exec.a", "graph p.hcl",
	"doctor p.hcl", "apply p.hcl --require-cached",
}

// stranger makes a home folder with keys, and a repository in it.
func stranger(t *testing.T) (home, repo string) {
	t.Helper()
	home = t.TempDir()
	repo = filepath.Join(home, "work", "repo")
	plantFiles(t, home, map[string]string{
		".ssh/id_rsa": strangersKey + "\n", ".aws/credentials": strangersKey + " {\n", "work/secrets.hcl": strangersKey + " {\n",
		"work/other/" + strangersKey: "name\n", "work/repo/.git/config": "token = " + strangersKey + "\n", "work/repo/p.hcl": "",
	})
	return home, repo
}

func plantFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// look runs each command in the repository and returns what they printed together.
func look(t *testing.T, home, repo string, env []string) string {
	t.Helper()
	p := &place{t: t, cache: filepath.Join(t.TempDir(), "cache")}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	var all strings.Builder
	for _, line := range strangers {
		whole := p.command(strings.Fields(line)...)
		cmd := exec.CommandContext(ctx, whole.Path, whole.Args[1:]...)
		cmd.Dir, cmd.Env = repo, append(append(whole.Env, "HOME="+home, "OPENAI_API_KEY="+strangersKey), env...)
		out, _ := cmd.CombinedOutput()
		if ctx.Err() != nil {
			t.Fatalf("%s waits", line)
		}
		fmt.Fprintf(&all, "%s: %s\n", line, out)
	}
	return all.String()
}

// TestStrangersFiles plans pipelines that try to print what is not theirs.
func TestStrangersFiles(t *testing.T) {
	t.Parallel()
	show := func(expr string) string {
		return "step \"exec\" \"a\" {\n  for_each = toset([" + expr + "])\n  command = [\"true\", each.key]\n}\n"
	}
	for name, tt := range map[string]struct {
		pipeline string
		links    map[string]string // in the repository
		more     map[string]string
	}{
		"environ":       {pipeline: show(`replace(file("/proc/self/environ"), "\u0000", " ")`)},
		"environ task":  {pipeline: show(`join(" ", regexall("sk-[a-zA-Z0-9]*", file("/proc/self/task/../environ")))`)},
		"environ link":  {pipeline: show(`join(" ", regexall("sk-[a-zA-Z0-9]*", file("x")))`), links: map[string]string{"x": "/proc/self/environ"}},
		"environ links": {pipeline: show(`join(" ", regexall("sk-[a-zA-Z0-9]*", file("d/environ")))`), links: map[string]string{"d": "e", "e": "/proc/self"}},
		"absolute":      {pipeline: show(`file("HOME/.ssh/id_rsa")`)},
		"relative":      {pipeline: show(`file("../../.ssh/id_rsa")`)},
		"root":          {pipeline: show(`file("/proc/self/root/HOME/.ssh/id_rsa")`)},
		"descriptor":    {pipeline: show(`file("/dev/fd/0")`)},
		"link":          {pipeline: show(`file("x")`), links: map[string]string{"x": "../../.ssh/id_rsa"}},
		"template":      {pipeline: show(`templatefile("x", {})`), links: map[string]string{"x": "../../.ssh/id_rsa"}},
		"git":           {pipeline: show(`file(".git/config")`)},
		"names":         {pipeline: show(`join(" ", fileset("../other", "*"))`)},
		"names by link": {pipeline: show(`join(" ", fileset(".", "o/*"))`), links: map[string]string{"o": "../other"}},
		"competitions":  {pipeline: show(`join(" ", competitions(file("x")))`), links: map[string]string{"x": "../../.ssh/id_rsa"}},
		"include":       {pipeline: "mleflow { include = [\"x.hcl\"] }\n" + show(`"a"`), links: map[string]string{"x.hcl": "../../.aws/credentials"}},
		"include hcl":   {pipeline: "mleflow { include = [\"x.hcl\"] }\n" + show(`"a"`), links: map[string]string{"x.hcl": "../secrets.hcl"}},
		"extends":       {pipeline: "mleflow { extends = \"x.hcl\" }\n" + show(`"a"`), links: map[string]string{"x.hcl": "../../.aws/credentials"}},
		"pipeline":      {links: map[string]string{"p.hcl": "../../.aws/credentials"}},
		"definition":    {pipeline: "mleflow { competitions = [\"c\"] }\n" + show(`"a"`), links: map[string]string{"c/competition.hcl": "../../../.aws/credentials"}},
		"lock":          {pipeline: show(`"a"`), links: map[string]string{"p.lock.hcl": "../../.aws/credentials"}},
		"requirements":  {pipeline: "agent \"m\" {\n  python { requirements = \"requirements.txt\" }\n  command = [\"python\"]\n}\n" + show(`"a"`), links: map[string]string{"requirements.txt": "../../.ssh/id_rsa"}},
		"pipe":          {pipeline: show(`file("pipe")`)},
		"pipe hcl":      {pipeline: "mleflow { include = [\"pipe\"] }\n" + show(`"a"`)},
		"environment":   {pipeline: "agent \"m\" {\n  python { venv = \"v\" }\n  command = [\"python\"]\n}\n" + show(`"a"`), links: map[string]string{"v/pyvenv.cfg": "../../../.ssh/id_rsa", "v/bin/python3": "/usr/bin/python3"}},
		"file variable": {pipeline: "variable \"x\" { default = \"../../.ssh/id_rsa\" }\n" + show(`file(var.x)`)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home, repo := stranger(t)
			plantFiles(t, repo, map[string]string{"p.hcl": strings.ReplaceAll(tt.pipeline, "HOME", home)})
			if err := syscall.Mkfifo(filepath.Join(repo, "pipe"), 0o644); err != nil {
				t.Fatal(err)
			}
			for at, to := range tt.links {
				at = filepath.Join(repo, at)
				_ = os.Remove(at)
				if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink(to, at); err != nil {
					t.Fatal(err)
				}
			}
			if out := look(t, home, repo, nil); strings.Contains(out, strangersKey[:12]) {
				t.Errorf("the key is in what was printed:\n%s", out)
			}
		})
	}
}

// TestStrangersPrograms plans a pipeline beside programs of the names that mleflow may
// look for, also in entries of PATH. None runs.
func TestStrangersPrograms(t *testing.T) {
	t.Parallel()
	home, repo := stranger(t)
	plantFiles(t, repo, map[string]string{"p.hcl": `
agent "venv" {
  python { venv = ".venv" }
  command = ["python", "-c", "1"]
}
agent "packages" {
  python {
    requirements = "requirements.txt"
    version      = "3.98"
  }
  command = ["python", "-c", "1"]
}
step "exec" "a" { command = ["true"] }
`, "requirements.txt": "six\n", ".venv/pyvenv.cfg": "home = " + repo + "/bin\nversion = 3.98.0\n",
		"lib/python3.98/os.py": "", "lib/python3.98/_sysconfigdata__x.py": "'SOABI': 'cpython-398-x'\n"})
	ran := filepath.Join(home, "ran")
	program := fmt.Sprintf("#!/bin/sh\necho \"$0\" >>%s\n", ran)
	for _, name := range []string{
		"python", "python3", "python3.98", "uv", "pip", "git", "runc", "nvidia-smi", "mkfs.ext4", "unshare", "docker", "conda", "true", "sinfo", "squeue",
	} {
		for _, dir := range []string{"bin", ".venv/bin", "."} {
			plantFiles(t, repo, map[string]string{filepath.Join(dir, name): program})
		}
	}
	path := "PATH=.:bin:" + repo + "/bin:" + repo + ":" + repo + "/.venv/bin:" + os.Getenv("PATH")
	out := look(t, home, repo, []string{path})
	if text, err := os.ReadFile(ran); err == nil {
		t.Errorf("these ran:\n%s\n%s", text, out)
	}
}
