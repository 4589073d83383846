package pyenv

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// realUV opens the uv of this machine; the test is skipped where there is none, or no
// index of packages that it reaches.
func realUV(t *testing.T, dir string) (*Tool, Interpreter) {
	t.Helper()
	if _, err := exec.LookPath("uv"); err != nil && os.Getenv(UVVariable) == "" {
		t.Skip("SKIPPED: no uv in PATH, and " + UVVariable + " names none")
	}
	i, err := Find(t.Context(), "")
	if err != nil {
		t.Skip("SKIPPED: ", err)
	}
	uv, err := Open(t.Context(), Options{Dir: dir, Python: i, Say: func(line string) { t.Log(line) }})
	if err != nil {
		t.Fatal(err)
	}
	return uv, i
}

// contents has the digest of each file below a folder.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		all[strings.TrimPrefix(path, dir)] = fmt.Sprintf("%x", sha256.Sum256(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestSameTwice builds one lock in two folders, at two times, with the real uv.
func TestSameTwice(t *testing.T) {
	uv, i := realUV(t, t.TempDir())
	work := t.TempDir()
	wanted := os.Getenv("MLEFLOW_TEST_PACKAGES")
	if wanted == "" {
		wanted = "six"
	}
	if err := os.WriteFile(filepath.Join(work, "requirements.txt"), []byte(strings.ReplaceAll(wanted, " ", "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	lock, err := uv.Lock(t.Context(), work, "requirements.txt")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("SKIPPED: uv reaches no index of packages: ", err)
	}
	var built []map[string]string
	for _, folder := range []string{"a", "another/and/longer"} {
		at := filepath.Join(t.TempDir(), folder)
		if err := os.MkdirAll(at, 0o755); err != nil {
			t.Fatal(err)
		}
		other := &Tool{path: uv.path, o: Options{Dir: t.TempDir(), Python: i, Say: uv.o.Say}}
		if err := other.Install(t.Context(), at, filepath.Join(at, "environment"), lock); err != nil {
			t.Fatal(err)
		}
		built = append(built, contents(t, filepath.Join(at, "environment")))
	}
	compiled := 0
	for name, sum := range built[0] {
		if strings.HasSuffix(name, ".pyc") {
			compiled++
		}
		if built[1][name] != sum {
			t.Errorf("%s differs", name)
		}
	}
	t.Logf("%d files, %d compiled", len(built[0]), compiled)
	if len(built[0]) != len(built[1]) || compiled == 0 {
		t.Errorf("%d files and %d, %d compiled", len(built[0]), len(built[1]), compiled)
	}
}
