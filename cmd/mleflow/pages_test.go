package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/cache/cachetest"
)

// fence is a block of a page: what follows the three backquotes, and its text.
var (
	fence  = regexp.MustCompile("(?ms)^```([^\n]*)\n(.*?)^```$")
	title  = regexp.MustCompile(`title="([^"]+)"`)
	export = regexp.MustCompile(`(?m)^export .*\n`)
	took   = regexp.MustCompile(`\b(\d+h\d\dm|\d+m\d\ds|\d+\.\d{1,2}s)\b`) // as view.Duration writes it, on a busy machine too
)

// TestPages does what the tutorials say, as they stand, in an empty folder:
// blocks with a title are written to that file, blocks sh are run, and the lines
// of a block text must be among what the commands before it printed.
func TestPages(t *testing.T) {
	for _, page := range []struct {
		name     string
		programs []string
		section  string // "" is the whole page
	}{
		{"first-agent.md", []string{"python3"}, ""},
		{"first-competition.md", []string{"python3", "sha256sum"}, ""},
		{"first-model.md", []string{"python3"}, ""},
		{"leaderboard.md", nil, "Benchmarks"},
	} {
		t.Run(page.name, func(t *testing.T) {
			for _, program := range append(page.programs, "sh") {
				if _, err := exec.LookPath(program); err != nil {
					t.Skipf("%s is not installed", program)
				}
			}
			text, err := os.ReadFile(filepath.Join("..", "..", "docs", page.name))
			if err != nil {
				t.Fatal(err)
			}
			steps := string(text)
			if page.section != "" {
				_, steps, _ = strings.Cut(steps, "\n## "+page.section+"\n")
				steps, _, _ = strings.Cut(steps, "\n## ")
			}
			follow(t, steps, t.TempDir(), pageEnv(t))
		})
	}
}

// TestContinuousIntegration runs the script of docs/verify.md on a machine with
// an empty cache, with a folder for the bucket and without its go install.
func TestContinuousIntegration(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "verify.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(page), "\n## In CI\n")
	block := fence.FindStringSubmatch(section)
	if !found || block == nil || strings.TrimSpace(block[1]) != "sh" {
		t.Fatal("docs/verify.md has no script of sh under In CI")
	}
	folder := t.TempDir()
	remote := "file://" + filepath.Join(folder, "remote")
	script := block[2]
	for _, change := range [][2]string{{`(?m)^go install .*$`, ""}, {`s3://[^']*`, remote}} {
		pattern := regexp.MustCompile(change[0])
		if !pattern.MatchString(script) {
			t.Fatalf("the script has no %s", change[0])
		}
		script = pattern.ReplaceAllLiteralString(script, change[1])
	}
	shell(t, `mkdir remote
mleflow init
mleflow apply pipeline.hcl
mleflow lock pipeline.hcl
mleflow cache push --all --remote "`+remote+`"`, folder, pageEnv(t))
	printed := shell(t, script, folder, pageEnv(t))
	for _, want := range []string{"0 ran, 10 cached", "3 of 3 scores, graded again with the answers on this machine"} {
		if !strings.Contains(printed, want) {
			t.Errorf("no %q in\n%s", want, printed)
		}
	}
}

// pageEnv is the environment of an ordinary user who has only mleflow on the path: the
// runtime is the default, which is the sandbox, or a process where the machine has none.
func pageEnv(t *testing.T) []string {
	home := t.TempDir()
	bin := filepath.Join(home, "bin")
	// Agents in a sandbox and what looks for its breaches are the program under other
	// names, which that of the tests is not.
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(bin, "mleflow"), ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the program: %v\n%s", err, out)
	}
	cachetest.Removable(t, filepath.Join(home, "cache"))
	return append(os.Environ(), "HOME="+home, "XDG_CACHE_HOME="+filepath.Join(home, ".cache"), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"),
		"MLEFLOW_AUTO_RUNTIME=", "CONTAINERD_ADDRESS="+filepath.Join(home, "none.sock"), "MLEFLOW_CACHE_DIR="+filepath.Join(home, "cache"), "MLEFLOW_COMPETITIONS=", "MLEFLOW_REMOTE_CACHE=", "TZ=UTC")
}

