// Command release packs built binaries for people to install, each with the licences of
// all that is in it: for each an archive, a bill of materials, a Python wheel and a package for Debian; the source distributions
// and wheels of the Python packages, a formula for Homebrew, and the sums of them all.
//
//	release -o DIR -version v1.2.3 BINARY...
//
// A binary is named mleflow-GOOS-GOARCH. Packages for Debian are made where dpkg-deb is.
// The same binaries give the same bytes: nothing of the clock, the user or the machine
// gets into a file.
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
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

func main() {
	out := flag.String("o", "dist", "folder to write to")
	version := flag.String("version", "", "version, as in v1.2.3")
	flag.Parse()
	names, err := release(*out, *version, flag.Args())
	for _, name := range names {
		if info, err := os.Stat(filepath.Join(*out, name)); err == nil {
			fmt.Printf("%10.2f MB  %s\n", float64(info.Size())/1e6, name)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// built is a binary for a platform, and the licences of what is in it.
type built struct {
	path, os, arch string
	notices        []byte
}

// artefact is a file of the release, and how it is written.
type artefact struct {
	name  string
	write func(path string) error
}

// release writes all files to a folder, and returns their names.
func release(out, version string, binaries []string) ([]string, error) {
	if version == "" || len(binaries) == 0 {
		return nil, errors.New("give -version and the binaries")
	}
	all, err := artefacts(version, binaries)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, err
	}
	var group errgroup.Group
	group.SetLimit(runtime.NumCPU())
	names := []string{}
	for _, a := range all {
		names = append(names, a.name)
		group.Go(func() error { return a.write(filepath.Join(out, a.name)) })
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	if err := writeFormula(out, version); err != nil {
		return nil, err
	}
	names = append(names, "mleflow.rb")
	slices.Sort(names)
	return names, sums(out, names)
}

// artefacts are the files of a release but the formula and the sums, which need them.
func artefacts(version string, paths []string) ([]artefact, error) {
	forms, err := versionsOf(version)
	if err != nil {
		return nil, err
	}
	var all []artefact
	var binaries []built
	for _, path := range paths {
		platform, _ := strings.CutPrefix(filepath.Base(path), "mleflow-")
		system, arch, found := strings.Cut(platform, "-")
		if !found {
			return nil, fmt.Errorf("%s is not named mleflow-GOOS-GOARCH", path)
		}
		b := built{path: path, os: system, arch: arch}
		if b.notices, err = noticesOf(path); err != nil {
			return nil, err
		}
		binaries = append(binaries, b)
		name := "mleflow-" + version + "-" + platform
		all = append(all, artefact{name + ".tar.gz", func(to string) error { return pack(to, name, b) }},
			artefact{name + ".cdx.json", func(to string) error { return writeBill(to, path, version) }})
		if system == "linux" && packsDebian() {
			all = append(all, debian(forms.debian, b))
		}
	}
	python, err := projects("python", forms.python)
	if err != nil {
		return nil, err
	}
	for _, p := range python {
		wheels, err := p.wheels(binaries)
		if err != nil {
			return nil, err
		}
		all = append(all, append(wheels, p.source())...)
	}
	return all, nil
}

func writeBill(to, binary, version string) error {
	bill, err := billOf(binary, version)
	if err != nil {
		return err
	}
	return os.WriteFile(to, bill, 0o644)
}

// pack writes an archive of a folder with the binary and the texts that go with
// it, which are in the current folder.
func pack(archive, folder string, b built) error {
	var files []file
	for _, f := range []struct{ name, from string }{{"LICENSE", "LICENSE"}, {"README.md", "README.md"}, {"man/man1/mleflow.1", "docs/mleflow.1"}, {"mleflow", b.path}} {
		data, err := os.ReadFile(f.from)
		if err != nil {
			return err
		}
		files = append(files, file{f.name, 0o644, data})
	}
	files[len(files)-1].mode = 0o755
	files = append(files, file{noticesFile, 0o644, b.notices})
	return writeTar(archive, folder, files)
}

// writeTar writes a compressed archive of a folder with files.
func writeTar(archive, folder string, files []file) (err error) {
	f, err := os.Create(archive)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	zip := gzip.NewWriter(f)
	w := tar.NewWriter(zip)
	for _, f := range files {
		header := &tar.Header{Name: folder + "/" + f.name, Mode: int64(f.mode), Size: int64(len(f.data)), ModTime: time.Unix(0, 0), Format: tar.FormatUSTAR}
		if err := w.WriteHeader(header); err != nil {
			return err
		}
		if _, err := w.Write(f.data); err != nil {
			return err
		}
	}
	return errors.Join(w.Close(), zip.Close())
}

// sums writes SHA256SUMS, as sha256sum -c reads it.
func sums(out string, names []string) error {
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
