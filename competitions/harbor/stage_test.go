package harbor

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/mleflow/mleflow/competitions"
)

// TestCommitIsAllOrNone: the second task cannot be put in its place, so that the first
// is the old one again and nothing is left aside.
func TestCommitIsAllOrNone(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := writeScript(filepath.Join(dir, name, "task.toml"), text); err != nil {
			t.Fatal(err)
		}
	}
	write("a", "old")
	write(".task-1", "new")
	w := Writer{Dir: dir, staged: []stage{{filepath.Join(dir, ".task-1"), filepath.Join(dir, "a")}, {filepath.Join(dir, ".task-2"), filepath.Join(dir, "b")}}}
	if err := w.Commit(); err == nil {
		t.Error("a task that was never written was committed")
	}
	if text, err := os.ReadFile(filepath.Join(dir, "a", "task.toml")); err != nil || string(text) != "old" {
		t.Errorf("the old task is %q, %v", text, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestDescribe: the reference's text is taken as it is, and never for a rehearsal.
func TestDescribe(t *testing.T) {
	w := Writer{Describe: func(context.Context, *competitions.Definition) ([]byte, error) { return []byte("theirs"), nil }}
	def := &competitions.Definition{}
	if text, err := w.describe(t.Context(), def); err != nil || string(text) != "theirs" || w.task() != competitions.TaskReference {
		t.Errorf("%q, %v", text, err)
	}
	def.Rehearsal = true
	if _, err := w.describe(t.Context(), def); err == nil {
		t.Error("a rehearsal got the reference's text")
	}
}
