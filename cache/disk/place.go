package disk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
)

// placing turns objects into files elsewhere.
type placing struct {
	*folder
	leases  *leases
	quota   *quota
	objects *objects
	reading *reading
	// mu serialises the creation of executable twins and fresh inodes.
	mu sync.Mutex
	// noClone is set once the file system has turned out not to share blocks.
	noClone atomic.Bool
}

// Place implements cache.Placer. An executable link is a link to the object's
// executable twin, because hard links share one mode. The twin is created when
// it is first needed.
func (c *placing) Place(ctx context.Context, ref cache.Ref, path string, p cache.Placement) (cache.Placed, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if !p.Private && !p.Writable {
		linked, err := c.placeLink(ctx, ref, path, p.Executable)
		if linked || err != nil {
			return cache.Linked, err
		}
	}
	return c.placeCopy(ctx, ref, path, p.FileMode(), p.Copied)
}

// placeLink reports false if the file system or its rules do not allow a link;
// a copy may still work.
func (c *placing) placeLink(ctx context.Context, ref cache.Ref, path string, executable bool) (bool, error) {
	for range 3 {
		f, err := c.reading.checkSealed(ctx, ref.ID, executable)
		if executable && errors.Is(err, cache.ErrNotFound) {
			if c.readOnly {
				return false, nil
			}
			err := c.makeTwin(ctx, ref.ID)
			if errors.Is(err, cache.ErrQuota) {
				return false, nil // a copy takes no space of the quota
			}
			if err != nil {
				return false, err
			}
			continue
		}
		if err != nil {
			return false, err
		}
		if f.size != ref.Size {
			return false, fmt.Errorf("place object %s: %w: it has %d bytes, not %d", ref.ID.Short(), cache.ErrCorrupt, f.size, ref.Size)
		}
		err = c.hooks.link(c.file, objectName(ref.ID, executable), path)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, unix.EMLINK):
			if c.readOnly {
				return false, nil
			}
			if err := c.freshInode(ctx, ref.ID, executable, f.inode); err != nil {
				return false, err
			}
		case linkRefused(err), errors.Is(err, unix.EACCES):
			return false, nil
		case errors.Is(err, fs.ErrNotExist):
			if _, statErr := c.objects.stat(ref.ID, executable); statErr == nil {
				return false, c.explain(err) // the destination's folder is missing
			}
		default:
			return false, c.explain(err)
		}
	}
	return false, nil
}

// linkIn gives a file of an open folder a second name.
func linkIn(dir *os.File, name, to string) error {
	err := uninterrupted(func() error { return unix.Linkat(int(dir.Fd()), name, unix.AT_FDCWD, to, 0) })
	if err != nil {
		return &os.LinkError{Op: "link", Old: name, New: to, Err: err}
	}
	return nil
}

// makeTwin makes the executable twin of an object.
func (c *placing) makeTwin(ctx context.Context, id digest.ContentID) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err := c.objects.stat(id, true); err == nil {
		return nil
	}
	object, err := c.objects.stat(id, false)
	if err != nil {
		return c.objects.objectError("find", id, err)
	}
	held := charge{account: cache.Account(ctx)}
	if err := c.quota.take(ctx, &held, object.size); err != nil {
		return err
	}
	defer func() { c.quota.giveBack(&held, held.bytes) }()
	return c.duplicate(ctx, cache.Ref{ID: id, Size: object.size}, func(f *os.File, named bool) error {
		defer c.quota.change()()
		fresh, err := c.objects.publish(f, named, id, true)
		if err == nil && fresh {
			c.quota.landed(&held)
		}
		return err
	})
}

