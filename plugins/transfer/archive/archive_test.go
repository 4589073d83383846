package archive_test

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/plugins/transfer/archive"
)

// packedFiles are the files of the archives in testdata: name → MD5, as
// Python's hashlib gives them for the data of testdata/make.py (py7zr 1.1.4).
var packedFiles = map[string]string{
	"a/text.txt":   "9e19c34358a19851093347a03217ab47",
	"a/empty.txt":  "d41d8cd98f00b204e9800998ecf8427e",
	"b/random.bin": "8f08d7f8397a63c8cefef65695773be3",
	"b/ü.txt":      "ce98b5036c2035884f6a33d3becfe7a9",
	"words.txt":    "a69310423fe73fd83b8c83e78c0b7877",
}

func source(data []byte) archive.Source {
	return archive.Source{ReaderAt: bytes.NewReader(data), Size: int64(len(data))}
}

// contents returns the files of an archive by name with their MD5.
func contents(data []byte, format archive.Format) (map[string]string, error) {
	got := map[string]string{}
	err := archive.Walk(context.Background(), source(data), format, archive.DefaultLimits(), func(e archive.Entry, r io.Reader) error {
		if e.Folder {
			got[e.Name] = "folder"
			return nil
		}
		all, err := io.ReadAll(r)
		sum := md5.Sum(all)
		got[e.Name] = hex.EncodeToString(sum[:])
		return err
	})
	return got, err
}

