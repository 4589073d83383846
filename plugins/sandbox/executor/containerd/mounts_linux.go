package containerd

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/containerd/containerd/v2/core/mount"
	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/claim"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/image"
)

// volumeSuffix is the suffix of the name of a volume's file, next to its folder. It
// distinguishes the volumes of one state folder from those of others.
func (e *Executor) volumeSuffix() string {
	sum := sha256.Sum256([]byte(e.opts.StateDir))
	return ".volume-" + hex.EncodeToString(sum[:4])
}

// minVolumeBytes is the smallest useful size for ext4.
const minVolumeBytes = 1 << 20

// volume is a file with an ext4 file system. It is mounted through a loop device, which
// the kernel frees when it is unmounted.
type volume struct {
	claim  *claim.Claim
	record volumeRecord
}

// volumeRecord is the information about a volume that a later process needs.
type volumeRecord struct {
	Dir   string    `json:"dir"`
	File  string    `json:"file"`
	Boot  string    `json:"boot"`
	Until time.Time `json:"until"`
}

const volumeFile = "volume.json"

// Volume mounts a file system of limited size; see executor.Runtime.
func (e *Executor) Volume(ctx context.Context, spec executor.VolumeSpec) (executor.Volume, error) {
	v, err := e.volume(ctx, spec)
	if err != nil {
		return nil, fmt.Errorf("make volume %s: %w", spec.Dir, err)
	}
	return v, nil
}

func (e *Executor) volume(ctx context.Context, spec executor.VolumeSpec) (*volume, error) {
	if spec.Bytes < minVolumeBytes || !filepath.IsAbs(spec.Dir) {
		return nil, fmt.Errorf("%d bytes at %q: a volume has at least %d and an absolute path", spec.Bytes, spec.Dir, int64(minVolumeBytes))
	}
	c, err := claim.Await(ctx, e.volumeDir(spec.Dir))
	if err != nil {
		return nil, err
	}
	v := &volume{claim: c, record: volumeRecord{Dir: filepath.Clean(spec.Dir), File: filepath.Clean(spec.Dir) + e.volumeSuffix(), Boot: claim.BootID(), Until: time.Now().Add(24 * time.Hour)}}
	old, err := loadVolume(c.Dir)
	if err == nil && old.Boot == v.record.Boot && mounted(v.record.Dir) {
		return v, nil // it is taken over
	}
	if err := v.make(ctx, spec); err != nil {
		return nil, errors.Join(err, v.Close())
	}
	return v, nil
}

func (e *Executor) volumeDir(dir string) string {
	sum := sha256.Sum256([]byte(filepath.Clean(dir)))
	return filepath.Join(e.opts.StateDir, "volumes", hex.EncodeToString(sum[:12]))
}

func loadVolume(dir string) (volumeRecord, error) {
	return claim.Load[volumeRecord](filepath.Join(dir, volumeFile))
}

// make creates the file system and mounts it.
func (v *volume) make(ctx context.Context, spec executor.VolumeSpec) error {
	if err := claim.Save(v.claim.Path(volumeFile), v.record); err != nil {
		return err
	}
	if err := os.MkdirAll(v.record.Dir, 0o755); err != nil {
		return err
	}
	user, err := parseUser(spec.User)
	if err != nil {
		return err
	}
	owner := fmt.Sprintf("%d:%d", user.UID, user.GID)
	if err := makeExt4(ctx, v.record.File, spec.Bytes, owner); err != nil {
		return err
	}
	m := mount.Mount{Type: "ext4", Source: v.record.File, Options: []string{"loop", "nosuid", "nodev", "noatime"}}
	if err := m.Mount(v.record.Dir); err != nil {
		return fmt.Errorf("mount: %w", err)
	}
	// It belongs to root, and anyone who lists the folder would stumble over it.
	return os.Remove(filepath.Join(v.record.Dir, "lost+found"))
}

