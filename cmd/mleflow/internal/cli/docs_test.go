package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestReferencePages fails when a page of docs is not what the program would
// write now; make docs writes them again.
func TestReferencePages(t *testing.T) {
	pages, err := referencePages(newRoot(newApp(&terminal{})))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range pages {
		got, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", name))
		if err != nil {
			t.Error(err)
			continue
		}
		if diff := cmp.Diff(string(got), string(want)); diff != "" {
			t.Errorf("docs/%s is out of date, run make docs (-have +want):\n%s", name, diff)
		}
	}
}
