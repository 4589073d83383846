package containerd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/content"
	"github.com/containerd/containerd/v2/core/diff"
	"github.com/containerd/containerd/v2/core/images"
	"github.com/containerd/containerd/v2/pkg/archive/compression"
	"github.com/containerd/errdefs"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/mleflow/mleflow/cache/leaf/progress"
	builder "github.com/mleflow/mleflow/plugins/sandbox/executor/image"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/pull"
)

// storePrefix is the prefix of the names under which the runtime imports archives and
// layouts; the digest follows.
const storePrefix = "mleflow.local/image@"

// storeName is the image's name in the daemon's store.
func storeName(r builder.Ref) (string, error) {
	if r.Kind == builder.RemoteRef || r.Kind == builder.LocalRef {
		return r.Name, nil
	}
	d, err := r.Resolve()
	return storePrefix + d.String(), err
}

// image returns the image, imported into the daemon's store and unpacked.
func (e *Executor) image(ctx context.Context, c *client.Client, name string, work *progress.Work) (client.Image, error) {
	ref, err := builder.ParseRef(name)
	if err != nil {
		return nil, err
	}
	lock, _ := e.images.LoadOrStore(name, &sync.Mutex{})
	lock.(*sync.Mutex).Lock()
	defer lock.(*sync.Mutex).Unlock()
	image, err := e.obtain(ctx, c, ref, work)
	if err != nil {
		return nil, fmt.Errorf("get image %s: %w", name, err)
	}
	if err := e.unpack(ctx, image, work); err != nil {
		return nil, fmt.Errorf("unpack image %s: %w", name, err)
	}
	return image, e.touch(ctx, c, image)
}

// obtain finds the image in the store, or imports or pulls it.
func (e *Executor) obtain(ctx context.Context, c *client.Client, ref builder.Ref, work *progress.Work) (client.Image, error) {
	if ref.Kind == builder.LocalRef {
		return e.local(ctx, c, ref)
	}
	name, err := storeName(ref)
	if err != nil {
		return nil, err
	}
	image, err := c.GetImage(ctx, name)
	if err == nil || !errdefs.IsNotFound(err) {
		return image, err
	}
	if ref.Kind == builder.RemoteRef {
		return e.pull(ctx, c, ref, work)
	}
	return e.load(ctx, c, ref, name, work)
}

// local finds an image that someone else put into the store.
func (e *Executor) local(ctx context.Context, c *client.Client, ref builder.Ref) (client.Image, error) {
	image, err := c.GetImage(ctx, ref.Name)
	if errdefs.IsNotFound(err) && ref.Digest != "" {
		return e.byDigest(ctx, c, ref.Digest)
	}
	if err != nil {
		return nil, fmt.Errorf("%w (the store of namespace %q has it under that name?)", err, e.opts.Namespace)
	}
	if got := image.Target().Digest; ref.Digest != "" && got != ref.Digest {
		return nil, fmt.Errorf("the store holds %s under that name, and %s is asked for", got, ref.Digest)
	}
	return image, nil
}

func (e *Executor) byDigest(ctx context.Context, c *client.Client, want digest.Digest) (client.Image, error) {
	list, err := c.ListImages(ctx, fmt.Sprintf("target.digest==%q", want.String()))
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("the store has no image %s", want)
	}
	slices.SortFunc(list, func(a, b client.Image) int { return strings.Compare(a.Name(), b.Name()) })
	return list[0], nil
}

// pull fetches the image from its registry. It requests the digest in the reference,
// and verifies everything below by its own digest.
func (e *Executor) pull(ctx context.Context, c *client.Client, ref builder.Ref, work *progress.Work) (client.Image, error) {
	return c.Pull(ctx, ref.Name, client.WithResolver(pull.Registries(work)), client.WithImageHandlerWrapper(func(h images.Handler) images.Handler {
		return pull.Handler(h, c.ContentStore(), work)
	}))
}

