package main

import (
	"cmp"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli"
	"github.com/mleflow/mleflow/plugins/models/modeltest"
	"github.com/mleflow/mleflow/plugins/sandbox/breach"
	"github.com/mleflow/mleflow/plugins/transfer/source/kaggletest"
)

// TestMain lets the scripts run this test's own binary as mleflow.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == breach.ThiefCommand { // it has another name in a sandbox
		os.Exit(cli.Main(os.Args[1:]))
	}
	testscript.Main(m, map[string]func(){
		"mleflow": func() { os.Exit(recordJSON(os.Args[1:])) },
	})
}

// TestScript runs every script of testdata/script: the real command line in an
// empty folder with a cache of its own. Set UPDATE_GOLDEN to rewrite what the
// scripts compare with (make golden). What is printed with --json must conform to
// docs/schemas.
func TestScript(t *testing.T) {
	folder := t.TempDir()
	t.Cleanup(func() { checkPrinted(t, folder) })
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(env *testscript.Env) error {
			env.Setenv(printedVariable, folder)
			return isolate(env)
		},
		UpdateScripts:       os.Getenv("UPDATE_GOLDEN") != "",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Condition: func(name string) (bool, error) {
			switch name {
			case "inspect":
				return inspectPython() != "", nil
			case "sandbox":
				return exec.Command("unshare", "-Urm", "true").Run() == nil, nil
			}
			return false, fmt.Errorf("unknown condition %q", name)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"shape": shape, "status": status, "tally": tally, "guide": guide, "provider": provider, "kaggle": kaggle,
		},
	})
}

func isolate(env *testscript.Env) error {
	home := filepath.Join(env.WorkDir, "home")
	env.Setenv("HOME", home)
	env.Setenv("XDG_CACHE_HOME", filepath.Join(home, ".cache"))
	env.Setenv("MLEFLOW_CACHE_DIR", filepath.Join(env.WorkDir, "cache"))
	env.Setenv("TZ", "UTC")
	env.Setenv("MLEFLOW_AUTO_RUNTIME", "process") // whatever the machine has
	python, err := filepath.Abs(filepath.Join("testdata", "python"))
	if err != nil {
		return err
	}
	env.Setenv("MLEFLOW_PYTHON", cmp.Or(inspectPython(), python))
	demo, err := filepath.Abs(filepath.Join("..", "..", "pipelines", "demo.hcl"))
	if err != nil {
		return err
	}
	env.Setenv("DEMO", demo)
	return os.MkdirAll(home, 0o755)
}

// inspectPython is MLEFLOW_PYTHON if it has what logs of Inspect AI take, else "".
var inspectPython = sync.OnceValue(func() string {
	python := os.Getenv("MLEFLOW_PYTHON")
	if python == "" || exec.Command(python, "-I", "-c", "import mleflow._inspect").Run() != nil {
		return ""
	}
	return python
})

// changing are the parts of an output that differ from run to run, or with a new
// step kind.
var changing = []struct {
	pattern *regexp.Regexp
	name    string
}{
	{regexp.MustCompile(`\d{8}T\d{6}Z-[0-9a-f]{4}`), "RUN"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "NOW"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`), "NOW"},
	{regexp.MustCompile(`\b[0-9a-f]{64}\b`), "DIGEST"},
	{regexp.MustCompile(`"(duration|expected)_ms":\d+,?`), ""},
	{regexp.MustCompile(`(?m)^\{"type":"expected_end".*\n`), ""}, // told by the clock
	{regexp.MustCompile(` *\b\d+\.\d\ds\b`), " TIME"},
	{regexp.MustCompile(`Last time it took TIME\.\n`), ""}, // not said of a step that took no time
	{regexp.MustCompile(`The kinds are: [a-z, -]+\.`), "The kinds are: KINDS."},
	{regexp.MustCompile(` +\n`), "\n"},
}

// shape copies an output to the file "shaped", with names instead of what
// differs from run to run, to be compared: shape stdout|stderr.
func shape(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: shape stdout|stderr")
	}
	text := strings.ReplaceAll(ts.ReadFile(args[0]), ts.Getenv("WORK"), "WORK")
	for _, c := range changing {
		text = c.pattern.ReplaceAllString(text, c.name)
	}
	ts.Check(os.WriteFile(ts.MkAbs("shaped"), []byte(text), 0o644))
}

// status runs mleflow and checks its exit status: status N ARGS...
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N ARGS...")
	}
	err := ts.Exec("mleflow", args[1:]...)
	got := "0"
	if err != nil {
		got = strings.TrimPrefix(err.Error(), "exit status ")
	}
	if got != args[0] {
		ts.Fatalf("mleflow %s: exit status %s, want %s", strings.Join(args[1:], " "), got, args[0])
	}
}

// tally checks how many lines a file has, which steps append to when they
// really run: tally FILE N.
func tally(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: tally FILE N")
	}
	text, err := os.ReadFile(ts.MkAbs(args[0]))
	if err != nil && !os.IsNotExist(err) {
		ts.Fatalf("%v", err)
	}
	if n := strings.Count(string(text), "\n"); args[1] != strconv.Itoa(n) {
		ts.Fatalf("%s has %d lines, want %s:\n%s", args[0], n, args[1], text)
	}
}

// guide writes the commands of a page of docs, what its sh blocks hold, to the
// file guide.sh: guide PAGE. Blocks of the language "shell" need what no test has.
func guide(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: guide PAGE")
	}
	docs := filepath.Join(filepath.Dir(ts.Getenv("DEMO")), "..", "docs")
	var commands []string
	inside := false
	for line := range strings.Lines(ts.ReadFile(filepath.Join(docs, args[0]))) {
		switch {
		case strings.HasPrefix(line, "```"):
			inside = strings.TrimSpace(line) == "```sh"
		case inside:
			commands = append(commands, line)
		}
	}
	if len(commands) == 0 {
		ts.Fatalf("%s has no commands", args[0])
	}
	ts.Check(os.WriteFile(ts.MkAbs("guide.sh"), []byte("set -eux\n"+strings.Join(commands, "")), 0o644))
}

// kaggle starts a stand-in for Kaggle that has a competition: kaggle SLUG METRIC.
func kaggle(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: kaggle SLUG METRIC")
	}
	server := kaggletest.New(nil)
	ts.Defer(server.Close)
	server.Add(kaggletest.Competition{Slug: args[0], Title: "The " + args[0], Metric: args[1]})
	ts.Setenv("KAGGLE_API_ENDPOINT", server.Endpoint)
	ts.Setenv("KAGGLE_API_TOKEN", kaggletest.Token)
}

// provider starts a model's provider at $PROVIDER, which reports tokens as a KIND of server
// does. While the file "down" exists, it fails requests that contain the text of the file:
// provider [KIND].
func provider(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 1 {
		ts.Fatalf("usage: provider [KIND]")
	}
	down := ts.MkAbs("down")
	var tokens *modeltest.TokenServer
	if len(args) > 0 {
		tokens = &modeltest.TokenServer{Kind: args[0]}
	}
	server := httptest.NewServer(&modeltest.Server{Tokens: tokens, Fault: func(a *modeltest.Ask) modeltest.Fault {
		text, err := os.ReadFile(down)
		if err != nil || !strings.Contains(string(a.Body), strings.TrimSpace(string(text))) {
			return modeltest.Fault{}
		}
		return modeltest.Fault{Status: http.StatusServiceUnavailable}
	}})
	ts.Defer(server.Close)
	ts.Setenv("PROVIDER", server.URL+"/v1")
}
