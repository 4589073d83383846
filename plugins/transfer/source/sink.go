package source

import (
	"context"
	"errors"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
)

// sink receives the bytes of one version of a file in order, and hashes them as
// they arrive. With a key it outlives its process: the bytes are in the store's
// ingest of the key, and the state of the hashes is saved at intervals in a
// journal, an ingest of its own, so that nothing large is read again.
//
// The journal is always dropped before the ingest, so that it never covers more
// than the ingest holds.
type sink struct {
	store cache.Store
	key   string
	in    cache.Ingest
	*sums
	journal   cache.Ingest // nil until needed
	saveEvery int64
	saved     int64
}

// openSink opens the ingest of the key ("" for one that is not kept) and
// restores its hashes. sha says that the SHA-256 is needed before the commit.
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

// identified is an ingest that knows the SHA-256 of its bytes.
type identified interface{ ID() digest.ContentID }

// id is the SHA-256 of the bytes; the sink was opened to know it.
func (s *sink) id() digest.ContentID {
	if in, ok := s.in.(identified); ok {
		return in.ID()
	}
	return s.sha.ID()
}

// resume restores the hashes from the journal as far as it goes.
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

// journalOf returns the key of the journal for a key's ingest.
func journalOf(key string) string { return key + " sums" }

// offset is the number of bytes received.
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

// save appends the state of the hashes to the journal.
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
	if first { // of an earlier ingest of the key that no longer exists
		if err := s.journal.Reset(); err != nil {
			return err
		}
	}
	s.saved = s.sums.size
	_, err = s.journal.Write(line)
	return err
}

// reset drops the bytes, the journal first: it must never cover more than the
// ingest holds.
func (s *sink) reset() error {
	if s.journal != nil {
		if err := s.journal.Reset(); err != nil {
			return err
		}
	}
	s.saved, s.sums = 0, newSums(s.sums.sha != nil)
	return s.in.Reset()
}

// worthSaving is how many bytes must be new for a state to be saved on close;
// fewer are hashed again.
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

// drop deletes the bytes.
func (s *sink) drop() error {
	return errors.Join(s.reset(), s.closeJournal(), s.in.Close())
}

// dropKey deletes the bytes of a key that nobody has open.
func dropKey(ctx context.Context, store cache.Store, key string) error {
	for _, k := range []string{journalOf(key), key} { // the journal first, as in reset
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

// commit makes the bytes an object of the store. Once they are safe, everything
// else is dropped.
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
