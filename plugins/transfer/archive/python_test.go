package archive_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"

	"github.com/mleflow/mleflow/plugins/transfer/archive"
)

// pythonArchive is an archive that Python has read.
type pythonArchive struct {
	Name string
	File []byte // with gzip
	// Cuts are what tarfile reads of the archive's first bytes, from each block
	// on at which that changes; nil where it refuses them.
	Cuts []struct {
		At    int
		Files map[string]string
	}
	Entries map[string]string
}

func (a pythonArchive) bytes(t *testing.T) []byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(a.File))
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func pythonArchives(t *testing.T) (all struct{ Tars, Zips []pythonArchive }) {
	t.Helper()
	if err := json.Unmarshal(read(t, "testdata/python.json"), &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestCutTars cuts tar archives. Between blocks they give the
// same as in Python; elsewhere they are refused, where Python takes some parts
// of a header for the end.
func TestCutTars(t *testing.T) {
	for _, a := range pythonArchives(t).Tars {
		t.Run(a.Name, func(t *testing.T) {
			data, next := a.bytes(t), a.Cuts
			var want map[string]string
			for at := range len(data) + 1 {
				if len(next) > 0 && next[0].At == at {
					want, next = next[0].Files, next[1:]
				}
				if within := at % 512; within > 2 && within < 510 && at%97 > 0 {
					continue // the bytes next to the ends of blocks tell most
				}
				cuts := map[archive.Format][]byte{archive.Tar: data[:at]}
				if at%512 < 2 {
					cuts[archive.TarGzip] = gzipOf(t, data[:at])
				}
				for format, cut := range cuts {
					got, err := contents(cut, format)
					switch whole := at%512 == 0; {
					case err != nil && !errors.Is(err, archive.ErrFormat):
						t.Fatalf("%s cut at %d: %v, want ErrFormat", format, at, err)
					case err != nil && whole && want != nil:
						t.Errorf("%s cut at %d: %v", format, at, err)
					case err == nil && !cmp.Equal(got, want):
						t.Errorf("%s cut at %d (-want +got):\n%s", format, at, cmp.Diff(want, got))
					}
				}
			}
			if len(next) > 0 {
				t.Error("the file of results has cuts beyond the end")
			}
		})
	}
}

// TestCutCompressedTars cuts them in the compressed bytes: they are refused.
func TestCutCompressedTars(t *testing.T) {
	for _, format := range []archive.Format{archive.TarGzip, archive.TarZstd} {
		data := pack(t, format, map[string][]byte{"big.bin": bytes.Repeat([]byte("abcdefgh"), 400)})
		for at := range data {
			if _, err := contents(data[:at], format); !errors.Is(err, archive.ErrFormat) {
				t.Errorf("%s cut at %d: %v, want ErrFormat", format, at, err)
			}
		}
	}
}

// TestZipNames holds zip entries whose names or kinds can be read in two ways.
func TestZipNames(t *testing.T) {
	for _, a := range pythonArchives(t).Zips {
		got, err := contents(a.bytes(t), archive.Zip)
		if diff := cmp.Diff(a.Entries, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", a.Name, err, diff)
		}
	}
}

// TestCutZips cuts a zip file at every byte, also where another one in it ends.
func TestCutZips(t *testing.T) {
	data := one(zipEntry{name: "in.zip", text: string(zipOf(t, "a", "x"))})
	for at := range data {
		if _, err := contents(data[:at], archive.Zip); !errors.Is(err, archive.ErrFormat) {
			t.Errorf("cut at %d: %v, want ErrFormat", at, err)
		}
	}
	two := append(zipOf(t, "a", "x"), zipOf(t, "b", "y")...)
	if _, err := contents(two, archive.Zip); !errors.Is(err, archive.ErrFormat) {
		t.Errorf("two archives in a row: %v, want ErrFormat", err)
	}
}
