package image

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

// Machine runs the commands of recipes and fetches their bases.
type Machine interface {
	// ResolveImage returns the digest of an image, based only on its name and files.
	ResolveImage(image string) (string, error)
	// ExportImage writes the image as an OCI archive.
	ExportImage(ctx context.Context, image string, w io.Writer) error
	// BuildLayer runs the command as root in a container of the image and writes its
	// changes as an uncompressed layer. If the command does not exit with status 0, it
	// returns an error.
	BuildLayer(ctx context.Context, run Run, logs, layer io.Writer) error
}

// Run is a command of an image build, with its resources.
type Run struct {
	Image   string
	Command []string
	// Network means that the command may use the host's network.
	Network bool
	// Env, Mounts, Services and Limits apply to the command only; none of them gets
	// into the image.
	Env      map[string]string
	Mounts   []executor.Mount
	Services []executor.Service
	Limits   executor.Limits
	// MaxBytes limits the bytes that the command writes.
	MaxBytes int64
}

// Builder builds images.
type Builder struct {
	// Dir is the folder of the images, which are in folders named by key.
	Dir string
	// Machine may be nil if no recipe needs one.
	Machine Machine
	// Equip, if set, completes each command before it runs. Its additions are not in
	// the key, so the result must not depend on them.
	Equip func(*Run)
	// MaxBytes limits the unpacked size of an image, beyond which building returns
	// ErrTooLarge; 0 is no limit.
	MaxBytes int64
	// Work, if set, counts the bytes read and written.
	Work *progress.Work
}

// Made is a built image.
type Made struct {
	// Path is the OCI layout, Digest the digest of its manifest.
	Path, Digest string
	// Cached means that it was built earlier.
	Cached bool
}

// ErrChanged means that the base or a file was replaced while the image was built.
var ErrChanged = errors.New("the base or a file has changed since its digest was taken; apply again")

var errNoMachine = errors.New("commands, and bases that are not files, need a container runtime, and there is none")

// Key returns the digest of the recipe's inputs.
func (b *Builder) Key(r Recipe) (string, error) { return r.Key(b.resolve) }

// Build builds the image, unless the folder already has it.
func (b *Builder) Build(ctx context.Context, r Recipe, logs io.Writer) (Made, error) {
	key, err := b.Key(r)
	if err != nil {
		return Made{}, err
	}
	made := Made{Path: filepath.Join(b.Dir, key)}
	if made.Digest, err = layoutDigest(made.Path); err == nil {
		made.Cached = true
		return made, nil
	}
	if err := b.buildAt(ctx, made.Path, r, logs); err != nil {
		return Made{}, fmt.Errorf("build image: %w", err)
	}
	made.Digest, err = layoutDigest(made.Path)
	return made, err
}

// buildAt builds the image in a work folder next to its path.
func (b *Builder) buildAt(ctx context.Context, path string, r Recipe, logs io.Writer) error {
	if err := os.MkdirAll(b.Dir, 0o755); err != nil {
		return err
	}
	work, err := os.MkdirTemp(b.Dir, ".work-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if err := b.build(ctx, r, work, logs); err != nil {
		return err
	}
	return publish(filepath.Join(work, "image"), path)
}

// publish moves the finished layout to its final path. Another process may already have
// put an equivalent one there.
func publish(from, to string) error {
	err := os.Rename(from, to)
	if err == nil {
		return nil
	}
	if _, there := layoutDigest(to); there == nil {
		return nil
	}
	return errors.Join(os.RemoveAll(to), os.Rename(from, to))
}

func (b *Builder) resolve(image string) (string, error) {
	if IsFile(image) {
		return fileDigest(image)
	}
	if b.Machine == nil {
		return "", errNoMachine
	}
	return b.Machine.ResolveImage(image)
}

// build builds the layout work/image.
func (b *Builder) build(ctx context.Context, r Recipe, work string, logs io.Writer) error {
	quota := newQuota(b.MaxBytes)
	img, err := b.base(ctx, r.Base, filepath.Join(work, "base"))
	if err != nil {
		return err
	}
	b.Work.Begin("measuring the base", 0, 0)
	if err := quota.takeLayers(img, b.Work); err != nil {
		return fmt.Errorf("read base: %w", err)
	}
	if len(r.Files) > 0 {
		file := filepath.Join(work, "files.tar")
		if err := writeTo(file, func(w io.Writer) error { return writeLayer(quota.bound(w), r.Files, b.Work) }); err != nil {
			return err
		}
		if img, err = appendLayer(img, file, "files", b.Work); err != nil {
			return err
		}
	}
	if img, err = configure(img, r.Config); err != nil {
		return err
	}
	for i, command := range r.Commands {
		if img, err = b.command(ctx, img, r, command, quota, filepath.Join(work, fmt.Sprintf("step-%d", i)), logs); err != nil {
			return fmt.Errorf("run %q: %w", strings.Join(command, " "), err)
		}
	}
	return b.writeLayout(filepath.Join(work, "image"), img)
}

