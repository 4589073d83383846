package disk

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
)

// reading reads content and handles content that is wrong.
type reading struct {
	*folder
	objects *objects
	records *records
}

// Open implements cache.Store. If an object turns out to be wrong, it is moved
// to the quarantine and the records that lead to it are dropped before Read
// returns cache.ErrCorrupt.
func (c *reading) Open(ctx context.Context, id digest.ContentID) (io.ReadCloser, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f, err := c.openObject(id, false)
	if err != nil && ignoreForeign(err) == nil {
		return nil, c.corrupt(ctx, id)
	}
	if err != nil {
		return nil, c.objects.objectError("open", id, err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = c.corrupt(ctx, id)
	}
	if err != nil {
		f.Close()
		return nil, c.objects.objectError("open", id, err)
	}
	return &reader{c: c, ctx: ctx, f: f, id: id, size: info.Size(), hash: digest.NewWriter()}, nil
}

// reader reads an object and verifies it.
type reader struct {
	c    *reading
	ctx  context.Context // of Open: reading stops when it ends
	f    *os.File
	id   digest.ContentID
	size int64
	hash *digest.Writer
	err  error
}

// Read implements io.Reader. It withholds the last bytes until the whole object
// is verified.
func (r *reader) Read(p []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := r.f.Read(p)
	_, _ = r.hash.Write(p[:n])
	if err != nil && err != io.EOF {
		r.err = fmt.Errorf("read object %s: %w", r.id.Short(), err)
		return n, r.err
	}
	if err != io.EOF && r.hash.Size() < r.size {
		return n, nil
	}
	if r.hash.ID() != r.id {
		r.err = r.c.corrupt(r.ctx, r.id)
		return 0, r.err
	}
	r.err = io.EOF // what the file has beyond is not the object's
	return n, io.EOF
}

// Close implements io.Closer.
func (r *reader) Close() error { return r.f.Close() }

// corrupt sets a wrong object aside, drops the records that lead to it, and returns
// the error that reports it.
func (c *reading) corrupt(ctx context.Context, id digest.ContentID) error {
	err := fmt.Errorf("read object %s: %w", id.Short(), cache.ErrCorrupt)
	if c.readOnly {
		return err
	}
	if ok, checkErr := c.objects.intact(id, false); ok || checkErr != nil {
		// The object was replaced or repaired meanwhile, or the device fails. The bytes
		// that this reader got are wrong in either case.
		return err
	}
	if moveErr := c.objects.quarantine(id, false); moveErr != nil {
		return fmt.Errorf("%w; and setting it aside failed: %w", err, moveErr)
	}
	if dropErr := c.records.dropBroken(context.WithoutCancel(ctx), func(other digest.ContentID) bool { return other == id }, every, nil); dropErr != nil {
		return fmt.Errorf("%w; and dropping its records failed: %w", err, dropErr)
	}
	return err
}

// quarantine moves an object into the quarantine. If it is gone already, that
// is fine.
func (c *objects) quarantine(id digest.ContentID, executable bool) error {
	from := c.objectPath(id, executable)
	f, err := statPath(from)
	if err != nil {
		return ignoreMissing(err)
	}
	to := c.path(quarantineName, fmt.Sprintf("%s.%d", id, c.now().UnixNano()))
	if err := ignoreMissing(os.Rename(from, to)); err != nil {
		return err
	}
	c.shards[id[0]].forget()
	c.quota.removed(f.size, executable)
	return nil
}

// OpenAt implements cache.RandomStore. The object must be sealed; one that
// was written to is verified first.
func (c *reading) OpenAt(ctx context.Context, id digest.ContentID) (cache.RandomReader, error) {
	object, err := c.checkSealed(ctx, id, false)
	if err != nil {
		return nil, err
	}
	f, err := c.openObject(id, false)
	if err != nil {
		return nil, c.objects.objectError("open", id, err)
	}
	return randomReader{f, object.size}, nil
}

type randomReader struct {
	*os.File
	size int64
}

func (r randomReader) Size() int64 { return r.size }

// checkSealed returns the facts of an object after checking, by its seal or by
// reading it, that its content is intact.
func (c *reading) checkSealed(ctx context.Context, id digest.ContentID, executable bool) (facts, error) {
	f, err := c.objects.stat(id, executable)
	if err != nil {
		return f, c.objects.objectError("find", id, err)
	}
	if f.sealed(id) {
		return f, nil
	}
	ok, err := c.objects.intact(id, executable)
	if err != nil {
		return f, c.objects.objectError("verify", id, err)
	}
	if ok {
		if !c.readOnly {
			err = c.objects.touch(id, executable)
		}
		return f, err
	}
	if !executable {
		return f, c.corrupt(ctx, id)
	}
	// Only the twin is wrong, and it can be made again.
	if !c.readOnly {
		if err := c.objects.quarantine(id, true); err != nil {
			return f, err
		}
	}
	return f, c.objects.objectError("find", id, fs.ErrNotExist)
}
