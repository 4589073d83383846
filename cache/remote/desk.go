package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
)

// ErrExists says that a document cannot be created because it exists already.
var ErrExists = errExists

// maxDocument is the largest size of a document.
const maxDocument = 16 << 20

// Desk keeps small documents beside the cache, by which machines that work on
// the same actions agree; see FORMAT.md. A document is whole or absent. It is
// safe for concurrent use.
type Desk struct{ *link }

// Desk returns the desk of the remote cache.
func (t *Tier) Desk() Desk { return Desk{t.link} }

// WorkName is the name of a document about the work on an action.
func WorkName(id digest.ActionID, document string) string {
	return keyOf("work", id.String()) + "/" + document
}

// Get returns a document, or cache.ErrNotFound.
func (d Desk) Get(ctx context.Context, name string) (data []byte, err error) {
	err = d.bucket.get(ctx, name, maxDocument, func(text []byte) error {
		data = bytes.Clone(text)
		return nil
	})
	return data, err
}

// Put writes a document, in place of any other.
func (d Desk) Put(ctx context.Context, name string, data []byte) error {
	return d.put(ctx, name, data, true)
}

// Create writes a document, or returns ErrExists. If several callers create the
// same document concurrently, one succeeds; their data must differ.
func (d Desk) Create(ctx context.Context, name string, data []byte) error {
	if !d.bucket.conditional() { // then this is all that can be done
		if _, err := d.bucket.size(ctx, name); err == nil {
			return ErrExists
		}
	}
	err := d.put(ctx, name, data, false)
	if err != nil && !errors.Is(err, errExists) {
		return err
	}
	// A success whose answer was lost looks like another writer's, and a store without
	// conditional writes lets several succeed. So the stored document decides.
	other, readErr := d.Get(ctx, name)
	switch {
	case readErr == nil && bytes.Equal(other, data):
		return nil
	case readErr == nil:
		return ErrExists
	}
	return errors.Join(err, readErr)
}

func (d Desk) put(ctx context.Context, name string, data []byte, replace bool) error {
	if d.loc.ReadOnly {
		return fmt.Errorf("write %s: %w: %s", name, errReadOnly, d.loc)
	}
	if len(data) > maxDocument {
		return fmt.Errorf("write %s: it has %d bytes, more than %d", name, len(data), maxDocument)
	}
	if err := d.bucket.checkFormat(ctx, true); err != nil {
		return err
	}
	return d.bucket.put(ctx, name, int64(len(data)), replace, contentBytes(data))
}

// Remove removes a document. If it does not exist, that is fine.
func (d Desk) Remove(ctx context.Context, name string) error { return d.bucket.remove(ctx, name) }

// List returns the names of the documents below a folder, sorted.
func (d Desk) List(ctx context.Context, folder string) (names []string, err error) {
	err = d.bucket.list(ctx, strings.TrimSuffix(folder, "/")+"/", func(key string) { names = append(names, key) })
	return names, err
}

// PushRefs stores content of the local cache in the remote, with its markers.
// Content that exists there is not sent again.
func (t *Tier) PushRefs(ctx context.Context, refs ...cache.Ref) error {
	if t.loc.ReadOnly {
		return fmt.Errorf("store content: %w: %s", errReadOnly, t.loc)
	}
	if err := t.bucket.checkFormat(ctx, true); err != nil {
		return err
	}
	for _, ref := range refs {
		if ref.Kind != cache.Tree && t.finder.presentBlob(ctx, ref) == nil {
			there(ctx, ref.Size, &t.moving.stored)
			continue // and perhaps not here
		}
		if err := t.pusher.pushRef(ctx, ref); err != nil {
			return fmt.Errorf("store %s %s: %w", ref.Kind, ref.ID.Short(), err)
		}
	}
	return nil
}

// FetchRefs fetches content with everything below it into the local cache. Content
// that is already there costs nothing. If several processes share the local cache,
// one fetches while the others wait.
func (t *Tier) FetchRefs(ctx context.Context, refs ...cache.Ref) error {
	for _, ref := range refs {
		if err := t.fetchAlone(ctx, ref); err != nil {
			return fmt.Errorf("fetch %s %s: %w", ref.Kind, ref.ID.Short(), err)
		}
	}
	return nil
}

// fetchAlone fetches content while no other process with this local cache does. It
// takes the lock of an action whose digest is that of the content; no such action
// exists.
func (t *Tier) fetchAlone(ctx context.Context, ref cache.Ref) error {
	unlock, err := t.Cache.LockAction(ctx, digest.ActionID(ref.ID))
	if err != nil {
		return err
	}
	defer unlock()
	return t.fetcher.fetch(ctx, ref)
}

// PushOnce is Push, unless the remote has a complete result of the action: then
// that result is returned and kept.
func (t *Tier) PushOnce(ctx context.Context, rec *cache.Record) (*cache.Record, error) {
	if other, err := t.finder.find(ctx, rec.Action); err == nil {
		return other, nil
	} else if !errors.Is(err, cache.ErrNotFound) && !errors.Is(err, cache.ErrCorrupt) {
		return nil, err
	}
	return rec, t.Push(ctx, rec)
}

// FindAfar looks an action up in the remote, whatever the local cache has. It
// returns cache.ErrNotFound if the remote does not have all of its content.
func (t *Tier) FindAfar(ctx context.Context, id digest.ActionID) (*cache.Record, error) {
	return t.finder.find(ctx, id)
}

// Take copies a result from the remote to the local cache, in place of any other,
// if it has at most the given number of bytes. A larger result is fetched when it
// is read.
func (t *Tier) Take(ctx context.Context, rec *cache.Record, most int64) error {
	if Size(rec) > most {
		data, err := encodeRecord(rec)
		if err != nil {
			return err
		}
		t.finder.known.add(rec.Action, data)
		t.finder.name(rec)
		return nil
	}
	if err := t.fetcher.pull(ctx, rec); err != nil {
		return fmt.Errorf("fetch %s: %w", rec.Address, err)
	}
	t.stats.fetched.Add(1)
	return nil
}
