package image

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/containerd/containerd/v2/core/content"
	"github.com/containerd/containerd/v2/core/images"
	"github.com/containerd/containerd/v2/core/remotes"
	"github.com/containerd/containerd/v2/core/remotes/docker"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/mleflow/mleflow/cache/leaf/checkout"
	"github.com/mleflow/mleflow/cache/leaf/pattern"
	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/plugins/transfer/archive"
)

// RefKind is the kind of place that has an image.
type RefKind int

// The kinds: an OCI archive or layout at a path, a registry, containerd's own store, and a
// root file system in a tar, which is an image only as a base.
const (
	ArchiveRef RefKind = iota
	LayoutRef
	RemoteRef
	LocalRef
	rootRef
)

// Ref is a parsed Spec.Image.
type Ref struct {
	Kind RefKind
	// Name is a path, or a name including its registry.
	Name string
	// Digest is the digest in the name; it may be empty.
	Digest digest.Digest
}

// LocalPrefix is the prefix of images in containerd's own store.
const LocalPrefix = "local:"

// ErrUnpinned means that the name of an image may refer to a different image tomorrow.
var ErrUnpinned = errors.New("the image is not pinned by its digest")

var pinned = pattern.New(`^(.+)@(sha256:[0-9a-f]{64})$`)

// ParseRef parses an image's name: the path of an OCI archive or layout, which starts
// with "/" or "."; "local:NAME" or "local:NAME@DIGEST" for an image in containerd's
// store; or NAME@DIGEST for an image in a registry.
func ParseRef(name string) (Ref, error) {
	if IsFile(name) {
		info, err := os.Stat(name)
		if err != nil {
			return Ref{}, fmt.Errorf("find image: %w", err)
		}
		if info.IsDir() {
			return Ref{Kind: LayoutRef, Name: name}, nil
		}
		return Ref{Kind: ArchiveRef, Name: name}, nil
	}
	rest, isLocal := strings.CutPrefix(name, LocalPrefix)
	m := pinned.Regexp().FindStringSubmatch(rest)
	switch {
	case isLocal && m != nil:
		return Ref{Kind: LocalRef, Name: m[1], Digest: digest.Digest(m[2])}, nil
	case isLocal && rest != "":
		return Ref{Kind: LocalRef, Name: rest}, nil
	case m != nil:
		return Ref{Kind: RemoteRef, Name: withRegistry(m[1]) + "@" + m[2], Digest: digest.Digest(m[2])}, nil
	}
	return Ref{}, fmt.Errorf("image %q: %w: write NAME@sha256:… (skopeo inspect docker://NAME shows it), "+
		"the path of an OCI archive or layout (starting with / or ./), or local:NAME for one in containerd's store", name, ErrUnpinned)
}

// withRegistry completes a name as Docker does, which omits the default registry.
func withRegistry(name string) string {
	first, _, hasPath := strings.Cut(name, "/")
	switch {
	case !hasPath:
		return "docker.io/library/" + name
	case strings.ContainsAny(first, ".:") || first == "localhost":
		return name
	}
	return "docker.io/" + name
}

// Resolve returns the digest of the image's manifest, based only on the image's name
// and files. The error is ErrUnpinned if only the daemon knows the digest.
func Resolve(name string) (string, error) {
	ref, err := ParseRef(name)
	if err != nil {
		return "", err
	}
	d, err := ref.Resolve()
	if err != nil {
		return "", fmt.Errorf("image %q: %w", name, err)
	}
	return d.String(), nil
}

// Resolve returns the digest of the image, based only on the name and files.
func (r Ref) Resolve() (digest.Digest, error) {
	if r.Digest != "" {
		return r.Digest, nil
	}
	var index []byte
	var err error
	switch r.Kind {
	case LocalRef:
		return "", fmt.Errorf("%w: write %s%s@sha256:…", ErrUnpinned, LocalPrefix, r.Name)
	case LayoutRef:
		index, err = checkout.ReadFile(filepath.Join(r.Name, ocispec.ImageIndexFile), maxIndexBytes)
	case ArchiveRef:
		index, err = archiveIndex(r.Name)
	}
	if err != nil {
		return "", err
	}
	return onlyManifest(index)
}

// archiveIndex reads index.json from an archive and skips the rest.
func archiveIndex(name string) ([]byte, error) {
	f, err := checkout.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	in := archive.NewTarReader(f)
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil, errors.New("it has no index.json, so it is not an OCI archive (skopeo copy docker-archive:FILE oci-archive:FILE2 converts one of Docker's)")
		}
		if err != nil {
			return nil, fmt.Errorf("read OCI archive: %w", err)
		}
		if strings.TrimPrefix(h.Name, "./") == ocispec.ImageIndexFile {
			return io.ReadAll(io.LimitReader(in, maxIndexBytes))
		}
	}
}

func onlyManifest(index []byte) (digest.Digest, error) {
	var idx ocispec.Index
	if err := json.Unmarshal(index, &idx); err != nil {
		return "", fmt.Errorf("read index.json: %w", err)
	}
	if len(idx.Manifests) != 1 {
		return "", fmt.Errorf("it holds %d images; it must hold one", len(idx.Manifests))
	}
	d := idx.Manifests[0].Digest
	if err := d.Validate(); err != nil {
		return "", fmt.Errorf("read index.json: digest %q: %w", d, err)
	}
	return d, nil
}

// PullHandler returns a handler that begins a part of the work once the manifest gives the
// image's size. It counts the content that the store already has as done.
func PullHandler(h images.Handler, store content.InfoProvider, work *progress.Work) images.Handler {
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
	return CountedResolver(docker.NewResolver(docker.ResolverOptions{Hosts: hosts}), work)
}

// CountedResolver returns a resolver whose fetchers count the bytes fetched.
func CountedResolver(r remotes.Resolver, work *progress.Work) remotes.Resolver {
	return resolver{r, work}
}

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