func TestSevenZipMethods(t *testing.T) {
	for _, name := range []string{"lzma", "lzma-lc0-lp2-pb1", "lzma2", "lzma2-small-dictionary", "copy", "deflate", "bzip2"} {
		t.Run(name, func(t *testing.T) {
			got, err := contents(read(t, "testdata/"+name+".7z"), archive.SevenZip)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(packedFiles, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestSevenZipWithoutAttributes reads an archive as "7z a -mtr=off" makes them: only
// the header's bitmaps tell a folder from an empty file.
func TestSevenZipWithoutAttributes(t *testing.T) {
	data := sevenZipOf("x", "\x01\x04\x06\x00\x01\x09\x01\x00\x07\x0b\x01\x00\x01\x01\x00\x0c\x01\x00\x00\x05\x03"+
		"\x0e\x01\xc0\x0f\x01\x40\x11\x15\x00d\x00\x00\x00d\x00/\x00e\x00\x00\x00d\x00/\x00f\x00\x00\x00\x00\x00")
	want := map[string]string{"d": "folder", "d/e": "d41d8cd98f00b204e9800998ecf8427e", "d/f": "9dd4e461268c8034f5c8564e155c67a6"}
	got, err := contents(data, archive.SevenZip)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestSevenZipRefused(t *testing.T) {
	for want, data := range map[string][]byte{
		"encrypted": read(t, "testdata/encrypted.7z"), "filter BCJ2": bcj2(), "cut off after 50 bytes": read(t, "testdata/copy.7z")[:50],
	} {
		if _, err := contents(data, archive.SevenZip); !errors.Is(err, archive.ErrFormat) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestDamagedSevenZip flips every byte of an archive in turn and cuts it short
// at every length: an error or the same files, never other ones.
func TestDamagedSevenZip(t *testing.T) {
	for _, name := range []string{"lzma", "lzma2"} {
		data := read(t, "testdata/"+name+".7z")
		for i := 0; i < len(data); i += 23 {
			broken := slices.Clone(data)
			broken[i] ^= 0x55
			if got, err := contents(broken, archive.SevenZip); err == nil && !cmp.Equal(got, packedFiles) {
				t.Errorf("%s: byte %d flipped: other files without an error", name, i)
			}
			if _, err := contents(data[:i], archive.SevenZip); err == nil {
				t.Errorf("%s: cut at %d: no error", name, i)
			}
		}
	}
}

func TestPackThenRead(t *testing.T) {
	files := map[string][]byte{
		"train/1.txt": []byte("one"), "train/empty": nil, "big.bin": bytes.Repeat([]byte("abcdefgh"), 40000), "ü/ü.txt": []byte("ü"),
	}
	for _, format := range []archive.Format{archive.Zip, archive.Tar, archive.TarGzip, archive.TarZstd, archive.SevenZip} {
		t.Run(string(format), func(t *testing.T) {
			first := pack(t, format, files)
			if again := pack(t, format, files); !bytes.Equal(first, again) {
				t.Error("the same files gave other bytes")
			}
			if got := archive.Sniff(first); got != format {
				t.Errorf("Sniff gives %q", got)
			}
			want := map[string]string{"folder": "folder"}
			for name, data := range files {
				sum := md5.Sum(data)
				want[name] = hex.EncodeToString(sum[:])
			}
			got, err := contents(first, format)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func pack(t *testing.T, format archive.Format, files map[string][]byte) []byte {
	t.Helper()
	var buf bytes.Buffer
	p, err := archive.NewPacker(&buf, format, archive.PackOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"train/1.txt", "train/empty", "big.bin", "ü/ü.txt"} {
		w, err := p.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(files[name]); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Folder("folder"); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// badNames are refused by every format, reading and packing.
var badNames = []string{
	"/etc/passwd", "../x", "a/../../x", "a/..", "..", "a//b", "a/./b", "./../x", `..\x`, `a\b`, `C:x`, "c:/x", "a\x00b", "a\nb",
	"a\x7fb", strings.Repeat("a", 256), strings.Repeat("a/", 3000) + "b", "\xff",
}

func TestBadNames(t *testing.T) {
	for _, name := range badNames {
		if err := archive.CheckName(name); !errors.Is(err, archive.ErrUnsafe) {
			t.Errorf("CheckName(%q): %v", name, err)
		}
		for format, data := range map[archive.Format][]byte{archive.Zip: zipOf(t, name, "x"), archive.Tar: tarOf(t, name, "x")} {
			if data == nil || format == archive.Zip && name == "\xff" {
				continue // not a name in that format, or one in code page 437
			}
			dir := t.TempDir()
			inside := filepath.Join(dir, "inside")
			if err := os.Mkdir(inside, 0o777); err != nil {
				t.Fatal(err)
			}
			err := archive.Unpack(context.Background(), source(data), format, archive.DefaultLimits(), inside)
			if !errors.Is(err, archive.ErrUnsafe) {
				t.Errorf("%s with %q: %v", format, name, err)
			}
			if left := everything(t, dir); len(left) != 1 {
				t.Errorf("%s with %q left %v", format, name, left)
			}
		}
		p, err := archive.NewPacker(io.Discard, archive.Zip, archive.PackOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Create(name); !errors.Is(err, archive.ErrUnsafe) {
			t.Errorf("packing %q: %v", name, err)
		}
	}
}

// TestHostile holds archives that are refused for other reasons than a name.
func TestHostile(t *testing.T) {
	plain := zipOf(t, "a", strings.Repeat("x", 10000))
	tests := []struct {
		name   string
		format archive.Format
		data   []byte
		want   error
	}{
		{"zip: name twice", archive.Zip, zipOf(t, "a", "x", "a", "y"), archive.ErrUnsafe},
		{"zip: file and folder", archive.Zip, zipOf(t, "a", "x", "a/b", "y"), archive.ErrUnsafe},
		{"zip: folder and file", archive.Zip, zipOf(t, "a/b", "x", "a", "y"), archive.ErrUnsafe},
		{"zip: link", archive.Zip, zipLink(t), archive.ErrUnsafe},
		{"zip: entries share bytes", archive.Zip, overlapping(t), archive.ErrUnsafe},
		{"zip: longer than it says", archive.Zip, withSize(t, plain, 10), archive.ErrFormat},
		{"zip: shorter than it says", archive.Zip, withSize(t, plain, 20000), archive.ErrFormat},
		{"zip: nothing", archive.Zip, nil, archive.ErrFormat},
		{"zip: text", archive.Zip, []byte("not an archive at all"), archive.ErrFormat},
		{"zip: no end", archive.Zip, plain[:len(plain)-10], archive.ErrFormat},
		{"tar: name twice", archive.Tar, tarOf(t, "a", "x", "a", "y"), archive.ErrUnsafe},
		{"tar: symbolic link", archive.Tar, tarLink(t, tar.TypeSymlink), archive.ErrUnsafe},
		{"tar: hard link", archive.Tar, tarLink(t, tar.TypeLink), archive.ErrUnsafe},
		{"tar: device", archive.Tar, tarLink(t, tar.TypeChar), archive.ErrUnsafe},
		{"tar: fifo", archive.Tar, tarLink(t, tar.TypeFifo), archive.ErrUnsafe},
		{"tar: cut", archive.Tar, tarOf(t, "a", strings.Repeat("x", 2000))[:1000], nil},
		{"tar: something behind the end", archive.Tar, append(tarOf(t, "a", "x"), "more"...), archive.ErrFormat},
		{"tar.gz: wrong checksum", archive.TarGzip, wrongChecksum(gzipOf(t, tarOf(t, "a", "x"))), archive.ErrFormat},
		{"tar.gz: cut within the padding", archive.TarGzip, cutTail(gzipOf(t, tarOf(t, "a", "x")), 6), archive.ErrFormat},
		{"tar.gz: text", archive.TarGzip, []byte("no gzip here"), archive.ErrFormat},
		{"tar.gz: cut", archive.TarGzip, gzipOf(t, tarOf(t, "a", "x"))[:40], archive.ErrFormat},
		{"tar.zst: text", archive.TarZstd, []byte("no zstd here"), archive.ErrFormat},
		{"7z: text", archive.SevenZip, []byte("7z\xbc\xaf\x27\x1c and nothing more, or so it seems"), archive.ErrFormat},
		{"7z: endless header", archive.SevenZip, hugeHeader(), archive.ErrFormat},
		{"unknown format", "rar", []byte("Rar!"), archive.ErrFormat},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			err := archive.Unpack(context.Background(), source(tt.data), tt.format, archive.DefaultLimits(), dir)
			if err == nil || tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
}

func TestLimits(t *testing.T) {
	bomb := zipOf(t, "bomb", strings.Repeat("\x00", 1<<20), "more", strings.Repeat("\x00", 1<<20))
	for name, limits := range map[string]archive.Limits{
		"bytes": {Entries: 10, Bytes: 1<<20 + 5}, "entries": {Entries: 1, Bytes: 1 << 30},
	} {
		visited := 0
		err := archive.Walk(context.Background(), source(bomb), archive.Zip, limits, func(archive.Entry, io.Reader) error {
			visited++
			return nil
		})
		if !errors.Is(err, archive.ErrUnsafe) || visited > 0 {
			t.Errorf("%s: %v after %d entries", name, err, visited)
		}
	}
}

func TestUnpackReplacesNothing(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("mine"), 0o666); err != nil {
		t.Fatal(err)
	}
	err := archive.Unpack(context.Background(), source(zipOf(t, "a", "theirs")), archive.Zip, archive.DefaultLimits(), dir)
	if got := read(t, filepath.Join(dir, "a")); !errors.Is(err, fs.ErrExist) || string(got) != "mine" {
		t.Errorf("%v, file holds %q", err, got)
	}
}

// TestUnpackFollowsNoLink unpacks into a folder that holds a link to outside.
func TestUnpackFollowsNoLink(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	err := archive.Unpack(context.Background(), source(zipOf(t, "link/a", "x")), archive.Zip, archive.DefaultLimits(), dir)
	if left := everything(t, outside); err == nil || len(left) > 0 {
		t.Errorf("%v; outside holds %v", err, left)
	}
}

func TestOverlay(t *testing.T) {
	base := fstest.MapFS{
		"plain.txt": {Data: []byte("plain")}, "images/1.txt": {Data: []byte("base 1")},
		"images.zip": {Data: zipOf(t, "images/1.txt", "zip 1", "images/2.txt", "zip 2")},
		"more.7z":    {Data: read(t, "testdata/lzma2.7z")},
	}
	o := archive.NewOverlay(base)
	t.Cleanup(func() {
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	})
	for name, folder := range map[string]string{"images.zip": ".", "more.7z": "deep/er"} {
		if err := o.Mount(context.Background(), name, folder, t.TempDir()); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{"plain.txt": "plain", "images/1.txt": "zip 1", "images/2.txt": "zip 2", "deep/er/a/empty.txt": ""} {
		got, err := fs.ReadFile(o, name)
		if err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	var names []string
	err := fs.WalkDir(o, ".", func(name string, _ fs.DirEntry, err error) error {
		names = append(names, name)
		return err
	})
	want := []string{".", "deep", "deep/er", "deep/er/a", "deep/er/a/empty.txt", "deep/er/a/text.txt", "deep/er/b", "deep/er/b/random.bin",
		"deep/er/b/ü.txt", "deep/er/words.txt", "images", "images/1.txt", "images/2.txt", "images.zip", "more.7z", "plain.txt"}
	if diff := cmp.Diff(want, names); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if _, err := o.Open("images/3.txt"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Open of a file that is not there: %v", err)
	}
}

func FuzzUnpack(f *testing.F) {
	for _, name := range []string{"lzma", "lzma2", "bzip2"} {
		data, err := os.ReadFile("testdata/" + name + ".7z")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, format := range []archive.Format{archive.Zip, archive.Tar, archive.SevenZip} {
			limits := archive.Limits{Entries: 100, Bytes: 1 << 20}
			_ = archive.Walk(context.Background(), source(data), format, limits, func(e archive.Entry, r io.Reader) error {
				if err := archive.CheckName(e.Name); err != nil {
					t.Errorf("visited %q", e.Name)
				}
				if r != nil {
					_, _ = io.Copy(io.Discard, io.LimitReader(r, 1<<20))
				}
				return nil
			})
		}
	})
}
