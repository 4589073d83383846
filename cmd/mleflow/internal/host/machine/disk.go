package machine

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
)

func (m Machine) cacheFolder() Check {
	c := Check{Name: "cache folder", Status: OK, Detail: m.CacheDir}
	probe, err := m.probe()
	if err != nil {
		c.Status = Missing
		c.Detail = fmt.Sprintf("%s cannot be written: %v", m.CacheDir, errors.Unwrap(err))
		c.Fix = "choose a folder you may write with --cache-dir or MLEFLOW_CACHE_DIR"
		return c
	}
	_ = os.RemoveAll(probe)
	if _, err := os.Stat(m.CacheDir); errors.Is(err, os.ErrNotExist) {
		c.Detail += " (not created yet)"
	}
	return c
}

// TempDir is the absolute path of a folder for temporary files that can be written to:
// that of the name, else a usual one; "" if there is none.
func TempDir(named string) string {
	for _, dir := range []string{named, "/tmp", "/var/tmp", "/dev/shm"} {
		dir, err := filepath.Abs(dir)
		if err != nil {
			continue
		}
		if probe, err := os.MkdirTemp(dir, ".mleflow-"); err == nil {
			_ = os.Remove(probe)
			return dir
		}
	}
	return ""
}

func (m Machine) temporary() Check {
	named := cmp.Or(m.Env("TMPDIR"), "/tmp")
	c := Check{Name: "temporary files", Status: OK, Detail: named}
	switch dir := TempDir(named); dir {
	case named:
	case "":
		c.Status = Missing
		c.Detail, c.Fix = fmt.Sprintf("%s cannot be written to, nor can another usual folder", named), "set TMPDIR to a folder that you may write to"
	default:
		c.Status = Warn
		c.Detail, c.Fix = fmt.Sprintf("%q, given by TMPDIR, is no folder's absolute path that can be written to: they go to %s", named, dir), "set TMPDIR to such a folder, or unset it"
	}
	return c
}

// probe makes a folder on the cache's file system: in the cache folder, or next
// to it in the nearest folder that exists.
func (m Machine) probe() (string, error) {
	probe, err := os.MkdirTemp(m.existing(), ".mleflow-doctor-*")
	if err != nil {
		return "", fmt.Errorf("make probe folder: %w", err)
	}
	return probe, nil
}

// existing returns the cache folder or the nearest thing above it that
// exists, which should be a folder.
func (m Machine) existing() string {
	dir := m.CacheDir
	for {
		if _, err := os.Lstat(dir); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return dir
		}
		dir = parent
	}
}

func (m Machine) disk() Check {
	free, total, err := diskSpace(m.existing())
	if err != nil {
		return Check{Name: "disk", Status: Warn, Detail: fmt.Sprintf("free space is not known: %v", err)}
	}
	c := Check{Name: "disk", Status: OK, Detail: fmt.Sprintf("%s free of %s", view.Bytes(free), view.Bytes(total))}
	switch {
	case free < 1<<28:
		c.Status, c.Fix = Missing, "free at least 0.25 GiB, or put the cache on another disk with --cache-dir"
	case free < 400*gib:
		c.Fix = "the low-complexity competitions take about 160 GiB unpacked, all 75 about 3.3 TB"
	}
	return c
}

func (m Machine) links() Check {
	c := Check{Name: "links", Status: OK}
	probe, err := m.probe()
	if err != nil {
		return Check{Name: "links", Status: Warn, Detail: "not tested, the cache folder cannot be written"}
	}
	defer os.RemoveAll(probe)
	source := filepath.Join(probe, "source")
	if err := os.WriteFile(source, make([]byte, 4096), 0o600); err != nil {
		return Check{Name: "links", Status: Warn, Detail: fmt.Sprintf("not tested: %v", err)}
	}
	hard := os.Link(source, filepath.Join(probe, "hard")) == nil
	clone := reflink(source, filepath.Join(probe, "clone")) == nil
	switch {
	case hard && clone:
		c.Detail = "hard links and reflinks work"
	case hard:
		c.Detail = "hard links work, reflinks do not"
	default:
		c.Status = Missing
		c.Detail = "hard links do not work, which a cache needs"
		c.Fix = "put the cache on a file system of Linux (ext4, xfs, btrfs) with --cache-dir"
	}
	return c
}
