package secret

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestRefResolve(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte("from a file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KEY", "from the environment")
	large := filepath.Join(t.TempDir(), "large")
	if err := os.WriteFile(large, make([]byte, 1<<20+1), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ ref, want, err string }{
		{"env:KEY", "from the environment", ""},
		{"env:NO_SUCH_KEY", "", "not set"},
		{"file:" + file, "from a file", ""},
		{"file:" + file + "x", "", "no such file"},
		{"command:printf 'from a: command\n'", "from a: command", ""},
		{"command:exit 3", "", "exit status 3"},
		{"file:" + large, "", "more than 1048576 bytes"},
		{"file:/dev/zero", "", "more than 1048576 bytes"},
		{"command:cat /dev/zero", "", "more than 1048576 bytes"},
	}
	for _, tt := range tests {
		got, err := resolve(t.Context(), tt.ref)
		if got != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: got %q, %v", tt.ref, got, err)
		}
	}
	for _, bad := range []string{"", "env:", "plain text", "http://x", "sk-1:2"} {
		if _, err := ParseRef(bad); err == nil {
			t.Errorf("%q is taken as a reference", bad)
		}
	}
}

// TestRefFrom resolves references of a file in another folder than the pipeline's: there
// too ~ is the user's folder, and an absolute path stays.
func TestRefFrom(t *testing.T) {
	lab, home := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	for at, text := range map[string]string{
		filepath.Join(lab, "key"): "of the lab", filepath.Join(lab, "pipe", "key"): "of the pipeline",
		filepath.Join(lab, "common", "key"): "of the module", filepath.Join(home, "key"): "of the user",
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), os.WriteFile(at, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	within := In(t.Context(), filepath.Join(lab, "pipe"))
	for ref, want := range map[string]string{
		"file:key": "of the module", "file:../key": "of the lab", "command:cat key": "of the module",
		"file:~/key": "of the user", "file:" + filepath.Join(lab, "key"): "of the lab",
	} {
		r, err := ParseRef(ref)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := r.From("../common").Resolve(within); got != want || err != nil {
			t.Errorf("%s: got %q, %v", ref, got, err)
		}
	}
	r, _ := ParseRef("file:none")
	if why := r.From("../common").Missing(within); why != "there is no file "+filepath.Join(lab, "common", "none") {
		t.Error(why)
	}
}

// TestRefIn resolves relative references in the folder of the pipeline, wherever the
// program was started.
func TestRefIn(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(t.TempDir())
	for at, text := range map[string]string{filepath.Join(dir, "key"): "of the pipeline", "key": "of the working directory"} {
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	within := In(t.Context(), dir)
	for _, ref := range []string{"file:key", "file:./key", "command:cat key", "file:" + filepath.Join(dir, "key")} {
		if got, err := resolve(within, ref); got != "of the pipeline" || err != nil {
			t.Errorf("%s: got %q, %v", ref, got, err)
		}
	}
	if ref, err := ParseRef("file:none"); err != nil || ref.Missing(within) != "there is no file "+filepath.Join(dir, "none") {
		t.Errorf("missing: %q, %v", ref.Missing(within), err)
	}
	for _, ctx := range []context.Context{t.Context(), In(t.Context(), filepath.Join(dir, "gone"))} {
		if got, err := resolve(ctx, "command:cat key"); got != "of the working directory" || err != nil {
			t.Errorf("without a folder: got %q, %v", got, err)
		}
	}
}

// A secret's command is stopped with the run, and what it leaves running does
// not hold the run up.
func TestRefCommandEnds(t *testing.T) {
	start := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := resolve(ctx, "command:sleep 60; echo late"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the interruption", err)
	}
	if _, err := resolve(t.Context(), "command:sleep 30 & echo key"); err == nil || !strings.Contains(err.Error(), "left a process running") {
		t.Errorf("got %v, want the process left behind", err)
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
}

func resolve(ctx context.Context, s string) (string, error) {
	ref, err := ParseRef(s)
	if err != nil {
		return "", err
	}
	return ref.Resolve(ctx)
}
