package exec_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
)

// linkingStore is a store that hands out hard links to its own files, like
// the one on disk, and checks them when it reads.
type linkingStore struct {
	cache.Cache
	dir   string
	aside []digest.ContentID
}

func newLinkingStore(t *testing.T, base cache.Cache) *linkingStore {
	return &linkingStore{Cache: base, dir: t.TempDir()}
}

func (s *linkingStore) file(id digest.ContentID) string { return filepath.Join(s.dir, id.String()) }

// Place implements cache.Placer.
func (s *linkingStore) Place(ctx context.Context, ref cache.Ref, path string, p cache.Placement) (cache.Placed, error) {
	data, err := cache.Get(ctx, s.Cache, ref.ID, 1<<20)
	if err != nil {
		return 0, err
	}
	if p.Private {
		return cache.Copied, os.WriteFile(path, data, p.FileMode())
	}
	if _, err := os.Stat(s.file(ref.ID)); err != nil {
		if err := os.WriteFile(s.file(ref.ID), data, 0o444); err != nil {
			return 0, err
		}
	}
	return cache.Linked, os.Link(s.file(ref.ID), path)
}

// Open implements cache.Store.
func (s *linkingStore) Open(ctx context.Context, id digest.ContentID) (io.ReadCloser, error) {
	data, err := os.ReadFile(s.file(id))
	if err != nil {
		return s.Cache.Open(ctx, id)
	}
	if digest.Of(data) != id {
		s.aside = append(s.aside, id)
		return nil, cache.ErrCorrupt
	}
	return io.NopCloser(bytes.NewReader(data)), nil
}
