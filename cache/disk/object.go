package disk

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/flock"
	"github.com/mleflow/mleflow/cache/nolink"
)

// Has implements cache.Store. An object that is found stays in the cache while
// this process lives.
func (c *objects) Has(ctx context.Context, id digest.ContentID) (int64, error) {
	c.leases.lease.use(id)
	c.drafts.claim(ctx, id)
	quiet := c.state.collecting.Load()%2 == 0
	f, err := c.stat(id, false)
	if err == nil && !c.readOnly && (!quiet || !f.sealed(id)) { // otherwise keepPresent would only repeat this
		var present bool
		if present, err = c.keepPresent(ctx, id, f.size); err == nil && !present {
			err = fs.ErrNotExist
		}
	}
	if err != nil {
		return 0, c.objectError("find", id, err)
	}
	return f.size, nil
}

// objectError wraps an error about an object. A missing file becomes
// cache.ErrNotFound.
func (c *objects) objectError(verb string, id digest.ContentID, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		err = cache.ErrNotFound
	}
	return fmt.Errorf("%s object %s: %w", verb, id.Short(), err)
}

// isFull reports whether the disk, or a user's share of it, is full.
func isFull(err error) bool { return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) }

// explain adds advice for the user to a system error.
func (c *folder) explain(err error) error {
	const fix = "; free space, or run 'mleflow cache gc --max-size SIZE'"
	var st unix.Statfs_t
	switch {
	case errors.Is(err, unix.EDQUOT):
		return fmt.Errorf("your quota on the disk of the cache %s is used up, of bytes or of files (see quota -s)%s: %w", c.dir, fix, err)
	case isFull(err) && unix.Statfs(c.dir, &st) == nil && st.Files > 0 && st.Ffree == 0:
		return fmt.Errorf("the disk of the cache %s has no inodes left for more files (see df -i)%s: %w", c.dir, fix, err)
	case isFull(err):
		return fmt.Errorf("the disk of the cache %s is full%s: %w", c.dir, fix, err)
	}
	return err
}

// keepPresent reports whether the object exists, and makes sure that it stays
// while this process lives. An object that was written to since it was
// published is verified, and set aside if it is wrong.
//
// The mark in the lease comes first, where a later collection sees it. A
// collection that is running may already have read the lease. So the object is
// also touched, under the lock that the collection takes to remove it.
func (c *objects) keepPresent(ctx context.Context, id digest.ContentID, size int64) (bool, error) {
	c.leases.lease.use(id)
	c.drafts.claim(ctx, id)
	defer c.drafts.claim(ctx, id)         // it may have become a draft since
	if c.state.collecting.Load()%2 == 0 { // no collection runs that may have missed the mark
		f, err := c.stat(id, false)
		if err != nil {
			return false, ignoreMissing(err)
		}
		if f.size == size && f.sealed(id) {
			return true, nil
		}
	}
	present := false
	err := c.deleting.hold(flock.LockShared, func() (err error) {
		present, err = c.touchPresent(id, size)
		return err
	})
	return present, err
}

func (c *objects) touchPresent(id digest.ContentID, size int64) (bool, error) {
	f, err := c.stat(id, false)
	if err != nil {
		return false, ignoreMissing(err)
	}
	if !f.sealed(id) || f.size != size {
		if ok, err := c.intact(id, false); !ok {
			return false, errors.Join(err, c.quarantine(id, false))
		}
	}
	return true, c.touch(id, false)
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// intact reads an object and reports whether its content matches its name. A
// missing object does not.
func (c *objects) intact(id digest.ContentID, executable bool) (bool, error) {
	f, err := c.openObject(id, executable)
	if err != nil {
		return false, ignoreMissing(ignoreForeign(err))
	}
	defer f.Close()
	got, err := hashFile(context.Background(), f, func(int64) {})
	return err == nil && got == id, ignoreForeign(err)
}

// ignoreForeign returns nil for the error of a link or a folder in the place of an
// object, since neither is an object.
func ignoreForeign(err error) error {
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.EISDIR) {
		return nil
	}
	return err
}

var readBuffers = sync.Pool{New: func() any { return new([256 << 10]byte) }}

// hashFile reads a file to its end, or until ctx ends. filled is called with each
// full buffer that was read, which small files do not fill.
func hashFile(ctx context.Context, f *os.File, filled func(int64)) (digest.ContentID, error) {
	buf := readBuffers.Get().(*[256 << 10]byte)
	defer readBuffers.Put(buf)
	hash := digest.NewWriter()
	for {
		n, err := f.Read(buf[:])
		_, _ = hash.Write(buf[:n])
		if errors.Is(err, io.EOF) {
			return hash.ID(), nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return digest.ContentID{}, err
		}
		if n == len(buf) {
			filled(int64(n))
		}
	}
}

