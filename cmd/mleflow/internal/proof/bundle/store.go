package bundle

import (
	"bytes"
	"context"
	"io"
	"slices"

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
	p, err := parse[plan.Plan](text)
	if err != nil {
		return nil, &Damage{planFile, err}
	}
	return &p, nil
}

// Disclosure returns the disclosure of the run; see Examined.Derive.
func (b *Bundle) Disclosure() (*Disclosure, error) {
	d, err := load[Disclosure](b, disclosureFile)
	return &d, err
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
