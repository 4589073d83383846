package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/cache/leaf/secret"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/proof/bundle"
)

// TestBundleBytes flips bytes of the bundle of a real run: the first and the last
// kilobyte, and 5,000 others; every one with MLEFLOW_EVERY_BYTE=1, which takes
// some minutes. A package test flips every byte of a small bundle.
func TestBundleBytes(t *testing.T) {
	p := newPlace(t, t.TempDir())
	p.finish()
	path := filepath.Join(t.TempDir(), "run.bundle")
	if stdout, stderr, code := p.run("bundle", "-o", path); code != 0 {
		t.Fatalf("bundle: exit %d\n%s%s", code, stdout, stderr)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	flip := func(at int) {
		for _, b := range []byte{good[at] ^ byte(1+at%255), good[at]} {
			if _, err := f.WriteAt([]byte{b}, int64(at)); err != nil {
				t.Fatal(err)
			}
			if b == good[at] {
				return
			}
			var bad *bundle.Damage
			if _, err := bundle.Open(t.Context(), path, nil); !errors.As(err, &bad) || bad.Where == "" {
				t.Fatalf("byte %d of %d: %v", at, len(good), err)
			}
		}
	}
	if os.Getenv("MLEFLOW_EVERY_BYTE") != "" {
		for at := range good {
			flip(at)
		}
		return
	}
	for at := range 1024 {
		flip(at)
		flip(len(good) - 1 - at)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		flip(random.IntN(len(good)))
	}
	b, err := bundle.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatalf("after putting all back: %v", err)
	}
	b.Close()
}

// canaryPipeline has an agent that is careless with its secrets in every way
// that a program has by itself, and a sensitive variable.
const canaryPipeline = `
variable "password" {
  type      = string
  sensitive = true
}
agent "careless" {
  command = ["sh", "-c", <<-EOT
    echo "env $FROM_ENV file $FROM_FILE command $FROM_COMMAND"
    env
    for s in "$FROM_ENV" "$FROM_FILE" "$FROM_COMMAND"; do
      printf 'Authorization: Basic %%s\n' "$(printf 'user:%%s' "$s" | base64 -w0)"
      printf '%%s' "$s" | od -An -tx1 | tr -d ' \n'; echo
      printf '{"key":"%%s"}\n' "$s" > "$LOGS_DIR/$s.json"
      echo "key = '$s'" >> "$CODE_DIR/agent.py"
    done
    cp "$DATA_DIR/sample_submission.csv" "$SUBMISSION_DIR/submission.csv"
    echo "# $FROM_ENV" >> "$SUBMISSION_DIR/notes.txt"
  EOT
  ]
  secrets = {
    FROM_ENV     = "env:CANARY_ENV"
    FROM_FILE    = "file:%[1]s"
    FROM_COMMAND = "command:cat %[2]s"
  }
}
step "download" "raw" { competition = "demo-digits" }
step "prepare" "data" {
  competition = "demo-digits"
  raw         = step.download.raw.tree
}
step "agent-run" "solve" {
  agent       = agent.careless
  competition = "demo-digits"
  data        = step.prepare.data.public
}
step "grade" "score" {
  competition = "demo-digits"
  submission  = step.agent-run.solve.submission
  answers     = step.prepare.data.private
}
step "aggregate" "board" { reports = [step.grade.score.report] }
step "exec" "failing" { command = ["sh", "-c", "echo $SENSITIVE $KAGGLE_KEY >&2; exit 1"] }
`

