package sandbox_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/sandbox"
)

// TestHostFiles: without an image a guest has the programs of the machine and nothing
// else of it: no home, no temporary files of others, no settings that may hold secrets.
func TestHostFiles(t *testing.T) {
	needNamespaces(t)
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip("this machine has no shell")
	}
	home := t.TempDir()
	t.Setenv("HOME", home)
	secret := filepath.Join(home, "secret")
	if err := os.WriteFile(secret, []byte("do not read this"), 0o644); err != nil {
		t.Fatal(err)
	}
	work := t.TempDir()
	if err := os.WriteFile(filepath.Join(work, "mine"), []byte("its own file\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	e := sandbox.New(sandbox.Options{Dir: dir})
	run := func(script string) string {
		t.Helper()
		var out bytes.Buffer
		exit, err := e.Run(t.Context(), executor.Spec{
			ID: t.Name(), Image: e.Runtime().HostImage, ImageEnv: true, Dir: "/home/agent", Command: []string{"sh", "-c", script},
			Mounts: []executor.Mount{{Host: work, Guest: "/home/agent"}}, Limits: executor.Limits{Timeout: time.Minute},
		}, &out)
		if err != nil || exit.Reason != executor.Exited {
			t.Fatalf("%+v, %v\n%s", exit, err, out.String())
		}
		return strings.TrimSpace(out.String())
	}
	for script, want := range map[string]string{
		"cat mine":                "its own file",
		"cat " + secret + " 2>&1": "No such file",
		"ls -A /tmp /run /root /home /mnt /srv /opt /boot /media 2>/dev/null":                                         "/home:\nagent\n\n/run:\n\n/tmp:",
		"cat /etc/shadow /etc/sudoers /etc/machine-id 2>/dev/null || echo none":                                       "none",
		"cut -d: -f1 /etc/passwd | tr '\\n' ' '":                                                                      "root agent",
		"touch /usr/x /etc/x /x /root/x 2>/dev/null || echo refused":                                                  "refused",
		"ls / | tr '\\n' ' '; test -z \"$(find / -xdev -writable -type f -not -path '/proc/*' 2>/dev/null)\" && echo": "usr",
		"echo $PATH": executor.DefaultPath,
		"id -u; grep -i '^CapEff' /proc/self/status": "1000\nCapEff:\t0000000000000000",
	} {
		if got := run(script); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", script, got, want)
		}
	}
	if python, err := exec.LookPath("python3"); err == nil && sandbox.HostProgram("python3") == nil {
		if got := run("python3 -c 'import json, ssl, sqlite3; print(json.dumps({}))'"); got != "{}" {
			t.Errorf("%s: %q", python, got)
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, "runs", "*")); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestHostFilesUmask: the guest's user reads them, whatever the umask of a job is.
func TestHostFilesUmask(t *testing.T) {
	needNamespaces(t)
	defer syscall.Umask(syscall.Umask(0o077))
	e := sandbox.New(sandbox.Options{Dir: t.TempDir()})
	var out bytes.Buffer
	exit, err := e.Run(t.Context(), executor.Spec{
		ID: t.Name(), Image: e.Runtime().HostImage, ImageEnv: true, Dir: "/", Command: []string{"sh", "-c", "cd /etc && cd /var/tmp && cat /etc/passwd"},
		Limits: executor.Limits{Timeout: time.Minute},
	}, &out)
	if err != nil || !exit.OK() {
		t.Errorf("%+v, %v\n%s", exit, err, out.String())
	}
}

// TestRevealed: a mount that contains a private folder is refused, whoever named it.
func TestRevealed(t *testing.T) {
	needNamespaces(t)
	home, link := t.TempDir(), filepath.Join(t.TempDir(), "link")
	t.Setenv("HOME", filepath.Join(home, "me"))
	if err := errors.Join(os.Mkdir(filepath.Join(home, "me"), 0o755), os.Symlink(home, link)); err != nil {
		t.Fatal(err)
	}
	e := sandbox.New(sandbox.Options{Dir: t.TempDir()})
	for _, host := range []string{home, filepath.Join(home, "me"), link, "/"} {
		_, err := e.Run(t.Context(), executor.Spec{
			ID: t.Name(), Image: e.Runtime().HostImage, Dir: "/", Command: []string{"true"}, Mounts: []executor.Mount{{Host: host, Guest: "/opt/x", ReadOnly: true}},
		}, io.Discard)
		if err == nil || !strings.Contains(err.Error(), "must not see") {
			t.Errorf("%s: %v", host, err)
		}
	}
}

// TestHostProgram: a program outside of what the guest sees is told before it is missed.
func TestHostProgram(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mypython"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	if err := sandbox.HostProgram("mypython"); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("got %v", err)
	}
	// A virtual environment's Python is a link to one that the guest sees.
	python := filepath.Join(dir, "venv", "bin", "python3")
	err := errors.Join(os.MkdirAll(filepath.Dir(python), 0o755), os.Symlink("/bin/sh", python), os.WriteFile(filepath.Join(dir, "venv", "pyvenv.cfg"), nil, 0o644))
	if err != nil {
		t.Fatal(err)
	}
	if err := sandbox.HostProgram(python); err == nil || !strings.Contains(err.Error(), "virtual environment") {
		t.Errorf("got %v", err)
	}
	for _, name := range []string{"sh", "/bin/sh", "no-such-program"} {
		if err := sandbox.HostProgram(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
