package disk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/flock"
	"github.com/mleflow/mleflow/cache/nolink"
)

// saveEvery is the number of bytes of a keyed ingest that a crash of the
// machine may cost.
const saveEvery = 256 << 20

// keyedIngest is a blob being written that outlives its process. Its file is
// locked while it is open.
type keyedIngest struct {
	written
	lock *os.File
	file *os.File
	// saved is the offset of the last saved state.
	saved int64
	// drawn is the number of bytes in the file that came from reservations of the
	// account.
	drawn   int64
	account any
	// gone is true when the file has lost its name, which may now belong to another
	// ingest of the key.
	gone bool
}

// ingestState is the file next to a partial ingest. It holds the state of the hash at
// an offset.
type ingestState struct {
	// Boot identifies the boot in which the state was saved. In the same
	// boot, the file may have grown since then. After a restart, only the first
	// Offset bytes are trusted.
	Boot   string `json:"boot"`
	Offset int64  `json:"offset"`
	// Synced is true if the bytes are on disk.
	Synced bool   `json:"synced"`
	Hash   []byte `json:"hash"`
}

func (c *ingests) openKeyed(ctx context.Context, key string) (*keyedIngest, error) {
	path := c.own(c.path(ingestName, digest.Of([]byte(key)).String()), "")
	lock, file, err := c.lockKeyed(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("ingest object: %w", c.explain(err))
	}
	in := &keyedIngest{written: written{c: c, ctx: ctx, hash: digest.NewWriter()}, lock: lock, file: file, account: cache.Account(ctx)}
	if err := in.resume(ctx); err != nil {
		file.Close()
		lock.Close()
		return nil, fmt.Errorf("resume ingest: %w", err)
	}
	return in, nil
}

// lockKeyed opens and locks the file at path. If a process died while publishing, the
// file may also be a published object under a second name, which must not be written to.
func (c *ingests) lockKeyed(ctx context.Context, path string) (lock, file *os.File, err error) {
	for {
		lock, err := lockFile(ctx, path, os.O_RDWR, 0o644)
		if errors.Is(err, fs.ErrPermission) { // such an object can be locked nevertheless, but not on NFS
			lock, err = lockFile(ctx, path, os.O_RDONLY, 0o644)
		}
		if err != nil {
			return nil, nil, err
		}
		file, err := reopenKeyed(lock, path)
		if file != nil {
			return lock, file, nil
		}
		lock.Close()
		if err != nil {
			return nil, nil, err
		}
	}
}

// reopenKeyed opens a locked file for writing; nil means to start over.
func reopenKeyed(lock *os.File, path string) (*os.File, error) {
	f, err := statPath(path)
	if err != nil {
		return nil, ignoreMissing(err)
	}
	if f.links > 1 {
		return nil, os.Remove(path)
	}
	if err := nolink.Chmod(lock, 0o644); err != nil { // it may have been about to become an object
		return nil, err
	}
	return nolink.OpenFile(path, os.O_RDWR, 0)
}