// publish gives a complete private file the name of the object id. It reports
// false if the object already existed.
func (c *objects) publish(f *os.File, named bool, id digest.ContentID, executable bool) (bool, error) {
	if err := c.sealFile(f, named, id, executable); err != nil {
		return false, err
	}
	// The mark comes before the name: a collection that finds the object must see
	// that it is in use.
	c.leases.lease.use(id)
	c.hooks.at("publish")
	to := objectName(id, executable)
	err := c.linkObject(f, named, to)
	if errors.Is(err, fs.ErrNotExist) {
		if err := nolink.Mkdir(c.path(shardName(id[0])), 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
			return false, err
		}
		err = c.linkObject(f, named, to)
	}
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err != nil {
		return false, &os.LinkError{Op: "publish", Old: f.Name(), New: c.path(to), Err: err}
	}
	c.hooks.at("published")
	c.shards[id[0]].add(id)
	return true, nil
}

// linkObject uses link(2) because, unlike rename(2), it does not replace a file.
// Other files may be hard links to the object, and must keep sharing its blocks. Where
// there are no hard links, a complete file is renamed, and what it may replace is equal.
func (c *objects) linkObject(f *os.File, named bool, to string) error {
	if !named {
		return linkFile(f, int(c.file.Fd()), to)
	}
	if !c.unlinked.Load() {
		err := c.hooks.link(c.file, f.Name(), c.path(to))
		if !linkRefused(err) {
			return err
		}
		c.unlinked.Store(true)
	}
	err := renameNew(f.Name(), c.path(to))
	if !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOSYS) { // NFS, and systems without
		return err
	}
	if exists(c.path(to)) {
		return fs.ErrExist
	}
	return os.Rename(f.Name(), c.path(to))
}

// shard knows which objects of one folder are present. It answers only for
// records in the index, which are dropped before their objects. To find out
// about any other object, ask the file system.
type shard struct {
	asked atomic.Int32
	// list holds the second to ninth byte of every name, sorted, once listing the
	// folder pays off.
	list atomic.Pointer[[]uint64]

	mu    sync.Mutex
	added []uint64 // published by this process since the folder was listed
}

func shardKey(id digest.ContentID) uint64 { return binary.BigEndian.Uint64(id[1:]) }

// objects are the files with content and their executable twins.
type objects struct {
	*folder
	leases *leases
	quota  *quota
	shards [256]shard
	drafts drafts
	// deleting is locked shared to find an object present and protect it, and
	// exclusively to remove objects.
	deleting sharedLock
}

// present reports whether an object that a record names is there.
func (c *objects) present(id digest.ContentID) bool {
	s := &c.shards[id[0]]
	if s.has(id) {
		return true
	}
	if _, err := c.stat(id, false); err != nil {
		return false
	}
	// Listing the folder costs as much as asking for a fifth of the names one by
	// one, so asking for fewer wastes little.
	if n := s.asked.Add(1); n >= 8 && int64(n) >= c.state.objects.Load()/(256*16) && s.list.Load() == nil {
		s.load(c.path(shardName(id[0])))
	}
	return true
}

func (s *shard) has(id digest.ContentID) bool {
	list := s.list.Load()
	if list == nil {
		return false
	}
	key := shardKey(id)
	if _, ok := slices.BinarySearch(*list, key); ok {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.added, key)
}

// load lists the folder.
func (s *shard) load(path string) {
	dir, err := nolink.OpenDir(path)
	if err != nil {
		return
	}
	defer dir.Close()
	list := make([]uint64, 0, 1<<10)
	err = eachName(dir, func(name []byte, _ uint64) {
		var id digest.ContentID
		if len(name) != 2*digest.Size {
			return
		}
		if _, err := hex.Decode(id[:9], name[:18]); err == nil {
			list = append(list, shardKey(id))
		}
	})
	if err != nil {
		return
	}
	slices.Sort(list)
	s.list.Store(&list)
}

// add notes an object that this process published.
func (s *shard) add(id digest.ContentID) {
	if s.list.Load() == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.added) < 64 {
		s.added = append(s.added, shardKey(id))
	}
}

// forget makes the shard ask the file system again.
func (s *shard) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list.Store(nil)
	s.asked.Store(0)
	s.added = nil
}

func (c *objects) forgetShards() {
	for i := range c.shards {
		c.shards[i].forget()
	}
}
