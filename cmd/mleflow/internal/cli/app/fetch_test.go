package app

import (
	"strings"
	"testing"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/dataset"
	"github.com/mleflow/mleflow/competitions"
)

// TestFetcherKeepsArchives asks for raw data that people are to have as it was
// downloaded, and for other raw data with its archives unpacked.
func TestFetcherKeepsArchives(t *testing.T) {
	catalog, err := competitions.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	def, err := catalog.Get("leaf-classification")
	if err != nil {
		t.Fatal(err)
	}
	for _, kept := range []bool{true, false} {
		f := &Fetcher{}
		f.Add(def, dataset.Layout{Dir: t.TempDir()}, kept)
		text := string(f.pipeline.Bytes())
		if got := strings.Contains(text, "keep_archives"); got != kept || !strings.Contains(text, def.ID) || len(f.ids) != 1 {
			t.Errorf("kept %v: %s", kept, text)
		}
	}
}
