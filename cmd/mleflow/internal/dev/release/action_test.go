package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestAction runs what action.yml runs: it installs a release from a server,
// refuses another sum than the one that was pinned or listed, and stops at the
// first command that fails.
func TestAction(t *testing.T) {
	for _, program := range []string{"sh", "curl", "tar", "awk"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is missing", program)
		}
	}
	script, err := filepath.Abs("../../../../../.ci/action")
	if err != nil {
		t.Fatal(err)
	}
	base := releaseOfThis(t)
	server := httptest.NewServer(http.FileServer(http.Dir(base)))
	defer server.Close()
	name := "mleflow-v1.2.3-" + runtime.GOOS + "-" + runtime.GOARCH + ".tar.gz"
	archive := filepath.Join(base, "v1.2.3", name)
	sum, _, _ := strings.Cut(string(read(t, filepath.Join(base, "v1.2.3"), "SHA256SUMS")), "  ")
	for line := range strings.Lines(string(read(t, filepath.Join(base, "v1.2.3"), "SHA256SUMS"))) {
		if strings.HasSuffix(line, name+"\n") {
			sum, _, _ = strings.Cut(line, "  ")
		}
	}

	install := func(version, pin string) (string, string, error) {
		temp := t.TempDir()
		out, err := runAction(t, script, "install", temp,
			"MLEFLOW_VERSION="+version, "MLEFLOW_SHA256="+pin, "MLEFLOW_RELEASES="+server.URL)
		return temp, out, err
	}
	for _, pin := range []string{"", sum} {
		temp, out, err := install("v1.2.3", pin)
		if err != nil {
			t.Fatalf("install: %v\n%s", err, out)
		}
		if info, err := os.Stat(temp + "/mleflow/mleflow"); err != nil || info.Mode()&0o111 == 0 {
			t.Errorf("no program: %v", err)
		}
		if got := string(read(t, temp, "path")); got != temp+"/mleflow\n" {
			t.Errorf("the path has %q", got)
		}
	}
	wantFailure := func(what, version, pin, text string) {
		t.Helper()
		temp, out, err := install(version, pin)
		if err == nil || !strings.Contains(out, text) {
			t.Errorf("%s: %v, %q", what, err, out)
		}
		if _, err := os.Stat(temp + "/path"); err == nil {
			t.Errorf("%s: it is on the path", what)
		}
	}
	wantFailure("another pin", "v1.2.3", strings.Repeat("0", 64), "has the SHA-256 "+sum)
	wantFailure("no such release", "v9.9.9", "", "cannot download")
	if err := os.WriteFile(archive, append(read(t, filepath.Dir(archive), name), 0), 0o600); err != nil {
		t.Fatal(err)
	}
	wantFailure("a changed archive", "v1.2.3", "", "has the SHA-256")
}

// TestActionCommands has a script in the place of mleflow.
func TestActionCommands(t *testing.T) {
	script, err := filepath.Abs("../../../../../.ci/action")
	if err != nil {
		t.Fatal(err)
	}
	temp := t.TempDir()
	program := "#!/bin/sh\nprintf '<%s>' \"$@\"; [ \"$1\" != fail ]\n"
	if err := os.WriteFile(temp+"/mleflow", []byte(program), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", temp+":"+os.Getenv("PATH"))
	out, err := runAction(t, script, "run", temp, "MLEFLOW_RUN=plan 'a b.hcl'\n\n# not this\nfail it\nnever")
	if err == nil || !strings.Contains(out, "<plan><a b.hcl>") || !strings.Contains(out, "<fail><it>") || strings.Contains(out, "<never>") {
		t.Errorf("%v, %q", err, out)
	}
}

// releaseOfThis makes a release v1.2.3 of this test's binary, and returns the
// folder above it.
func releaseOfThis(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	binary, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	base := t.TempDir()
	t.Chdir(base)
	named := "mleflow-" + runtime.GOOS + "-" + runtime.GOARCH
	if err := os.Mkdir("docs", 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"LICENSE": nil, "README.md": nil, "docs/mleflow.1": nil, "CHANGELOG.md": nil, named: binary} {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := release("v1.2.3", "v1.2.3", []string{named}); err != nil {
		t.Fatal(err)
	}
	return base
}

func runAction(t *testing.T, script, verb, temp string, env ...string) (string, error) {
	t.Helper()
	cmd := exec.Command("sh", script, verb)
	cmd.Env = append(os.Environ(), "RUNNER_TEMP="+temp, "GITHUB_PATH="+temp+"/path", "GITHUB_OUTPUT="+temp+"/output", "no_proxy=127.0.0.1")
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}
