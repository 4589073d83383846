package image

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/mleflow/mleflow/cache/leaf/progress"
)

// IsFile reports whether a base is a path rather than a name.
func IsFile(base string) bool { return filepath.IsAbs(base) || strings.HasPrefix(base, ".") }

// fileKind is the kind of file at the path of a base.
type fileKind int

const (
	layoutFolder fileKind = iota // an OCI layout
	ociArchive                   // an OCI layout in a tar
	rootArchive                  // a root file system in a tar
)

// lookAt returns the kind of the file at the path, judging by the first names in it.
func lookAt(path string) (fileKind, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	if info.IsDir() {
		return layoutFolder, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	in := tar.NewReader(f)
	for range 4 { // "./", "blobs/" may come before
		h, err := in.Next()
		if err != nil {
			return 0, fmt.Errorf("%s is neither an OCI layout or archive nor a root file system in an uncompressed tar: %w", path, err)
		}
		switch name := filepath.Clean(h.Name); {
		case name == "oci-layout", name == "index.json", strings.HasPrefix(name, "blobs/"):
			return ociArchive, nil
		case name != "." && name != "blobs":
			return rootArchive, nil
		}
	}
	return rootArchive, nil
}

// fileDigest returns the digest of the image's manifest in a file, or the digest of a
// root file system's bytes.
func fileDigest(path string) (string, error) {
	kind, err := lookAt(path)
	if err != nil {
		return "", err
	}
	switch kind {
	case layoutFolder:
		return layoutDigest(path)
	case ociArchive:
		d, err := Ref{Kind: ArchiveRef, Name: path}.Resolve()
		return d.String(), err
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum, _, err := v1.SHA256(f)
	return "root " + sum.String(), err
}

// maxIndexBytes limits the size of an index.
const maxIndexBytes = 4 << 20

// Open reads the image at a path: an OCI layout or archive, or a root file system. If
// it has to be unpacked, at most maxBytes go to dir and stay there while the image is
// used. Work, if set, counts the bytes read for that.
func Open(path, dir string, maxBytes int64, work *progress.Work) (v1.Image, error) {
	return fileImage(path, dir, newQuota(maxBytes), work)
}

// fileImage reads the image at a path. If it has to be unpacked, its files go to dir.
func fileImage(path, dir string, quota *quota, work *progress.Work) (v1.Image, error) {
	kind, err := lookAt(path)
	if err != nil {
		return nil, err
	}
	switch kind {
	case layoutFolder:
		return onlyImage(path)
	case ociArchive:
		if err := unpackLayout(path, dir, quota, work); err != nil {
			return nil, fmt.Errorf("read base: %w", err)
		}
		return onlyImage(dir)
	}
	return rootImage(path, dir, quota, work)
}

// rootImage builds the image of a root file system: one layer, with the same times as
// every layer.
func rootImage(path, dir string, quota *quota, work *progress.Work) (v1.Image, error) {
	in, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return nil, err
	}
	work.Begin("reading the image", 0, info.Size())
	counted := work.Reader(in)
	file := dir + "-root.tar"
	err = writeTo(file, func(w io.Writer) error { return settle(quota.bound(w), counted) })
	if err == nil {
		_, err = io.Copy(io.Discard, counted) // the padding
	}
	if err != nil {
		return nil, fmt.Errorf("read root file system: %w", err)
	}
	return appendLayer(scratch(), file, "root file system", work)
}

func scratch() v1.Image {
	return mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
}

// WriteArchive writes the layout at dir as an OCI archive with the index first. The
// same layout gives the same bytes. Work, if set, counts the bytes, in a part of the
// work named what.
func WriteArchive(ctx context.Context, w io.Writer, dir, what string, work *progress.Work) error {
	blobs, err := filepath.Glob(filepath.Join(dir, "blobs", "*", "*")) // sorted
	if err != nil {
		return err
	}
	names := append([]string{filepath.Join(dir, "oci-layout"), filepath.Join(dir, "index.json")}, blobs...)
	var total int64
	for _, name := range names {
		if info, err := os.Stat(name); err == nil {
			total += info.Size()
		}
	}
	work.Begin(what, 0, total)
	out := tar.NewWriter(w)
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		if err == nil {
			err = addFile(out, name, filepath.ToSlash(rel), work)
		}
		if err != nil {
			return fmt.Errorf("write OCI archive: %w", err)
		}
	}
	return out.Close()
}

func addFile(out *tar.Writer, name, as string, work *progress.Work) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	h := &tar.Header{Name: as, Mode: 0o644, Size: info.Size(), Typeflag: tar.TypeReg, ModTime: epoch, Format: tar.FormatPAX}
	if err := out.WriteHeader(h); err != nil {
		return err
	}
	n, err := io.Copy(out, work.Reader(f))
	if err == nil && n != info.Size() {
		err = errors.New(as + " changed while it was read")
	}
	return err
}