// base returns the base image.
func (b *Builder) base(ctx context.Context, name, dir string) (v1.Image, error) {
	if name == "" {
		return scratch(), nil
	}
	if IsFile(name) {
		return Open(name, dir, b.MaxBytes, b.Work)
	}
	if b.Machine == nil {
		return nil, errNoMachine
	}
	archive := dir + ".tar"
	b.Work.Begin("fetching the base", 0, 0)
	if err := writeTo(archive, func(w io.Writer) error {
		return b.Machine.ExportImage(ctx, name, newQuota(b.MaxBytes).bound(b.Work.Writer(w)))
	}); err != nil {
		return nil, fmt.Errorf("fetch base: %w", err)
	}
	if err := unpackLayout(archive, dir, newQuota(b.MaxBytes), b.Work); err != nil {
		return nil, fmt.Errorf("read base: %w", err)
	}
	return onlyImage(dir)
}

// command runs one command on the current image and adds its changes as a layer.
func (b *Builder) command(ctx context.Context, img v1.Image, r Recipe, command []string, quota *quota, dir string, logs io.Writer) (v1.Image, error) {
	if b.Machine == nil {
		return nil, errNoMachine
	}
	if err := b.writeLayout(dir, img); err != nil {
		return nil, err
	}
	b.Work.Begin("running "+strings.Join(command, " "), 0, 0)
	read, write := io.Pipe()
	settled := make(chan error, 1)
	file := dir + ".tar"
	go func() {
		err := writeTo(file, func(w io.Writer) error { return settle(quota.bound(b.Work.Writer(w)), read) })
		read.CloseWithError(err)
		settled <- err
	}()
	run := Run{Image: dir, Command: command, Network: r.Network, MaxBytes: quota.left}
	if b.Equip != nil {
		b.Equip(&run)
	}
	err := b.Machine.BuildLayer(ctx, run, logs, write)
	write.CloseWithError(err)
	if settleErr := <-settled; err == nil {
		err = settleErr
	}
	if err != nil {
		return nil, err
	}
	return appendLayer(img, file, strings.Join(command, " "), b.Work)
}

func appendLayer(img v1.Image, file, by string, work *progress.Work) (v1.Image, error) {
	plain, err := readPlain(file, work)
	if err != nil {
		return nil, err
	}
	return mutate.Append(img, mutate.Addendum{
		Layer: plain, MediaType: types.OCIUncompressedLayer,
		History: v1.History{Created: v1.Time{Time: epoch}, CreatedBy: by},
	})
}

// configure applies the recipe's configuration; everything else stays as in the base.
func configure(img v1.Image, c Config) (v1.Image, error) {
	old, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	file := old.DeepCopy()
	file.OS = cmp.Or(file.OS, "linux")
	file.Architecture = cmp.Or(file.Architecture, runtime.GOARCH)
	file.Created = v1.Time{Time: epoch}
	file.Config.Env = merge(file.Config.Env, executor.Pairs(c.Env))
	if len(c.Entrypoint) > 0 {
		file.Config.Entrypoint = c.Entrypoint
	}
	if len(c.Command) > 0 {
		file.Config.Cmd = c.Command
	}
	file.Config.WorkingDir = cmp.Or(c.Dir, file.Config.WorkingDir)
	file.Config.User = cmp.Or(c.User, file.Config.User)
	return mutate.ConfigFile(img, file)
}

// merge sets variables. A variable that was already set keeps its position.
func merge(old, set []string) []string {
	out := slices.Clone(old)
	for _, v := range set {
		name, _, _ := strings.Cut(v, "=")
		i := slices.IndexFunc(out, func(o string) bool { return strings.HasPrefix(o, name+"=") })
		if i >= 0 {
			out[i] = v
		} else {
			out = append(out, v)
		}
	}
	return out
}