// follow does what the blocks of a page say, as if in one shell: what a block
// exports holds for those after it.
func follow(t *testing.T, text, folder string, env []string) {
	blocks := fence.FindAllStringSubmatch(text, -1)
	if len(blocks) == 0 {
		t.Fatal("the page has no blocks")
	}
	printed, exports := "", ""
	for _, b := range blocks {
		kind, _, _ := strings.Cut(b[1], " ")
		name := title.FindStringSubmatch(b[1])
		switch {
		case name != nil:
			at := filepath.Join(folder, filepath.FromSlash(name[1]))
			if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(at, []byte(b[2]), 0o644); err != nil {
				t.Fatal(err)
			}
		case kind == "sh":
			printed = shell(t, exports+b[2], folder, env)
			exports += strings.Join(export.FindAllString(b[2], -1), "")
		case kind == "text":
			compareLines(t, printed, b[2])
		default:
			t.Fatalf("a block %q is neither a file (title=\"…\") nor sh or text", b[1])
		}
	}
}

// shell runs a script, which must end well, and returns what it printed.
func shell(t *testing.T, script, folder string, env []string) string {
	cmd := exec.CommandContext(t.Context(), "sh", "-euc", script)
	cmd.Dir, cmd.Env = folder, env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s\n%s%v", script, out, err)
	}
	return string(out)
}

// compareLines checks that the lines of want are among those of got, times aside.
func compareLines(t *testing.T, got, want string) {
	t.Helper()
	plain := func(s string) string { return took.ReplaceAllString(strings.TrimSpace(s), "TIME") }
	have := map[string]bool{}
	for line := range strings.Lines(got) {
		have[plain(line)] = true
	}
	for line := range strings.Lines(want) {
		if !have[plain(line)] {
			t.Errorf("the page shows the line\n%swhich is not in\n%s", line, got)
		}
	}
}

// TestBoardWorkflow runs the commands of the workflow of docs/board.md: on the
// bundles of two agents, and on a pull request with one that was tampered with.
func TestBoardWorkflow(t *testing.T) {
	docs := filepath.Join("..", "..", "docs")
	text, err := os.ReadFile(filepath.Join(docs, "board.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, workflow, found := strings.Cut(string(text), "\n## In CI\n")
	if !found {
		t.Fatal("docs/board.md has no section In CI")
	}
	var commands []string
	for _, run := range regexp.MustCompile(`(?m)^ {8}run: \|\n((?: {10}.*\n)+)`).FindAllStringSubmatch(workflow, -1) {
		commands = append(commands, run[1])
	}
	if len(commands) != 3 {
		t.Fatalf("the workflow has %d blocks of commands", len(commands))
	}
	folder, env := t.TempDir(), pageEnv(t)
	published, err := os.ReadFile(filepath.Join(docs, "published.csv"))
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, "published.csv"), published, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	shell(t, `mkdir bundles
mleflow init pipeline.hcl
mleflow apply pipeline.hcl
mleflow bundle -o bundles/one.bundle`, folder, env)
	printed := shell(t, strings.Join(commands, ""), folder, env)
	if !strings.Contains(printed, "holds the board of 1 agent from 1 bundle: 3 recomputed, 0 matched by digest, 0 only claimed.") {
		t.Errorf("got\n%s", printed)
	}
	shell(t, "sed s/any_medal/any_metal/ bundles/one.bundle >bundles/two.bundle", folder, env)
	for i, block := range commands[1:] {
		cmd := exec.CommandContext(t.Context(), "sh", "-euc", block)
		cmd.Dir, cmd.Env = folder, env
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != 3 {
			t.Errorf("block %d with a tampered bundle: %v\n%s", i+2, err, out)
		}
	}
}
