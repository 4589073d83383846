package archtest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// largest is the size of the largest file of the repository. All data sets for
// rehearsals and all shipped definitions have smaller ones.
const largest = 1 << 20

// TestNoBuiltFiles looks for programs and large files that were committed by mistake.
func TestNoBuiltFiles(t *testing.T) {
	root := filepath.Join("..", "..", "..", "..", "..")
	cmd := exec.Command("git", "ls-files", "-z")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Skip("this is not a checkout: ", err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) {
			continue // removed, and not committed yet
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(text) > largest {
			t.Errorf("%s has %d bytes, more than %d", name, len(text), largest)
		}
		if bytes.HasPrefix(text, []byte("\x7fELF")) {
			t.Errorf("%s is a program", name)
		}
	}
}

// serversAllowed are files beside package service that serve HTTP, with the reason.
var serversAllowed = map[string]string{
	"plugins/sandbox/service/service.go":                    "it is the constructor",
	"plugins/models/modeltest/server.go":                    "a stand-in of providers for tests",
	"plugins/sandbox/executor/executortest/service.go":      "a suite of tests",
	"plugins/sandbox/executor/executortest/resume_linux.go": "a suite of tests",
	"cmd/mleflow/internal/dev/e2e/rogue/reference_linux.go": "a part of an attack",
}

// TestServersHaveLimits sees that every HTTP server is made by service.Serve, which bounds
// what a client can hold.
func TestServersHaveLimits(t *testing.T) {
	pattern, found := regexp.MustCompile(`http\.Server\{|http\.Serve(TLS)?\(|http\.ListenAndServe|httputil\.NewServerConn`), map[string]bool{}
	for _, folder := range []string{"cache", "cmd", "competitions", "engine", "plugins", "steps"} {
		for _, file := range matching(t, folder, "*.go", pattern) {
			found[file] = true
			if !strings.HasSuffix(file, "_test.go") && serversAllowed[file] == "" {
				t.Errorf("%s serves HTTP by itself; use service.Serve, which has time-outs and limits", file)
			}
		}
	}
	for file := range serversAllowed {
		if !found[file] {
			t.Errorf("%s serves nothing; take it off the list", file)
		}
	}
}
