package bundle

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/tree"
)

// A tree with more entries, or a larger sum of path lengths, is packed: its directories
// and files become one file of the bundle, so that an agent's files cannot make the list
// of files too long.
const (
	maxLoose      = 64
	maxLoosePaths = 16 << 10
)

// maxPackBytes is the size above which a pack is divided. A single file may
// still be larger.
var maxPackBytes int64 = 4 << 30

// packPath returns the path of part n of a packed output.
func packPath(output string, n int) string {
	return fmt.Sprintf("packs/%s.%d", strings.TrimPrefix(output, "outputs/"), n)
}

// loose reports whether a tree has few enough entries for each to be a file of the
// bundle.
func (c *collector) loose(at string, ref cache.Ref) (bool, error) {
	entries, paths := 0, 0
	err := tree.Walk(c.ctx, c.src.Cache, ref, func(path string, _ tree.Entry) error {
		entries, paths = entries+1, paths+len(at)+1+len(escapePath(path))
		if entries > maxLoose || paths > maxLoosePaths {
			return errCrowded
		}
		return nil
	})
	if err == errCrowded { //nolint:errorlint // it is never wrapped
		return false, nil
	}
	return true, err
}

var errCrowded = fmt.Errorf("too many entries to be separate files")

// packed adds a tree as packs. Omitted files are counted by reason.
func (c *collector) packed(at string, ref cache.Ref, refuse func(tree.Entry) string) error {
	size, err := c.src.Cache.Has(c.ctx, ref.ID)
	if err != nil {
		return err
	}
	objects := map[digest.ContentID]int64{ref.ID: size}
	left := map[string]int64{}
	err = tree.Walk(c.ctx, c.src.Cache, ref, func(_ string, e tree.Entry) error {
		size := e.Size
		if e.IsDir() {
			if size, err = c.src.Cache.Has(c.ctx, e.ID); err != nil {
				return err
			}
		} else if why := refuse(e); why != "" {
			left[why]++
			return nil
		}
		objects[e.ID] = size
		return nil
	})
	if err != nil {
		return err
	}
	for why, n := range left {
		c.omitted = append(c.omitted, Omission{What: at, Files: n, Why: why})
	}
	return c.addPacks(at, objects)
}

// chunk is one object of a pack.
type chunk struct {
	id   digest.ContentID
	size int64
}

func (c *collector) addPacks(at string, objects map[digest.ContentID]int64) error {
	list := make([]chunk, 0, len(objects))
	for id, size := range objects {
		list = append(list, chunk{id, size})
	}
	slices.SortFunc(list, func(a, b chunk) int { return bytes.Compare(a.id[:], b.id[:]) })
	for n := 0; len(list) > 0; n++ {
		var bytes int64
		end := slices.IndexFunc(list, func(o chunk) bool {
			bytes += block + o.size + padding(o.size)
			return bytes > maxPackBytes
		})
		switch {
		case end < 0:
			end = len(list)
		case end == 0:
			end = 1
		}
		if err := c.addPack(packPath(at, n), list[:end:end]); err != nil {
			return err
		}
		list = list[end:]
	}
	return nil
}

// addPack adds one pack. Its objects are read twice: for its digest, and when it is
// written.
func (c *collector) addPack(path string, list []chunk) error {
	open := func() (io.ReadCloser, error) {
		r, w := io.Pipe()
		go func() { w.CloseWithError(c.writePack(w, list)) }()
		return r, nil
	}
	r, err := open()
	if err != nil {
		return err
	}
	id, size, err := digest.Copy(c.src.Work.Writer(io.Discard), r)
	if err = cmp.Or(err, r.Close()); err != nil {
		return fmt.Errorf("pack %s: %w", path, err)
	}
	if size > maxBlob {
		return fmt.Errorf("pack %s: it has %d bytes, more than a bundle can hold in one file", path, size)
	}
	c.items[path] = item{File{path, id, size}, open}
	return nil
}

// writePack writes the objects as the blobs of a bundle are written.
func (c *collector) writePack(w io.Writer, list []chunk) error {
	a := &archiver{w: w}
	for _, o := range list {
		r, err := c.src.Cache.Open(c.ctx, o.id)
		if err != nil {
			return err
		}
		err = a.entry(blobFolder+o.id.String(), File{Path: o.id.String(), Digest: o.id, Size: o.size}, r)
		if err = cmp.Or(err, r.Close()); err != nil {
			return err
		}
	}
	return nil
}

// packs are the packs of one output of a bundle that is checked.
type packs struct {
	b *Bundle
	// spans are the places of the objects in the file.
	spans map[digest.ContentID]span
}

// Open implements cache.Store for directories.
func (p *packs) Open(_ context.Context, id digest.ContentID) (io.ReadCloser, error) {
	at, found := p.spans[id]
	if !found {
		return nil, cache.ErrNotFound
	}
	return io.NopCloser(io.NewSectionReader(p.b.f, at.offset, at.size)), nil
}

// Has implements cache.Store.
func (p *packs) Has(_ context.Context, id digest.ContentID) (int64, error) {
	if at, found := p.spans[id]; found {
		return at.size, nil
	}
	return 0, cache.ErrNotFound
}

// Ingest implements cache.Store; a bundle is not written to.
func (p *packs) Ingest(context.Context, string) (cache.Ingest, error) { return nil, cache.ErrReadOnly }

// openPacks reads the packs of an output, every byte of them; nil if it has
// none.
func (b *Bundle) openPacks(ctx context.Context, output string) (*packs, []string, error) {
	p := &packs{b: b, spans: map[digest.ContentID]span{}}
	var paths []string
	for n := 0; ; n++ {
		path := packPath(output, n)
		f, found := b.byPath[path]
		if !found {
			break
		}
		paths = append(paths, path)
		if err := p.read(ctx, path, b.blobs[f.Digest]); err != nil {
			return nil, nil, err
		}
		b.work.Add(1, 0)
	}
	if len(paths) == 0 {
		return nil, nil, nil
	}
	return p, paths, nil
}

// read reads one pack: headers in the order of digests, content that has them.
func (p *packs) read(ctx context.Context, path string, s span) error {
	last := ""
	for at, end := s.offset, s.offset+s.size; at < end; {
		if err := ctx.Err(); err != nil {
			return err
		}
		if len(p.spans) >= maxEntries*8 {
			return damage(path, "it has more than %d objects", maxEntries*8)
		}
		var head [block]byte
		if _, err := p.b.f.ReadAt(head[:], at); err != nil {
			return p.b.cut(path, err)
		}
		name, one, err := readBlobHeader(head[:], path, last)
		if err != nil {
			return err
		}
		last, one.offset = name, at+block
		if at = one.offset + one.size + padding(one.size); at > end {
			return damage(path, "it ends within %s", name)
		}
		if err := p.b.checkPadding(name+" in "+path, one); err != nil {
			return err
		}
		id, err := p.b.checkBlob(ctx, path, name, one)
		if err != nil {
			return err
		}
		p.b.work.Add(0, block+padding(one.size))
		p.spans[id] = one
	}
	return nil
}
