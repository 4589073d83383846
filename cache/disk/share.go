package disk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/flock"
	"github.com/mleflow/mleflow/cache/nolink"
	"github.com/mleflow/mleflow/cache/tree"
)

// The names in the folder of a shared copy.
const (
	treeName = "tree"
	// infoName describes the folder. lockName is locked: shared by users of the
	// folder, exclusively to remove it.
	infoName = "info"
	lockName = "lock"
	// markName exists if two attempts have used the folder at the same time since
	// it was last unused, badName if it was changed.
	markName = "shared"
	badName  = "bad"
	// apartSuffix is the suffix of the file which says that folders of a tree are
	// no longer shared.
	apartSuffix = ".apart"
)

// sharedFor is the time for which an unused folder is kept while space is not
// needed, and for which a tree stays apart.
const sharedFor = 7 * 24 * time.Hour

// shareInfo describes a shared folder.
type shareInfo struct {
	Tree digest.ContentID `json:"tree"`
	// Bytes is the space that it takes on disk.
	Bytes int64 `json:"bytes"`
	// Stamp is the stamp of the tree when it was created, and Boot identifies the
	// boot. After a restart the folder is not used: the crash may have lost some
	// of it.
	Stamp digest.ContentID `json:"stamp"`
	Boot  string           `json:"boot"`
}

// shares manages the shared copies of trees.
type shares struct {
	*folder
	leases *leases
	quota  *quota
	// files is where the content comes from.
	files cache.Files
}

// share is a shared folder that this process uses; it implements cache.Shared.
type share struct {
	c    *shares
	ref  cache.Ref
	dir  string
	lock *os.File
	info shareInfo
	// apart is true if this folder must not be shared.
	apart        bool
	files, bytes int64
	closing      sync.Once
}

// sharesPath returns the common prefix of the paths of a tree's folders. It is
// short, since agents see it.
func (c *shares) sharesPath(ref cache.Ref) string {
	return c.path(sharesName, ref.ID.String()[:20])
}

// exists reports whether there is a file at path.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Share implements cache.Sharer.
func (c *shares) Share(ctx context.Context, ref cache.Ref, progress func(files, bytes int64)) (cache.Shared, error) {
	if err := c.writing("share tree"); err != nil {
		return nil, err
	}
	s, err := c.share(ctx, ref, progress)
	if err != nil {
		return nil, fmt.Errorf("share tree %s: %w", ref.ID.Short(), err)
	}
	return s, nil
}

func (c *shares) share(ctx context.Context, ref cache.Ref, progress func(files, bytes int64)) (*share, error) {
	if ref.Kind != cache.Tree {
		return nil, fmt.Errorf("it is a %s", ref.Kind)
	}
	for {
		s, err := c.findOrMake(ctx, ref, progress)
		if err != nil {
			return nil, err
		}
		if s.files > 0 || s.ref.Files == 0 {
			return s, nil // it was just created
		}
		// Other users of the tree need not wait for this check.
		if err = s.Check(ctx); err == nil {
			return s, nil
		}
		if _, changed := errors.AsType[*cache.ChangedError](err); changed {
			err = nil
		}
		if err = errors.Join(err, s.Close()); err != nil {
			return nil, err
		}
	}
}

// findOrMake returns an existing folder or a new one. Only one process at a
// time searches for a tree, so that it is copied once.
func (c *shares) findOrMake(ctx context.Context, ref cache.Ref, progress func(files, bytes int64)) (*share, error) {
	if err := nolink.Mkdir(c.path(sharesName), 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, c.explain(err) // caches created by older versions do not have it
	}
	unlock, err := c.LockAction(ctx, digest.ActionID(ref.ID))
	if err != nil {
		return nil, err
	}
	defer unlock()
	if !exists(c.sharesPath(ref) + apartSuffix) {
		list, err := filepath.Glob(c.sharesPath(ref) + "-*")
		if err != nil {
			return nil, err
		}
		for _, dir := range list {
			if s, err := c.join(ctx, ref, dir); s != nil || err != nil {
				return s, err
			}
		}
	}
	if err := c.dropShares(); err != nil {
		return nil, err
	}
	return c.makeShare(ctx, ref, progress)
}

// join begins to use an existing folder if it is usable.
func (c *shares) join(ctx context.Context, ref cache.Ref, dir string) (s *share, err error) {
	if _, ok := c.usable(ref, dir); !ok {
		return nil, nil //nolint:nilnil // no folder: not an error
	}
	lock, err := openLockable(dir + "/" + lockName)
	if err != nil {
		return nil, ignoreMissing(err)
	}
	defer func() {
		if s == nil {
			lock.Close()
		}
	}()
	alone, err := flock.Try(lock)
	if err != nil {
		return nil, err
	}
	if alone {
		err = ignoreMissing(os.Remove(dir + "/" + markName))
	} else {
		err = touch(dir + "/" + markName)
	}
	if err := ignoreMissing(err); err != nil {
		return nil, c.explain(err)
	}
	// The folder may be removed before we get its lock.
	if err := flockContext(ctx, lock, flock.TryShared); err != nil {
		return nil, err
	}
	there, err := nolink.IsAt(lock, lock.Name())
	info, ok := c.usable(ref, dir)
	if !there || err != nil || !ok {
		return nil, ignoreMissing(err)
	}
	_ = os.Chtimes(lock.Name(), c.now(), c.now()) // when it was last used
	return &share{c: c, ref: ref, dir: dir, lock: lock, info: info}, nil
}

