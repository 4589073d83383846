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
	uv, err := Open(t.Context(), Options{Dir: dir, Work: t.TempDir(), Python: i, Say: func(line string) { t.Log(line) }})
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
	wanted := os.Getenv("MLEFLOW_TEST_PACKAGES")
	if wanted == "" {
		wanted = "six"
	}
	asked, err := Parse("requirements.txt", strings.ReplaceAll(wanted, " ", "\n"))
	if err != nil {
		t.Fatal(err)
	}
	lock, err := uv.Lock(t.Context(), asked, nil)
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
		other := &Tool{path: uv.path, o: Options{Dir: t.TempDir(), Work: at, Python: i, Say: uv.o.Say}, indexes: uv.indexes}
		if err := other.Verify(t.Context(), asked, lock); err != nil {
			t.Fatal(err)
		}
		if err := other.Install(t.Context(), filepath.Join(at, "environment"), lock); err != nil {
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
