package source

import (
	"context"
	"errors"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
)

// sink takes the bytes of one version of a file in order, and hashes them as
// they arrive. With a key it outlives its process: the bytes are in the
// store's ingest of the key, and the state of their sums, every so many bytes,
// in a journal, an ingest of its own, so that nothing large is read again.
//
// The journal never knows more than the ingest holds: it is dropped first.
type sink struct {
	store cache.Store
	key   string
	in    cache.Ingest
	*sums
	journal   cache.Ingest // nil until needed
	saveEvery int64
	saved     int64
}

// openSink opens the ingest of the key, "" for one that is not kept, and takes
// up its sums. sha says that the SHA-256 is needed before the commit.
func openSink(ctx context.Context, store cache.Store, key string, sha bool, saveEvery int64) (*sink, error) {
	in, err := store.Ingest(ctx, key)
	if err != nil {
		return nil, err
	}
	if _, ok := in.(identified); ok {
		sha = false
	}
	s := &sink{store: store, key: key, in: in, sums: newSums(sha), saveEvery: saveEvery}
	if in.Offset() == 0 {
		return s, nil
	}
	if err := s.resume(ctx); err != nil {
		return nil, errors.Join(err, s.close(ctx))
	}
	return s, nil
}

// identified is an ingest that knows the SHA-256 of what it holds.
type identified interface{ ID() digest.ContentID }

// id is the SHA-256 of the bytes; the sink was opened to know it.
func (s *sink) id() digest.ContentID {
	if in, ok := s.in.(identified); ok {
		return in.ID()
	}
	return s.sha.ID()
}

// resume takes the sums from the journal as far as they go.
func (s *sink) resume(ctx context.Context) error {
	if err := s.openJournal(ctx); err != nil {
		return err
	}
	lines, states, dirty := readJournal(s.journal, s.in.Offset())
	for i := len(states) - 1; i >= 0 && s.sums.size == 0; i-- {
		s.sums.restore(states[i])
	}
	s.saved = s.sums.size
	if dirty {
		if err := s.journal.Reset(); err != nil {
			return err
		}
		for _, line := range lines {
			if _, err := s.journal.Write([]byte(line)); err != nil {
				return err
			}
		}
	}
	return s.sums.catchUp(ctx, s.in)
}

func (s *sink) openJournal(ctx context.Context) (err error) {
	if s.journal == nil {
		s.journal, err = s.store.Ingest(ctx, journalOf(s.key))
	}
	return err
}

// journalOf names the journal of a key's ingest.
func journalOf(key string) string { return key + " sums" }

// offset is how many bytes are there.
func (s *sink) offset() int64 { return s.in.Offset() }

// write adds bytes, hashing them while the store writes them.
func (s *sink) write(ctx context.Context, p []byte) error {
	hashed := make(chan struct{})
	go func() { s.sums.write(p); close(hashed) }()
	_, err := s.in.Write(p)
	<-hashed
	if err == nil && s.sums.size-s.saved >= s.saveEvery {
		err = s.save(ctx)
	}
	return err
}

// save adds the state of the sums to the journal.
func (s *sink) save(ctx context.Context) error {
	if s.key == "" {
		return nil
	}
	line, err := s.sums.line()
	if err != nil {
		return err
	}
	first := s.journal == nil
	if err := s.openJournal(ctx); err != nil {
		return err
	}
	if first { // of an earlier ingest of the key that is gone
		if err := s.journal.Reset(); err != nil {
			return err
		}
	}
	s.saved = s.sums.size
	_, err = s.journal.Write(line)
	return err
}

// reset drops the bytes.
func (s *sink) reset() error {
	if s.journal != nil {
		if err := s.journal.Reset(); err != nil {
			return err
		}
	}
	s.saved, s.sums = 0, newSums(s.sums.sha != nil)
	return s.in.Reset()
}

// worthSaving is how many bytes are hashed again rather than saved when a sink
// is closed.
const worthSaving = 32 << 20

// close keeps the bytes for the next sink of the key.
func (s *sink) close(ctx context.Context) error {
	var err error
	if s.sums.size == s.in.Offset() && s.sums.size-s.saved >= worthSaving {
		err = s.save(context.WithoutCancel(ctx))
	}
	return errors.Join(err, s.closeJournal(), s.in.Close())
}

func (s *sink) closeJournal() error {
	if s.journal == nil {
		return nil
	}
	err := s.journal.Close()
	s.journal = nil
	return err
}

// drop forgets the bytes.
func (s *sink) drop() error {
	return errors.Join(s.reset(), s.closeJournal(), s.in.Close())
}

// dropKey forgets the bytes of a key that nobody has open.
func dropKey(ctx context.Context, store cache.Store, key string) error {
	for _, k := range []string{journalOf(key), key} {
		in, err := store.Ingest(ctx, k)
		if err != nil {
			return err
		}
		if err := errors.Join(in.Reset(), in.Close()); err != nil {
			return err
		}
	}
	return nil
}

// commit makes the bytes an object of the store. What it holds beside them is
// dropped when they are safe.
func (s *sink) commit(ctx context.Context, want cache.Ref) (cache.Ref, error) {
	ref, err := s.in.Commit(ctx, want)
	if err != nil {
		return cache.Ref{}, err
	}
	if s.journal != nil {
		err = s.journal.Reset()
	}
	return ref, errors.Join(err, s.closeJournal())
}

// fetched is a sink that is complete, as Data.File.
type fetched struct {
	*sink
	ref cache.Ref
	ctx context.Context // of the fetch, for saving when it is closed
}

// ReadAt implements io.ReaderAt.
func (f *fetched) ReadAt(p []byte, off int64) (int, error) { return f.in.ReadAt(p, off) }

// Publish implements Fetched.
func (f *fetched) Publish(ctx context.Context) error {
	_, err := f.commit(ctx, f.ref)
	return err
}

// Drop implements Fetched.
func (f *fetched) Drop() error { return f.drop() }

// Close implements Fetched.
func (f *fetched) Close() error { return f.close(f.ctx) }
