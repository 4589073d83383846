package containerd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/content"
	"github.com/containerd/containerd/v2/core/diff"
	"github.com/containerd/containerd/v2/core/images"
	"github.com/containerd/containerd/v2/core/images/archive"
	"github.com/containerd/containerd/v2/pkg/archive/compression"
	"github.com/containerd/containerd/v2/pkg/rootfs"
	"github.com/containerd/errdefs"
	"github.com/containerd/platforms"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	builder "github.com/mleflow/mleflow/plugins/sandbox/executor/image"
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
	return c.Pull(ctx, ref.Name, client.WithResolver(builder.Registries(work)), client.WithImageHandlerWrapper(func(h images.Handler) images.Handler {
		return builder.PullHandler(h, c.ContentStore(), work)
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
	return builder.OpenCounted(r.Name, what, work)
}

// buildCapabilities are the capabilities of commands that build an image: those of root
// in a Docker container, except for raw sockets and device nodes.
var buildCapabilities = []string{
	"CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID", "CAP_KILL", "CAP_SETGID", "CAP_SETUID",
	"CAP_SETFCAP", "CAP_SETPCAP", "CAP_SYS_CHROOT",
}

// ResolveImage implements image.Machine.
func (*Executor) ResolveImage(name string) (string, error) { return builder.Resolve(name) }

// ExportImage implements image.Machine.
func (e *Executor) ExportImage(ctx context.Context, name string, w io.Writer) error {
	ctx, c, err := e.connect(ctx)
	if err != nil {
		return err
	}
	ctx, release, err := e.lease(ctx, c)
	if err != nil {
		return err
	}
	defer release()
	found, err := e.image(ctx, c, name, nil)
	if err != nil {
		return err
	}
	err = c.Export(ctx, w, archive.WithImage(c.ImageService(), found.Name()),
		archive.WithPlatform(platforms.Default()), archive.WithSkipDockerManifest())
	if err != nil {
		return fmt.Errorf("export image %s: %w", name, err)
	}
	return nil
}

// BuildLayer implements image.Machine.
func (e *Executor) BuildLayer(ctx context.Context, b builder.Run, logs, layer io.Writer) error {
	id := "build " + strings.Join(b.Command, " ")
	if len(id) > 200 {
		id = id[:200]
	}
	spec := executor.Spec{
		ID: id, Image: b.Image, ImageEnv: true, Command: b.Command,
		Env: b.Env, Mounts: b.Mounts, Services: b.Services, Limits: b.Limits,
		Network: executor.Network{Open: b.Network},
		Sandbox: executor.Sandbox{User: "0:0", Capabilities: buildCapabilities},
	}
	if err := check(spec); err != nil {
		return err
	}
	r := &run{e: e, spec: spec, name: runName(spec), build: true}
	r.harvest = func(ctx context.Context) error { return r.layer(ctx, layer) }
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r.spec.Limits.FileBytes = b.MaxBytes
	r.spec.OnStart = func(time.Time) { go e.watchSize(ctx, r.id, b.MaxBytes, cancel) }
	exit, err := r.whole(ctx, logs)
	if err == nil && !exit.OK() {
		err = fmt.Errorf("it ended with status %d", exit.Code)
	}
	return err
}

// sizePause is the time between two measurements of the command's files.
const sizePause = 2 * time.Second

// watchSize ends a command that writes too much. The layer is measured again when it is
// exported.
func (e *Executor) watchSize(ctx context.Context, id string, most int64, end context.CancelCauseFunc) {
	for most > 0 {
		if progress.Sleep(ctx, sizePause) != nil {
			return
		}
		ctx, c, err := e.connect(ctx)
		if err != nil {
			continue
		}
		used, err := c.SnapshotService(e.opts.Snapshotter).Usage(ctx, id)
		if err == nil && used.Size > most {
			end(fmt.Errorf("%w: the command has written %d bytes, and %d are left to it", builder.ErrTooLarge, used.Size, most))
			return
		}
	}
}

// layer writes the command's changes as a layer.
func (r *run) layer(ctx context.Context, w io.Writer) error {
	ctx, release, err := r.e.lease(ctx, r.c)
	if err != nil {
		return err
	}
	defer release()
	desc, err := rootfs.CreateDiff(ctx, r.id, r.c.SnapshotService(r.e.opts.Snapshotter), r.c.DiffService(),
		diff.WithMediaType(ocispec.MediaTypeImageLayer))
	if err != nil {
		return fmt.Errorf("take what the command wrote: %w", err)
	}
	in, err := r.c.ContentStore().ReaderAt(ctx, desc)
	if err != nil {
		return fmt.Errorf("take what the command wrote: %w", err)
	}
	_, err = io.Copy(w, content.NewReader(in))
	return errors.Join(err, in.Close())
}
