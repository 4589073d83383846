package disk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"

	"github.com/mleflow/mleflow/cache/digest"
	"golang.org/x/sync/errgroup"
)

// objects checks all files of objects, reading them in parallel.
func (v *verifier) objects() error {
	v.broken = make(map[digest.ContentID]bool)
	v.total = VerifyProgress{TotalObjects: v.c.state.objects.Load(), TotalBytes: v.c.state.used.Load() - v.c.leases.lease.reserved.Load()}
	group, ctx := errgroup.WithContext(v.ctx)
	jobs := make(chan verifyJob, 64)
	group.Go(func() error {
		defer close(jobs)
		return v.feed(ctx, jobs)
	})
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() error {
			for j := range jobs {
				if err := v.object(j.file); err != nil {
					return err
				}
				if err := v.passed(j); err != nil {
					return err
				}
			}
			return nil
		})
	}
	err := group.Wait()
	if saveErr := v.savePoint(); err == nil {
		err = saveErr
	}
	if err == nil {
		v.total.TotalObjects, v.total.TotalBytes = v.total.Objects, v.total.Bytes
		v.tell()
	}
	return err
}

// verifyJob is one file, with its place in the order of files.
type verifyJob struct {
	file
	seq int64
}

// feed hands out all files, in order.
func (v *verifier) feed(ctx context.Context, jobs chan<- verifyJob) error {
	var seq int64
	return v.c.objects.eachFile(func(f file) error {
		if err := v.front.admit(ctx); err != nil {
			return err
		}
		select {
		case jobs <- verifyJob{f, seq}:
			seq++
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
}

// object checks one file.
func (v *verifier) object(f file) error {
	if f.stray != "" {
		v.damage(Damage{Text: fmt.Sprintf("the objects folder contains a file that is not an object: %q", f.stray)})
		return nil
	}
	facts, err := v.c.objects.stat(f.id, f.twin)
	if err != nil {
		return ignoreMissing(err)
	}
	if !v.picks(facts, f) {
		v.count(f, facts.size, 0, false)
		return nil
	}
	ok, told, err := v.read(f)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && v.ctx.Err() == nil {
		v.damage(Damage{Object: f.id, Text: fmt.Sprintf("the object cannot be read: %v", err)})
	}
	switch {
	case v.ctx.Err() != nil:
		return context.Cause(v.ctx)
	case errors.Is(err, fs.ErrNotExist):
		return nil // collected meanwhile
	}
	v.count(f, facts.size, told, true)
	switch {
	case !ok:
		return v.wrong(f)
	case !facts.sealed(f.id) && !v.c.readOnly:
		return ignoreMissing(v.c.objects.touch(f.id, f.twin))
	}
	return nil
}

// read reports whether the content of a file matches its name. A full verification
// reads from the disk itself, not from the page cache. told is the number of bytes
// of a large file that are already in the progress.
func (v *verifier) read(f file) (ok bool, told int64, err error) {
	file, err := v.c.openObject(f.id, f.twin)
	if err != nil {
		return false, 0, err
	}
	defer file.Close()
	if v.full {
		readFromDisk(file) // the page cache may differ from the disk
	}
	id, err := hashFile(v.ctx, file, func(n int64) {
		told += n
		v.mu.Lock()
		defer v.mu.Unlock()
		v.total.Bytes += n
		v.total.ReadBytes += n
		v.tell()
	})
	return err == nil && id == f.id, told, err
}

// count counts a file; told of its bytes are already in the progress.
func (v *verifier) count(f file, size, told int64, read bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !f.twin {
		v.res.Objects++
		v.total.Objects++
	}
	v.total.Bytes += size - told
	if read {
		v.total.ReadBytes += size - told
		if !f.twin {
			v.total.Read++
		}
		v.res.Hashed++
		v.res.HashedBytes += size
	}
	v.tell()
}

// tell reports the progress. The totals are estimates that are never below the
// finished counts.
func (v *verifier) tell() {
	if v.progress == nil {
		return
	}
	p := v.total
	p.TotalObjects, p.TotalBytes = max(p.TotalObjects, p.Objects), max(p.TotalBytes, p.Bytes)
	v.progress(p)
}

// wrong sets a wrong object aside. A wrong twin loses nothing.
func (v *verifier) wrong(f file) error {
	text := "its content does not match its digest; moved to the quarantine"
	if v.c.readOnly {
		text = "its content does not match its digest; left in place, since the cache is read-only"
	} else if err := v.c.objects.quarantine(f.id, f.twin); err != nil {
		return err
	}
	v.damage(Damage{Object: f.id, Text: text})
	if !f.twin {
		v.mu.Lock()
		v.broken[f.id] = true
		v.mu.Unlock()
	}
	return nil
}
