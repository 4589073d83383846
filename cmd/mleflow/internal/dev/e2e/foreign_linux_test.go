package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// foreignPipeline leaves a file of each sort in the cache.
const foreignPipeline = `
variable "seed" { default = 0 }
agent "copy" {
  command = ["sh", "-c", "cp $MLEFLOW_SAMPLE $SUBMISSION_DIR/submission.csv"]
}
step "download" "raw" { competition = "demo-cancer" }
step "prepare" "data" {
  competition = "demo-cancer"
  raw         = step.download.raw.tree
}
step "agent-run" "solve" {
  for_each    = toset(["process", "auto"])
  agent       = agent.copy
  competition = "demo-cancer"
  seed        = var.seed
  data        = step.prepare.data.public
  runtime     = each.key
}
step "grade" "score" {
  competition = "demo-cancer"
  submission  = step.agent-run.solve["process"].submission
  answers     = step.prepare.data.private
  labels      = { agent = "copy", seed = var.seed }
}
step "aggregate" "board" { reports = [step.grade.score.report] }
output "board" {
  value = step.aggregate.board.table
  publish { to = "board.txt" }
}
`

// plant puts something else in the place of a file of the cache. canary is a file
// outside.
var plant = map[string]func(path, canary string) error{
	"link":     func(path, canary string) error { return os.Symlink(canary, path) },
	"dangling": func(path, canary string) error { return os.Symlink(canary+".new", path) },
	"pipe":     func(path, _ string) error { return syscall.Mkfifo(path, 0o666) },
	"folder":   func(path, _ string) error { return os.Mkdir(path, 0o777) },
}

// sorts tells which files are of one sort, of which one is enough.
var sorts = regexp.MustCompile(`[0-9a-f]{8,}x?|\b[0-9a-f]{2}\b|\d{8}T\d{6}Z-[0-9a-f]{4}|\b[0-9]+\b|w2\S*`)

var seeds atomic.Int64

// TestForeignFiles replaces files of a used cache, one at a time, and runs commands:
// nothing outside is changed or made, nothing hangs, and what fails says which file is
// wrong. MLEFLOW_FOREIGN=full takes every file and everything to plant; otherwise some
// files are replaced by one thing each.
func TestForeignFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	full := os.Getenv("MLEFLOW_FOREIGN") == "full"
	p := &place{t: t, cache: filepath.Join(dir, "cache"), file: filepath.Join(dir, "p.hcl"), env: []string{"MLEFLOW_AUTO_RUNTIME="}}
	if err := os.WriteFile(p.file, []byte(foreignPipeline), 0o644); err != nil {
		t.Fatal(err)
	}
	p.finish()
	canary := filepath.Join(dir, "canary")
	files := usedFiles(t, p.cache, full)
	kinds := []string{"link", "dangling", "pipe", "folder"}
	for n, file := range files {
		for k, kind := range kinds {
			if full || k == n%len(kinds) && usual.MatchString(file) {
				p.foreign(filepath.Join(p.cache, file), kind, canary)
			}
		}
	}
}

// usual are the files that are replaced in every test.
var usual = regexp.MustCompile(`^(binary.json|state|sync|index/log|pipelines/|locks/gc|shared/.*info|runs/.*events.jsonl|sandbox/users)`)

// usedFiles lists the files of the cache, by their paths in it.
func usedFiles(t *testing.T, cache string, all bool) (list []string) {
	seen := map[string]bool{}
	err := filepath.WalkDir(cache, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(cache, path)
		if strings.HasPrefix(name, "sandbox/images/") && strings.Count(name, "/") > 3 {
			return fs.SkipDir
		}
		sort := sorts.ReplaceAllString(name, "#")
		if e.Type().IsRegular() && (all || !seen[sort]) {
			list, seen[sort] = append(list, name), true
		}
		return nil
	})
	if err != nil || len(list) < 15 {
		t.Fatalf("files of the cache: %v, %v", list, err)
	}
	slices.Sort(list)
	return list
}

// foreign plants one thing, runs commands, and puts the file back.
func (p *place) foreign(path, kind, canary string) {
	p.t.Helper()
	const secret = "canary\n"
	aside := canary + ".aside"
	if err := errors.Join(os.WriteFile(canary, []byte(secret), 0o600), os.RemoveAll(aside)); err != nil {
		p.t.Fatal(err)
	}
	if err := os.Rename(path, aside); errors.Is(err, fs.ErrNotExist) {
		return // a command removed it, or it was given to an attempt
	} else if err := errors.Join(err, plant[kind](path, canary)); err != nil {
		p.t.Fatal(err)
	}
	name, _ := filepath.Rel(p.cache, path)
	var said strings.Builder
	failed := false
	commands := [][]string{{"apply", p.file, "-var", fmt.Sprint("seed=", seeds.Add(1))}, {"show", "latest"}, {"cache", "gc"}}
	if os.Getenv("MLEFLOW_FOREIGN") == "full" {
		commands = append(commands, []string{"apply", p.file}, []string{"runs", "--json"}, []string{"logs", "latest", "step.grade.score"}, []string{"cache", "verify"})
	}
	for _, args := range commands {
		text, code, hangs := p.limited(args...)
		if hangs {
			p.t.Errorf("%s as %s: %v hangs", name, kind, args)
		}
		if strings.Contains(text, "panic") || strings.Contains(text, "goroutine ") || code < 0 {
			p.t.Errorf("%s as %s: %v: %s", name, kind, args, text)
		}
		failed = failed || code != 0
		said.WriteString(text)
	}
	if failed && !strings.Contains(said.String(), filepath.Base(path)) && !strings.Contains(said.String(), "damaged") {
		p.t.Errorf("%s as %s: what fails does not say why:\n%s", name, kind, said.String())
	}
	if text, err := os.ReadFile(canary); err != nil || string(text) != secret {
		p.t.Errorf("%s as %s: the canary was changed: %q, %v", name, kind, text, err)
	}
	if info, err := os.Stat(canary); err == nil && info.Mode().Perm() != 0o600 {
		p.t.Errorf("%s as %s: the canary has the mode %v", name, kind, info.Mode())
	}
	if _, err := os.Lstat(canary + ".new"); err == nil {
		p.t.Errorf("%s as %s: a file was made outside", name, kind)
		_ = os.Remove(canary + ".new")
	}
	if err := errors.Join(os.RemoveAll(path), os.MkdirAll(filepath.Dir(path), 0o777)); err != nil {
		p.t.Fatal(err)
	}
	if err := os.Rename(aside, path); err != nil {
		p.t.Fatal(err)
	}
}

// limited runs a command that is killed when it does not end.
func (p *place) limited(args ...string) (text string, code int, hangs bool) {
	ctx, cancel := context.WithTimeout(p.t.Context(), time.Minute)
	defer cancel()
	whole := p.command(args...)
	cmd := exec.CommandContext(ctx, whole.Path, whole.Args[1:]...)
	cmd.Env = whole.Env
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &out, time.Second
	_ = cmd.Run()
	return out.String(), cmd.ProcessState.ExitCode(), ctx.Err() != nil
}
