package archive_test

import (
	"strings"
	"testing"

	"github.com/mleflow/mleflow/cache/memory"
	"github.com/mleflow/mleflow/plugins/transfer/archive"
)

// TestIntoTotals unpacks three files, one of them large, and an archive of three
// files: the totals are told from the first file on where the archive has a
// directory, what is done only grows, one file at a time, and it ends as what was unpacked.
func TestIntoTotals(t *testing.T) {
	large := strings.Repeat("0123456789abcdef", 100_000)
	inner := packPairs(t, archive.Zip, []string{"1", "one", "2", "two", "3", "three"})
	pairs := []string{"a", "1", "b", "22", "folder/c.zip", string(inner), "large", large}
	want := archive.Progress{Files: 6, Bytes: int64(14 + len(large)), Total: 6, TotalBytes: int64(14 + len(large))}
	for _, format := range []archive.Format{archive.Zip, archive.SevenZip, archive.Tar} {
		t.Run(string(format), func(t *testing.T) {
			known := format != archive.Tar
			var last archive.Progress
			within := false
			_, _, err := into(memory.New(), source(packPairs(t, format, pairs)), format, archive.IntoOptions{
				Nested: func(name string) bool { return name == "folder/c.zip" },
				Progress: func(p archive.Progress) {
					if known && (p.Total < max(4, p.Files) || p.TotalBytes < p.Bytes) || !known && (p.Total != 0 || p.TotalBytes != 0) || p.Files < last.Files || p.Files > last.Files+1 || p.Bytes < last.Bytes {
						t.Errorf("told %+v after %+v", p, last)
					}
					within = within || p.Files == last.Files && p.Bytes > last.Bytes
					last = p
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			if !within {
				t.Error("nothing is told within the large file")
			}
			if !known {
				last.Total, last.TotalBytes = want.Total, want.TotalBytes
			}
			if last != want {
				t.Errorf("ends with %+v, want %+v", last, want)
			}
		})
	}
}
