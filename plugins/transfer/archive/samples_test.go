package archive_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/klauspost/compress/zip"
)

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// everything lists what is below a folder.
func everything(t *testing.T, dir string) (out []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if path != dir {
			out = append(out, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// zipOf packs names and texts in turn.
func zipOf(t *testing.T, pairs ...string) []byte {
	t.Helper()
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	for i := 0; i < len(pairs); i += 2 {
		w, err := z.CreateHeader(&zip.FileHeader{Name: pairs[i], Method: zip.Deflate})
		if err == nil {
			_, err = io.WriteString(w, pairs[i+1])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func zipLink(t *testing.T) []byte {
	t.Helper()
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	h := &zip.FileHeader{Name: "link"}
	h.SetMode(fs.ModeSymlink | 0o777)
	w, err := z.CreateHeader(h)
	if err == nil {
		_, err = io.WriteString(w, "/etc")
	}
	if err = errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// overlapping makes the second entry of a directory point at the first's bytes.
func overlapping(t *testing.T) []byte {
	data := zipOf(t, "a", "same bytes", "b", "same bytes")
	at := bytes.LastIndex(data, []byte("PK\x01\x02"))
	binary.LittleEndian.PutUint32(data[at+42:], 0)
	return data
}

// withSize changes the size that the directory gives for the first entry.
func withSize(t *testing.T, data []byte, size uint32) []byte {
	t.Helper()
	out := slices.Clone(data)
	at := bytes.Index(out, []byte("PK\x01\x02"))
	binary.LittleEndian.PutUint32(out[at+24:], size)
	return out
}

// tarOf packs names and texts in turn; nil if the format cannot hold a name.
func tarOf(t *testing.T, pairs ...string) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for i := 0; i < len(pairs); i += 2 {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: pairs[i], Mode: 0o644, Size: int64(len(pairs[i+1]))}
		if err := w.WriteHeader(h); err != nil {
			return nil
		}
		if _, err := io.WriteString(w, pairs[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func tarLink(t *testing.T, kind byte) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	err := w.WriteHeader(&tar.Header{Typeflag: kind, Name: "link", Linkname: "/etc/passwd", Mode: 0o777})
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func gzipOf(t *testing.T, data []byte) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	_, err := w.Write(data)
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// hugeHeader is a 7z file that says its header is as long as a disk.
func hugeHeader() []byte {
	data := append([]byte("7z\xbc\xaf\x27\x1c\x00\x04"), make([]byte, 24)...)
	binary.LittleEndian.PutUint64(data[20:], 1<<60)
	return data
}

// bcj2 is the beginning of a 7z file with one folder that BCJ2 filters.
func bcj2() []byte {
	return sevenZipOf("", "\x01\x04\x06\x00\x04\x09\x00\x00\x00\x00\x00\x07\x0b\x01\x00\x01\x14\x03\x03\x01\x1b\x04\x01")
}

// sevenZipOf is a 7z file of packed bytes and a header, with the right checksums.
func sevenZipOf(packed, header string) []byte {
	data := append([]byte("7z\xbc\xaf\x27\x1c\x00\x04"), make([]byte, 24)...)
	binary.LittleEndian.PutUint64(data[12:], uint64(len(packed)))
	binary.LittleEndian.PutUint64(data[20:], uint64(len(header)))
	binary.LittleEndian.PutUint32(data[28:], crc32.ChecksumIEEE([]byte(header)))
	binary.LittleEndian.PutUint32(data[8:], crc32.ChecksumIEEE(data[12:]))
	return append(append(data, packed...), header...)
}

// wrongChecksum changes the CRC-32 at the end of gzip data.
func wrongChecksum(data []byte) []byte {
	data[len(data)-8] ^= 1
	return data
}

func cutTail(data []byte, n int) []byte { return data[:len(data)-n] }
