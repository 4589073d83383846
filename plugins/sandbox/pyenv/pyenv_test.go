package pyenv

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCheck(t *testing.T) {
	for text, want := range map[string]string{
		"numpy\nscikit-learn[alldeps]>=1.5 # as published\n--index-url https://index.example/simple\n": "",
		"[project]\ndependencies = [\"numpy\"]\n":                                                      "",
		"--index-url https://me:pass@index.example/simple\n":                                           "password",
		"--index-url https://me:pa/ss@index.example/simple\n":                                          "password",
		"x @ git+https://host/x@v1\n":                                                                  "Git",
		"-r other.txt\n":                                                                               "(-r…)",
		"numpy\n -rother.txt\n":                                                                        "(-r…)",
		"--requirement=/abs/x.txt\n":                                                                   "(--requirement…)",
		"-c/abs/x.txt\n":                                                                               "(-c…)",
		"-e.\n":                                                                                        "(-e…)",
		"a\n  --find-links /home/me/wheels\n":                                                          "UV_FIND_LINKS",
		"-f https://index.example/wheels\n":                                                            "UV_FIND_LINKS",
		"./pkg\n":                                                                                      "another file",
		"/abs/pkg.whl\n":                                                                               "another file",
		"x @ file:///abs/x.whl\n":                                                                      "another file",
	} {
		err := Check("requirements.txt", text)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestLock(t *testing.T) {
	lock := Locked("--index-url https://index.example/simple\na-b==1.0 \\\n    --hash=sha256:00\nC[x]==2.0 ; python_version < \"4\"\n", "source")
	resolved, ok := LockOf(lock, "source")
	if _, other := LockOf(lock, "other"); !ok || other {
		t.Errorf("of its source %v, of another %v", ok, other)
	}
	if diff := cmp.Diff(map[string]string{"a-b": "1.0", "C": "2.0"}, Packages(resolved)); diff != "" {
		t.Error(diff)
	}
}

// TestLockAddresses has an index of the requirements and others of the machine.
func TestLineEnds(t *testing.T) {
	resolved, ok := LockOf(strings.ReplaceAll(Locked("a==1.0\n", "source"), "\n", "\r\n"), "source")
	if !ok || resolved != "a==1.0\n" {
		t.Errorf("%q, %v", resolved, ok)
	}
}

func TestLockAddresses(t *testing.T) {
	const named, pin = "--index-url https://index.example/simple\n", "\na==1.0 \\\n    --hash=sha256:00\n"
	lock := named + "--extra-index-url https://me:pass@index.example/other\n--find-links /home/me/wheels\n" + pin
	if diff := cmp.Diff(named+pin, keepAddresses(lock, named+"a\n")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(pin, keepAddresses(lock, "a\n")); diff != "" {
		t.Error(diff)
	}
}

// TestVenv makes an environment of packages without programs.
func TestVenv(t *testing.T) {
	dir, packages := filepath.Join(t.TempDir(), "venv"), t.TempDir()
	place, err := Venv(dir, packages, Interpreter{Path: "/usr/bin/python3.11", Prefix: "/usr", Version: "3.11.2"})
	if err != nil || place != filepath.Join("lib", "python3.11", "site-packages") {
		t.Fatal(place, err)
	}
	for _, name := range []string{"python", "python3", "python3.11"} {
		if to, err := os.Readlink(filepath.Join(dir, "bin", name)); err != nil || to != "/usr/bin/python3.11" {
			t.Errorf("%s: %s, %v", name, to, err)
		}
	}
}

func TestLocked(t *testing.T) {
	const text = "numpy\n"
	lock := Locked("numpy==1\n", Source(text, "3.11"))
	for _, tt := range []struct {
		r    Requirements
		want bool
	}{
		{Requirements{Text: text, Lock: lock}, true},
		{Requirements{Text: text, Lock: lock, Version: "3.11"}, true},
		{Requirements{Text: text, Lock: lock, Version: "3.1"}, false},
		{Requirements{Text: text, Lock: lock, Version: "3.12"}, false},
		{Requirements{Text: "scipy\n", Lock: lock}, false},
		{Requirements{Text: text}, false},
	} {
		if got := tt.r.Locked(); got != tt.want {
			t.Errorf("%+v: locked %t, want %t", tt.r, got, tt.want)
		}
	}
}

func TestActivate(t *testing.T) {
	vars := map[string]string{"PATH": "/bin", "HOME": "/h"}
	if got := Activate(vars, "/v"); got["PATH"] != "/v/bin:/bin" || got["VIRTUAL_ENV"] != "/v" || got["HOME"] != "/h" || vars["PATH"] != "/bin" {
		t.Errorf("%v from %v", got, vars)
	}
	if got := Activate(map[string]string{}, "/v"); got["PATH"] != "/v/bin" {
		t.Errorf("%v", got)
	}
}

func TestLineSayer(t *testing.T) {
	var said []string
	l := &lineSayer{say: func(line string) { said = append(said, line) }}
	for _, part := range []string{"Resol", "ved 1\nnumpy==2.0 \\\n    --hash=sha256:00 \\\n", "from https://me:pass@index.example/simple"} {
		if _, err := l.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
	}
	l.flush()
	if diff := cmp.Diff([]string{"Resolved 1", "numpy==2.0 \\", "from https://***@index.example/simple"}, said); diff != "" {
		t.Error(diff)
	}
}

// TestUVVersion has programs that are no uv, or an old one.
func TestUVVersion(t *testing.T) {
	for prints, want := range map[string]string{
		"echo 'uv 0.13.9 (x86_64-unknown-linux-gnu)'": "",
		"echo 'uv 1.0.0'":      "",
		"echo 'uv 0.2.33'":     "which is too old; install uv",
		"echo 'Python 3.11.2'": "which is no uv",
		"exit 3":               "which is no uv",
	} {
		path := filepath.Join(t.TempDir(), "uv")
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+prints+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		t.Setenv(UVVariable, path)
		_, err := Open(t.Context(), Options{Dir: t.TempDir()})
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), UVVariable+" names "+path)) {
			t.Errorf("%q: %v, want %q", prints, err, want)
		}
	}
}
