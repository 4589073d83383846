package agentrun

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/mleflow/mleflow/competitions/shipped"
)

// TestClientHasNoCompetitions builds the program and looks for the content of the
// shipped competitions in the copy that agents see.
func TestClientHasNoCompetitions(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "mleflow")
	build := exec.Command("go", "build", "-o", program, "../../cmd/mleflow")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	whole, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	copied, err := emptied(program)
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	err = fs.WalkDir(shipped.FS, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := shipped.FS.ReadFile(path)
		if files++; !bytes.Contains(whole, content) {
			t.Errorf("%s is not in the program as it is, so nothing can be said of the copy", path)
		}
		if bytes.Contains(copied, content) {
			t.Errorf("%s is in the copy", path)
		}
		return err
	})
	if err != nil || files < 100 {
		t.Fatalf("%d files: %v", files, err)
	}
	if err := os.WriteFile(program, copied, 0o700); err != nil { //nolint:gosec // it is run
		t.Fatal(err)
	}
	out, err := exec.Command(program, "acp").CombinedOutput()
	if !bytes.Contains(out, []byte("usage: mleflow acp PROGRAM")) {
		t.Errorf("the copy does not run: %v: %s", err, out)
	}
}
