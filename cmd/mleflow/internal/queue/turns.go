package queue

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Limits bound what one owner has at a time. Zeros do not bound.
type Limits struct {
	Queued      int     `hcl:"queued,optional" doc:"most submissions that wait"`
	Running     int     `hcl:"running,optional" doc:"most submissions that run, which are at most parallelism and gpus"`
	Parallelism int     `hcl:"parallelism,optional" doc:"most steps at a time"`
	GPUs        int     `hcl:"gpus,optional" doc:"most GPUs at a time"`
	Weight      float64 `hcl:"weight,optional" doc:"share against other owners; by default 1"`
}

// Phase is what an entry is in a queue.
type Phase int

// The phases. An entry that is Coming counts as one that waits, and has no turn yet.
const (
	Gone Phase = iota
	Coming
	Waiting
	Active
)

// Turn is what decides when an entry runs. ID and Owner do not change.
type Turn struct {
	ID, Owner string
	// Priority is compared first: a greater one runs earlier.
	Priority int
	Phase    Phase
	// Started is when it was last started.
	Started time.Time
}

// Entry is a pointer to something that waits and runs.
type Entry interface {
	comparable
	Turn() Turn
}

// Turns decides which entry runs next. The caller guards it.
type Turns[E Entry] struct {
	// Parallel is how many run at a time.
	Parallel int
	// Limits are those of an owner.
	Limits func(owner string) Limits
	// What is the plural of an entry in errors.
	What string

	owners map[string]*owner[E]
	active int
}

// owner has the entries of a person that wait, in the order of their turns.
type owner[E Entry] struct {
	waiting        []E
	coming, active int
	// started is when one of them was last started.
	started time.Time
}

func (t *Turns[E]) of(name string) *owner[E] {
	o := t.owners[name]
	if o == nil {
		if o = (&owner[E]{}); t.owners == nil {
			t.owners = map[string]*owner[E]{}
		}
		t.owners[name] = o
	}
	return o
}

// Enter takes a new entry.
func (t *Turns[E]) Enter(e E) { t.count(e, 1) }

// Change changes an entry. Nothing else may change its turn.
func (t *Turns[E]) Change(e E, do func()) {
	t.count(e, -1)
	do()
	t.count(e, 1)
}

func (t *Turns[E]) count(e E, n int) {
	turn := e.Turn()
	o := t.of(turn.Owner)
	switch turn.Phase {
	case Coming:
		o.coming += n
	case Active:
		o.active += n
		t.active += n
	case Waiting:
		at, _ := slices.BinarySearchFunc(o.waiting, turn, func(e E, turn Turn) int { return earlier(e.Turn(), turn) })
		if n > 0 {
			o.waiting = slices.Insert(o.waiting, at, e)
		} else {
			o.waiting = slices.Delete(o.waiting, at, at+1)
		}
	}
	if turn.Started.After(o.started) {
		o.started = turn.Started
	}
}

// earlier orders the entries of an owner.
func earlier(a, b Turn) int {
	return cmp.Or(cmp.Compare(b.Priority, a.Priority), strings.Compare(a.ID, b.ID))
}

// Counts returns how many entries of an owner wait and are active.
func (t *Turns[E]) Counts(name string) (waiting, active int) {
	o := t.of(name)
	return len(o.waiting) + o.coming, o.active
}

// ErrLimit means that an owner has reached a limit.
var ErrLimit = errors.New("limit reached")

// Full refuses one more entry that waits, if its owner may have no more.
func (t *Turns[E]) Full(name string) error {
	if waiting, _ := t.Counts(name); t.Limits(name).Queued > 0 && waiting >= t.Limits(name).Queued {
		return fmt.Errorf("%w: %d %s of %s are queued already; wait, or cancel some", ErrLimit, waiting, t.What, name)
	}
	return nil
}

// Obstacle says why no entry of an owner can start now; "" means that one can.
func (t *Turns[E]) Obstacle(name string) string {
	switch most := t.Limits(name).Running; {
	case t.active >= t.Parallel:
		return fmt.Sprintf("the server's limit of running %s is %d", t.What, t.Parallel)
	case most > 0 && t.of(name).active >= most:
		return fmt.Sprintf("the limit of running %s of %s is %d", t.What, name, most)
	}
	return ""
}

// Next returns the entry whose turn it is, zero if none may start. The greatest priority goes
// first; then the owner who runs the least for his weight; then he whose last start is longest
// ago; then the oldest entry.
func (t *Turns[E]) Next() (next E) {
	var none E
	var best Turn
	share := func(turn Turn) float64 {
		return float64(t.of(turn.Owner).active) / cmp.Or(max(0, t.Limits(turn.Owner).Weight), 1)
	}
	for name, o := range t.owners {
		if len(o.waiting) == 0 || t.Obstacle(name) != "" {
			continue
		}
		turn := o.waiting[0].Turn()
		if next == none || cmp.Or(cmp.Compare(best.Priority, turn.Priority), cmp.Compare(share(turn), share(best)),
			o.started.Compare(t.of(best.Owner).started), strings.Compare(turn.ID, best.ID)) < 0 {
			next, best = o.waiting[0], turn
		}
	}
	return next
}
