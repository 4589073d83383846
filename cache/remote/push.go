package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/tree"
)

// pusher stores records of the local cache, and their content, in the remote.
type pusher struct {
	*link
	finder *finder
	queue  *queue
}

// push is Push in the background.
func (t *pusher) push(ctx context.Context, rec *cache.Record) error {
	err := t.Push(ctx, rec)
	if err != nil {
		t.trouble(ctx, "storing results", err)
	}
	return err
}

// Push stores a record of the local cache, with all its content, in the remote.
// Content that exists there is not sent again.
func (t *pusher) Push(ctx context.Context, rec *cache.Record) error {
	if t.loc.ReadOnly {
		return fmt.Errorf("store %s: %w: %s", rec.Address, errReadOnly, t.loc)
	}
	if err := t.pushAll(ctx, rec); err != nil {
		return fmt.Errorf("store %s: %w", rec.Address, err)
	}
	t.stats.pushed.Add(1)
	t.finder.lost.Delete(rec.Action)
	return nil
}

func (t *pusher) pushAll(ctx context.Context, rec *cache.Record) error {
	if err := t.bucket.checkFormat(ctx, true); err != nil {
		return err
	}
	if err := lists.Each(refsOf(rec), func(ref cache.Ref) error { return t.pushRef(ctx, ref) }); err != nil {
		return err
	}
	return t.pushRecord(ctx, rec)
}

func (t *pusher) pushRef(ctx context.Context, ref cache.Ref) (err error) {
	ctx, counted := withPortion(ctx, ref, &t.moving.stored)
	defer func() { counted(err) }()
	release, err := t.alone(ctx, ref.ID)
	if err != nil {
		return err
	}
	defer release()
	if ref.Kind != cache.Tree {
		if _, known := t.finder.blobs.Load(ref.ID); known {
			return nil
		}
		return t.storeObject(ctx, object{ref.ID, ref.Size})
	}
	_, err = t.finder.closure(ctx, ref)
	if errors.Is(err, cache.ErrNotFound) || errors.Is(err, cache.ErrCorrupt) {
		return t.pushTree(ctx, ref)
	}
	return err
}

// pushTree stores a tree with everything below it, and then its marker.
func (t *pusher) pushTree(ctx context.Context, root cache.Ref) error {
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(2 * transfers)
	p := &packer{t: t, group: group, closure: closure{root: root}, seen: make(map[digest.ContentID]bool)}
	err := p.tree(inner, root)
	if err == nil {
		p.flush(inner)
	}
	if other := group.Wait(); other != nil {
		return other
	}
	if err != nil {
		return err
	}
	data := p.closure.encode()
	if err := t.store(ctx, closureKey(root.ID), int64(len(data)), contentBytes(data)); err != nil {
		return err
	}
	t.finder.closures.Store(root.ID, &p.closure)
	return nil
}

// maxSeen limits the memory of a packer. A tree with more objects may store
// some of them in two packs.
const maxSeen = 1 << 20

// packer walks a tree and stores its objects, the small ones in packs.
type packer struct {
	t       *pusher
	group   *errgroup.Group
	closure closure
	seen    map[digest.ContentID]bool
	objects []object
	bytes   int64
}

func (p *packer) tree(ctx context.Context, ref cache.Ref) error {
	size, err := p.t.local.Has(ctx, ref.ID)
	if err != nil {
		return err
	}
	if !p.add(ctx, object{ref.ID, size}) {
		return nil
	}
	return tree.Each(ctx, p.t.local, ref, func(e tree.Entry) error {
		if e.IsDir() {
			return p.tree(ctx, e.Ref())
		}
		p.add(ctx, object{e.ID, e.Size})
		return ctx.Err()
	})
}

// add stores an object, or queues it for a pack, and reports whether it is new.
func (p *packer) add(ctx context.Context, o object) bool {
	if p.seen[o.id] {
		return false
	}
	if len(p.seen) >= maxSeen {
		clear(p.seen)
	}
	p.seen[o.id] = true
	if o.size > smallObject {
		p.closure.largeObjects++
		p.closure.largeBytes += o.size
		p.group.Go(func() error { return p.t.storeObject(ctx, o) })
		return true
	}
	p.objects = append(p.objects, o)
	p.bytes += o.size
	if p.bytes >= packBytes || len(p.objects) == packObjects {
		p.flush(ctx)
	}
	return true
}

