package image

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func program(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(file, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestSame makes one recipe twice, in different places and from files of
// different times, and others that differ in one thing each.
func TestSame(t *testing.T) {
	first := build(t, Static(program(t, "code"), "mleflow"))
	file := program(t, "code")
	if err := os.Chtimes(file, time.Unix(1, 0), time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if again := build(t, Static(file, "mleflow")); again.Digest != first.Digest || filepath.Base(again.Path) != filepath.Base(first.Path) {
		t.Errorf("the same recipe gives %+v and %+v", first, again)
	}
	for name, change := range map[string]func(*Recipe){
		"content": func(r *Recipe) { r.Files[0].Host = program(t, "edoc") },
		"path":    func(r *Recipe) { r.Files[0].Guest = "/usr/bin/other" },
		"mode":    func(r *Recipe) { r.Files[0].Mode = 0o700 },
		"text":    func(r *Recipe) { r.Files[1].Text = "root:x:0:0::/:\n" },
		"env":     func(r *Recipe) { r.Config.Env = map[string]string{"A": "1"} },
		"user":    func(r *Recipe) { r.Config.User = "1000" },
	} {
		r := Static(file, "mleflow")
		change(&r)
		if other := build(t, r); other.Digest == first.Digest || filepath.Base(other.Path) == filepath.Base(first.Path) {
			t.Errorf("another %s gives the same image", name)
		}
	}
}

func build(t *testing.T, r Recipe) Made {
	t.Helper()
	made, err := (&Builder{Dir: t.TempDir()}).Build(t.Context(), r, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func TestLayer(t *testing.T) {
	dir := t.TempDir()
	for _, err := range []error{
		os.MkdirAll(filepath.Join(dir, "sub"), 0o755), os.WriteFile(filepath.Join(dir, "sub", "b"), []byte("bb"), 0o640),
		os.WriteFile(filepath.Join(dir, "a"), []byte("a"), 0o755), os.Symlink("sub/b", filepath.Join(dir, "link")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	err := writeLayer(&out, []File{{Host: dir, Guest: "/opt/agent"}, {Guest: "/tmp/", Mode: fs.ModeSticky | 0o777}, {Guest: "/opt/agent/a", Text: "later"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for in := tar.NewReader(&out); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(in)
		if h.Uid != 0 || h.Gid != 0 || !h.ModTime.Equal(epoch) {
			t.Errorf("%s: owner %d:%d at %v", h.Name, h.Uid, h.Gid, h.ModTime)
		}
		got = append(got, strings.TrimSpace(fs.FileMode(h.Mode).String()+" "+h.Name+" "+string(text)+h.Linkname))
	}
	want := []string{
		"-rwxr-xr-x opt/", "-rwxr-xr-x opt/agent/", "-rw-r--r-- opt/agent/a later", "-rwxrwxrwx opt/agent/link sub/b",
		"-rwxr-xr-x opt/agent/sub/", "-rw-r--r-- opt/agent/sub/b bb", "-rwxrwxrwx tmp/",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestRefused(t *testing.T) {
	for what, r := range map[string]Recipe{
		"relative path":        {Files: []File{{Guest: "etc/x"}}},
		"path that leads out":  {Files: []File{{Guest: "/../etc/x"}}},
		"file and text":        {Files: []File{{Guest: "/x", Host: "/etc/passwd", Text: "x"}}},
		"commands on nothing":  {Commands: [][]string{{"true"}}},
		"base without machine": {Base: "x@sha256:" + strings.Repeat("ab", 32)},
		"missing file":         {Files: []File{{Guest: "/x", Host: "/does/not/exist"}}},
		"device":               {Files: []File{{Guest: "/x", Host: "/dev/null"}}},
	} {
		if made, err := (&Builder{Dir: t.TempDir()}).Build(t.Context(), r, io.Discard); err == nil {
			t.Errorf("%s: made %+v", what, made)
		}
	}
}
