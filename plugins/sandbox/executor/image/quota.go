package image

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"math"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/mleflow/mleflow/cache/leaf/progress"
)

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
		if err == nil {
			err = r.take(n)
		}
		if errors.Is(err, ErrTooLarge) {
			err = fmt.Errorf("%w: it takes more than %d bytes unpacked", ErrTooLarge, r.most)
		}
		if err != nil {
			return fmt.Errorf("measure layer: %w", err)
		}
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
