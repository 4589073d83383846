package sandbox

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/containerd/containerd/v2/core/images"
	"github.com/containerd/containerd/v2/core/remotes"
	"github.com/containerd/containerd/v2/pkg/archive"
	"github.com/containerd/containerd/v2/plugins/content/local"
	"github.com/containerd/log"
	"github.com/containerd/platforms"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/cache/nolink"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/image"
)

// unpacked is an image in the cache: a folder named by its digest.
type unpacked struct {
	root   string
	config ocispec.ImageConfig
	// host means that the root shows the programs of this machine.
	host bool
	// lock is shared by all users of the image while they use it.
	lock *os.File
}

// The entries of an image's folder.
const (
	rootName   = "root"
	configName = "config.json"
	lockName   = "lock"
)

// image returns the unpacked image. The caller must close it when nothing uses it any
// more.
func (e *Executor) image(ctx context.Context, name string, work *progress.Work) (*unpacked, error) {
	digest, err := image.Resolve(name)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(e.opts.Dir, "images", strings.ReplaceAll(digest, ":", "-"))
	for {
		u, err := use(dir)
		if u != nil || err != nil {
			return u, err
		}
		if err := e.unpack(ctx, name, dir, work); err != nil {
			return nil, err
		}
	}
}

// use opens an existing image. It returns nil if the image does not exist.
func use(dir string) (*unpacked, error) {
	lock, err := nolink.Open(filepath.Join(dir, lockName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	u := &unpacked{root: filepath.Join(dir, rootName), lock: lock}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_SH); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	text, err := nolink.ReadFile(filepath.Join(dir, configName))
	if errors.Is(err, fs.ErrNotExist) { // it was removed meanwhile
		return nil, lock.Close()
	}
	if err == nil {
		err = json.Unmarshal(text, &u.config)
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	now := time.Now()
	_ = os.Chtimes(dir, now, now) // it is in use; Sweep checks the time
	return u, nil
}

func (u *unpacked) close() {
	if u != nil {
		_ = u.lock.Close()
	}
}

// unpack creates the folder of an image, completely or not at all. If several processes
// do so at once, one of them succeeds, with the same content.
func (e *Executor) unpack(ctx context.Context, name, dir string, work *progress.Work) error {
	if err := nolink.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return err
	}
	guard, err := nolink.OpenFile(dir+".making", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer guard.Close()
	if err := unix.Flock(int(guard.Fd()), unix.LOCK_EX); err != nil { // others wait, and find the image finished
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, configName)); err == nil {
		return nil
	}
	temp, err := os.MkdirTemp(filepath.Dir(dir), ".work-*")
	if err != nil {
		return err
	}
	defer tree.Remove(temp) //nolint:errcheck // the next sweep removes what is left
	img, err := e.open(ctx, name, filepath.Join(temp, "layout"), work)
	if err != nil {
		return err
	}
	made := filepath.Join(temp, "image")
	if err := executor.MakeFolder(filepath.Join(made, rootName)); err != nil {
		return err
	}
	if err := e.layers(ctx, img, filepath.Join(made, rootName), work); err != nil {
		return err
	}
	if err := errors.Join(mountPoints(filepath.Join(made, rootName)), describe(img, made)); err != nil {
		return err
	}
	_ = tree.Remove(dir)
	return os.Rename(made, dir)
}

// mountPoints creates the mount points that nearly every run needs, unless the image
// has them. They then need not be created for each run. Links in the image are left
// alone.
func mountPoints(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, name := range []string{"proc", "sys", "dev", "run", "tmp", "home", "etc"} {
		err := root.Mkdir(name, 0o755)
		if err == nil {
			err = root.Chmod(name, 0o755)
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	for _, name := range []string{"etc/hosts", "etc/hostname", "etc/resolv.conf"} {
		if _, err := root.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
			if err == nil {
				f.Close()
			}
		}
	}
	return nil
}

// describe writes the image's configuration next to its files.
func describe(img v1.Image, dir string) error {
	text, err := img.RawConfigFile()
	if err != nil {
		return err
	}
	var config ocispec.Image
	if err := json.Unmarshal(text, &config); err != nil {
		return err
	}
	if text, err = json.Marshal(config.Config); err != nil {
		return err
	}
	return errors.Join(os.WriteFile(filepath.Join(dir, lockName), nil, 0o600),
		os.WriteFile(filepath.Join(dir, configName), text, 0o600))
}

// layers unpacks the image's layers one over the other and verifies the digest of each.
func (e *Executor) layers(ctx context.Context, img v1.Image, root string, work *progress.Work) error {
	config, err := img.ConfigFile()
	if err != nil {
		return err
	}
	if img, err = image.Count(img, "unpacking the image", work); err != nil {
		return err
	}
	layers, err := img.Layers()
	if err != nil {
		return err
	}
	if len(layers) != len(config.RootFS.DiffIDs) {
		return fmt.Errorf("it has %d layers, and its configuration names %d", len(layers), len(config.RootFS.DiffIDs))
	}
	left := e.opts.ImageBytes
	for i, layer := range layers {
		n, err := applyLayer(ctx, layer, config.RootFS.DiffIDs[i], root, left)
		if err != nil {
			return fmt.Errorf("layer %d: %w", i+1, err)
		}
		left -= n
	}
	return nil
}

// applyLayer unpacks one layer, up to a maximum size.
func applyLayer(ctx context.Context, layer v1.Layer, want v1.Hash, root string, most int64) (int64, error) {
	in, err := layer.Uncompressed()
	if err != nil {
		return 0, err
	}
	defer in.Close()
	sum := sha256.New()
	limit := min(most, math.MaxInt64-1) + 1
	counted := &io.LimitedReader{R: io.TeeReader(in, sum), N: limit}
	var files int64
	// Only files, folders and links are created. All of them belong to this user, who
	// can read and remove them. containerd's code keeps names and links below the root.
	mine := func(h *tar.Header) (bool, error) {
		switch h.Typeflag {
		case tar.TypeReg:
			if files += h.Size; files > most {
				return false, image.ErrTooLarge
			}
			h.Mode = h.Mode&0o777 | 0o600
		case tar.TypeDir:
			h.Mode = h.Mode&0o777 | 0o700
		case tar.TypeLink, tar.TypeSymlink:
		default:
			return false, nil
		}
		for key := range h.PAXRecords {
			if strings.HasPrefix(key, "SCHILY.xattr.") {
				delete(h.PAXRecords, key)
			}
		}
		return true, nil
	}
	_, err = archive.Apply(ctx, root, counted, archive.WithNoSameOwner(), archive.WithFilter(mine))
	if err == nil {
		_, err = io.Copy(io.Discard, counted) // bytes after the end of the archive count too
	}
	if counted.N == 0 || errors.Is(err, image.ErrTooLarge) {
		return 0, fmt.Errorf("%w: it takes more than its limit unpacked; MLEFLOW_IMAGE_LIMIT sets another", image.ErrTooLarge)
	}
	if err != nil {
		return 0, err
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != want.Hex {
		return 0, fmt.Errorf("its content has the digest %s, and %s was promised", got, want.Hex)
	}
	return max(files, limit-counted.N), nil
}

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
	resolver := image.Registries(work)
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
	if err := images.Dispatch(ctx, image.PullHandler(images.Handlers(remotes.FetchHandler(store, fetcher), children), store, work), nil, found); err != nil {
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
