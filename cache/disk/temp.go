package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/cache/nolink"
)

// tempFile creates a private file for incomplete content. If the file system
// permits, the file has no name, so that a crash leaves nothing behind. If the
// folder of the future object is known, it is passed as home, and the file
// system can keep both close together.
func (c *leases) tempFile(home string) (f *os.File, named bool, err error) {
	if c.hooks.unnamed {
		f, err = openUnnamed(c.file, home)
		if errors.Is(err, fs.ErrNotExist) {
			f, err = openUnnamed(c.file, tmpName)
		}
		if err == nil {
			return f, false, nil
		}
		if !errors.Is(err, unix.EOPNOTSUPP) && !errors.Is(err, unix.EISDIR) && !errors.Is(err, unix.EINVAL) {
			return nil, false, err
		}
	}
	dir, err := c.processDir()
	if err != nil {
		return nil, false, err
	}
	f, err = nolink.CreateTemp(dir, "object-")
	return f, true, err
}

// processDir returns the folder of this process's temporary files.
func (c *leases) processDir() (string, error) {
	if c.lease.id == "" {
		return "", fmt.Errorf("make work folder: the disk of the cache %s is full", c.dir)
	}
	dir := c.path(tmpName, c.lease.id)
	switch err := os.Mkdir(dir, 0o777); {
	case err == nil:
		scatter(dir)
	case !errors.Is(err, fs.ErrExist):
		return "", err
	}
	return dir, nolink.Check(dir, "")
}

// TempDir implements cache.Workspace. The folder's name starts with a safe form
// of name.
func (c *leases) TempDir(name string) (string, error) {
	if err := c.writing("make work folder"); err != nil {
		return "", err
	}
	dir, err := c.processDir()
	if err != nil {
		return "", c.explain(err)
	}
	work, err := os.MkdirTemp(dir, safeName(name)+"-")
	if err != nil {
		return "", c.explain(fmt.Errorf("make work folder: %w", err))
	}
	return work, os.Chmod(work, 0o755)
}

// safeName keeps the letters, digits and few punctuation marks that may appear
// in a file name everywhere.
func safeName(name string) string {
	safe := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_', r == '.':
			return r
		}
		return '_'
	}, name)
	return "w" + strings.TrimLeft(safe[:min(len(safe), 60)], ".")
}
