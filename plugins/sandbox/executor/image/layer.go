package image

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/plugins/transfer/archive"
)

// epoch is the modification time of every file.
var epoch = time.Unix(0, 0).UTC()

// writeLayer writes the files as a layer. It adds missing parent folders. Of two files
// with the same path, it keeps the later one.
func writeLayer(w io.Writer, files []File, work *progress.Work) error {
	entries := map[string]entry{}
	for _, f := range files {
		if err := f.walk(func(e entry) error { entries[e.guest] = e; return nil }); err != nil {
			return fmt.Errorf("add %s: %w", f.Guest, err)
		}
	}
	for _, guest := range slices.Collect(maps.Keys(entries)) {
		for dir := path.Dir(guest); dir != "/"; dir = path.Dir(dir) {
			if _, ok := entries[dir]; !ok {
				entries[dir] = entry{guest: dir, mode: fs.ModeDir | 0o755}
			}
		}
	}
	out := tar.NewWriter(w)
	names := slices.Sorted(maps.Keys(entries))
	work.Begin("adding files", int64(len(names)), 0)
	for _, guest := range names {
		if guest != "/" {
			if err := entries[guest].write(out, work); err != nil {
				return fmt.Errorf("add %s: %w", guest, err)
			}
		}
		work.Add(1, 0)
	}
	return out.Close()
}

func (e entry) write(out *tar.Writer, work *progress.Work) error {
	h := &tar.Header{
		Name: strings.TrimPrefix(e.guest, "/"), Mode: int64(e.mode.Perm()), ModTime: epoch,
		Typeflag: tar.TypeReg, Size: int64(len(e.text)), Format: tar.FormatPAX,
	}
	if e.mode&fs.ModeSticky != 0 {
		h.Mode |= 0o1000
	}
	switch {
	case e.mode.IsDir():
		h.Typeflag, h.Name, h.Size = tar.TypeDir, h.Name+"/", 0
	case e.link != "":
		h.Typeflag, h.Linkname, h.Size = tar.TypeSymlink, e.link, 0
	case e.host != "":
		return addFile(out, h, e.host, work)
	}
	if err := out.WriteHeader(h); err != nil {
		return err
	}
	if h.Size == 0 {
		return nil
	}
	_, err := io.WriteString(out, e.text)
	return err
}

// mountPoints are files that exist only because the runtime mounts something there.
var mountPoints = []string{"etc/hosts", "etc/hostname", "etc/resolv.conf"}

// settle copies a layer and fixes its times. This makes the files that a command wrote
// as reproducible as possible.
func settle(w io.Writer, r io.Reader) error {
	in, out := archive.NewTarReader(r), tar.NewWriter(w)
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return out.Close()
		}
		if err != nil {
			return err
		}
		if slices.Contains(mountPoints, strings.Trim(path.Clean(h.Name), "/")) {
			continue
		}
		h.ModTime, h.AccessTime, h.ChangeTime = epoch, time.Time{}, time.Time{}
		h.Uname, h.Gname, h.Format = "", "", tar.FormatPAX
		if h.Typeflag == tar.TypeGNUSparse {
			h.Typeflag = tar.TypeReg // its holes are read as zeros
		}
		for key := range h.PAXRecords {
			if !strings.HasPrefix(key, "SCHILY.xattr.") {
				delete(h.PAXRecords, key)
			}
		}
		if err := out.WriteHeader(h); err != nil {
			return err
		}
		if _, err := io.Copy(out, in); err != nil {
			return err
		}
	}
}

// plainLayer is an uncompressed layer in a file. It is uncompressed because it is
// written several times during a build, and because the output of a compressor depends
// on its version.
type plainLayer struct {
	file   string
	digest v1.Hash
	size   int64
}

func readPlain(file string, work *progress.Work) (*plainLayer, error) {
	in, err := OpenCounted(file, "hashing the layer", work)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	sum, size, err := v1.SHA256(in)
	return &plainLayer{file, sum, size}, err
}

// Methods of v1.Layer.

func (l *plainLayer) Digest() (v1.Hash, error)             { return l.digest, nil }
func (l *plainLayer) DiffID() (v1.Hash, error)             { return l.digest, nil }
func (l *plainLayer) Size() (int64, error)                 { return l.size, nil }
func (l *plainLayer) MediaType() (types.MediaType, error)  { return types.OCIUncompressedLayer, nil }
func (l *plainLayer) Compressed() (io.ReadCloser, error)   { return os.Open(l.file) }
func (l *plainLayer) Uncompressed() (io.ReadCloser, error) { return os.Open(l.file) }

