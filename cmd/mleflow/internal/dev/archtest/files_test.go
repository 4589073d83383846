package archtest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// largest is the size of the largest file of the repository. All data sets for
// rehearsals and all shipped definitions have smaller ones.
const largest = 1 << 20

// TestNoBuiltFiles looks for programs and large files that were committed by mistake.
func TestNoBuiltFiles(t *testing.T) {
	root := filepath.Join("..", "..", "..", "..", "..")
	cmd := exec.Command("git", "ls-files", "-z")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Skip("this is not a checkout: ", err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) {
			continue // removed, and not committed yet
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(text) > largest {
			t.Errorf("%s has %d bytes, more than %d", name, len(text), largest)
		}
		if bytes.HasPrefix(text, []byte("\x7fELF")) {
			t.Errorf("%s is a program", name)
		}
	}
}
