package image

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/plugins/transfer/archive"
)

// IsFile reports whether a base is a path rather than a name.
func IsFile(base string) bool { return filepath.IsAbs(base) || strings.HasPrefix(base, ".") }

// lookAt returns the kind of the file at the path, judging by the first names in it.
func lookAt(path string) (RefKind, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	if info.IsDir() {
		return LayoutRef, nil
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
			return ArchiveRef, nil
		case name != "." && name != "blobs":
			return rootRef, nil
		}
	}
	return rootRef, nil
}

// fileDigest returns the digest of the image's manifest in a file, or the digest of a
// root file system's bytes.
func fileDigest(path string) (string, error) {
	kind, err := lookAt(path)
	if err != nil {
		return "", err
	}
	if kind != rootRef {
		d, err := Ref{Kind: kind, Name: path}.Resolve()
		return d.String(), err
	}
	sum, err := hashOf(path)
	return "root " + sum.String(), err
}

// hashOf returns the digest of a file's bytes.
func hashOf(path string) (v1.Hash, error) {
	f, err := os.Open(path)
	if err != nil {
		return v1.Hash{}, err
	}
	defer f.Close()
	sum, _, err := v1.SHA256(f)
	return sum, err
}

// maxIndexBytes limits the size of an index.
const maxIndexBytes = 4 << 20

// Open reads the image at a path: an OCI layout or archive, or a root file system. If
// it has to be unpacked, at most maxBytes go to dir and stay there while the image is
// used. Work, if set, counts the bytes read for that.
func Open(path, dir string, maxBytes int64, work *progress.Work) (v1.Image, error) {
	kind, err := lookAt(path)
	if err != nil {
		return nil, err
	}
	quota := newQuota(maxBytes)
	switch kind {
	case LayoutRef:
		return onlyImage(path)
	case ArchiveRef:
		if err := unpackLayout(path, dir, quota, work); err != nil {
			return nil, fmt.Errorf("read base: %w", err)
		}
		return onlyImage(dir)
	}
	return rootImage(path, dir, quota, work)
}

// OpenCounted opens a file. Reading it is the part of the work named what.
func OpenCounted(name, what string, work *progress.Work) (io.ReadCloser, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	work.Begin(what, 0, info.Size())
	return struct {
		io.Reader
		io.Closer
	}{work.Reader(f), f}, nil
}

// rootImage builds the image of a root file system: one layer, with the same times as
// every layer.
func rootImage(path, dir string, quota *quota, work *progress.Work) (v1.Image, error) {
	counted, err := OpenCounted(path, "reading the image", work)
	if err != nil {
		return nil, err
	}
	defer counted.Close()
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
			err = addFile(out, &tar.Header{Name: filepath.ToSlash(rel), Mode: 0o644, Typeflag: tar.TypeReg, ModTime: epoch, Format: tar.FormatPAX}, name, work)
		}
		if err != nil {
			return fmt.Errorf("write OCI archive: %w", err)
		}
	}
	return out.Close()
}

// addFile adds a file of the host, whose size it sets in the header.
func addFile(out *tar.Writer, h *tar.Header, name string, work *progress.Work) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	h.Size = info.Size()
	if err := out.WriteHeader(h); err != nil {
		return err
	}
	n, err := io.Copy(out, work.Reader(f))
	if err == nil && n != h.Size {
		err = errors.New(h.Name + " changed while it was read")
	}
	return err
}

// onlyImage returns the only image of a layout, for this machine's architecture, after it
// has compared its content with its digests.
func onlyImage(dir string) (v1.Image, error) {
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return nil, err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	if len(manifest.Manifests) != 1 {
		return nil, fmt.Errorf("it holds %d images; it must hold one", len(manifest.Manifests))
	}
	d := manifest.Manifests[0]
	if d.MediaType.IsIndex() {
		if err := checkBlob(dir, d.Digest); err != nil {
			return nil, err
		}
		if index, err = index.ImageIndex(d.Digest); err != nil {
			return nil, err
		}
		if d, err = forThisMachine(index); err != nil {
			return nil, err
		}
	}
	img, err := index.Image(d.Digest)
	if err != nil {
		return nil, err
	}
	return img, checkImage(dir, img, d.Digest)
}

// forThisMachine returns the image for the machine's architecture.
func forThisMachine(index v1.ImageIndex) (v1.Descriptor, error) {
	manifest, err := index.IndexManifest()
	if err != nil {
		return v1.Descriptor{}, err
	}
	here := v1.Platform{OS: "linux", Architecture: runtime.GOARCH}
	i := slices.IndexFunc(manifest.Manifests, func(d v1.Descriptor) bool { return d.Platform != nil && d.Platform.Satisfies(here) })
	if i < 0 {
		return v1.Descriptor{}, fmt.Errorf("it has no image for %s", here)
	}
	return manifest.Manifests[i], nil
}

// checkImage compares the manifest, the configuration and the layers of a layout's image
// with their digests.
func checkImage(dir string, img v1.Image, manifest v1.Hash) error {
	if err := checkBlob(dir, manifest); err != nil {
		return err
	}
	m, err := img.Manifest()
	if err != nil {
		return err
	}
	for _, d := range append(m.Layers, m.Config) {
		if err := checkBlob(dir, d.Digest); err != nil {
			return err
		}
	}
	return nil
}

func checkBlob(dir string, want v1.Hash) error {
	got, err := hashOf(filepath.Join(dir, "blobs", want.Algorithm, want.Hex))
	if err == nil && got != want {
		err = fmt.Errorf("its blob %s has the digest %s: the image is damaged, or not the one that its index names; get it again", want, got)
	}
	return err
}

// layoutDigest returns the digest of the layout's only manifest.
func layoutDigest(dir string) (string, error) {
	d, err := Ref{Kind: LayoutRef, Name: dir}.Resolve()
	return d.String(), err
}

func writeTo(name string, write func(io.Writer) error) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

// unpackLayout unpacks an OCI archive. It takes only regular files at the paths that a
// layout has.
func unpackLayout(file, dir string, quota *quota, work *progress.Work) error {
	counted, err := OpenCounted(file, "reading the image", work)
	if err != nil {
		return err
	}
	defer counted.Close()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for in := archive.NewTarReader(counted); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			_, err = io.Copy(io.Discard, counted) // the padding
			return err
		}
		if err != nil {
			return err
		}
		if err := quota.take(h.Size); err != nil {
			return err
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		if err := unpackFile(root, filepath.Clean(h.Name), in); err != nil {
			return err
		}
	}
}

func unpackFile(root *os.Root, name string, in io.Reader) error {
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := root.Create(name)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, in)
	return errors.Join(err, f.Close())
}
