package image

import (
	"io"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/partial"

	"github.com/mleflow/mleflow/cache/leaf/progress"
)

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
