// Command release packs built binaries for people to download: an archive and a
// list of what is in the program for each, and the sums of them all.
//
//	release -o DIR -version v1.2.3 BINARY...
//
// A binary is named mleflow-GOOS-GOARCH. The same binaries give the same bytes:
// nothing of the clock, the user or the machine gets into a file.
package main

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func main() {
	out := flag.String("o", "dist", "folder to write to")
	version := flag.String("version", "", "version, as in v1.2.3")
	flag.Parse()
	if err := release(*out, *version, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// release writes archives, bills of materials and SHA256SUMS to a folder.
func release(out, version string, binaries []string) error {
	if version == "" || len(binaries) == 0 {
		return errors.New("give -version and the binaries")
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	var names []string
	for _, binary := range binaries {
		platform, found := strings.CutPrefix(filepath.Base(binary), "mleflow-")
		if !found {
			return fmt.Errorf("%s is not named mleflow-GOOS-GOARCH", binary)
		}
		name := "mleflow-" + version + "-" + platform
		bill, err := billOf(binary, version)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(out, name+".cdx.json"), bill, 0o644); err != nil {
			return err
		}
		if err := pack(filepath.Join(out, name+".tar.gz"), name, binary); err != nil {
			return err
		}
		names = append(names, name+".cdx.json", name+".tar.gz")
	}
	return sums(out, names)
}

// pack writes an archive of a folder with the binary and the texts that go with
// it, which are in the current folder.
func pack(archive, folder, binary string) (err error) {
	f, err := os.Create(archive)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	zip, err := gzip.NewWriterLevel(f, gzip.BestCompression)
	if err != nil {
		return err
	}
	w := tar.NewWriter(zip)
	for _, e := range []struct {
		name, from string
		mode       int64
	}{{"LICENSE", "LICENSE", 0o644}, {"README.md", "README.md", 0o644}, {"man/man1/mleflow.1", "docs/mleflow.1", 0o644}, {"mleflow", binary, 0o755}} {
		if err := add(w, folder+"/"+e.name, e.from, e.mode); err != nil {
			return err
		}
	}
	return errors.Join(w.Close(), zip.Close())
}

func add(w *tar.Writer, name, from string, mode int64) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	header := &tar.Header{Name: name, Mode: mode, Size: info.Size(), ModTime: time.Unix(0, 0), Format: tar.FormatUSTAR}
	if err := w.WriteHeader(header); err != nil {
		return err
	}
	_, err = io.Copy(w, f)
	return err
}

// sums writes SHA256SUMS, as sha256sum -c reads it.
func sums(out string, names []string) error {
	slices.Sort(names)
	var text strings.Builder
	for _, name := range names {
		sum, err := sumOf(filepath.Join(out, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "%x  %s\n", sum, name)
	}
	return os.WriteFile(filepath.Join(out, "SHA256SUMS"), []byte(text.String()), 0o644)
}

func sumOf(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return h.Sum(nil), err
}
