package archive_test

import (
	"testing"

	"github.com/mleflow/mleflow/cache/memory"
	"github.com/mleflow/mleflow/plugins/transfer/archive"
)

// TestIntoTotals unpacks two files and an archive of three files: the
// total is told from the first file on where the archive has a directory, and
// ends as what was unpacked.
func TestIntoTotals(t *testing.T) {
	inner := packPairs(t, archive.Zip, []string{"1", "one", "2", "two", "3", "three"})
	pairs := []string{"a", "1", "b", "22", "folder/c.zip", string(inner)}
	for _, format := range []archive.Format{archive.Zip, archive.SevenZip, archive.Tar} {
		t.Run(string(format), func(t *testing.T) {
			var told []archive.Progress
			_, _, err := into(memory.New(), source(packPairs(t, format, pairs)), format, archive.IntoOptions{
				Nested:   func(name string) bool { return name == "folder/c.zip" },
				Progress: func(p archive.Progress) { told = append(told, p) },
			})
			if err != nil {
				t.Fatal(err)
			}
			if len(told) != 3 {
				t.Fatalf("told %d times, want once for each entry: %+v", len(told), told)
			}
			for _, p := range told {
				if known := format != archive.Tar; known && (p.Total < max(3, p.Files)) || !known && p.Total != 0 {
					t.Errorf("told %+v", p)
				}
			}
			last := told[2]
			if want := int64(5); last.Files != want || format != archive.Tar && last.Total != want {
				t.Errorf("ends with %+v, want %d files of %d", last, want, want)
			}
		})
	}
}
