package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestUpToDate fails when a generated file of docs is not what is generated now, or
// when a schema has no command.
func TestUpToDate(t *testing.T) {
	files, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join("..", "..", "..", "..", "..", "docs")
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
			continue
		}
		if diff := cmp.Diff(string(got), string(want)); diff != "" {
			t.Errorf("docs/%s is out of date, run make docs (-have +want):\n%s", name, diff)
		}
	}
	entries, err := os.ReadDir(filepath.Join(dir, "schemas"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if files["schemas/"+e.Name()] == nil {
			t.Errorf("docs/schemas/%s belongs to no command", e.Name())
		}
	}
}
