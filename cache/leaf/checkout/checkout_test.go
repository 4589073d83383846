package checkout_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mleflow/mleflow/cache/leaf/checkout"
)

// folder makes a folder without links, with files and links.
func folder(t *testing.T, files, links map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	make := func(name string, create func(at string) error) {
		at := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), create(at)); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range files {
		make(name, func(at string) error { return os.WriteFile(at, []byte(text), 0o755) })
	}
	for name, to := range links {
		make(name, func(at string) error { return os.Symlink(to, at) })
	}
	return dir
}

func TestOpen(t *testing.T) {
	dir := folder(t, map[string]string{"a/f": "text", "b/g": "other"}, map[string]string{
		"a/in": "f", "a/out": "../b/g", "a/around": "../a/in", "a/loop": "loop", "a/none": "nowhere",
		"a/environ": "/proc/self/environ", "a/fd": "/dev/fd", "a/root": "/proc/self/root", "a/sneaky": "/dev/shm/../fd/0", "a/null": "/dev/null", "a/dir": ".",
	})
	if err := syscall.Mkfifo(filepath.Join(dir, "a/pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]error{
		"f": nil, "in": nil, "around": nil, "dir/dir/f": nil, "out": checkout.ErrOutside, "loop": syscall.ELOOP, "none": fs.ErrNotExist, "f/x": syscall.ENOTDIR,
		"environ": checkout.ErrKernel, "fd/0": checkout.ErrKernel, "root/etc/passwd": checkout.ErrKernel, "sneaky": checkout.ErrKernel, "null": checkout.ErrKernel,
		"pipe": checkout.ErrSpecial, "dir": checkout.ErrSpecial,
	} {
		data, err := checkout.ReadFile(filepath.Join(dir, "a", name), 100, filepath.Join(dir, "a"))
		if !errors.Is(err, want) || want == nil && (err != nil || string(data) != "text") {
			t.Errorf("%s: %q, %v; want %v", name, data, err, want)
		}
	}
	if _, err := checkout.ReadFile(filepath.Join(dir, "a/f"), 3); err == nil {
		t.Error("a file that is too large was read")
	}
	if data, err := checkout.ReadFile(filepath.Join(dir, "a/out"), 100); err != nil || string(data) != "other" {
		t.Errorf("without folders: %q, %v", data, err)
	}
}

func TestShows(t *testing.T) {
	home := folder(t, map[string]string{"repo/.git/config": "", "repo/sub/p": "", "lone/p": "", ".ssh/id": "", "notes": "", ".dots/p": ""}, nil)
	t.Setenv("HOME", home)
	for _, tt := range []struct {
		dir, file string
		want      bool
	}{
		{"repo/sub", "repo/x", true}, {"repo/sub", "repo/.git/config", false}, {"repo", "repo/.git/config", false}, {"repo/sub", "notes", false},
		{"lone", "lone/p", true}, {"lone", "notes", false}, {"lone", ".ssh/id", false},
		{"", "notes", true}, {"", ".ssh/id", false}, {"..", ".ssh/id", false}, {".dots", ".dots/p", true},
	} {
		if got := checkout.Shows(filepath.Join(home, tt.file), checkout.Roots(filepath.Join(home, tt.dir))); got != tt.want {
			t.Errorf("a pipeline in %q shows %s: %t", tt.dir, tt.file, got)
		}
	}
}

func TestFS(t *testing.T) {
	dir := folder(t, map[string]string{"c/f": "text", "key": "secret"}, map[string]string{"c/key": "../key", "c/up": "..", "c/in": "f"})
	files := checkout.FS(filepath.Join(dir, "c"))
	for name, want := range map[string]bool{"f": true, "in": true, "key": false, "up/key": false, "../key": false} {
		if _, err := fs.ReadFile(files, name); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	if list, err := fs.ReadDir(files, "up"); err == nil {
		t.Errorf("a folder outside: %v", list)
	}
	if list, err := fs.ReadDir(files, "."); err != nil || len(list) != 4 {
		t.Errorf("%v, %v", list, err)
	}
}

// TestProgram has one program in the working folder, by several entries of PATH, and one
// elsewhere.
func TestProgram(t *testing.T) {
	dir := folder(t, map[string]string{"repo/bin/tool": "", "repo/bin/only": "", "usr/tool": ""}, map[string]string{"usr/only": "../repo/bin/only"})
	t.Chdir(filepath.Join(dir, "repo"))
	t.Setenv("HOME", "/nowhere")
	t.Setenv("PATH", strings.Join([]string{"bin", ".", filepath.Join(dir, "repo/bin"), filepath.Join(dir, "usr")}, ":"))
	if path, err := checkout.Program("tool"); err != nil || path != filepath.Join(dir, "usr/tool") {
		t.Errorf("%s, %v", path, err)
	}
	if path, err := checkout.Program("only"); err == nil {
		t.Errorf("found %s", path)
	}
	if path, err := checkout.Program("./bin/tool"); err == nil {
		t.Errorf("found %s", path)
	}
	t.Setenv("HOME", filepath.Join(dir, "repo")) // a user's own programs
	if path, err := checkout.Program("only"); err != nil || path != filepath.Join(dir, "repo/bin/only") {
		t.Errorf("%s, %v", path, err)
	}
}