// load imports an archive or layout under a name that contains its digest.
func (e *Executor) load(ctx context.Context, c *client.Client, ref builder.Ref, name string, work *progress.Work) (client.Image, error) {
	ctx, release, err := e.lease(ctx, c)
	if err != nil {
		return nil, err
	}
	defer release()
	in, err := openRef(ctx, ref, work)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	// Names inside the archive are skipped. The image gets a name made from its digest.
	made, err := c.Import(ctx, in, client.WithImageRefTranslator(func(string) string { return "" }),
		client.WithDigestRef(func(d digest.Digest) string { return storePrefix + d.String() }))
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(made, func(i images.Image) bool { return i.Name == name }) {
		return nil, fmt.Errorf("import: %s did not come out of it", name)
	}
	return c.GetImage(ctx, name)
}

// unpack creates the image's snapshots.
func (e *Executor) unpack(ctx context.Context, image client.Image, work *progress.Work) error {
	done, err := image.IsUnpacked(ctx, e.opts.Snapshotter)
	if err != nil || done {
		return err
	}
	if err := e.measure(ctx, image, work); err != nil {
		return err
	}
	// The daemon reports only layers that are complete, not the progress within one.
	err = image.Unpack(ctx, e.opts.Snapshotter, client.WithUnpackApplyOpts(
		diff.WithProgress(func(_ ocispec.Descriptor, done int64) { work.Add(0, done) })))
	if errdefs.IsAlreadyExists(err) { // another process was faster
		return nil
	}
	return err
}

// measure rejects an image that would exceed the limit, before anything of it is
// written.
func (e *Executor) measure(ctx context.Context, img client.Image, work *progress.Work) error {
	manifest, err := images.Manifest(ctx, img.ContentStore(), img.Target(), img.Platform())
	if err != nil {
		return err
	}
	var total int64
	for _, layer := range manifest.Layers {
		total += layer.Size
	}
	work.Begin("measuring the image", 0, total)
	left := e.opts.ImageBytes
	for _, layer := range manifest.Layers {
		n, err := unpacked(ctx, img.ContentStore(), layer, left, work)
		if errors.Is(err, builder.ErrTooLarge) {
			return fmt.Errorf("%w: it takes more than %d bytes unpacked; MLEFLOW_IMAGE_LIMIT sets another limit", builder.ErrTooLarge, e.opts.ImageBytes)
		}
		if err != nil {
			return fmt.Errorf("measure layer %s: %w", layer.Digest, err)
		}
		left -= n
	}
	work.Begin("unpacking the image", 0, total)
	return nil
}

func unpacked(ctx context.Context, store content.Store, layer ocispec.Descriptor, most int64, work *progress.Work) (int64, error) {
	blob, err := store.ReaderAt(ctx, layer)
	if err != nil {
		return 0, err
	}
	defer blob.Close()
	in, err := compression.DecompressStream(work.Reader(content.NewReader(blob)))
	if err != nil {
		return 0, err
	}
	defer in.Close()
	return builder.Unpacked(in, most)
}

// touch records the image's use, at most once an hour.
func (e *Executor) touch(ctx context.Context, c *client.Client, image client.Image) error {
	meta := image.Metadata()
	last, err := time.Parse(time.RFC3339, meta.Labels[labelUsed])
	if err == nil && time.Since(last) < time.Hour {
		return nil
	}
	_, err = c.ImageService().Update(ctx, images.Image{
		Name: meta.Name, Target: meta.Target, Labels: map[string]string{labelUsed: time.Now().UTC().Format(time.RFC3339)},
	}, "labels."+labelUsed)
	if err != nil {
		return fmt.Errorf("note the use of image %s: %w", meta.Name, err)
	}
	return nil
}

// openRef returns the image as an OCI archive.
func openRef(ctx context.Context, r builder.Ref, work *progress.Work) (io.ReadCloser, error) {
	const what = "importing the image"
	if r.Kind != builder.ArchiveRef {
		read, write := io.Pipe()
		go func() { write.CloseWithError(builder.WriteArchive(ctx, write, r.Name, what, work)) }()
		return read, nil
	}
	f, err := os.Open(r.Name)
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
