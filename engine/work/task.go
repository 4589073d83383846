package work

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/remote"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/step"
)

// Task is an order as seen by the machine that placed it. It is not safe for
// concurrent use.
type Task struct {
	cache  *remote.Tier
	desk   remote.Desk
	action digest.ActionID
	order  digest.ContentID
	fresh  bool
	// before is the order of the result that existed when the task began. That
	// result is not the task's.
	before digest.ContentID
	// generation and chunk identify the events to read next.
	generation, chunk int
	// idle counts the polls without news. over means that the events have
	// ended, so that the result is about to arrive.
	idle int
	over bool
}

// Placement is an order to be placed.
type Placement struct {
	Order *Order
	// Refs is the content that the order refers to, besides its folders.
	Refs []cache.Ref
	// Live means that a worker may already be running the action.
	Live bool
	// Emit receives the progress of storing the content.
	Emit func(event.Event)
}

// Place makes an order known to workers. It stores the content that the order
// refers to, and then the order. If the placement is live and the action has an
// unanswered order, adopted is true: its worker's result is the task's, too. The task
// then reads the worker's events from their beginning.
func Place(ctx context.Context, c *remote.Tier, p Placement) (t *Task, adopted bool, err error) {
	o := p.Order
	data, err := json.Marshal(o)
	if err != nil {
		return nil, false, err
	}
	t = &Task{cache: c, desk: c.Desk(), action: o.Action, order: digest.Of(data), fresh: o.Fresh, chunk: 1}
	last, err := readResult(ctx, t.desk, o.Action)
	if err != nil {
		return nil, false, err
	}
	if last != nil {
		t.before = last.Order
	}
	// The first events to read are those of a worker that may hold the action, or those
	// of the next worker.
	generation, doc, _, err := lastClaim(ctx, t.desk, t.action)
	if err != nil {
		return nil, false, err
	}
	if t.generation = generation; doc == nil || doc.Ended {
		t.generation++
	}
	if p.Live {
		others, err := unanswered(ctx, t.desk, o.Action, last)
		if err != nil {
			return nil, false, err
		}
		adopted = len(others) > 0
	}
	refs := slices.Concat(p.Refs, lists.Of(o.Folders, func(f Folder) cache.Ref { return f.Content }))
	if err = reportMoved(ctx, o.Address, "inputs to the remote cache", refs, p.Emit, c.PushRefs); err != nil {
		return nil, false, err
	}
	return t, adopted, t.desk.Put(ctx, orderName(o.Action, t.order), data)
}

// Order is the digest of the placed order, which its worker must be given.
func (t *Task) Order() digest.ContentID { return t.order }

// Crew is what is known of the workers of a task.
type Crew int

const (
	// Working: a worker may be at work, and tells when it is done.
	Working Crew = iota
	// Lost: the last worker is gone, and another one is to come. What the last one has
	// left counts.
	Lost
	// Ended: no worker is left, so that nothing more will arrive.
	Ended
)

// Poll passes on new events and returns the result, or nil while there is none.
func (t *Task) Poll(ctx context.Context, crew Crew, sink func(event.Event)) (*Result, error) {
	news, err := t.events(ctx, sink)
	if err != nil {
		return nil, err
	}
	if t.idle++; news {
		t.idle = 0
	}
	if !t.over && crew == Working && t.idle%lookEvery != lookEvery-1 {
		return nil, nil
	}
	r, err := t.result(ctx, crew)
	if r != nil && !t.over {
		_, err = t.events(ctx, sink) // written in the meantime
	}
	return r, err
}

// lookEvery is the number of polls without news after which Poll looks for the
// result. It looks for another worker's claim in the polls between.
const lookEvery = 2

// events reads the new chunks. A worker that takes over writes a new
// generation.
func (t *Task) events(ctx context.Context, sink func(event.Event)) (news bool, err error) {
	for {
		data, err := t.desk.Get(ctx, eventsName(t.action, t.generation, t.chunk))
		if errors.Is(err, cache.ErrNotFound) {
			if t.idle%2 == 0 {
				return news, nil
			}
			other, _, err := readClaim(ctx, t.desk, t.action, t.generation+1)
			if err != nil || other == nil {
				return news, err
			}
			t.generation, t.chunk, t.idle, t.over = t.generation+1, 1, 0, false
			continue
		}
		if err != nil {
			return news, fmt.Errorf("read events of action %s: %w", t.action.Short(), err)
		}
		news = true
		t.chunk++
		for line := range bytes.Lines(data) {
			if line = bytes.TrimSuffix(line, []byte("\n")); string(line) == endLine {
				t.over = true
			} else if e, err := event.Decode(line); err == nil { // another version may have other types of events
				sink(e)
			}
		}
	}
}

// Heard numbers the worker whose events were last read; 0 is none yet. The next worker
// has a higher number.
func (t *Task) Heard() int {
	if t.chunk == 1 {
		return 0
	}
	return t.generation
}

