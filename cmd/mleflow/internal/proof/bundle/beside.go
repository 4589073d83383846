package bundle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
)

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
