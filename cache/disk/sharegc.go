package disk

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/flock"
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
		lock, err := os.Stat(f.dir + "/" + lockName)
		if ignoreMissing(err) != nil {
			return nil, err
		}
		if f.dead = err != nil; !f.dead { // otherwise half removed
			f.used = lock.ModTime()
		}
		if f.info, err = readJSON[shareInfo](f.dir + "/" + infoName); err != nil || exists(f.dir+"/"+badName) || f.info.Boot != c.hooks.bootID {
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
	lock, err := openLockable(dir + "/" + lockName)
	if errors.Is(err, os.ErrNotExist) {
		return true, tree.Remove(dir) // half removed, or gone
	}
	if err != nil {
		return false, err
	}
	defer lock.Close()
	free, err := flock.Try(lock)
	if err != nil || !free {
		return false, err
	}
	if there, err := nolink.IsAt(lock, lock.Name()); !there || err != nil {
		return false, ignoreMissing(err)
	}
	info, _ := readJSON[shareInfo](dir + "/" + infoName)
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

// dropShares removes the shared folders that will not be given out again, and those that
// were not used for a long time. Trees that stayed apart as long may be shared again.
func (c *shares) dropShares() error {
	list, err := c.shareFolders()
	if err != nil {
		return err
	}
	old := func(t time.Time) bool { return c.now().Sub(t) > sharedFor }
	for _, f := range list {
		if f.dead || old(f.used) {
			if _, err := c.dropShare(f.dir); err != nil {
				return err
			}
		}
	}
	apart, err := filepath.Glob(c.path(sharesName, "*"+apartSuffix))
	for _, path := range apart {
		if info, statErr := os.Stat(path); statErr == nil && old(info.ModTime()) {
			err = cmp.Or(err, ignoreMissing(os.Remove(path)))
		}
	}
	return err
}

// dropCopies removes unused shared folders, which are only copies of objects:
// all of them or, if there is a size to reach, the least recently used until it
// is reached.
func (g *collector) dropCopies() error {
	list, err := g.c.shares.shareFolders()
	if err != nil {
		return err
	}
	drop := g.c.shares.dropShare
	if g.opts.DryRun {
		drop = isFree
	}
	for _, f := range list {
		if g.opts.MaxSize > 0 && g.left() <= g.opts.MaxSize && !f.dead {
			continue
		}
		dropped, err := drop(f.dir)
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
func isFree(dir string) (bool, error) {
	lock, err := openLockable(dir + "/" + lockName)
	if err != nil {
		return err != nil, ignoreMissing(err)
	}
	defer lock.Close()
	return flock.Try(lock)
}