// usable reports whether a folder belongs to the tree and may be shared. In a cache of a
// group it must be this user's, to whom it is read-only.
func (c *shares) usable(ref cache.Ref, dir string) (shareInfo, bool) {
	if c.grouped && !nolink.IsMine(dir) {
		return shareInfo{}, false
	}
	info, err := readJSON[shareInfo](dir + "/" + infoName)
	return info, err == nil && info.Tree == ref.ID && info.Boot == c.hooks.bootID && !exists(dir+"/"+badName)
}

func touch(path string) error {
	f, err := nolink.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	return f.Close()
}

// makeShare copies the tree into a work folder of this process, which is
// cleaned up after a crash, and then moves it to its place.
func (c *shares) makeShare(ctx context.Context, ref cache.Ref, progress func(files, bytes int64)) (s *share, err error) {
	held := charge{account: cache.Account(ctx)}
	if err := c.quota.take(ctx, &held, ref.Size); err != nil {
		return nil, err
	}
	defer func() { c.quota.giveBack(&held, held.bytes) }()
	work, err := c.leases.TempDir("share")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, tree.Remove(work)) }()
	if err := c.giveGroup(work); err != nil {
		return nil, c.explain(err)
	}
	opts := tree.Options{Mode: tree.Copy, Group: c.grouped}
	if progress != nil {
		opts.Progress = func(r tree.Result) { progress(r.Files, r.Bytes) }
	}
	done, err := tree.Materialise(ctx, c.files, ref, work+"/"+treeName, opts)
	if err != nil {
		return nil, err
	}
	c.quota.giveBack(&held, held.bytes-done.BytesCopied)
	s = &share{c: c, ref: ref, files: done.Files, bytes: done.BytesCopied, apart: exists(c.sharesPath(ref) + apartSuffix)}
	s.info = shareInfo{Tree: ref.ID, Bytes: done.BytesCopied, Boot: c.hooks.bootID}
	// The folder is locked before it has its name. From then on others see it, and
	// would remove it if it were unlocked.
	if err := s.finish(ctx, work); err != nil {
		return nil, c.explain(err)
	}
	c.hooks.at("share made")
	defer c.quota.change()()
	s.dir = c.sharesPath(ref) + strings.TrimPrefix(filepath.Base(work), "wshare")
	if err := os.Rename(work, s.dir); err != nil {
		s.lock.Close()
		return nil, c.explain(err)
	}
	c.quota.landed(&held)
	return s, nil
}

// finish writes the files that accompany the tree, and locks the folder.
func (s *share) finish(ctx context.Context, work string) (err error) {
	if s.info.Stamp, err = tree.Stamp(ctx, work+"/"+treeName); err != nil {
		return err
	}
	data, err := json.Marshal(s.info)
	if err != nil {
		return err
	}
	if err := nolink.WriteFile(work+"/"+infoName, data, 0o644, false); err != nil {
		return err
	}
	if s.lock, err = nolink.OpenFile(work+"/"+lockName, os.O_RDWR|os.O_CREATE, 0o666); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			s.lock.Close()
		}
	}()
	if s.apart {
		err = touch(work + "/" + badName) // visible to others from here on
	}
	return errors.Join(err, flock.LockShared(s.lock))
}

// Dir implements cache.Shared.
func (s *share) Dir() string { return s.dir + "/" + treeName }

// Copied implements cache.Shared.
func (s *share) Copied() (files, bytes int64) { return s.files, s.bytes }

// Alone implements cache.Shared.
func (s *share) Alone() bool { return !exists(s.dir + "/" + markName) }

// Check implements cache.Shared.
func (s *share) Check(ctx context.Context) error {
	now, err := tree.Stamp(ctx, s.Dir())
	if err == nil && now == s.info.Stamp {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	changed := &cache.ChangedError{Shared: !s.Alone()}
	err = touch(s.dir + "/" + badName)
	if changed.Shared {
		err = errors.Join(err, touch(s.c.sharesPath(s.ref)+apartSuffix))
	} else if err == nil {
		changed.What, err = tree.Compare(ctx, s.c.files, s.ref, s.Dir())
	}
	if err != nil {
		return fmt.Errorf("check shared tree %s: %w", s.ref.ID.Short(), s.c.explain(err))
	}
	return changed
}

// Close implements cache.Shared. The last user removes a folder that will not
// be given out again.
func (s *share) Close() (err error) {
	s.closing.Do(func() {
		s.lock.Close()
		if exists(s.dir + "/" + badName) {
			_, err = s.c.dropShare(s.dir)
		}
	})
	return err
}

// ShareCost implements cache.Sharer.
func (c *shares) ShareCost(ref cache.Ref) (files, bytes int64) {
	list, _ := filepath.Glob(c.sharesPath(ref) + "-*")
	for _, dir := range list {
		if _, ok := c.usable(ref, dir); ok && !exists(c.sharesPath(ref)+apartSuffix) {
			return 0, 0
		}
	}
	if c.clones() {
		return ref.Files, 0
	}
	return ref.Files, ref.Size
}

// clones reports whether the file system can share blocks.
func (c *shares) clones() bool {
	dir, err := c.leases.processDir()
	if err != nil {
		return false
	}
	list, err := Abilities(dir, "reflinks")
	return err == nil && list[0].Err == nil
}
