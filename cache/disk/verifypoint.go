package disk

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/nolink"
)

const (
	// pointEvery is the interval at which a full verification writes its progress to
	// disk.
	pointEvery = 2 * time.Second
	// windowFiles is the number of files that may be checked ahead of one that takes
	// long.
	windowFiles = 1 << 16
)

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

// front is the position up to which files have been checked without a gap.
type front struct {
	mu   sync.Mutex
	next int64
	done map[int64]string
	// through is the name of the last file before the first gap.
	through string
	// window has an entry for each file that was handed out and is not behind the
	// front.
	window chan struct{}
}

func newFront() *front {
	return &front{done: make(map[int64]string), window: make(chan struct{}, windowFiles)}
}

// admit waits until another file may be handed out.
func (f *front) admit(ctx context.Context) error {
	select {
	case f.window <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// pass marks a file as done. One without a name only takes an entry.
func (f *front) pass(seq int64, name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.done[seq] = name
	for {
		name, ok := f.done[f.next]
		if !ok {
			return
		}
		delete(f.done, f.next)
		if name != "" {
			f.through = name
		}
		f.next++
		<-f.window
	}
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

// passed marks a file as done, and from time to time writes the progress to
// disk.
func (v *verifier) passed(j verifyJob) error {
	v.front.pass(j.seq, j.name())
	v.mu.Lock()
	due := v.c.now().Sub(v.saved) >= pointEvery
	v.mu.Unlock()
	if !due {
		return nil
	}
	return v.savePoint()
}

func (f *front) last() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.through
}

// resume continues a full verification where one was interrupted. Files that were
// published or changed since that one began are read in any case.
func (v *verifier) resume() {
	v.point.StartedUnix = v.c.now().Unix()
	v.saved = v.c.now()
	var old verifyPoint
	data, err := nolink.ReadFile(v.c.path(verifyName))
	if err != nil || json.Unmarshal(data, &old) != nil || old.StartedUnix > v.point.StartedUnix {
		return
	}
	v.point = old
	v.front.through = old.Through
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
	p.Through = max(p.Through, v.front.last())
	p.Hashed, p.HashedBytes, p.Damages = v.res.Hashed, v.res.HashedBytes, slices.Clone(v.res.Damages)
	data, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return writeFileAtomic(v.c.path(verifyName), append(data, '\n'))
}

// lost reports whether an object is broken or missing.
func (v *verifier) lost(id digest.ContentID) bool { return v.broken[id] || v.c.objects.missing(id) }
