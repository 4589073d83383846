package main

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"debug/macho"
	"encoding/base64"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// file is a file of an archive.
type file struct {
	name string
	mode fs.FileMode
	data []byte
}

// wheels are those of a distribution: that of mleflow has the program, and a wheel for
// each binary; the others have one.
func (p project) wheels(binaries []built) ([]artefact, error) {
	if p.Project.Name != "mleflow" {
		return []artefact{p.wheel([]string{"any"}, built{})}, nil
	}
	var all []artefact
	for _, b := range binaries {
		tags, err := b.tags()
		if err != nil {
			return nil, err
		}
		if tags != nil {
			all = append(all, p.wheel(tags, b))
		}
	}
	return all, nil
}

// tags are the platforms of a wheel with a binary, by PEP 425 and 600; none if pip has
// no name for it. A static binary runs with any C library: the oldest versions stand
// for all.
func (b built) tags() ([]string, error) {
	cpu := map[string]string{"linux/amd64": "x86_64", "linux/arm64": "aarch64", "darwin/amd64": "x86_64", "darwin/arm64": "arm64"}[b.os+"/"+b.arch]
	switch {
	case cpu == "":
		return nil, nil
	case b.os == "linux":
		return []string{"manylinux2014_" + cpu, "manylinux_2_17_" + cpu, "musllinux_1_1_" + cpu}, nil
	default:
		f, err := macho.Open(b.path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", b.path, err)
		}
		defer f.Close()
		major, err := oldestMacOS(f)
		return []string{fmt.Sprintf("macosx_%d_0_%s", major, cpu)}, err
	}
}

// oldestMacOS is the major version of macOS that a binary asks for.
func oldestMacOS(f *macho.File) (uint32, error) {
	const versionMin, buildVersion = 0x24, 0x32 // LC_VERSION_MIN_MACOSX, LC_BUILD_VERSION
	for _, load := range f.Loads {
		raw := load.Raw()
		switch at := f.ByteOrder; at.Uint32(raw) {
		case versionMin:
			return at.Uint32(raw[8:]) >> 16, nil
		case buildVersion:
			return at.Uint32(raw[12:]) >> 16, nil
		}
	}
	return 0, errors.New("the binary does not say which macOS it needs")
}

// wheel is one for the platforms of tags, with a program if there is one.
func (p project) wheel(tags []string, program built) artefact {
	name := p.stem() + "-py3-none-" + strings.Join(tags, ".") + ".whl"
	return artefact{name, func(to string) error {
		files, err := p.wheelFiles(tags, program)
		if err != nil {
			return err
		}
		return writeZip(to, files)
	}}
}

func (p project) wheelFiles(tags []string, program built) ([]file, error) {
	var files []file
	info := p.stem() + ".dist-info/"
	for _, pkg := range p.packages() {
		found, err := p.files(pkg)
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			f.name = strings.TrimPrefix(f.name, strings.TrimSuffix(pkg, path.Base(pkg)))
			files = append(files, f)
		}
	}
	if program.path != "" {
		data, err := os.ReadFile(program.path)
		if err != nil {
			return nil, err
		}
		files = append(files, file{p.stem() + ".data/scripts/mleflow", 0o755, data}, file{info + "licenses/" + noticesFile, 0o644, program.notices})
	}
	metadata, err := p.metadata()
	if err != nil {
		return nil, err
	}
	if program.path != "" {
		metadata = bytes.Replace(metadata, []byte("License-File: LICENSE\n"), []byte("License-File: LICENSE\nLicense-File: "+noticesFile+"\n"), 1)
	}
	licence, err := os.ReadFile("LICENSE")
	if err != nil {
		return nil, err
	}
	wheel := fmt.Sprintf("Wheel-Version: 1.0\nGenerator: mleflow\nRoot-Is-Purelib: %t\n", program.path == "")
	for _, tag := range tags {
		wheel += "Tag: py3-none-" + tag + "\n"
	}
	files = append(files, file{info + "METADATA", 0o644, metadata}, file{info + "WHEEL", 0o644, []byte(wheel)})
	if points := p.entryPoints(); len(points) > 0 {
		files = append(files, file{info + "entry_points.txt", 0o644, points})
	}
	files = append(files, file{info + "licenses/LICENSE", 0o644, licence})
	var record strings.Builder
	for _, f := range files {
		sum := sha256.Sum256(f.data)
		fmt.Fprintf(&record, "%s,sha256=%s,%d\n", f.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(f.data))
	}
	fmt.Fprintf(&record, "%sRECORD,,\n", info)
	return append(files, file{info + "RECORD", 0o644, []byte(record.String())}), nil
}

// writeZip writes a zip whose local headers have sizes and sums, which readers of
// streams need, and the oldest date that the format has.
func writeZip(to string, files []file) (err error) {
	f, err := os.Create(to)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	z := zip.NewWriter(f)
	var packed bytes.Buffer
	deflate, err := flate.NewWriter(&packed, flate.DefaultCompression)
	if err != nil {
		return err
	}
	for _, f := range files {
		packed.Reset()
		deflate.Reset(&packed)
		if _, err := deflate.Write(f.data); err != nil {
			return err
		}
		if err := deflate.Close(); err != nil {
			return err
		}
		header := &zip.FileHeader{Name: f.name, Method: zip.Deflate, CRC32: crc32.ChecksumIEEE(f.data),
			CompressedSize64: uint64(packed.Len()), UncompressedSize64: uint64(len(f.data))}
		header.SetMode(f.mode)
		//lint:ignore SA1019 CreateRaw does not read Modified
		header.ModifiedDate = 1<<5 | 1 //nolint:staticcheck // 1 January 1980
		w, err := z.CreateRaw(header)
		if err != nil {
			return err
		}
		if _, err := w.Write(packed.Bytes()); err != nil {
			return err
		}
	}
	return z.Close()
}

// source is the source distribution. It has the package and what builds it, not the
// program and not the tests, which need the program.
func (p project) source() artefact {
	return artefact{p.stem() + ".tar.gz", func(to string) error {
		metadata, err := p.metadata()
		if err != nil {
			return err
		}
		files := []file{{"PKG-INFO", 0o644, metadata}, {"pyproject.toml", 0o644, p.text}}
		for name, from := range map[string]string{"LICENSE": "LICENSE", p.Project.Readme: p.folder + "/" + p.Project.Readme} {
			data, err := os.ReadFile(from)
			if err != nil {
				return err
			}
			files = append(files, file{name, 0o644, data})
		}
		for _, pkg := range p.packages() {
			found, err := p.files(pkg)
			if err != nil {
				return err
			}
			files = append(files, found...)
		}
		slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.name, b.name) })
		return writeTar(to, p.stem(), files)
	}}
}
