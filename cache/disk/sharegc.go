package disk

import (
	"cmp"
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/cache/nolink"
	"github.com/mleflow/mleflow/cache/tree"
)

// shareFolder is a shared folder as shown in a list.
type shareFolder struct {
	dir  string
	info shareInfo
	// used is the time of its last use; dead is true if it will not be given out again.
	used time.Time
	dead bool
}

// shareFolders lists the shared folders, least recently used first.
func (c *shares) shareFolders() ([]shareFolder, error) {
	list, err := names(c.path(sharesName))
	if err != nil {
		return nil, ignoreMissing(err)
	}
	var all []shareFolder
	for _, name := range list {
		f := shareFolder{dir: c.path(sharesName, name)}
		if strings.HasSuffix(name, apartSuffix) {
			continue
		}
		info, err := os.Stat(f.dir + "/" + lockName)
		if errors.Is(err, os.ErrNotExist) {
			f.dead = true // half removed
		} else if err != nil {
			return nil, err
		} else {
			f.used = info.ModTime()
		}
		_, bad := os.Lstat(f.dir + "/" + badName)
		if f.info, err = readShare(f.dir); err != nil || bad == nil || f.info.Boot != c.hooks.bootID {
			f.dead = true
		}
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b shareFolder) int { return cmp.Or(a.used.Compare(b.used), strings.Compare(a.dir, b.dir)) })
	return all, nil
}

// sharedBytes returns the number of shared folders and their size.
func (c *shares) sharedBytes() (n int, bytes int64, err error) {
	list, err := c.shareFolders()
	for _, f := range list {
		bytes += f.info.Bytes
	}
	return len(list), bytes, err
}

// dropShare removes a shared folder unless it is in use.
func (c *shares) dropShare(dir string) (dropped bool, err error) {
	lock, err := nolink.Open(dir + "/" + lockName)
	if errors.Is(err, os.ErrNotExist) {
		return true, tree.Remove(dir) // half removed, or gone
	}
	if err != nil {
		return false, err
	}
	defer lock.Close()
	free, err := tryFlock(lock, unix.LOCK_EX)
	if err != nil || !free {
		return false, err
	}
	if there, err := nolink.IsAt(lock, lock.Name()); !there || err != nil {
		return false, ignoreMissing(err)
	}
	info, _ := readShare(dir)
	// From here on the folder is unusable even if the process dies: the tree is
	// removed first, then the information, and the lock last.
	if err := touch(dir + "/" + badName); err != nil {
		return false, c.explain(err)
	}
	c.hooks.at("share dropped")
	if err := tree.Remove(dir + "/" + treeName); err != nil {
		return false, c.explain(err)
	}
	defer c.quota.change()()
	if err := ignoreMissing(os.Remove(dir + "/" + infoName)); err != nil {
		return false, c.explain(err)
	}
	c.state.used.Add(-info.Bytes)
	return true, tree.Remove(dir)
}

// dropShares removes the shared folders that will not be given out again, and
// those that were not used for a long time. With all, it removes every unused
// one.
func (c *shares) dropShares(all bool) error {
	list, err := c.shareFolders()
	if err != nil {
		return err
	}
	for _, f := range list {
		if all || f.dead || c.now().Sub(f.used) > sharedFor {
			if _, err := c.dropShare(f.dir); err != nil {
				return err
			}
		}
	}
	return c.joinAgain()
}

// joinAgain allows trees that stayed apart for a long time to be shared again.
func (c *shares) joinAgain() error {
	list, err := names(c.path(sharesName))
	if err != nil {
		return ignoreMissing(err)
	}
	for _, name := range list {
		path := c.path(sharesName, name)
		if info, err := os.Stat(path); err == nil && strings.HasSuffix(name, apartSuffix) && c.now().Sub(info.ModTime()) > sharedFor {
			if err := ignoreMissing(os.Remove(path)); err != nil {
				return err
			}
		}
	}
	return nil
}

// dropCopies removes unused shared folders, which are only copies of objects:
// all of them or, if there is a size to reach, the least recently used until it
// is reached.
func (g *collector) dropCopies() error {
	list, err := g.c.shares.shareFolders()
	if err != nil {
		return err
	}
	for _, f := range list {
		if g.opts.MaxSize > 0 && g.left() <= g.opts.MaxSize && !f.dead {
			continue
		}
		dropped, err := g.isFree(f)
		if err == nil && dropped && !g.opts.DryRun {
			dropped, err = g.c.shares.dropShare(f.dir)
		}
		if err != nil {
			return err
		}
		if dropped {
			g.res.Copies++
			g.res.Bytes += f.info.Bytes
			g.res.DiskBytes += f.info.Bytes
		}
	}
	return nil
}

// isFree reports whether a shared folder is unused.
func (g *collector) isFree(f shareFolder) (bool, error) {
	lock, err := nolink.Open(f.dir + "/" + lockName)
	if err != nil {
		return err != nil, ignoreMissing(err)
	}
	defer lock.Close()
	return tryFlock(lock, unix.LOCK_EX)
}
