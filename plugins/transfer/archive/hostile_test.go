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

// TestSevenZipCounts holds 7z headers of a few bytes that claim 67,108,863 elements,
// each in another place: they are refused before memory is taken for them.
func TestSevenZipCounts(t *testing.T) {
	const many = "\xe3\xff\xff\xff"
	for name, header := range map[string]string{
		"packed sizes":    "\x01\x04\x06\x00" + many + "\x09",
		"packed digests":  "\x01\x04\x06\x00" + many + "\x0a\x01",
		"folders":         "\x01\x04\x07\x0b" + many + "\x00",
		"coders":          "\x01\x04\x07\x0b\x01\x00" + many,
		"properties":      "\x01\x04\x07\x0b\x01\x00\x01\x21\x21" + many,
		"inputs":          "\x01\x04\x07\x0b\x01\x00\x01\x11\x21" + many + "\x01",
		"files in folder": "\x01\x04\x06\x00\x01\x09\x01\x00\x07\x0b\x01\x00\x01\x01\x00\x0c\x01\x00\x08\x0d" + many + "\x09",
		"files":           "\x01\x05" + many + "\x0e",
		"packed header":   "\x17\x06\x00\x01\x09\x01\x00\x07\x0b\x01\x00\x01\x01\x00\x0c" + many + "\x00\x00",
	} {
		data := sevenZipOf("x", header)
		allocated := allocations()
		_, err := contents(data, archive.SevenZip)
		if got := allocated(); !errors.Is(err, archive.ErrFormat) || got > 1 {
			t.Errorf("%s: %v after %.1f MiB", name, err, got)
		}
	}
}
