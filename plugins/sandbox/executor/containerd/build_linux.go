package containerd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/containerd/containerd/v2/core/content"
	"github.com/containerd/containerd/v2/core/diff"
	"github.com/containerd/containerd/v2/core/images/archive"
	"github.com/containerd/containerd/v2/pkg/rootfs"
	"github.com/containerd/platforms"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/image"
)

// buildCapabilities are the capabilities of commands that build an image: those of root
// in a Docker container, except for raw sockets and device nodes.
var buildCapabilities = []string{
	"CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID", "CAP_KILL", "CAP_SETGID", "CAP_SETUID",
	"CAP_SETFCAP", "CAP_SETPCAP", "CAP_SYS_CHROOT",
}

// Machine runs commands and fetches bases for image.Builder.
type Machine struct{ e *Executor }

// Machine returns the machine on which images are built.
func (e *Executor) Machine() Machine { return Machine{e} }

// ResolveImage implements image.Machine.
func (Machine) ResolveImage(name string) (string, error) { return image.Resolve(name) }

// ExportImage implements image.Machine.
func (m Machine) ExportImage(ctx context.Context, name string, w io.Writer) error {
	ctx, c, err := m.e.connect(ctx)
	if err != nil {
		return err
	}
	ctx, release, err := m.e.lease(ctx, c)
	if err != nil {
		return err
	}
	defer release()
	found, err := m.e.image(ctx, c, name, nil)
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
func (m Machine) BuildLayer(ctx context.Context, b image.Run, logs, layer io.Writer) error {
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
	r := &run{e: m.e, spec: spec, name: runName(spec), build: true}
	r.harvest = func(ctx context.Context) error { return r.layer(ctx, layer) }
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r.spec.Limits.FileBytes = b.MaxBytes
	r.spec.OnStart = func(time.Time) { go m.watchSize(ctx, r.id, b.MaxBytes, cancel) }
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
func (m Machine) watchSize(ctx context.Context, id string, most int64, end context.CancelCauseFunc) {
	for most > 0 {
		if progress.Sleep(ctx, sizePause) != nil {
			return
		}
		ctx, c, err := m.e.connect(ctx)
		if err != nil {
			continue
		}
		used, err := c.SnapshotService(m.e.opts.Snapshotter).Usage(ctx, id)
		if err == nil && used.Size > most {
			end(fmt.Errorf("%w: the command has written %d bytes, and %d are left to it", image.ErrTooLarge, used.Size, most))
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
