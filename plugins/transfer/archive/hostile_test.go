package archive_test

import (
	"archive/tar"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/plugins/transfer/archive"
)

// TestCaseClash holds names that differ in case only: two files, as Linux and
// the data sets have them. A file system that takes them for one refuses the
// second, since unpacking replaces nothing.
func TestCaseClash(t *testing.T) {
	for format, data := range map[archive.Format][]byte{
		archive.Zip: zipOf(t, "a/B.txt", "1", "A/b.txt", "2", "a/b.txt", "3"), archive.Tar: tarOf(t, "a/B.txt", "1", "A/b.txt", "2", "a/b.txt", "3"),
	} {
		dir := t.TempDir()
		if err := archive.Unpack(context.Background(), source(data), format, archive.DefaultLimits(), dir); err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]string{"a/B.txt": "1", "A/b.txt": "2", "a/b.txt": "3"} {
			if got := read(t, filepath.Join(dir, name)); string(got) != want {
				t.Errorf("%s: %s holds %q, want %q", format, name, got, want)
			}
		}
	}
}

// TestBombs unpacks archives that hold far more than they weigh: unpacking
// ends before the limit is passed.
func TestBombs(t *testing.T) {
	const limit = 1 << 20
	zeros := strings.Repeat("\x00", 64<<20)
	bombs := map[archive.Format][]byte{archive.Zip: zipOf(t, "bomb", zeros), archive.TarGzip: gzipOf(t, tarOf(t, "bomb", zeros))}
	for format, data := range bombs {
		if len(data) > limit {
			t.Fatalf("the %s weighs %d bytes", format, len(data))
		}
		dir := t.TempDir()
		err := archive.Unpack(context.Background(), source(data), format, archive.Limits{Entries: 10, Bytes: limit}, dir)
		if !errors.Is(err, archive.ErrUnsafe) {
			t.Errorf("%s: %v", format, err)
		}
		if info, err := os.Stat(filepath.Join(dir, "bomb")); err == nil && info.Size() > limit {
			t.Errorf("%s left %d bytes", format, info.Size())
		}
	}
}

// TestLinksAreNotMade looks that a refused link is not there, and that nothing
// lies next to the folder.
func TestLinksAreNotMade(t *testing.T) {
	for name, data := range map[string][]byte{"zip": zipLink(t), "tar": tarLink(t, tar.TypeSymlink), "tar, hard": tarLink(t, tar.TypeLink)} {
		dir := t.TempDir()
		inside := filepath.Join(dir, "inside")
		if err := os.Mkdir(inside, 0o777); err != nil {
			t.Fatal(err)
		}
		format := archive.Tar
		if name == "zip" {
			format = archive.Zip
		}
		if err := archive.Unpack(context.Background(), source(data), format, archive.DefaultLimits(), inside); !errors.Is(err, archive.ErrUnsafe) {
			t.Errorf("%s: %v", name, err)
		}
		if left := everything(t, dir); len(left) != 1 {
			t.Errorf("%s left %v", name, left)
		}
	}
}
