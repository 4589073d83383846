package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestRelease packs this test's own binary twice, at different times.
func TestRelease(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	binary, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.Mkdir("docs", 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"LICENSE": []byte("free"), "README.md": []byte("read"), "docs/mleflow.1": []byte("man"), "CHANGELOG.md": []byte("news"), "mleflow-linux-amd64": binary} {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for out, umask := range map[string]int{"a": 0o022, "b": 0o077} {
		defer syscall.Umask(syscall.Umask(umask))
		if _, err := release(out, "v1.2.3", []string{"mleflow-linux-amd64"}); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes("mleflow-linux-amd64", time.Now(), time.Now().Add(-time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	names := []string{"SHA256SUMS", "mleflow-v1.2.3-linux-amd64.tar.gz", "mleflow-v1.2.3-linux-amd64.cdx.json"}
	if packsDebian() {
		names = append(names, "mleflow_1.2.3_amd64.deb")
	}
	for _, name := range names {
		a, b := read(t, "a", name), read(t, "b", name)
		if !bytes.Equal(a, b) {
			t.Errorf("%s differs between two releases of the same binary", name)
		}
	}
	if n := strings.Count(string(read(t, "a", "SHA256SUMS")), "\n"); n != len(names) {
		t.Errorf("SHA256SUMS has %d lines, want %d", n, len(names))
	}
	notices, err := noticesOf("mleflow-linux-amd64")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Go go1.", "github.com/spf13/cobra v", "golang.org/x/sync v", "Apache License"} {
		if !bytes.Contains(notices, []byte(want)) {
			t.Errorf("the notices lack %s", want)
		}
	}
	var b bill
	if err := json.Unmarshal(read(t, "a", "mleflow-v1.2.3-linux-amd64.cdx.json"), &b); err != nil {
		t.Fatal(err)
	}
	if c := b.Metadata.Component; c.Version != "v1.2.3" || len(c.Hashes) != 1 || len(b.Components) == 0 || b.Components[0].Name != "std" {
		t.Errorf("bill %+v", b)
	}
}

func read(t *testing.T, folder, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}