// GiveUp ends the claim of a worker that was seen to end on a node, so that the next
// one need not wait until it has been silent for long.
func (t *Task) GiveUp(ctx context.Context, node string) error {
	doc, _, err := readClaim(ctx, t.desk, t.action, t.generation)
	if err != nil || doc == nil || doc.Ended || doc.Node != node {
		return err
	}
	doc.Ended = true
	return writeDocument(ctx, t.desk, claimName(t.action, t.generation), doc)
}

// result returns the result of the task, or nil.
func (t *Task) result(ctx context.Context, crew Crew) (*Result, error) {
	r, err := readResult(ctx, t.desk, t.action)
	if err != nil || r != nil && r.Order != t.before {
		return r, err
	}
	if t.fresh {
		return nil, nil
	}
	// Another controller may have taken the result and cleaned up. If the order
	// still exists, the record is from a worker that has yet to write the rest.
	if crew == Working {
		switch _, err := t.desk.Get(ctx, orderName(t.action, t.order)); {
		case err == nil:
			return nil, nil
		case !errors.Is(err, cache.ErrNotFound):
			return nil, err
		}
	}
	rec, err := find(ctx, t.cache, t.action)
	if rec == nil {
		return nil, err
	}
	return &Result{Record: rec, Found: true}, nil
}

// find returns the record of an action in the remote cache, or nil if it has none that is
// complete.
func find(ctx context.Context, c *remote.Tier, id digest.ActionID) (*cache.Record, error) {
	rec, err := c.FindAfar(ctx, id)
	switch {
	case err == nil:
		return rec, nil
	case errors.Is(err, cache.ErrNotFound), errors.Is(err, cache.ErrCorrupt):
		return nil, nil
	}
	return nil, err
}

// Err returns the step's error with its marks, or a refusal.
func (r *Result) Err() error {
	switch {
	case r.Refused != "":
		return refusal{r.Refused}
	case r.Error == "":
		return nil
	}
	err := errors.New(r.Error)
	if r.Mismatch {
		err = step.Mismatch(err)
	}
	if r.Retryable {
		err = step.Retryable(err, time.Duration(r.AfterMillis)*time.Millisecond)
	}
	return err
}

// Clear removes all documents about an action from the desk. Claims are removed
// last, because a worker without a claim records nothing.
func Clear(ctx context.Context, desk remote.Desk, id digest.ActionID) error {
	folder := remote.WorkName(id, "")
	names, err := desk.List(ctx, folder)
	errs := []error{err}
	for _, claims := range []bool{false, true} {
		for _, name := range names {
			if strings.HasPrefix(name, folder+claimPrefix) == claims {
				errs = append(errs, desk.Remove(ctx, name))
			}
		}
	}
	return errors.Join(errs...)
}

// Known lists the actions with documents on the desk.
func Known(ctx context.Context, desk remote.Desk) ([]digest.ActionID, error) {
	seen := map[digest.ActionID]bool{}
	var list []digest.ActionID
	names, err := desk.List(ctx, "work")
	if err != nil {
		return nil, fmt.Errorf("list work: %w", err)
	}
	for _, name := range names {
		parts := strings.Split(name, "/")
		if len(parts) < 3 {
			continue
		}
		if id, err := digest.ParseActionID(parts[2]); err == nil && !seen[id] {
			seen[id] = true
			list = append(list, id)
		}
	}
	return list, nil
}

// Over reports whether an action's documents are no longer needed: it has a
// result, or its last worker gave up.
func Over(ctx context.Context, c *remote.Tier, id digest.ActionID) (bool, error) {
	desk := c.Desk()
	if r, err := readResult(ctx, desk, id); r != nil || err != nil {
		return r != nil, err
	}
	_, doc, _, err := lastClaim(ctx, desk, id)
	if err != nil || doc != nil {
		return doc != nil && doc.Ended, err
	}
	rec, err := find(ctx, c, id)
	return rec != nil, err
}

// Stray says why nobody will go on with what a lost worker of an action left on a node:
// the action has its result, or another node has it. It returns "" if a worker on the
// node may go on, or if the action is none of this remote cache.
func Stray(ctx context.Context, c *remote.Tier, id digest.ActionID, node string) (why string, err error) {
	desk := c.Desk()
	_, doc, _, err := lastClaim(ctx, desk, id)
	if err != nil {
		return "", err
	}
	if doc != nil && !doc.Ended && doc.Node != node {
		return fmt.Sprintf("node %s has its step now", doc.Node), nil
	}
	r, err := readResult(ctx, desk, id)
	if err != nil {
		return "", err
	}
	open, err := unanswered(ctx, desk, id, r)
	if err != nil || len(open) > 0 {
		return "", err
	}
	if r == nil {
		if _, err := c.FindAfar(ctx, id); err != nil {
			return "", nil //nolint:nilerr // it has no result
		}
	}
	return "its step has a result", nil
}
