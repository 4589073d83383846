package containerd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

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