// Count begins a part of the work in which each layer of the image is read once. It
// returns the image with layers that count.
func Count(img v1.Image, what string, work *progress.Work) (v1.Image, error) {
	layers, err := img.Layers()
	if err != nil {
		return nil, err
	}
	var total int64
	seen := map[v1.Hash]bool{}
	for _, l := range layers {
		id, err := l.Digest()
		if err != nil {
			return nil, err
		}
		size, err := l.Size()
		if err != nil {
			return nil, err
		}
		if !seen[id] {
			seen[id] = true
			total += size
		}
	}
	work.Begin(what, 0, total)
	return countedImage{img, work}, nil
}

type countedImage struct {
	v1.Image
	work *progress.Work
}

// Layers implements v1.Image.
func (c countedImage) Layers() ([]v1.Layer, error) {
	layers, err := c.Image.Layers()
	out := make([]v1.Layer, len(layers))
	for i, l := range layers {
		out[i] = countedLayer{l, c.work}
	}
	return out, err
}

// countedLayer counts the bytes read of its stored form.
type countedLayer struct {
	v1.Layer
	work *progress.Work
}

// Compressed implements v1.Layer.
func (c countedLayer) Compressed() (io.ReadCloser, error) {
	in, err := c.Layer.Compressed()
	if err != nil {
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{c.work.Reader(in), in}, nil
}

// Uncompressed implements v1.Layer.
func (c countedLayer) Uncompressed() (io.ReadCloser, error) {
	stored, err := partial.CompressedToLayer(c)
	if err != nil {
		return nil, err
	}
	return stored.Uncompressed()
}

func (b *Builder) writeLayout(dir string, img v1.Image) error {
	counted, err := Count(img, "writing the image", b.Work)
	if err != nil {
		return err
	}
	p, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	return p.AppendImage(counted)
}

// DefaultMaxBytes is the default limit for the unpacked size of an image. Images with
// all the usual machine learning packages have 10 to 30 GiB.
const DefaultMaxBytes = 64 << 30

// ErrTooLarge means that an image exceeds its size limit.
var ErrTooLarge = errors.New("the image is larger than allowed")

// quota is the rest of an image's size limit.
type quota struct{ most, left int64 }

func newQuota(most int64) *quota {
	if most <= 0 {
		most = math.MaxInt64
	}
	return &quota{most: most, left: most}
}

// take subtracts n bytes. It returns ErrTooLarge if fewer are left.
func (r *quota) take(n int64) error {
	if n > r.left {
		return fmt.Errorf("%w: it takes more than %d bytes unpacked", ErrTooLarge, r.most)
	}
	r.left -= n
	return nil
}

// bound returns a writer that takes from the quota.
func (r *quota) bound(w io.Writer) io.Writer { return &bounded{w, r} }

type bounded struct {
	io.Writer
	quota *quota
}

// Write implements io.Writer.
func (b *bounded) Write(p []byte) (int, error) {
	if err := b.quota.take(int64(len(p))); err != nil {
		return 0, err
	}
	return b.Writer.Write(p)
}

// takeLayers takes the unpacked size of an image's layers from the quota. It stops
// reading at the limit.
func (r *quota) takeLayers(img v1.Image, work *progress.Work) error {
	layers, err := img.Layers()
	if err != nil {
		return err
	}
	for _, l := range layers {
		in, err := l.Uncompressed()
		if err != nil {
			return err
		}
		n, err := Unpacked(work.Reader(in), r.left)
		_ = in.Close()
		if errors.Is(err, ErrTooLarge) {
			err = fmt.Errorf("%w: it takes more than %d bytes unpacked", ErrTooLarge, r.most)
		}
		if err != nil {
			return fmt.Errorf("measure layer: %w", err)
		}
		r.left -= n
	}
	return nil
}

// Unpacked returns the size of an uncompressed layer: the sum of its files' sizes or
// its own size, whichever is larger, because files may have holes. If the size exceeds
// most, it stops reading and returns ErrTooLarge.
func Unpacked(layer io.Reader, most int64) (int64, error) {
	counted := &quota{most: most, left: most}
	in, files := tar.NewReader(io.TeeReader(layer, counted.bound(io.Discard))), int64(0)
	for {
		h, err := in.Next()
		switch {
		case errors.Is(err, io.EOF):
			return max(files, most-counted.left), nil
		case err != nil:
			return 0, err
		}
		if h.Typeflag == tar.TypeReg {
			files += min(h.Size, math.MaxInt64-files)
		}
		if files > most {
			return 0, fmt.Errorf("%w: it takes more than %d bytes unpacked", ErrTooLarge, most)
		}
	}
}
