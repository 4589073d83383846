package source

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/memory"
	"github.com/mleflow/mleflow/cache/tree"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestFileFetch(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/raw/a.csv", "1\n")
	write(t, dir+"/raw/deep/b.csv", "2\n")
	write(t, dir+"/data.zip", "hello")
	if err := os.Symlink(dir+"/raw", dir+"/link"); err != nil {
		t.Fatal(err)
	}
	base := fstest.MapFS{"data/x.zip": {Data: []byte("hello")}}
	const helloMD5 = "5d41402abc4b2a76b9719d911017c592"
	tests := []struct {
		name, wantName string
		spec           Spec
		files          int64
	}{
		{"file", "data.zip", Spec{Path: dir + "/data.zip", MD5: helloMD5}, 0},
		{"own file", "x.zip", Spec{Path: "data/x.zip", Base: base, SHA256: digest.Of([]byte("hello")).String()}, 0},
		{"folder", "raw", Spec{Path: dir + "/raw"}, 2},
		{"folder with slash", "raw", Spec{Path: dir + "/raw/"}, 2},
		{"absolute, with own files", "raw", Spec{Path: dir + "/raw", Base: base}, 2},
		{"link to folder", "raw", Spec{Path: dir + "/link"}, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			store := memory.New()
			data, err := file{}.Fetch(t.Context(), Request{Spec: tt.spec, Store: store})
			if err != nil {
				t.Fatal(err)
			}
			if data.Name != tt.wantName || data.Ref.Files != tt.files {
				t.Errorf("got %+v", data)
			}
			if tt.files == 0 && data.MD5 != helloMD5 {
				t.Errorf("MD5 %s, want %s", data.MD5, helloMD5)
			}
			if tt.files > 0 {
				if _, err := tree.NewFS(t.Context(), store, data.Ref).Open("deep/b.csv"); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestFileRefuses(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/x", "hello")
	base := fstest.MapFS{"data/x": {}}
	for _, tt := range []struct {
		name string
		spec Spec
		want string
	}{
		{"missing", Spec{Path: dir + "/y"}, "no such file"},
		{"missing relative path", Spec{Path: "no-such-file.zip"}, "no such file or directory (relative paths start at the working directory, /"},
		{"missing own", Spec{Path: "y", Base: base}, "not exist"},
		{"folder with pin", Spec{Path: dir, MD5: "1"}, "no MD5 or SHA-256"},
		{"own folder", Spec{Path: "data", Base: base}, "not supported"},
		{"device", Spec{Path: "/dev/null"}, "neither a file nor a folder"},
	} {
		_, err := file{}.Fetch(t.Context(), Request{Spec: tt.spec, Store: memory.New()})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want an error with %q", tt.name, err, tt.want)
		}
	}
	_, err := file{}.Fetch(t.Context(), Request{Spec: Spec{Path: dir + "/x", SHA256: strings.Repeat("0", 64)}, Store: memory.New()})
	if !errors.Is(err, ErrMismatch) {
		t.Errorf("got %v, want ErrMismatch", err)
	}
	for _, bad := range []Spec{{}, {Path: "../x", Base: base}, {Path: "./x", Base: base}} {
		if (file{}).Check(bad) == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}

func fileKey(t *testing.T, spec Spec) string {
	t.Helper()
	h := digest.NewHasher("test", "1")
	if err := (file{}).Fingerprint(spec, h); err != nil {
		t.Fatal(err)
	}
	return h.Sum().String()
}

// TestFileKey sees that the key follows the content and nothing else.
func TestFileKey(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/raw/a.csv", "1\n")
	spec := Spec{Path: dir + "/raw"}
	first := fileKey(t, spec)
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(dir+"/raw/a.csv", later, later); err != nil {
		t.Fatal(err)
	}
	if fileKey(t, spec) != first {
		t.Error("a time changed and so did the key")
	}
	if err := os.Rename(dir+"/raw", dir+"/moved"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(dir+"/moved", dir+"/raw"); err != nil {
		t.Fatal(err)
	}
	if fileKey(t, Spec{Path: dir + "/moved"}) != first {
		t.Error("the folder moved and so did the key")
	}
	write(t, dir+"/moved/a.csv", "2\n") // the same size
	if fileKey(t, spec) == first {
		t.Error("the content changed and the key did not")
	}
	pinned := Spec{Path: dir + "/nowhere", MD5: "1"}
	if fileKey(t, pinned) != fileKey(t, Spec{Path: dir + "/elsewhere", MD5: "1"}) {
		t.Error("a pinned file's key depends on its path")
	}
	// A big file goes by size and time.
	big, err := os.Create(dir + "/big")
	if err != nil {
		t.Fatal(err)
	}
	if err := big.Truncate(hashedBytes + 1); err != nil {
		t.Fatal(err)
	}
	big.Close()
	before := fileKey(t, Spec{Path: dir + "/big"})
	if err := os.Chtimes(dir+"/big", later, later); err != nil {
		t.Fatal(err)
	}
	if fileKey(t, Spec{Path: dir + "/big"}) == before {
		t.Error("a big file changed and the key did not")
	}
}
