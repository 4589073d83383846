package bundle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/engine/lockfile"
	"github.com/mleflow/mleflow/engine/plan"
)

// Store is a bundle as a cache: its records and content, backed by another cache.
// Writes stay in memory.
type Store struct {
	beside
	b       *Bundle
	records map[digest.ActionID]*cache.Record
	// behind serves content that the bundle lacks; it may be nil.
	behind cache.Store
}

// Store returns the bundle as a cache.
func (b *Bundle) Store(behind cache.Store) (*Store, error) {
	s := &Store{b: b, records: map[digest.ActionID]*cache.Record{}, behind: behind}
	records, err := b.readRecords()
	if err != nil {
		return nil, err
	}
	for _, r := range records {
		r.Fields = slices.Clone(r.Fields)
		for _, i := range r.Masked {
			if i >= 0 && i < len(r.Fields) {
				r.Fields[i].Value = lockfile.Withhold(r.Fields[i].Value)
			}
		}
		rec, err := r.cached()
		if err != nil {
			return nil, damage(recordsFile, "%w", err)
		}
		s.records[rec.Action] = rec
	}
	return s, nil
}

// Plan returns the plan of the run by the bundle's account.
func (b *Bundle) Plan() (*plan.Plan, error) {
	text, err := b.Read(planFile)
	if err != nil {
		return nil, err
	}
	p := new(plan.Plan)
	return p, damaged(planFile, parse(text, p))
}

// Disclosure returns the disclosure of the run; see Examined.Derive.
func (b *Bundle) Disclosure() (*Disclosure, error) {
	d := new(Disclosure)
	return d, b.load(disclosureFile, d)
}

// Open implements cache.Store.
func (s *Store) Open(ctx context.Context, id digest.ContentID) (io.ReadCloser, error) {
	if at, found := s.b.blobs[id]; found {
		return io.NopCloser(io.NewSectionReader(s.b.f, at.offset, at.size)), nil
	}
	data, err := s.object(id)
	switch {
	case err == nil:
		return io.NopCloser(bytes.NewReader(data)), nil
	case s.behind != nil:
		return s.behind.Open(ctx, id)
	}
	return nil, err
}

// Has implements cache.Store.
func (s *Store) Has(ctx context.Context, id digest.ContentID) (int64, error) {
	if at, found := s.b.blobs[id]; found {
		return at.size, nil
	}
	data, err := s.object(id)
	if err != nil && s.behind != nil {
		return s.behind.Has(ctx, id)
	}
	return int64(len(data)), err
}

// Place implements cache.Placer, by a copy.
func (s *Store) Place(ctx context.Context, ref cache.Ref, path string, p cache.Placement) (cache.Placed, error) {
	return cache.Plain{Store: s}.Place(ctx, ref, path, p)
}

// OpenAt implements cache.RandomStore, by a copy.
func (s *Store) OpenAt(ctx context.Context, id digest.ContentID) (cache.RandomReader, error) {
	return cache.Plain{Store: s}.OpenAt(ctx, id)
}

// Lookup implements cache.Index. The content may be missing.
func (s *Store) Lookup(_ context.Context, id digest.ActionID) (*cache.Record, error) {
	if rec, found := s.records[id]; found {
		return rec, nil
	}
	return nil, cache.ErrNotFound
}

// Latest implements cache.Relay.
func (s *Store) Latest(ctx context.Context, id digest.ActionID) (*cache.Record, error) {
	return s.Lookup(ctx, id)
}

// beside is what is stored beside a bundle, in memory: reports of submissions that are
// graded again, and the like. The zero value is empty. It belongs to one process and
// keeps nothing: what else a cache can do is done the plain way.
type beside struct {
	mu      sync.Mutex
	objects map[digest.ContentID][]byte
}

// object returns what was stored, or ErrNotFound.
func (s *beside) object(id digest.ContentID) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	data, found := s.objects[id]
	if !found {
		return nil, fmt.Errorf("%w: %s is not in the bundle", cache.ErrNotFound, id)
	}
	return data, nil
}

