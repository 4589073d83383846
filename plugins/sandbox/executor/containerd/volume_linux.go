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
	"time"

	"github.com/containerd/containerd/v2/core/mount"
	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/claim"
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
	claim   *claim.Claim
	record  volumeRecord
	resumed bool
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
	if spec.Until.IsZero() {
		spec.Until = time.Now().Add(24 * time.Hour)
	}
	c, err := claim.Take(e.volumeDir(spec.Dir))
	if err != nil {
		return nil, err
	}
	v := &volume{claim: c, record: volumeRecord{Dir: filepath.Clean(spec.Dir), File: filepath.Clean(spec.Dir) + e.volumeSuffix(), Boot: claim.BootID(), Until: spec.Until}}
	old, err := loadVolume(c.Dir)
	v.resumed = err == nil && old.Boot == v.record.Boot && mounted(v.record.Dir)
	if v.resumed {
		return v, nil
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
	var r volumeRecord
	err := claim.Load(filepath.Join(dir, volumeFile), &r)
	return r, err
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
	err = f.Truncate(size)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "mkfs.ext4", "-q", "-F", "-m", "0", "-O", "^has_journal",
		"-E", "nodiscard,lazy_itable_init=1,root_owner="+owner, file, strconv.FormatInt(size/1024, 10)+"k")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return fmt.Errorf("%w (apt-get install e2fsprogs)", err)
		}
		return fmt.Errorf("mkfs.ext4: %w: %s", err, bytes.TrimSpace(out.Bytes()))
	}
	return nil
}

// mounted reports whether a file system is mounted at the folder.
func mounted(dir string) bool {
	var here, above unix.Stat_t
	if unix.Stat(dir, &here) != nil || unix.Stat(filepath.Dir(dir), &above) != nil {
		return false
	}
	return here.Dev != above.Dev
}

// Resumed implements executor.Volume.
func (v *volume) Resumed() bool { return v.resumed }

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
