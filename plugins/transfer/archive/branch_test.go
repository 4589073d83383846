package archive_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/plugins/transfer/archive"
)

// filteredFiles are the files of bcj.7z, delta.7z and delta-256.7z in testdata: name →
// MD5, as testdata/make_filters.py prints them (py7zr 1.1.4).
var filteredFiles = map[string]string{
	"branches.bin": "6bf7d85073a08f63184d71c2a4e94746",
	"few.bin":      "6187a154e2ab5c43e61d2e4edb39499f",
	"short.bin":    "86d29922ac56cf022b639187828137f8",
	"wave.bin":     "8c3973ef4cceaad6349911d887073882",
}

// TestSevenZipFilters reads the archives, and no other files from damaged ones.
func TestSevenZipFilters(t *testing.T) {
	for _, name := range []string{"bcj", "delta", "delta-256"} {
		data := read(t, "testdata/"+name+".7z")
		got, err := contents(data, archive.SevenZip)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(filteredFiles, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		for i := 0; i < len(data); i += 97 {
			broken := append([]byte(nil), data...)
			broken[i] ^= 0x55
			if got, err := contents(broken, archive.SevenZip); err == nil && !cmp.Equal(got, filteredFiles) {
				t.Errorf("%s: byte %d flipped: other files without an error", name, i)
			}
		}
	}
}