// makeExt4 writes a sparse file with an empty file system. It has no journal, because
// nobody needs its content after a crash of the machine.
func makeExt4(ctx context.Context, file string, size int64, owner string) error {
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Truncate(size), f.Close()); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "mkfs.ext4", "-q", "-F", "-m", "0", "-O", "^has_journal",
		"-E", "nodiscard,lazy_itable_init=1,root_owner="+owner, file, strconv.FormatInt(size/1024, 10)+"k")
	if out, err := cmd.CombinedOutput(); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return fmt.Errorf("%w (apt-get install e2fsprogs)", err)
		}
		return fmt.Errorf("mkfs.ext4: %w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}

// mounted reports whether a file system is mounted at the folder.
func mounted(dir string) bool {
	is, err := mountinfo.Mounted(dir)
	return is && err == nil
}

// Keep implements executor.Volume.
func (v *volume) Keep() error { return v.claim.Drop() }

// Close implements executor.Volume.
func (v *volume) Close() error {
	if err := v.record.remove(); err != nil {
		return errors.Join(fmt.Errorf("remove volume %s: %w", v.record.Dir, err), v.claim.Drop())
	}
	return v.claim.Remove()
}

// busyPatience is the time to wait for a volume that is in use before it is detached. A
// detached volume disappears when its last user ends.
const busyPatience = 2 * time.Second

func (r volumeRecord) remove() error {
	for until := time.Now().Add(busyPatience); mounted(r.Dir); {
		err := unix.Unmount(r.Dir, 0)
		if errors.Is(err, unix.EBUSY) && time.Now().Before(until) {
			time.Sleep(20 * time.Millisecond)
			continue
		}
		if errors.Is(err, unix.EBUSY) {
			err = unix.Unmount(r.Dir, unix.MNT_DETACH)
		}
		if err != nil {
			return fmt.Errorf("unmount: %w", err)
		}
	}
	if err := os.Remove(r.File); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// viewPrefix is the prefix of the names of views in a run's folder.
const viewPrefix = "view-"

// makeViews mounts a view of each folder that the guest may only read. A view has the
// same files with inodes of its own. Locks on the files, and notifications about them,
// therefore do not reach other guests with the same files. If the file system does not
// support such a view, the folder itself is mounted. It returns the views by folder.
func (r *run) makeViews() (map[string]string, error) {
	views := map[string]string{}
	if r.users == (users{}) {
		return views, nil
	}
	if err := dropViews(r.claim.Dir); err != nil {
		return nil, err
	}
	none := r.claim.Path("none") // an overlay without an upper layer needs two lower ones
	if err := os.MkdirAll(none, 0o755); err != nil {
		return nil, err
	}
	for i, m := range r.spec.Mounts {
		info, err := os.Stat(m.Host)
		if err != nil {
			return nil, err
		}
		if !m.ReadOnly || !info.IsDir() {
			continue
		}
		at := r.claim.Path(fmt.Sprint(viewPrefix, i))
		if err := os.MkdirAll(at, 0o755); err != nil {
			return nil, err
		}
		layers := "lowerdir=" + layerPath.Replace(m.Host) + ":" + layerPath.Replace(none)
		if unix.Mount("overlay", at, "overlay", unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV, layers) == nil {
			views[m.Host] = at
		}
	}
	return views, nil
}

// layerPath escapes a path for the options of an overlay.
var layerPath = strings.NewReplacer(`\`, `\\`, ":", `\:`, ",", `\,`)

// dropViews unmounts the views in a run's folder.
func dropViews(dir string) error {
	views, err := filepath.Glob(filepath.Join(dir, viewPrefix+"*"))
	if err != nil {
		return err
	}
	for _, view := range views {
		if err := unix.Unmount(view, unix.MNT_DETACH); err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("unmount %s: %w", view, err)
		}
	}
	return nil
}

// prepareRoot checks and prepares the container's root file system before the task is
// created. The image's content at the mounts is copied for the user uid:gid.
func (r *run) prepareRoot(ctx context.Context, uid, gid int) error {
	return r.withRoot(ctx, func(root string) error {
		if err := checkRoot(root); err != nil {
			return fmt.Errorf("image %s: %w", r.spec.Image, err)
		}
		return errors.Join(image.CopyUp(ctx, root, r.spec.Mounts, uid, gid), r.makeMountPoints(ctx, root))
	})
}

// checkRoot refuses a root file system in which a folder of the kernel is a link: the
// runtime creates devices as the host's root, some versions by following it.
func checkRoot(root string) error {
	for _, name := range []string{"dev", "proc", "sys"} {
		info, err := os.Lstat(filepath.Join(root, name))
		if err == nil && !info.IsDir() {
			return fmt.Errorf("its /%s is no folder, so the container could write outside it; build the image with a folder, or without /%s", name, name)
		}
	}
	return nil
}

// withRoot calls f with a folder where the container's root file system is mounted. The
// folder is one of the run's views. If this process is killed, whoever clears up after
// it unmounts the folder too.
func (r *run) withRoot(ctx context.Context, f func(root string) error) (err error) {
	mounts, err := r.c.SnapshotService(r.e.opts.Snapshotter).Mounts(ctx, r.id)
	if err != nil {
		return fmt.Errorf("mount the image: %w", err)
	}
	root := r.claim.Path(viewPrefix + "root")
	if err := os.MkdirAll(root, 0o700); err != nil {
		return err
	}
	mounts = mount.RemoveVolatileOption(mounts)
	defer func() { err = errors.Join(err, mount.UnmountMounts(mounts, root, 0)) }()
	if err := mount.All(mounts, root); err != nil {
		return fmt.Errorf("mount the image: %w", err)
	}
	return f(root)
}
