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
	// sha is nil if only the MD5 is needed; the store computes the other.
	sha *digest.Writer
}

// identified is an ingest that knows the SHA-256 of its bytes.
type identified interface{ ID() digest.ContentID }

// openSink opens the ingest of the key ("" for one that is not kept). sha says
// that the SHA-256 is needed before the commit.
func openSink(ctx context.Context, store cache.Store, key string, sha bool) (*sink, error) {
	in, err := store.Ingest(ctx, key)
	if err != nil {
		return nil, err
	}
	s := &sink{in: in, md5: md5.New()} //nolint:gosec // published pins are MD5
	if _, ok := in.(identified); sha && !ok {
		s.sha = digest.NewWriter()
	}
	n, err := cache.Copy(ctx, sums{s}, io.NewSectionReader(in, 0, in.Offset()))
	if err == nil && n != in.Offset() {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read unfinished download: %w", err), in.Close())
	}
	return s, nil
}

// sums are the hashes of a sink.
type sums struct{ *sink }

// Write implements io.Writer.
func (s sums) Write(p []byte) (int, error) {
	_, _ = s.md5.Write(p)
	if s.sha != nil {
		_, _ = s.sha.Write(p)
	}
	return len(p), nil
}

// id is the SHA-256 of the bytes; the sink was opened to know it.
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
	go func() { _, _ = sums{s}.Write(p); close(hashed) }()
	_, err := s.in.Write(p)
	<-hashed
	return err
}

// reset drops the bytes.
func (s *sink) reset() error {
	s.md5.Reset()
	if s.sha != nil {
		s.sha = digest.NewWriter()
	}
	return s.in.Reset()
}

// drop deletes the bytes.
func (s *sink) drop() error { return errors.Join(s.in.Reset(), s.in.Close()) }

// dropKey deletes the bytes of a key that nobody has open.
func dropKey(ctx context.Context, store cache.Store, key string) error {
	in, err := store.Ingest(ctx, key)
	if err != nil {
		return err
	}
	return errors.Join(in.Reset(), in.Close())
}
