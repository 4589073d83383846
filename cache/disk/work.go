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
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/flock"
	"github.com/mleflow/mleflow/cache/nolink"
	"github.com/mleflow/mleflow/cache/tree"
)

// tempFile creates a private file for incomplete content. If the file system
// permits, the file has no name, so that a crash leaves nothing behind: one without a
// name gets it by a link only. If the
// folder of the future object is known, it is passed as home, and the file
// system can keep both close together.
func (c *leases) tempFile(home string) (f *os.File, named bool, err error) {
	if c.hooks.unnamed && !c.unlinked.Load() {
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
	mode := fs.FileMode(0o777)
	if c.grouped {
		mode = 0o700 // attempts work in it
	}
	switch err := nolink.Mkdir(dir, mode); {
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
	work, err := nolink.MkdirTemp(dir, safeName(name)+"-", 0o700)
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

// startCleaning removes, in the background, files that dead processes left.
func (c *Cache) startCleaning(ctx context.Context) {
	dead, err := c.leases.deadProcesses()
	if err != nil || len(dead) == 0 {
		return // the next Open or GC tries again
	}
	c.work.cleaning.Add(1)
	c.work.all.Go(func() {
		defer c.work.cleaning.Done()
		_ = c.leases.clean(ctx, dead)
	})
}

// deadProcess is a lease whose process has died, or files without a lease.
type deadProcess struct {
	id   string
	file *os.File // locked, or nil
}

// deadProcesses returns the processes that died without closing the cache.
// Their leases stay locked until clean has run.
func (c *leases) deadProcesses() ([]deadProcess, error) {
	// Work folders are listed before leases: a process creates its lease before
	// its folder, so a folder listed here without a lease afterwards belongs to
	// nobody.
	work, err := names(c.path(tmpName))
	if err != nil {
		return nil, err
	}
	leases, err := names(c.path(leasesName))
	if err != nil {
		return nil, err
	}
	var dead []deadProcess
	leased := make(map[string]bool, len(leases))
	for _, id := range leases {
		leased[id] = true
		if f := c.lockDead(id); f != nil {
			dead = append(dead, deadProcess{id, f})
		}
	}
	for _, id := range work {
		if !leased[id] && !strings.HasPrefix(id, ".") {
			dead = append(dead, deadProcess{id: id})
		}
	}
	return dead, nil
}

// lockDead returns the locked lease of a dead process, or nil. A lease without
// content may be that of a process that is just starting, so it has a minute.
func (c *leases) lockDead(id string) *os.File {
	if id == c.lease.id {
		return nil
	}
	f, err := nolink.OpenFile(c.path(leasesName, id), os.O_RDWR, 0)
	if err != nil {
		return nil
	}
	if info, err := f.Stat(); err == nil && (!strings.HasPrefix(id, ".") || c.now().Sub(info.ModTime()) > time.Minute) {
		if ok, err := flock.Try(f); ok && err == nil {
			return f
		}
	}
	f.Close()
	return nil
}

func names(dir string) ([]string, error) {
	f, err := nolink.OpenDir(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdirnames(-1)
}

// clean removes the work folders, then the leases, of dead processes.
func (c *leases) clean(ctx context.Context, dead []deadProcess) error {
	var errs []error
	for _, d := range dead {
		c.uncount(d)
		if ctx.Err() == nil {
			err := tree.Remove(c.path(tmpName, d.id))
			if err == nil && d.file != nil {
				err = ignoreMissing(os.Remove(d.file.Name()))
			}
			if c.grouped && errors.Is(err, fs.ErrPermission) {
				err = nil // another user's, who cleans up next time
			}
			errs = append(errs, err)
		}
		if d.file != nil {
			errs = append(errs, d.file.Close())
		}
	}
	return errors.Join(errs...)
}

// uncount releases the reservations and in-flight bytes of a dead process. Its
// lease is locked and records that this was done, so that it is done only once.
func (c *leases) uncount(d deadProcess) {
	if d.file == nil {
		return
	}
	var words, none [16]byte
	if _, err := d.file.ReadAt(words[:], leaseReserved); err != nil || words == none {
		return // unfinished, or done
	}
	if _, err := d.file.WriteAt(none[:], leaseReserved); err != nil {
		return
	}
	for _, at := range []int{0, leaseInflight - leaseReserved} {
		c.state.used.Add(-int64(binary.LittleEndian.Uint64(words[at:])))
	}
}

// reap releases the reservations of dead processes. clean does the rest.
func (c *leases) reap() error {
	dead, err := c.deadProcesses()
	for _, d := range dead {
		c.uncount(d)
		if d.file != nil {
			_ = d.file.Close()
		}
	}
	if err != nil {
		return fmt.Errorf("find dead processes: %w", err)
	}
	return nil
}

// keySuffix is the suffix of the file that holds a folder's key and lock.
const keySuffix = ".key"

// keeping manages the work folders that outlive their processes.
type keeping struct {
	*folder
	// held has the locks of the folders that this process holds.
	held sync.Map
}

// close releases all folders, which stay on disk.
func (k *keeping) close() error {
	var errs []error
	for lock := range k.held.Range {
		if _, held := k.held.LoadAndDelete(lock); held {
			errs = append(errs, lock.(*os.File).Close())
		}
	}
	return errors.Join(errs...)
}

// keptPath returns the folder of a key. Its name is short, because the length
// of a socket's path is limited, and derived from the key's digest, so that no
// key can escape the folder.
func (c *keeping) keptPath(key string) string {
	id := digest.Of([]byte(key))
	return c.own(c.path(keptName, hex.EncodeToString(id[:10])), keySuffix)
}

// Keep implements cache.Keeper.
func (c *keeping) Keep(ctx context.Context, key string) (string, func(keep bool) error, error) {
	if err := c.writing("keep work folder"); err != nil {
		return "", nil, err
	}
	dir := c.keptPath(key)
	err := nolink.Mkdir(c.path(keptName), 0o777) // caches created by older versions do not have it
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return "", nil, fmt.Errorf("keep work folder %q: %w", key, c.explain(err))
	}
	lock, err := lockFile(ctx, dir+keySuffix, os.O_RDWR, 0o666)
	if err != nil {
		return "", nil, fmt.Errorf("keep work folder %q: %w", key, c.explain(err))
	}
	mode := fs.FileMode(0o755)
	if c.grouped {
		mode = 0o700
	}
	if err := makeKept(lock, dir, key, mode); err != nil {
		lock.Close()
		return "", nil, fmt.Errorf("keep work folder %q: %w", key, c.explain(err))
	}
	c.held.Store(lock, true)
	return dir, func(keep bool) error {
		if _, held := c.held.LoadAndDelete(lock); !held {
			return nil // released already, or by Close
		}
		var err error
		if !keep {
			err = errors.Join(tree.Remove(dir), os.Remove(lock.Name()))
		}
		return errors.Join(err, lock.Close())
	}, nil
}

// makeKept creates the folder if it does not exist, and records its key.
func makeKept(lock *os.File, dir, key string, mode fs.FileMode) error {
	known, err := io.ReadAll(lock)
	if err != nil {
		return err
	}
	// A holder that died may have written only part of the key.
	if !strings.HasPrefix(key, string(known)) {
		return fmt.Errorf("%s is the folder of another key: %q", dir, known)
	}
	if len(known) < len(key) {
		if _, err := lock.WriteAt([]byte(key), 0); err != nil {
			return err
		}
	}
	if err := nolink.Mkdir(dir, mode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nolink.Check(dir, "")
}

// Kept implements cache.Keeper.
func (c *keeping) Kept(context.Context) ([]cache.Kept, error) {
	list, err := names(c.path(keptName))
	if err := ignoreMissing(err); err != nil {
		return nil, fmt.Errorf("list kept work folders: %w", err)
	}
	var kept []cache.Kept
	for _, name := range list {
		base, ok := strings.CutSuffix(name, keySuffix)
		if !ok {
			continue
		}
		k, err := readKept(c.path(keptName, base))
		if err != nil {
			return nil, fmt.Errorf("list kept work folders: %w", err)
		}
		// A folder without a complete key was never used.
		if c.keptPath(k.Key) == k.Dir {
			kept = append(kept, k)
		}
	}
	slices.SortFunc(kept, func(a, b cache.Kept) int { return strings.Compare(a.Key, b.Key) })
	return kept, nil
}

func readKept(dir string) (cache.Kept, error) {
	k := cache.Kept{Dir: dir}
	f, err := nolink.Open(dir + keySuffix)
	if err != nil {
		return k, ignoreMissing(err)
	}
	defer f.Close()
	key, err := io.ReadAll(f)
	if err != nil {
		return k, err
	}
	k.Key = string(key)
	free, err := flock.TryShared(f)
	k.Held = !free
	return k, err
}