// resume keeps the bytes of the file that are known to be intact, and hashes those
// after the last saved state.
func (in *keyedIngest) resume(ctx context.Context) error {
	info, err := in.file.Stat()
	if err != nil {
		return err
	}
	size := info.Size()
	saved, ok := in.readState(size)
	if !ok {
		// Without a saved state, only bytes written in this boot could be trusted, and
		// nothing says in which boot they were written.
		return in.restart()
	}
	if saved.Boot != in.c.hooks.bootID {
		if !saved.Synced {
			return in.restart()
		}
		if err := in.cut(saved.Offset); err != nil {
			return err
		}
		size = saved.Offset
	}
	in.saved = saved.Offset
	if _, err := in.file.Seek(saved.Offset, io.SeekStart); err != nil {
		return err
	}
	n, err := cache.Copy(ctx, in.hash, io.LimitReader(in.file, size-saved.Offset))
	if err == nil && n < size-saved.Offset {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// readState restores the hash state of the last saved state, if there is a
// usable one.
func (in *keyedIngest) readState(size int64) (ingestState, bool) {
	saved, err := readJSON[ingestState](in.statePath())
	if err != nil || saved.Offset < 0 || saved.Offset > size {
		return saved, false
	}
	if in.hash.UnmarshalBinary(saved.Hash) != nil || in.hash.Size() != saved.Offset {
		in.hash = digest.NewWriter()
		return saved, false
	}
	return saved, true
}

func (in *keyedIngest) statePath() string { return in.file.Name() + stateSuffix }

// stateSuffix is the suffix of a saved state.
const stateSuffix = ".state"

// dropState removes the saved state of the ingest at path.
func dropState(path string) error { return ignoreMissing(os.Remove(path + stateSuffix)) }

// save writes a saved state. With sync, it survives a crash of the machine.
func (in *keyedIngest) save(sync bool) error {
	hash, err := in.hash.MarshalBinary()
	if err != nil {
		return err
	}
	if sync {
		// The bytes must be on disk before the saved state that vouches for them.
		if err := in.file.Sync(); err != nil {
			return err
		}
	}
	data, err := json.Marshal(ingestState{Boot: in.c.hooks.bootID, Offset: in.hash.Size(), Synced: sync, Hash: hash})
	if err != nil {
		return err
	}
	in.saved = in.hash.Size()
	// Without sync, the page cache outlives the process, and after a crash of the machine
	// this state is not trusted.
	return nolink.WriteFile(in.statePath(), data, 0o644, sync)
}

// Write implements io.Writer.
func (in *keyedIngest) Write(p []byte) (int, error) {
	if in.err != nil {
		return 0, in.err
	}
	if in.hash.Size() == 0 {
		if err := in.save(false); err != nil {
			return 0, in.fail(err)
		}
	}
	n, err := in.append(p)
	if err != nil {
		return n, in.fail(err)
	}
	if in.hash.Size()-in.saved >= saveEvery {
		if err := in.save(true); err != nil {
			return n, in.fail(err)
		}
	}
	return n, nil
}

// append writes to the file, within the quota.
func (in *keyedIngest) append(p []byte) (int, error) {
	held := charge{account: in.account}
	if err := in.c.quota.take(in.ctx, &held, int64(len(p))); err != nil {
		return 0, err
	}
	n, err := in.c.hooks.write(in.file, p)
	_, _ = in.hash.Write(p[:n])
	in.c.quota.giveBack(&held, int64(len(p)-n))
	in.drawn += held.drawn
	in.c.quota.landed(&held)
	return n, err
}

// Offset implements cache.Ingest.
func (in *keyedIngest) Offset() int64 { return in.hash.Size() }

// ReadAt implements io.ReaderAt.
func (in *keyedIngest) ReadAt(p []byte, off int64) (int, error) {
	if errors.Is(in.err, errClosed) {
		return 0, in.err
	}
	return readWritten(in.file, in.hash.Size(), p, off)
}

// Reset implements cache.Ingest.
func (in *keyedIngest) Reset() error {
	if errors.Is(in.err, errClosed) {
		return in.err
	}
	in.err = nil
	return in.restart()
}

// restart drops all bytes.
func (in *keyedIngest) restart() error {
	in.hash, in.saved = digest.NewWriter(), 0
	if err := in.cut(0); err != nil {
		return err
	}
	if _, err := in.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return dropState(in.file.Name())
}

// cut shortens the file.
func (in *keyedIngest) cut(size int64) error {
	info, err := in.file.Stat()
	if err != nil || info.Size() == size { // after any cut to nothing, closing the file on ext4 writes all of it out
		return err
	}
	if err := in.file.Truncate(size); err != nil {
		return err
	}
	in.freed(info.Size() - size)
	return nil
}

// freed uncounts bytes that are no longer in the file. Those drawn from a
// reservation go back to it.
func (in *keyedIngest) freed(n int64) {
	drawn := min(n, in.drawn)
	in.drawn -= drawn
	in.c.state.used.Add(-(n - in.c.quota.pool.Return(in.account, drawn)))
}

// Commit implements cache.Ingest.
func (in *keyedIngest) Commit(ctx context.Context, want cache.Ref) (cache.Ref, error) {
	ref, err := in.ref(ctx, want, nil)
	if err != nil {
		return cache.Ref{}, err
	}
	if err := in.publish(ctx, ref); err != nil {
		return cache.Ref{}, in.fail(err)
	}
	return ref, in.Close()
}

// publish links the file to its object name before it removes its own name, so
// that a crash in between loses nothing.
func (in *keyedIngest) publish(ctx context.Context, ref cache.Ref) error {
	if in.c.unlinked.Load() { // the file will be renamed
		if err := dropState(in.file.Name()); err != nil {
			return err
		}
	}
	fresh, err := in.c.objects.publishOnce(ctx, in.file, true, ref)
	if err != nil {
		return err
	}
	in.c.hooks.at("keyed linked")
	in.gone = true
	// The saved state is removed first: it must never be found next to the next
	// file of this name.
	err = errors.Join(dropState(in.file.Name()), ignoreMissing(os.Remove(in.file.Name())))
	in.c.hooks.at("keyed unlinked")
	if fresh {
		in.c.quota.published(ref.Size)
	} else {
		in.freed(ref.Size)
	}
	return err
}

// Close implements cache.Ingest. The bytes, if any, stay for the next ingest of
// the key.
func (in *keyedIngest) Close() error {
	if errors.Is(in.err, errClosed) {
		return nil
	}
	failed := in.err
	in.err = errClosed
	var err error
	switch {
	case in.gone:
	case in.hash.Size() == 0:
		err = in.c.unlinkKeyed(in.file)
	default:
		err = in.save(false)
	}
	if failed != nil {
		err = nil // the first failure was already returned
	}
	return errors.Join(err, in.file.Close(), in.lock.Close())
}

// dropKeyed removes an unfinished ingest that nobody has open.
func (c *ingests) dropKeyed(path string) error {
	f, err := openLockable(path)
	if err != nil {
		return ignoreMissing(err)
	}
	defer f.Close()
	if free, err := flock.Try(f); err != nil || !free {
		return err
	}
	return c.unlinkKeyed(f)
}

// unlinkKeyed removes an unfinished ingest whose file the caller has locked.
func (c *ingests) unlinkKeyed(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	// The saved state is removed first: it must never be found next to the next
	// file of this name.
	if err := dropState(f.Name()); err != nil {
		return err
	}
	c.state.used.Add(-info.Size())
	return ignoreMissing(os.Remove(f.Name()))
}

// ID returns the identity of the bytes written so far. A caller that needs it
// before Commit uses it through its own interface, which saves hashing twice.
func (in *keyedIngest) ID() digest.ContentID { return in.hash.ID() }
