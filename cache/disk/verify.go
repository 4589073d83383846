package disk

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/tree"
)

// Damage is one thing that Verify found wrong.
type Damage struct {
	// Object is the damaged object, or zero.
	Object digest.ContentID `json:"object,omitzero"`
	// Action and Address tell the record that was lost with it, if any.
	Action  digest.ActionID `json:"action,omitzero"`
	Address string          `json:"address,omitempty"`
	// Text says what is wrong and what was done about it.
	Text string `json:"text"`
}

// VerifyResult is what Verify did.
type VerifyResult struct {
	// Objects were looked at; Hashed of them, of HashedBytes, were read.
	Objects, Hashed, HashedBytes int64
	Records                      int
	// Damages are sorted: objects first, then records by address.
	Damages []Damage
}

// Verify checks every object and record. An object is read when full is set
// or when it was written to since it was published; else its size and seal
// are checked. Wrong objects go to the quarantine and the records that lead to
// them are dropped, so that the next run makes them again; a read-only cache
// is only looked at. The progress function is told the objects done and their
// number, by one goroutine at a time.
func (c *Cache) Verify(ctx context.Context, full bool, progress func(done, total int64)) (VerifyResult, error) {
	if !c.readOnly {
		unlock, err := c.lockGC(ctx, unix.LOCK_EX)
		if err != nil {
			return VerifyResult{}, fmt.Errorf("verify cache: %w", err)
		}
		defer unlock()
	}
	v := &verifier{c: c, ctx: ctx, progress: progress, picks: func(f facts, id digest.ContentID) bool { return full || !f.sealed(id) }}
	err := v.objects()
	if err == nil {
		err = v.undecodable()
	}
	if err == nil {
		err = v.records(func(entry, *cache.Record) bool { return true })
	}
	if err == nil {
		err = v.rest()
	}
	slices.SortStableFunc(v.res.Damages, func(a, b Damage) int { return strings.Compare(a.Address, b.Address) })
	if err != nil {
		return v.res, fmt.Errorf("verify cache: %w", err)
	}
	return v.res, nil
}

// verifier is one verification.
type verifier struct {
	c   *Cache
	ctx context.Context
	// picks tells which objects are read.
	picks    func(facts, digest.ContentID) bool
	progress func(done, total int64)

	mu     sync.Mutex
	res    VerifyResult
	broken map[digest.ContentID]bool
}

func (v *verifier) damage(d Damage) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.res.Damages = append(v.res.Damages, d)
}

