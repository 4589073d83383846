package source

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
)

// sink receives the bytes of one version of a file in order, and hashes them as
// they arrive. With a key it outlives its process: the bytes are in the store's
// ingest of the key. The next sink hashes again what is there.
type sink struct {
	in  cache.Ingest
	md5 hash.Hash
	sha *digest.Writer
	// sums is what hashes the bytes: both, or only md5 if the ingest knows the
	// SHA-256.
	sums io.Writer
}

// identified is an ingest that knows the SHA-256 of its bytes.
type identified interface{ ID() digest.ContentID }

// openSink opens the ingest of the key ("" for one that is not kept).
func openSink(ctx context.Context, store cache.Store, key string) (*sink, error) {
	in, err := store.Ingest(ctx, key)
	if err != nil {
		return nil, err
	}
	s := &sink{in: in}
	s.begin()
	n, err := cache.Copy(ctx, s.sums, io.NewSectionReader(in, 0, in.Offset()))
	if err == nil && n != in.Offset() {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read unfinished download: %w", err), in.Close())
	}
	return s, nil
}

// begin makes the hashes.
func (s *sink) begin() {
	s.md5, s.sha = md5.New(), digest.NewWriter() //nolint:gosec // published pins are MD5
	s.sums = io.MultiWriter(s.md5, s.sha)
	if _, ok := s.in.(identified); ok {
		s.sums = s.md5
	}
}

// id is the SHA-256 of the bytes.
func (s *sink) id() digest.ContentID {
	if in, ok := s.in.(identified); ok {
		return in.ID()
	}
	return s.sha.ID()
}

func (s *sink) hexMD5() string { return hex.EncodeToString(s.md5.Sum(nil)) }

// offset is the number of bytes received.
func (s *sink) offset() int64 { return s.in.Offset() }

// write adds bytes, hashing them while the store writes them.
func (s *sink) write(p []byte) error {
	hashed := make(chan struct{})
	go func() { _, _ = s.sums.Write(p); close(hashed) }()
	_, err := s.in.Write(p)
	<-hashed
	return err
}

// reset drops the bytes.
func (s *sink) reset() error {
	s.begin()
	return s.in.Reset()
}

// drop deletes the bytes.
func (s *sink) drop() error { return errors.Join(s.in.Reset(), s.in.Close()) }

// mismatchError is an ErrMismatch of a file that was fetched.
type mismatchError struct {
	error
	// md5 is the MD5 of the bytes; parts says that they came in several answers.
	md5   string
	parts bool
}

// Unwrap returns the error itself.
func (e *mismatchError) Unwrap() error { return e.error }

// finish verifies the file and returns it. A wrong one is deleted.
func (t *transfer) finish(ctx context.Context, s *sink, parts bool) (Data, error) {
	ref := cache.Ref{Kind: cache.Blob, ID: s.id(), Size: s.offset()}
	data := Data{Name: t.origin.mask().Mask(t.version.name), Ref: ref, MD5: s.hexMD5()}
	err := t.verify(data)
	if !t.req.Spec.pinned() || err != nil {
		if page := t.page(s); page != nil {
			return Data{}, errors.Join(page, s.drop())
		}
	}
	switch {
	case err != nil:
		return Data{}, errors.Join(&mismatchError{err, data.MD5, parts}, s.drop())
	case t.req.Unpublished:
		data.File = &ingested{s.in, ref}
		return data, nil
	}
	if _, err = s.in.Commit(ctx, ref); err != nil {
		return Data{}, errors.Join(err, s.in.Close())
	}
	return data, nil
}

// verify compares the file with the pins or, without one, with the MD5 that the
// server reports.
func (t *transfer) verify(data Data) error {
	spec, reported := t.req.Spec, t.version.md5
	if _, err := digest.ParseContentID(spec.SHA256); err != nil && spec.SHA256 != "" {
		return fmt.Errorf("%w: the pin is not a SHA-256: %w", ErrMismatch, err)
	}
	if !spec.pinned() && reported != "" && reported != data.MD5 {
		return fmt.Errorf("%w: it has MD5 %s, but the server reports %s (%d bytes)", ErrMismatch, data.MD5, reported, data.Ref.Size)
	}
	return verify(spec, "it", data)
}
