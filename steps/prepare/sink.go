package prepare

import (
	"context"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/competitions/prep"
)

// sink streams the outputs of a preparation into the store.
type sink struct {
	ctx   context.Context // of one run
	store cache.Building

	mu              sync.Mutex
	public, private *tree.Builder
}

func newSink(ctx context.Context, store cache.Building) *sink {
	return &sink{ctx: ctx, store: store, public: tree.NewBuilder(store), private: tree.NewBuilder(store)}
}

var _ prep.Sink = (*sink)(nil)

// builder returns the builder of a path's side and the path below it.
func (s *sink) builder(path string) (*tree.Builder, string, error) {
	if rest, ok := strings.CutPrefix(path, "public/"); ok {
		return s.public, rest, nil
	}
	if rest, ok := strings.CutPrefix(path, "private/"); ok {
		return s.private, rest, nil
	}
	return nil, "", fmt.Errorf("output %q is neither public nor private", path)
}

// outputs returns both halves.
func (s *sink) outputs(ctx context.Context, store cache.Store) (cache.Outputs, error) {
	out := cache.Outputs{}
	for name, b := range map[string]*tree.Builder{"public": s.public, "private": s.private} {
		ref, err := b.Build(ctx, store)
		if err != nil {
			return nil, fmt.Errorf("%s files: %w", name, err)
		}
		out[name] = cache.Value{Ref: ref}
	}
	return out, nil
}

func (s *sink) add(path string, ref cache.Ref, executable bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, rest, err := s.builder(path)
	if err != nil {
		return err
	}
	return b.Add(rest, ref, executable)
}

// Folder implements prep.Sink. Both sides always exist.
func (s *sink) Folder(_ context.Context, path string) error {
	if path == "public" || path == "private" {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	b, rest, err := s.builder(path)
	if err != nil {
		return err
	}
	return b.AddDir(rest)
}

// Create implements prep.Sink.
func (s *sink) Create(ctx context.Context, path string) (prep.File, error) {
	in, err := s.store.Ingest(ctx, "")
	if err != nil {
		return nil, err
	}
	return &file{Ingest: in, sink: s, path: path}, nil
}

// Copy implements prep.Sink. A file of the raw tree is already in the store.
func (s *sink) Copy(ctx context.Context, path string, from prep.Source) error {
	info, err := fs.Stat(from.FS, from.Name)
	if err != nil {
		return err
	}
	from.CountCopied(info.Size())
	if e, ok := info.Sys().(tree.Entry); ok && !e.IsDir() {
		return s.add(path, e.Ref(), false)
	}
	in, err := from.FS.Open(from.Name)
	if err != nil {
		return err
	}
	defer in.Close()
	ref, err := cache.Put(ctx, s.store, in, cache.Ref{})
	if err != nil {
		return err
	}
	return s.add(path, ref, false)
}

// file is an output that becomes part of the tree when it is committed.
type file struct {
	cache.Ingest
	sink *sink
	path string
}

// Commit implements prep.File.
func (f *file) Commit() error {
	ref, err := f.Ingest.Commit(f.sink.ctx, cache.Ref{})
	if err != nil {
		return err
	}
	return f.sink.add(f.path, ref, false)
}