// flush stores the queued objects as a pack.
func (p *packer) flush(ctx context.Context) {
	if len(p.objects) == 0 {
		return
	}
	objects := p.objects
	index, id := encodeIndex(objects)
	size := int64(len(index)) + p.bytes
	p.closure.packs = append(p.closure.packs, packRef{id: id, bytes: size, objects: int64(len(objects))})
	p.objects, p.bytes = nil, 0
	p.group.Go(func() error { return p.t.store(ctx, packKey(id), size, p.t.contents(index, objects)) })
}

func (t *pusher) storeObject(ctx context.Context, o object) error {
	return t.store(ctx, objectKey(o.id), o.size, t.contents(nil, []object{o}))
}

// contents is a header and then objects of the local cache, which are verified
// while they are read.
func (t *pusher) contents(header []byte, objects []object) content {
	return func(ctx context.Context) io.ReadCloser {
		return &contentReader{ctx: ctx, local: t.local, header: header, objects: objects}
	}
}

// contentReader reads what contents says. Its errors are those of this machine.
type contentReader struct {
	ctx     context.Context // of one attempt to store it
	local   cache.Store
	mu      sync.Mutex // since Close may come while a connection reads
	header  []byte
	objects []object      // those that are not read yet
	open    io.ReadCloser // the first of them, or nil
	n       int64         // read from it
}

func (c *contentReader) Read(p []byte) (n int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.header) > 0 {
		n = copy(p, c.header)
		c.header = c.header[n:]
		return n, nil
	}
	for n == 0 && err == nil {
		if len(c.objects) == 0 {
			return 0, io.EOF
		}
		n, err = c.readObject(p)
	}
	return n, err
}

// readObject reads from the next object.
func (c *contentReader) readObject(p []byte) (n int, err error) {
	o := c.objects[0]
	if c.open == nil {
		if c.open, err = c.local.Open(c.ctx, o.id); err != nil {
			return 0, localError{err}
		}
	}
	n, err = c.open.Read(p)
	c.n += int64(n)
	switch {
	case err != nil && err != io.EOF:
		return 0, localError{err}
	case (err == io.EOF) != (c.n == o.size): // the last bytes come with the end
		return 0, localError{fmt.Errorf("%w: object %s does not have %d bytes", cache.ErrCorrupt, o.id.Short(), o.size)}
	case err == nil:
		return n, nil
	}
	err = c.open.Close()
	c.objects, c.open, c.n = c.objects[1:], nil, 0
	return n, err
}

func (c *contentReader) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.objects, c.header = nil, nil
	if c.open == nil {
		return nil
	}
	return c.open.Close()
}

// askFirst is the size from which it is cheaper to ask whether an object exists
// than to send it with a condition.
const askFirst = 1 << 20

// store writes an object unless it exists already with the right size and is
// not known to be wrong.
func (t *pusher) store(ctx context.Context, key string, size int64, open content) error {
	release, err := t.slot(ctx)
	if err != nil {
		return err
	}
	defer release()
	replace := t.finder.isBad(key)
	if !replace && size > askFirst {
		n, err := t.bucket.size(ctx, key)
		if err == nil && n == size {
			return nil
		}
		if err != nil && !errors.Is(err, cache.ErrNotFound) {
			return err
		}
		replace = err == nil
	}
	err = t.bucket.put(ctx, key, size, replace, open)
	if errors.Is(err, errExists) {
		// The object was written by another process, or by an attempt whose answer
		// was lost.
		n, sizeErr := t.bucket.size(ctx, key)
		if sizeErr != nil || n == size {
			return sizeErr
		}
		err = t.bucket.put(ctx, key, size, true, open)
	}
	if err == nil {
		t.finder.bad.Delete(key)
	}
	return err
}

// pushRecord stores the record itself. One that exists with the same outputs is
// left as it is; otherwise the last writer wins.
func (t *pusher) pushRecord(ctx context.Context, rec *cache.Record) error {
	data, err := encodeRecord(rec)
	if err != nil {
		return err
	}
	release, err := t.slot(ctx)
	if err != nil {
		return err
	}
	defer release()
	key := actionKey(rec.Action)
	err = t.bucket.put(ctx, key, int64(len(data)), t.finder.isBad(key), contentBytes(data))
	if errors.Is(err, errExists) {
		other, text, readErr := t.finder.readRecord(ctx, rec.Action)
		if readErr == nil && sameOutputs(rec.Outputs, other.Outputs) {
			data, err = text, nil
		} else {
			err = t.bucket.put(ctx, key, int64(len(data)), true, contentBytes(data))
		}
	}
	if err == nil {
		t.finder.bad.Delete(key)
		t.finder.known.add(rec.Action, data)
	}
	return err
}

func sameOutputs(a, b cache.Outputs) bool {
	return maps.EqualFunc(a, b, func(v, w cache.Value) bool { return reflect.DeepEqual(v, w) })
}
