package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/containerd/containerd/v2/core/images"
	"github.com/containerd/containerd/v2/core/remotes"
	"github.com/containerd/containerd/v2/plugins/content/local"
	"github.com/containerd/log"
	"github.com/containerd/platforms"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/image"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/pull"
)

// open returns the image with the given name. Anything that has to be fetched or
// unpacked goes to dir.
func (e *Executor) open(ctx context.Context, name, dir string, work *progress.Work) (v1.Image, error) {
	ref, err := image.ParseRef(name)
	if err != nil {
		return nil, err
	}
	switch ref.Kind {
	case image.LocalRef:
		return nil, errors.New("it is in containerd's store, which the sandbox runtime does not read: name an OCI archive or layout, or NAME@sha256:…")
	case image.RemoteRef:
		if err := fetch(ctx, ref, dir, work); err != nil {
			return nil, fmt.Errorf("pull: %w", err)
		}
		return image.Open(dir, dir, e.opts.ImageBytes, work)
	}
	return image.Open(name, dir, e.opts.ImageBytes, work) // which compares its content with its digests
}

// fetch fetches the image from its registry as a layout and verifies each part by its
// digest. If there are several architectures, it takes this machine's.
func fetch(ctx context.Context, ref image.Ref, dir string, work *progress.Work) error {
	resolver := pull.Registries(work)
	name, found, err := resolver.Resolve(ctx, ref.Name)
	if err != nil {
		return err
	}
	if found.Digest != ref.Digest {
		return fmt.Errorf("the registry answered with %s", found.Digest)
	}
	fetcher, err := resolver.Fetcher(ctx, name)
	if err != nil {
		return err
	}
	_ = log.SetLevel("error") // its warning that this file system has no fs-verity is irrelevant to users
	store, err := local.NewStore(dir)
	if err != nil {
		return err
	}
	children := images.LimitManifests(images.FilterPlatforms(images.ChildrenHandler(store), platforms.Default()), platforms.Default(), 1)
	if err := images.Dispatch(ctx, pull.Handler(images.Handlers(remotes.FetchHandler(store, fetcher), children), store, work), nil, found); err != nil {
		return err
	}
	index, err := json.Marshal(ocispec.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex, Manifests: []ocispec.Descriptor{found}})
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(dir, ocispec.ImageIndexFile), index, 0o600),
		os.WriteFile(filepath.Join(dir, ocispec.ImageLayoutFile), []byte(`{"imageLayoutVersion":"`+ocispec.ImageLayoutVersion+`"}`), 0o600))
}
