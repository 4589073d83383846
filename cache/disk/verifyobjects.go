package disk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mleflow/mleflow/cache/digest"
)

// objects checks all files of objects, reading them in parallel.
func (v *verifier) objects() error {
	v.broken, v.unfinished = make(map[digest.ContentID]bool), make(map[*verifyJob]bool)
	v.total = VerifyProgress{TotalObjects: v.c.state.objects.Load(), TotalBytes: v.c.state.used.Load() - v.c.leases.lease.reserved.Load()}
	group, ctx := errgroup.WithContext(v.ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	err := v.c.objects.eachFile(func(f file) error {
		j := v.begin(f)
		group.Go(func() error {
			if err := v.object(f); err != nil {
				return err
			}
			return v.finished(j)
		})
		return context.Cause(ctx)
	})
	err = cmp.Or(group.Wait(), err)
	if saveErr := v.savePoint(); err == nil {
		err = saveErr
	}
	if err == nil {
		v.total.TotalObjects, v.total.TotalBytes = v.total.Objects, v.total.Bytes
		v.tell()
	}
	return err
}

// verifyJob is a file that is handed out, in order; after is the name of the file before it.
type verifyJob struct{ after string }

// begin notes that a file is handed out. A stray file has no name.
func (v *verifier) begin(f file) *verifyJob {
	v.mu.Lock()
	defer v.mu.Unlock()
	j := &verifyJob{v.last}
	v.last = cmp.Or(f.name(), v.last)
	v.unfinished[j] = true
	return j
}

// finished notes that a file was checked, and writes the progress to disk from
// time to time.
func (v *verifier) finished(j *verifyJob) error {
	v.mu.Lock()
	delete(v.unfinished, j)
	due := v.c.now().Sub(v.saved) >= pointEvery
	v.mu.Unlock()
	if !due {
		return nil
	}
	return v.savePoint()
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

// pointEvery is the interval at which a full verification writes its progress to
// disk.
const pointEvery = 2 * time.Second

// verifyPoint is the file "verify": the progress of an interrupted full
// verification. All files up to Through, in the order of their names, were
// read.
type verifyPoint struct {
	StartedUnix int64  `json:"started_unix"`
	Through     string `json:"through"`
	// Hashed files of HashedBytes were read, and Damages found.
	Hashed      int64    `json:"hashed"`
	HashedBytes int64    `json:"hashed_bytes"`
	Damages     []Damage `json:"damages,omitempty"`
}

// name returns the name of an object's file, by which files are ordered: all names
// in one folder share a prefix. A stray file has none.
func (f file) name() string {
	if f.stray != "" {
		return ""
	}
	if f.twin {
		return f.id.String() + "x"
	}
	return f.id.String()
}

// resume continues a full verification where one was interrupted. Files that were
// published or changed since that one began are read in any case.
func (v *verifier) resume() {
	v.point.StartedUnix = v.c.now().Unix()
	v.saved = v.c.now()
	old, err := readJSON[verifyPoint](v.c.path(verifyName))
	if err != nil || old.StartedUnix > v.point.StartedUnix {
		return
	}
	v.point = old
	v.res.Hashed, v.res.HashedBytes, v.res.Damages = old.Hashed, old.HashedBytes, old.Damages
	v.res.Resumed = old.Hashed
	v.picks = func(f facts, file file) bool {
		return !f.sealed(file.id) || file.name() > old.Through || f.since >= old.StartedUnix
	}
}

// savePoint writes the progress of a full verification to disk.
func (v *verifier) savePoint() error {
	if !v.full || v.c.readOnly {
		return nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.saved = v.c.now()
	p := v.point
	through := v.last
	for j := range v.unfinished {
		through = min(through, j.after)
	}
	p.Through = max(p.Through, through)
	p.Hashed, p.HashedBytes, p.Damages = v.res.Hashed, v.res.HashedBytes, slices.Clone(v.res.Damages)
	return writeJSON(v.c.path(verifyName), p)
}

// lost reports whether an object is broken or missing.
func (v *verifier) lost(id digest.ContentID) bool { return v.broken[id] || v.c.objects.missing(id) }
