package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/nolink"
	"github.com/mleflow/mleflow/cache/tree"
)

// pieceBytes is the size of the pieces of a file that only grows.
const pieceBytes = 8 << 20

// Growing stores files that only grow in pieces, so that a checkpoint reads only what
// was added since the one before.
type Growing struct{ full map[string][]cache.Ref }

// Add stores the first size bytes of a file, as a folder of pieces at path in a tree.
func (g *Growing) Add(ctx context.Context, store cache.Store, b *tree.Builder, path string, from io.ReaderAt, size int64) error {
	if g.full == nil {
		g.full = map[string][]cache.Ref{}
	}
	if err := b.AddDir(path); err != nil {
		return err
	}
	for n := 0; int64(n)*pieceBytes < size; n++ {
		ref, err := g.piece(ctx, store, path, io.NewSectionReader(from, int64(n)*pieceBytes, min(pieceBytes, size-int64(n)*pieceBytes)), n)
		if err != nil {
			return fmt.Errorf("keep %s: %w", path, err)
		}
		if err := b.Add(fmt.Sprintf("%s/%06d", path, n), ref, false); err != nil {
			return err
		}
	}
	return nil
}

// piece stores a piece, unless it is full and has been stored before.
func (g *Growing) piece(ctx context.Context, store cache.Store, path string, from *io.SectionReader, n int) (cache.Ref, error) {
	if full := g.full[path]; n < len(full) {
		return full[n], nil
	}
	ref, err := cache.Put(ctx, store, from, cache.Ref{})
	if err == nil && ref.Size == pieceBytes && n == len(g.full[path]) {
		g.full[path] = append(g.full[path], ref)
	}
	return ref, err
}

// Forget forgets pieces that are gone.
func (g *Growing) Forget(gone map[digest.ContentID]bool) {
	for path, full := range g.full {
		if n := slices.IndexFunc(full, func(ref cache.Ref) bool { return gone[ref.ID] }); n >= 0 {
			g.full[path] = full[:n]
		}
	}
}

// AddFile is Add for a file of mleflow's own. One that does not exist is left out.
func (g *Growing) AddFile(ctx context.Context, store cache.Store, b *tree.Builder, path, file string) error {
	f, err := nolink.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return g.Add(ctx, store, b, path, f, info.Size())
}

// Gates writes the files in a folder of the gates to dir, where they do not exist. A
// folder that the checkpoint lacks is empty.
func (c *Checkpoint) Gates(ctx context.Context, store cache.Store, folder, dir string) error {
	e, err := tree.Find(ctx, store, c.State, folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("lay out %s: %w", folder, err)
	}
	to, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer to.Close()
	err = tree.Walk(ctx, store, e.Ref(), func(path string, e tree.Entry) error {
		if e.IsDir() {
			return nil
		}
		return appendPiece(ctx, store, to, filepath.Dir(path), e)
	})
	if err != nil {
		return fmt.Errorf("lay out %s: %w", folder, err)
	}
	return nil
}

// appendPiece appends a piece to the file at path, with the folders above it.
func appendPiece(ctx context.Context, store cache.Store, to *os.Root, path string, e tree.Entry) error {
	if err := to.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	out, err := to.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	in, err := store.Open(ctx, e.ID)
	if err != nil {
		return errors.Join(err, out.Close())
	}
	_, err = cache.Copy(ctx, out, in)
	return errors.Join(err, in.Close(), out.Close())
}
