package disk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/disk/index"
	"github.com/mleflow/mleflow/cache/leaf/flock"
)

// Damage is one problem that Verify found.
type Damage struct {
	// Object is the damaged object, or zero.
	Object digest.ContentID `json:"object,omitzero"`
	// Action and Address identify the record that was lost with it, if any.
	Action  digest.ActionID `json:"action,omitzero"`
	Address string          `json:"address,omitempty"`
	// Text says what is wrong and what was done about it.
	Text string `json:"text"`
}

// VerifyOptions configure a verification.
type VerifyOptions struct {
	// Full reads every byte from the disk. Otherwise only files are read that, by
	// their modification time, were written to since they were published. An
	// interrupted full verification continues where it stopped.
	Full bool
	// Progress, if set, is called with the progress, by one goroutine at a time.
	Progress func(VerifyProgress)
}

// VerifyProgress is the number and size of the objects checked so far, and the
// totals as far as they are known.
type VerifyProgress struct {
	Objects, TotalObjects int64
	Bytes, TotalBytes     int64
	// Read and ReadBytes count only files that this verification read: not those of an
	// interrupted one before it, nor those whose seal sufficed.
	Read, ReadBytes int64
}

// VerifyResult is the result of Verify.
type VerifyResult struct {
	// Objects were checked; Hashed of their files, HashedBytes in size, were read.
	// Resumed of those were read by a verification that was interrupted.
	Objects     int64 `json:"objects"`
	Hashed      int64 `json:"hashed"`
	Resumed     int64 `json:"resumed"`
	HashedBytes int64 `json:"hashed_bytes"`
	Records     int   `json:"records"`
	// Damages are sorted: objects first, then records by address; then by text.
	Damages []Damage `json:"damages"`
	// Notes are findings that are not damage.
	Notes []string `json:"notes,omitempty"`
}

// Verify checks every object and record. Wrong objects are moved to the
// quarantine, and the records that lead to them are dropped, so that the next
// run makes them again. In a read-only cache nothing is changed. Other
// processes may continue meanwhile.
func (c *Cache) Verify(ctx context.Context, opts VerifyOptions) (VerifyResult, error) {
	v := &verifier{
		c: c, ctx: ctx, full: opts.Full, progress: opts.Progress,
		picks: func(f facts, file file) bool { return opts.Full || !f.sealed(file.id) },
	}
	if err := v.run(); err != nil {
		return v.res, fmt.Errorf("verify cache: %w", err)
	}
	return v.res, nil
}

func (v *verifier) run() error {
	if v.full && !v.c.readOnly {
		unlock, err := v.c.lockNamed(v.ctx, "verify", flock.Try)
		if err != nil {
			return err
		}
		defer unlock()
		v.resume()
	}
	if err := v.objects(); err != nil {
		return err
	}
	if !v.c.readOnly {
		unlock, err := v.c.lockNamed(v.ctx, "gc", flock.Try)
		if err != nil {
			return err
		}
		defer unlock()
	}
	all := func() error { return v.records(every) }
	for _, step := range []func() error{v.undecodable, all, v.index, v.pins} {
		if err := step(); err != nil {
			return err
		}
	}
	slices.SortStableFunc(v.res.Damages, func(a, b Damage) int {
		return cmp.Or(strings.Compare(a.Address, b.Address), strings.Compare(a.Text, b.Text))
	})
	if !v.full || v.c.readOnly {
		return nil
	}
	return ignoreMissing(os.Remove(v.c.path(verifyName)))
}

// verifier is one verification.
type verifier struct {
	c    *Cache
	ctx  context.Context
	full bool
	// picks reports which files are read.
	picks    func(facts, file) bool
	progress func(VerifyProgress)

	mu     sync.Mutex
	res    VerifyResult
	total  VerifyProgress
	broken map[digest.ContentID]bool
	// point holds the progress of a full verification; saved is the time at which it
	// was last written to disk.
	point verifyPoint
	// unfinished are the files that were handed out and are not checked yet. last is
	// the name of the last that was handed out.
	unfinished map[*verifyJob]bool
	last       string
	saved      time.Time
}

func (v *verifier) damage(d Damage) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.res.Damages = append(v.res.Damages, d)
}

