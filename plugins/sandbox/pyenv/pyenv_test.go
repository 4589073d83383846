package pyenv

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLock(t *testing.T) {
	lock := Locked("a==1.0\n", "source")
	resolved, ok := LockOf(lock, "source")
	if _, other := LockOf(lock, "other"); !ok || other || resolved != "a==1.0\n" {
		t.Errorf("%q, of its source %v, of another %v", resolved, ok, other)
	}
	resolved, ok = LockOf(strings.ReplaceAll(lock, "\n", "\r\n"), "source")
	if !ok || resolved != "a==1.0\n" {
		t.Errorf("%q, %v", resolved, ok)
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
		_, err := Open(t.Context(), Options{Dir: t.TempDir(), Work: t.TempDir(), Say: func(string) {}})
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), UVVariable+" names "+path)) {
			t.Errorf("%q: %v, want %q", prints, err, want)
		}
	}
}
