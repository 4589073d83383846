package image_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"testing"

	"github.com/containerd/containerd/v2/core/content"
	"github.com/containerd/containerd/v2/core/images"
	"github.com/containerd/containerd/v2/core/remotes"
	"github.com/containerd/errdefs"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/image"
)

// registry has layers of ten bytes.
type registry struct{ remotes.Resolver }

func (registry) Fetcher(context.Context, string) (remotes.Fetcher, error) {
	return remotes.FetcherFunc(func(context.Context, ocispec.Descriptor) (io.ReadCloser, error) {
		return seekable{bytes.NewReader(make([]byte, 10))}, nil
	}), nil
}

type seekable struct{ *bytes.Reader }

func (seekable) Close() error { return nil }

// store has one of the layers.
type store struct{ has digest.Digest }

func (s store) Info(_ context.Context, d digest.Digest) (content.Info, error) {
	if d != s.has {
		return content.Info{}, fmt.Errorf("%s: %w", d, errdefs.ErrNotFound)
	}
	return content.Info{}, nil
}

// TestCounts pulls an image of three layers: one that is there, one whole, and one
// that goes on after six bytes, where another fetch ended.
func TestCounts(t *testing.T) {
	var layers []ocispec.Descriptor
	for _, name := range []string{"there", "whole", "resumed"} {
		layers = append(layers, ocispec.Descriptor{Digest: digest.FromString(name), Size: 10, MediaType: ocispec.MediaTypeImageLayer})
	}
	work := new(progress.Work)
	f, err := image.CountedResolver(registry{}, work).Fetcher(t.Context(), "name")
	if err != nil {
		t.Fatal(err)
	}
	fetch := images.HandlerFunc(func(ctx context.Context, d ocispec.Descriptor) ([]ocispec.Descriptor, error) {
		switch d.Digest {
		case layers[0].Digest:
			return nil, nil
		case layers[1].Digest, layers[2].Digest:
			in, err := f.Fetch(ctx, d)
			if err == nil && d.Digest == layers[2].Digest {
				if _, err = io.ReadFull(in, make([]byte, 2)); err == nil {
					_, err = in.(io.Seeker).Seek(6, io.SeekStart)
				}
			}
			if err == nil {
				_, err = io.Copy(io.Discard, in)
			}
			return nil, err
		}
		return layers, nil
	})
	manifest := ocispec.Descriptor{Digest: digest.FromString("manifest"), Size: 5, MediaType: ocispec.MediaTypeImageManifest}
	if err := images.Walk(t.Context(), image.PullHandler(fetch, store{layers[0].Digest}, work), manifest); err != nil {
		t.Fatal(err)
	}
	if got, want := work.Now(), (progress.State{What: "pulling the image", Bytes: 30, TotalBytes: 30}); got != want {
		t.Errorf("counted %+v, want %+v", got, want)
	}
}