// Ingest implements cache.Store. An ingest that is not committed is gone, whatever its
// key.
func (s *beside) Ingest(ctx context.Context, _ string) (cache.Ingest, error) {
	return &ingest{to: s}, ctx.Err()
}

// Record implements cache.Index. The records of a bundle stay as they are.
func (s *beside) Record(context.Context, *cache.Record) error { return nil }

// Evicted implements cache.Index.
func (s *beside) Evicted(context.Context, digest.ActionID) (cache.Tombstone, error) {
	return cache.Tombstone{}, cache.ErrNotFound
}

// Each implements cache.Lister. Nothing is looked for among the records of a bundle.
func (s *beside) Each(context.Context, func(*cache.Record) error) error { return nil }

// LockAction implements cache.Locker.
func (s *beside) LockAction(context.Context, digest.ActionID) (func(), error) { return func() {}, nil }

// TempDir implements cache.Workspace.
func (s *beside) TempDir(name string) (string, error) { return os.MkdirTemp("", name+"-") }

// Reserve implements cache.Reserver.
func (s *beside) Reserve(context.Context, int64) (func(), error) { return func() {}, nil }

// Keep implements cache.Keeper, by a folder that is always removed.
func (s *beside) Keep(context.Context, string) (string, func(bool) error, error) {
	dir, err := s.TempDir("kept")
	return dir, func(bool) error { return os.RemoveAll(dir) }, err
}

// Kept implements cache.Keeper.
func (s *beside) Kept(context.Context) ([]cache.Kept, error) { return nil, nil }

// Share implements cache.Sharer.
func (s *beside) Share(context.Context, cache.Ref, func(files, bytes int64)) (cache.Shared, error) {
	return nil, errors.ErrUnsupported
}

// ShareCost implements cache.Sharer.
func (s *beside) ShareCost(ref cache.Ref) (files, bytes int64) { return ref.Files, ref.Size }

// TakeLinks implements cache.LinkKeeper.
func (s *beside) TakeLinks(context.Context, cache.Ref, string) (bool, func([]string), error) {
	return false, func([]string) {}, nil
}

// KeepLinks implements cache.LinkKeeper.
func (s *beside) KeepLinks(cache.Ref, string) error { return nil }

// Finish implements cache.Relay.
func (s *beside) Finish(context.Context) int { return 0 }

// Sync implements cache.Relay.
func (s *beside) Sync(context.Context) error { return nil }

// Prune implements cache.Drafter.
func (s *beside) Prune(context.Context, ...cache.Ref) (map[digest.ContentID]bool, error) {
	return nil, nil
}

// ingest is an object being written.
type ingest struct {
	to   *beside
	data []byte
}

func (in *ingest) Write(p []byte) (int, error) {
	in.data = append(in.data, p...)
	return len(p), nil
}

func (in *ingest) ReadAt(p []byte, off int64) (int, error) {
	return bytes.NewReader(in.data).ReadAt(p, off)
}

func (in *ingest) Offset() int64 { return int64(len(in.data)) }

func (in *ingest) Reset() error {
	in.data = nil
	return nil
}

func (in *ingest) Commit(ctx context.Context, want cache.Ref) (cache.Ref, error) {
	ref := cache.Ref{Kind: cache.Blob, ID: digest.Of(in.data), Size: int64(len(in.data))}
	if !want.ID.IsZero() && want.ID != ref.ID || want.Size != 0 && want.Size != ref.Size {
		return cache.Ref{}, fmt.Errorf("write object: %w: it is %s of %d bytes, not %s of %d", cache.ErrCorrupt, ref.ID, ref.Size, want.ID, want.Size)
	}
	in.to.mu.Lock()
	defer in.to.mu.Unlock()
	if in.to.objects == nil {
		in.to.objects = map[digest.ContentID][]byte{}
	}
	in.to.objects[ref.ID], in.data = in.data, nil
	return ref, ctx.Err()
}

func (in *ingest) Close() error { return nil }