// freshInode replaces the file of an object by an equal one without links,
// unless another process has just done so.
func (c *placing) freshInode(ctx context.Context, id digest.ContentID, executable bool, full uint64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	f, err := c.objects.stat(id, executable)
	if errors.Is(err, fs.ErrNotExist) || err == nil && f.inode != full {
		return nil
	}
	if err != nil {
		return c.objects.objectError("find", id, err)
	}
	return c.duplicate(ctx, cache.Ref{ID: id, Size: f.size}, func(f *os.File, named bool) error {
		if err := c.objects.sealFile(f, named, id, executable); err != nil {
			return err
		}
		dir, err := c.leases.processDir()
		if err != nil {
			return err
		}
		// link(2) never replaces a file, so the new one needs a name from which it
		// can be renamed.
		tmp := dir + "/" + id.String()
		if named {
			tmp = f.Name()
		} else if err := ignoreMissing(os.Remove(tmp)); err != nil {
			return err
		} else if err := linkFile(f, unix.AT_FDCWD, tmp); err != nil {
			return err
		}
		return os.Rename(tmp, c.objectPath(id, executable))
	})
}

// duplicate copies an object, verified, to a private file and passes it to use.
func (c *placing) duplicate(ctx context.Context, ref cache.Ref, use func(f *os.File, named bool) error) error {
	f, named, err := c.leases.tempFile(shardName(ref.ID[0]))
	if err != nil {
		return c.explain(err)
	}
	defer f.Close()
	if named {
		defer os.Remove(f.Name())
	}
	if err = c.fill(ctx, ref, f, nil); err == nil {
		err = use(f, named)
	}
	if err != nil {
		return c.explain(fmt.Errorf("duplicate object %s: %w", ref.ID.Short(), err))
	}
	return nil
}

type hookedWriter struct {
	c *placing
	f *os.File
	// copied, if set, is called with the number of bytes that were written.
	copied func(int64)
}

func (w hookedWriter) Write(p []byte) (int, error) {
	n, err := w.c.hooks.write(w.f, p)
	if w.copied != nil {
		w.copied(int64(n))
	}
	return n, err
}

// placeCopy creates a private file: a clone if the file system can make one,
// otherwise a copy that is verified while it is read.
func (c *placing) placeCopy(ctx context.Context, ref cache.Ref, path string, mode fs.FileMode, copied func(int64)) (how cache.Placed, err error) {
	defer func() { err = c.explain(err) }()
	if cloned, err := c.placeClone(ctx, ref.ID, path); err != nil {
		return 0, err
	} else if cloned {
		return cache.Cloned, os.Chmod(path, mode)
	}
	f, err := openFile(unix.AT_FDCWD, path, path, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, uint32(mode))
	if err != nil {
		return 0, err
	}
	defer func() {
		if closeErr := f.Close(); err == nil {
			err = closeErr
		}
		if err != nil {
			os.Remove(path)
		}
	}()
	if err := c.fill(ctx, ref, f, copied); err != nil {
		return 0, err
	}
	if mode&^0o444 == 0 && !c.masked {
		return cache.Copied, nil // it was created with this mode
	}
	return cache.Copied, f.Chmod(mode)
}

// fill writes an object to a file, verified.
func (c *placing) fill(ctx context.Context, ref cache.Ref, f *os.File, copied func(int64)) error {
	r, err := c.reading.Open(ctx, ref.ID)
	if err != nil {
		return err
	}
	defer r.Close()
	buf := readBuffers.Get().(*[256 << 10]byte)
	defer readBuffers.Put(buf)
	n, err := io.CopyBuffer(hookedWriter{c, f, copied}, r, buf[:])
	if err == nil && n != ref.Size {
		err = fmt.Errorf("place object %s: %w: it has %d bytes, not %d", ref.ID.Short(), cache.ErrCorrupt, n, ref.Size)
	}
	return err
}

// placeClone reports whether it could create path as a file that shares the
// blocks of the object.
func (c *placing) placeClone(ctx context.Context, id digest.ContentID, path string) (bool, error) {
	if c.noClone.Load() {
		return false, nil
	}
	if _, err := c.reading.checkSealed(ctx, id, false); err != nil {
		return false, err
	}
	src, err := c.openObject(id, false)
	if err != nil {
		return false, c.objects.objectError("open", id, err)
	}
	defer src.Close()
	if err := clone(src, path); err != nil {
		if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOTTY) {
			c.noClone.Store(true)
		}
		return false, nil
	}
	return true, nil
}
