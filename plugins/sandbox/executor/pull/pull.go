// Package pull counts the bytes that runtimes fetch of an image from a registry.
package pull

import (
	"context"
	"errors"
	"io"

	"github.com/containerd/containerd/v2/core/content"
	"github.com/containerd/containerd/v2/core/images"
	"github.com/containerd/containerd/v2/core/remotes"
	"github.com/containerd/containerd/v2/core/remotes/docker"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/mleflow/mleflow/cache/leaf/progress"
)

// Handler returns a handler that begins a part of the work once the manifest gives the
// image's size. It counts the content that the store already has as done.
func Handler(h images.Handler, store content.InfoProvider, work *progress.Work) images.Handler {
	return images.HandlerFunc(func(ctx context.Context, desc ocispec.Descriptor) ([]ocispec.Descriptor, error) {
		if _, err := store.Info(ctx, desc.Digest); err == nil {
			work.Add(0, desc.Size)
		}
		below, err := h.Handle(ctx, desc)
		if err == nil && images.IsManifestType(desc.MediaType) {
			var total int64
			for _, d := range below {
				total += d.Size
			}
			work.Begin("pulling the image", 0, total)
		}
		return below, err
	})
}

// Registries returns the resolver of images in registries. A registry on this machine may
// speak plain HTTP.
func Registries(work *progress.Work) remotes.Resolver {
	hosts := docker.ConfigureDefaultRegistries(docker.WithPlainHTTP(docker.MatchLocalhost))
	return Resolver(docker.NewResolver(docker.ResolverOptions{Hosts: hosts}), work)
}

// Resolver returns a resolver whose fetchers count the bytes fetched.
func Resolver(r remotes.Resolver, work *progress.Work) remotes.Resolver { return resolver{r, work} }

type resolver struct {
	remotes.Resolver
	work *progress.Work
}

// Fetcher implements remotes.Resolver.
func (r resolver) Fetcher(ctx context.Context, ref string) (remotes.Fetcher, error) {
	f, err := r.Resolver.Fetcher(ctx, ref)
	if err != nil {
		return nil, err
	}
	return remotes.FetcherFunc(func(ctx context.Context, desc ocispec.Descriptor) (io.ReadCloser, error) {
		in, err := f.Fetch(ctx, desc)
		if err != nil {
			return nil, err
		}
		return &fetched{in, r.work, 0}, nil
	}), nil
}

// fetched counts the bytes fetched of one object. An interrupted fetch continues where
// it stopped.
type fetched struct {
	io.ReadCloser
	work *progress.Work
	at   int64
}

// Read implements io.Reader.
func (f *fetched) Read(p []byte) (int, error) {
	n, err := f.ReadCloser.Read(p)
	f.at += int64(n)
	f.work.Add(0, int64(n))
	return n, err
}

// Seek implements io.Seeker.
func (f *fetched) Seek(offset int64, whence int) (int64, error) {
	s, ok := f.ReadCloser.(io.Seeker)
	if !ok {
		return 0, errors.ErrUnsupported
	}
	at, err := s.Seek(offset, whence)
	if err == nil {
		f.work.Add(0, at-f.at)
		f.at = at
	}
	return at, err
}
