package bundle

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
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

// addPacks adds objects, of which the sizes are given, in the order of their digests.
func (c *collector) addPacks(at string, sizes map[digest.ContentID]int64) error {
	list := slices.SortedFunc(maps.Keys(sizes), func(a, b digest.ContentID) int { return bytes.Compare(a[:], b[:]) })
	for n := 0; len(list) > 0; n++ {
		var bytes int64
		end := slices.IndexFunc(list, func(id digest.ContentID) bool {
			bytes += block + sizes[id] + padding(sizes[id])
			return bytes > maxPackBytes
		})
		switch {
		case end < 0:
			end = len(list)
		case end == 0:
			end = 1
		}
		if err := c.addPack(packPath(at, n), list[:end:end], sizes); err != nil {
			return err
		}
		list = list[end:]
	}
	return nil
}

// addPack adds one pack. Its objects are read twice: for its digest, and when it is
// written.
func (c *collector) addPack(path string, list []digest.ContentID, sizes map[digest.ContentID]int64) error {
	open := func() (io.ReadCloser, error) {
		r, w := io.Pipe()
		go func() { w.CloseWithError(c.writePack(w, list, sizes)) }()
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
func (c *collector) writePack(w io.Writer, list []digest.ContentID, sizes map[digest.ContentID]int64) error {
	pack := tar.NewWriter(w)
	for _, id := range list {
		open := func() (io.ReadCloser, error) { return c.src.Cache.Open(c.ctx, id) }
		if err := writeBlob(pack, File{Path: id.String(), Digest: id, Size: sizes[id]}, open); err != nil {
			return err
		}
	}
	return nil
}

// readPacks reads the packs of an output, every byte of them, and returns the places of
// their objects.
func (b *Bundle) readPacks(ctx context.Context, output string) (spans map[digest.ContentID]span, paths []string, err error) {
	spans = map[digest.ContentID]span{}
	for n := 0; b.Has(packPath(output, n)); n++ {
		path := packPath(output, n)
		paths = append(paths, path)
		if err := b.readPack(ctx, path, spans); err != nil {
			return nil, nil, err
		}
		b.work.Add(1, 0)
	}
	return spans, paths, nil
}

// readPack reads one pack: headers in the order of digests, content that has them.
func (b *Bundle) readPack(ctx context.Context, path string, spans map[digest.ContentID]span) error {
	s, last := b.blobs[b.byPath[path].Digest], ""
	for at, end := s.offset, s.offset+s.size; at < end; {
		if err := ctx.Err(); err != nil {
			return err
		}
		if len(spans) >= maxEntries*8 {
			return damage(path, "it has more than %d objects", maxEntries*8)
		}
		var head [block]byte
		if _, err := b.f.ReadAt(head[:], at); err != nil {
			return b.cut(path, err)
		}
		name, one, err := readHeader(head[:], path, "", last)
		if err != nil {
			return err
		}
		last, one.offset = name, at+block
		if at = one.offset + one.size + padding(one.size); at > end {
			return damage(path, "it ends within %s", name)
		}
		if err := b.checkPadding(name+" in "+path, one); err != nil {
			return err
		}
		id, err := b.sum(ctx, one)
		switch {
		case err != nil:
			return fmt.Errorf("read %s: %w", path, err)
		case id != blobID(name):
			return damage(path, "the content of %s does not match its digest", name)
		}
		b.work.Add(0, block+padding(one.size))
		spans[id] = one
	}
	return nil
}

// sum returns the digest of a part of the file.
func (b *Bundle) sum(ctx context.Context, s span) (digest.ContentID, error) {
	w := digest.NewWriter()
	_, err := cache.Copy(ctx, b.work.Writer(w), io.NewSectionReader(b.f, s.offset, s.size))
	return w.ID(), err
}