// records checks the records that pick chooses, and drops those that lead to a
// broken or missing object.
func (v *verifier) records(pick func(index.Entry) bool) error {
	return v.c.records.dropBroken(v.ctx, v.lost, pick, func(rec *cache.Record, broken bool) {
		if v.res.Records++; broken {
			v.damage(Damage{Action: rec.Action, Address: rec.Address, Text: "its content is missing or wrong; the record was dropped, so the step runs again"})
		}
	})
}

// undecodable drops the records whose line is complete but cannot be decoded.
func (v *verifier) undecodable() error {
	list, err := v.c.records.index.Snapshot()
	if err != nil {
		return err
	}
	chosen := make(map[digest.ActionID]int64)
	for _, p := range list {
		if _, _, err := v.c.records.index.Get(p.ID); errors.Is(err, index.ErrPayload) {
			chosen[p.ID] = p.At
			v.damage(Damage{Action: p.ID, Text: "its record cannot be decoded; it was dropped, so the step runs again"})
		} else if err != nil {
			return err
		}
	}
	return v.c.records.drop(chosen)
}

// pins checks that the content of pins is there.
func (v *verifier) pins() error {
	pins, err := v.c.Pins(v.ctx)
	if err != nil {
		v.damage(Damage{Text: err.Error()})
	}
	for _, p := range pins {
		for _, ref := range p.Refs {
			if v.lost(ref.ID) {
				v.damage(Damage{Object: ref.ID, Text: fmt.Sprintf("pinned by %q, but missing", p.Name)})
			}
		}
	}
	return nil
}

// index looks for damage of the index as a whole and of its copy, and removes what writers
// that were killed left in it. Objects without any record may also belong to steps that
// have not finished, which is a note and not damage.
func (v *verifier) index() error {
	ix := v.c.records.index
	switch err := ix.Damage(); {
	case errors.Is(err, index.ErrDamaged):
		v.damage(Damage{Text: err.Error()})
		return nil
	case err != nil:
		return err
	}
	if n := v.res.Objects; n > 0 && v.res.Records == 0 {
		v.res.Notes = append(v.res.Notes, fmt.Sprintf("there are %d objects and no records, as before the first step ends; 'mleflow cache gc' removes objects that no record leads to", n))
	}
	unfinished, err := ix.Tidy()
	if unfinished > 0 {
		v.res.Notes = append(v.res.Notes, fmt.Sprintf("%d bytes of the index are the beginnings of records whose writers were killed or found the disk full; nothing that was recorded is lost", unfinished))
	}
	return err
}

// Intact reports whether the index may have lost records, of which it knows nothing then.
// Such an error wraps index.ErrDamaged and names the way to repair it.
func (c *Cache) Intact() error { return c.records.index.Damage() }

// LockAction implements cache.Locker. It refuses if the index is damaged: the action may
// have a result that is not found.
func (c *Cache) LockAction(ctx context.Context, id digest.ActionID) (func(), error) {
	if err := c.Intact(); err != nil {
		return nil, fmt.Errorf("lock action %s: %w", id.Short(), err)
	}
	return c.folder.LockAction(ctx, id)
}

// Repair writes a damaged index again, from what is left of it and of its copy. It waits
// until no collection runs; other processes may continue meanwhile.
func (c *Cache) Repair(ctx context.Context) (r index.Rebuilt, err error) {
	if err := c.writing("repair index"); err != nil {
		return r, err
	}
	unlock, err := c.lockNamed(ctx, "gc", flock.Try)
	if err == nil {
		defer unlock()
		r, err = c.records.index.Rebuild(c.whole(ctx), false)
	}
	if err != nil {
		return r, fmt.Errorf("repair index: %w", c.explain(err))
	}
	return r, nil
}

// whole reports whether all content that a record leads to is there, as far as it can be
// read.
func (c *Cache) whole(ctx context.Context) func(*cache.Record) bool {
	b := &breakage{c: c.objects, broken: c.objects.missing, trees: make(map[digest.ContentID]bool)}
	return func(rec *cache.Record) bool {
		broken, _ := b.record(ctx, rec)
		return !broken
	}
}
