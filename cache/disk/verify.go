package disk

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/disk/index"
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
	Objects, Hashed, HashedBytes int64
	Resumed                      int64
	Records                      int
	// Damages are sorted: objects first, then records by address; then by text.
	Damages []Damage
	// Notes are findings that are not damage.
	Notes []string
}

// Verify checks every object and record. Wrong objects are moved to the
// quarantine, and the records that lead to them are dropped, so that the next
// run makes them again. In a read-only cache nothing is changed. Other
// processes may continue meanwhile.
func (c *Cache) Verify(ctx context.Context, opts VerifyOptions) (VerifyResult, error) {
	v := &verifier{
		c: c, ctx: ctx, full: opts.Full, progress: opts.Progress, front: newFront(),
		picks: func(f facts, file file) bool { return opts.Full || !f.sealed(file.id) },
	}
	if err := v.run(); err != nil {
		return v.res, fmt.Errorf("verify cache: %w", err)
	}
	return v.res, nil
}

func (v *verifier) run() error {
	if v.full && !v.c.readOnly {
		unlock, err := v.c.lockNamed(v.ctx, "verify", unix.LOCK_EX)
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
		unlock, err := v.c.lockGC(v.ctx, unix.LOCK_EX)
		if err != nil {
			return err
		}
		defer unlock()
	}
	all := func() error { return v.records(func(index.Entry, *cache.Record) bool { return true }) }
	for _, step := range []func() error{v.undecodable, all, v.index, v.rest} {
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
	front    *front

	mu     sync.Mutex
	res    VerifyResult
	total  VerifyProgress
	broken map[digest.ContentID]bool
	// point holds the progress of a full verification; saved is the time at which it
	// was last written to disk.
	point verifyPoint
	saved time.Time
}

func (v *verifier) damage(d Damage) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.res.Damages = append(v.res.Damages, d)
}