// objects looks at all files of objects, reading them in parallel.
func (v *verifier) objects() error {
	v.broken = make(map[digest.ContentID]bool)
	total := v.c.state.objects.Load()
	group, ctx := errgroup.WithContext(v.ctx)
	jobs := make(chan file, 64)
	group.Go(func() error {
		defer close(jobs)
		return v.c.eachFile(func(f file) error {
			select {
			case jobs <- f:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	})
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() error {
			for f := range jobs {
				if err := v.object(f, total); err != nil {
					return err
				}
			}
			return nil
		})
	}
	err := group.Wait()
	if err == nil && v.progress != nil {
		v.progress(v.res.Objects, v.res.Objects)
	}
	return err
}

// object looks at one file.
func (v *verifier) object(f file, total int64) error {
	if f.stray != "" {
		v.damage(Damage{Text: fmt.Sprintf("the folder of objects holds a file that is none: %q", f.stray)})
		return nil
	}
	facts, err := v.c.stat(f.id, f.twin)
	if err != nil {
		return ignoreMissing(err)
	}
	if !v.picks(facts, f.id) {
		v.count(f, 0, total)
		return nil
	}
	ok, err := v.c.intact(f.id, f.twin)
	if err != nil {
		v.damage(Damage{Object: f.id, Text: fmt.Sprintf("the object cannot be read: %v", err)})
	}
	v.count(f, facts.size, total)
	switch {
	case !ok:
		return v.wrong(f)
	case !facts.sealed(f.id) && !v.c.readOnly:
		return v.c.touch(f.id, f.twin)
	}
	return nil
}

func (v *verifier) count(f file, hashed, total int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !f.twin {
		v.res.Objects++
	}
	if hashed > 0 {
		v.res.Hashed++
		v.res.HashedBytes += hashed
	}
	if v.progress != nil {
		v.progress(v.res.Objects, max(total, v.res.Objects))
	}
}

// wrong sets a wrong object aside. A wrong twin is no loss.
func (v *verifier) wrong(f file) error {
	text := "its content is not what its name says; set aside in the quarantine"
	if v.c.readOnly {
		text = "its content is not what its name says; left there, since the cache is read-only"
	} else if err := v.c.quarantine(f.id, f.twin); err != nil {
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

// records follows the records that pick chooses, and drops those that lead
// to a broken or missing object.
func (v *verifier) records(pick func(entry, *cache.Record) bool) error {
	b := &breakage{c: v.c, broken: v.lost, trees: make(map[digest.ContentID]bool)}
	chosen := make(map[digest.ActionID]int64)
	err := v.c.eachRecord(v.ctx, func(rec *cache.Record, e entry) error {
		if !pick(e, rec) {
			return nil
		}
		v.res.Records++
		broken, err := b.record(v.ctx, rec)
		if broken {
			chosen[rec.Action] = e.at
			v.damage(Damage{Action: rec.Action, Address: rec.Address, Text: "content it leads to is missing or wrong; its record was dropped, so that it runs again"})
		}
		return err
	})
	if err != nil || len(chosen) == 0 || v.c.readOnly {
		return err
	}
	_, err = v.c.drop(chosen, "corrupt")
	return err
}

// undecodable drops the records whose line is whole and makes no sense.
func (v *verifier) undecodable() error {
	list, err := v.c.index.snapshot()
	if err != nil {
		return err
	}
	chosen := make(map[digest.ActionID]int64)
	for _, p := range list {
		if _, _, err := v.c.index.get(p.id); errors.Is(err, errPayload) {
			chosen[p.id] = p.at
			v.damage(Damage{Action: p.id, Text: "its record cannot be decoded; it was dropped, so that it runs again"})
		} else if err != nil {
			return err
		}
	}
	if len(chosen) == 0 || v.c.readOnly {
		return nil
	}
	_, err = v.c.drop(chosen, "corrupt")
	return err
}

// lost reports whether an object is broken or missing.
func (v *verifier) lost(id digest.ContentID) bool { return v.broken[id] || v.c.missing(id) }

// rest looks at the index file and the pins.
func (v *verifier) rest() error {
	if err := v.indexFile(); err != nil {
		return err
	}
	pins, err := v.c.Pins(v.ctx)
	if err != nil {
		return err
	}
	for _, p := range pins {
		for _, ref := range p.Refs {
			if v.lost(ref.ID) {
				v.damage(Damage{Object: ref.ID, Text: fmt.Sprintf("pinned by %q, and missing", p.Name)})
			}
		}
	}
	return nil
}

// indexFile looks for bytes of the index that are no frame, and rewrites it
// without them.
func (v *verifier) indexFile() error {
	ix := v.c.index
	look := func() error {
		ix.mu.RLock()
		bad := ix.bad + len(ix.log.bytes()) - ix.scanned
		ix.mu.RUnlock()
		if bad <= 1 { // one line feed may end a line that lacked nothing else
			return nil
		}
		v.damage(Damage{Text: fmt.Sprintf("the index holds %d bytes that are no record, as a writer leaves that dies or finds the disk full; if they were one, its step runs again", bad)})
		if v.c.readOnly {
			return nil
		}
		return ix.rewrite()
	}
	if v.c.readOnly {
		return look()
	}
	return ix.locked(look)
}

// CheckUnmodified returns an error that wraps cache.ErrCorrupt when a file of
// the tree or blob was written to since it was published, as a process can
// that was given links: one stat a file, and a read only of what looks
// changed. Objects that are wrong go to the quarantine, with their records.
func (c *Cache) CheckUnmodified(ctx context.Context, ref cache.Ref) error {
	if ref.Kind != cache.Tree {
		_, err := c.checkSealed(ctx, ref.ID, false)
		return err
	}
	var changed []error
	err := tree.Walk(ctx, c, ref, func(path string, e tree.Entry) error {
		err := c.checkEntry(ctx, e)
		if errors.Is(err, cache.ErrCorrupt) {
			if len(changed) < 10 {
				changed = append(changed, fmt.Errorf("%s was changed: %w", filepath.Clean(path), err))
			}
			return nil
		}
		return err
	})
	if err == nil {
		err = errors.Join(changed...)
	}
	if err != nil {
		return fmt.Errorf("check tree %s: %w", ref.ID.Short(), err)
	}
	return nil
}

func (c *Cache) checkEntry(ctx context.Context, e tree.Entry) error {
	if e.IsDir() {
		return nil
	}
	_, err := c.checkSealed(ctx, e.ID, false)
	if err != nil || e.Type != tree.Executable {
		return err
	}
	f, err := c.stat(e.ID, true)
	if errors.Is(err, os.ErrNotExist) || (err == nil && f.sealed(e.ID)) {
		return nil
	}
	if err != nil {
		return err
	}
	ok, err := c.intact(e.ID, true)
	if err != nil || ok {
		return err
	}
	return errors.Join(cache.ErrCorrupt, c.quarantine(e.ID, true))
}