// TestSecretsNeverEnter gives secrets in every way and looks for them, in every
// encoding, in every byte of the run history and the bundle, and in what was printed. The
// cache has what the agent left, as it left it, and the bundle leaves that out.
func TestSecretsNeverEnter(t *testing.T) {
	canaries := map[string]string{
		"environment": "canary-env/5f1c+A&=?", "file": "canary-file-77b2<>x", "command": "canary-command-9a0d", "variable": "canary-variable-31e8", "kaggle": "canarykaggle4c5d6e7f",
	}
	dir := t.TempDir()
	secrets := t.TempDir()
	for name, text := range map[string]string{"f": canaries["file"], "c": canaries["command"]} {
		if err := os.WriteFile(filepath.Join(secrets, name), []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := newPlace(t, dir)
	text := fmt.Sprintf(canaryPipeline, filepath.Join(secrets, "f"), filepath.Join(secrets, "c"))
	if err := os.WriteFile(p.file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	p.env = []string{
		"CANARY_ENV=" + canaries["environment"], "KAGGLE_USERNAME=somebody", "KAGGLE_KEY=" + canaries["kaggle"],
		"MLEFLOW_VAR_password=" + canaries["variable"],
	}
	var printed strings.Builder
	for _, args := range [][]string{
		{"apply", p.file, "--keep-going"}, {"apply", p.file, "--keep-going", "-var", "password=" + canaries["variable"], "--json"},
		{"bundle", "-o", filepath.Join(dir, "run.bundle")}, {"show", "--disclosure"}, {"logs", "latest"}, {"report", "-o", filepath.Join(dir, "run.html")},
	} {
		stdout, stderr, code := p.run(args...)
		if want := args[0] == "apply"; (code != 0) != want {
			t.Fatalf("%v: exit %d\n%s%s", args, code, stdout, stderr)
		}
		printed.WriteString(stdout + stderr)
	}
	files := 0
	look := func(where string, b []byte) {
		for name, value := range canaries {
			if _, err := secret.NewGuard(secret.New(value)).Write(b); err != nil {
				t.Errorf("%s holds the secret from the %s", where, name)
			}
		}
	}
	look("what was printed", []byte(printed.String()))
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if strings.Contains(path, "/objects/") {
			return nil
		}
		files++
		look("the name of a file", []byte(path))
		b, err := os.ReadFile(path)
		look(path, b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	// The bundle says what it leaves out, and why.
	b, err := os.ReadFile(filepath.Join(dir, "run.bundle"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"step.agent-run.solve code"`, "a secret was found in it", "secret_in=code"} {
		if !bytes.Contains(b, []byte(want)) {
			t.Errorf("the bundle lacks %s", want)
		}
	}
	if files < 20 || !strings.Contains(printed.String(), "the value of a secret is in the agent's code and logs and submission") {
		t.Errorf("%d files are few, or nobody was warned", files)
	}
	if stdout, stderr, code := p.run("verify", filepath.Join(dir, "run.bundle")); code != 5 {
		t.Errorf("verify: exit %d\n%s%s", code, stdout, stderr)
	}
}

// TestBundleRefusesSecrets has a secret that the run did not know of stand in an
// agent's file, and a credential of the same value in the environment.
func TestBundleRefusesSecrets(t *testing.T) {
	p := newPlace(t, t.TempDir())
	text := strings.ReplaceAll(strings.ReplaceAll(canaryPipeline, "%%", "%"), "echo \"env $FROM_ENV", "echo \"token plain-token-1234567890")
	text = text[:strings.Index(text, "  secrets = {")] + "}\n" + text[strings.Index(text, "step \"download\""):]
	if err := os.WriteFile(p.file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	p.run("apply", p.file, "--keep-going", "-var", "password=x")
	path := filepath.Join(t.TempDir(), "run.bundle")
	p.env = []string{"SERVICE_TOKEN=plain-token-1234567890"}
	_, stderr, code := p.run("bundle", "-o", path)
	if _, err := os.Stat(path); code != 1 || err == nil || !strings.Contains(stderr, ": it contains the value of a secret") {
		t.Errorf("exit %d\n%s", code, stderr)
	}
	p.env = []string{"SERVICE_TOKEN=another-token-1234567890"}
	if _, stderr, code := p.run("bundle", "-o", path); code != 0 {
		t.Errorf("exit %d\n%s", code, stderr)
	}
}

// privatePipeline has steps and agents that spread data as far as they can.
const privatePipeline = `
agent "copier" {
  command = ["sh", "-c", "cp $DATA_DIR/* $CODE_DIR/; cp $DATA_DIR/train.csv $LOGS_DIR/data.log; cp $DATA_DIR/train.csv $SUBMISSION_DIR/; cp $DATA_DIR/sample_submission.csv $SUBMISSION_DIR/submission.csv; echo mine > $CODE_DIR/agent.py"]
}
step "download" "raw" { competition = "demo-digits" }
step "prepare" "data" {
  competition = "demo-digits"
  raw         = step.download.raw.tree
}
step "exec" "spy" {
  command = ["sh", "-c", "cat inputs/answers/test.csv; cat inputs/answers/test.csv >&2; cp inputs/answers/test.csv seen.csv"]
  inputs  = { answers = step.prepare.data.private }
  outputs = ["seen.csv"]
}
step "exec" "broken" {
  command = ["sh", "-c", "tail -n 3 inputs/answers/test.csv >&2; exit 1"]
  inputs  = { answers = step.prepare.data.private }
}
step "exec" "solver" {
  command = ["sh", "-c", "sed 's/,0$/,1/' inputs/data/sample_submission.csv > submission.csv; echo solved >&2"]
  inputs  = { data = step.prepare.data.public }
  outputs = ["submission.csv"]
}
step "agent-run" "solve" {
  agent       = agent.copier
  competition = "demo-digits"
  data        = step.prepare.data.public
}
step "grade" "agent" {
  competition = "demo-digits"
  submission  = step.agent-run.solve.submission
  answers     = step.prepare.data.private
}
step "grade" "solver" {
  competition = "demo-digits"
  submission  = step.exec.solver.tree
  answers     = step.prepare.data.private
}
step "grade" "cheat" {
  competition = "demo-digits"
  submission  = step.exec.spy.tree
  file        = "seen.csv"
  answers     = step.prepare.data.private
}
`

// TestNoDataInBundle looks for data and answers in a bundle.
func TestNoDataInBundle(t *testing.T) {
	dir := t.TempDir()
	p := newPlace(t, dir)
	if err := os.WriteFile(p.file, []byte(privatePipeline), 0o644); err != nil {
		t.Fatal(err)
	}
	if stdout, stderr, code := p.run("apply", p.file, "--keep-going"); code != 1 {
		t.Fatalf("apply: exit %d\n%s%s", code, stdout, stderr)
	}
	path := filepath.Join(dir, "run.bundle")
	stdout, stderr, code := p.run("bundle", "-o", path, "-v")
	if code != 0 {
		t.Fatalf("bundle: exit %d\n%s%s", code, stdout, stderr)
	}
	for _, want := range []string{
		"outputs/step.agent-run.solve/code/train.csv: it is one of the competition's data files", "outputs/step.agent-run.solve/logs/data.log: it is one of",
		"outputs/step.agent-run.solve/submission/train.csv: it is one of",
		"step.exec.spy tree: it is private", "logs/step.exec.spy.1.log: the log of a step that reads private data", "step.prepare.data public: it is data",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("what was left out lacks %q:\n%s", want, stdout)
		}
	}
	data := filepath.Join(dir, "data")
	if _, stderr, code := p.run("prepare", "-c", "demo-digits", "--data-dir", data); code != 0 {
		t.Fatal(stderr)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"private/test.csv", "public/train.csv", "public/test.csv"} {
		text, err := os.ReadFile(filepath.Join(data, "demo-digits", "prepared", file))
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.SplitAfter(string(text), "\n")
		for i := 0; i+3 < len(lines); i += 3 {
			if bytes.Contains(b, []byte(strings.Join(lines[i:i+3], ""))) {
				t.Fatalf("the bundle holds lines %d to %d of %s", i+1, i+3, file)
			}
		}
	}
	for _, want := range []string{"mine\n", "solved\n"} {
		if !bytes.Contains(b, []byte(want)) {
			t.Errorf("the bundle lacks %q", want)
		}
	}
	if stdout, stderr, code := p.run("verify", path, "--regrade"); code != 0 || !strings.Contains(stdout, "3 of 3 scores, graded again") ||
		!strings.Contains(stdout, "step.grade.cheat: its submission was made by step.exec.spy, which reads private data") {
		t.Errorf("verify: exit %d\n%s%s", code, stdout, stderr)
	}
}
