package source

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
)

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
	data := Data{Name: t.origin.mask().Mask(t.version.name), MD5: s.hexMD5()}
	want, err := t.verify(s)
	if !t.req.Spec.pinned() {
		if page := t.page(s); page != nil {
			return Data{}, errors.Join(page, s.drop())
		}
	}
	if err == nil && t.req.Unpublished {
		data.Ref = cache.Ref{Kind: cache.Blob, ID: s.id(), Size: s.offset()}
		if !want.ID.IsZero() && want.ID != data.Ref.ID {
			err = shaMismatch(want.ID, data.Ref.ID, s.offset())
		} else {
			data.File = &ingested{s.in, data.Ref}
			return data, nil
		}
	}
	if err == nil {
		if data.Ref, err = s.in.Commit(ctx, want); err == nil {
			return data, verify(t.req.Spec, "it", data)
		}
	}
	if errors.Is(err, cache.ErrCorrupt) {
		err = t.shaOf(ctx, s, want.ID)
	}
	if mismatch := err; errors.Is(err, ErrMismatch) {
		if err = t.page(s); err == nil {
			err = &mismatchError{mismatch, data.MD5, parts}
		}
		return Data{}, errors.Join(err, s.drop())
	}
	return Data{}, errors.Join(err, s.in.Close())
}

// verify compares the MD5 with the pin or, without one, with that of the server.
// It returns the reference that the store has to verify.
func (t *transfer) verify(s *sink) (want cache.Ref, err error) {
	spec := t.req.Spec
	if spec.SHA256 != "" {
		if want.ID, err = digest.ParseContentID(spec.SHA256); err != nil {
			return want, fmt.Errorf("%w: the pin is not a SHA-256: %w", ErrMismatch, err)
		}
	}
	if got := s.hexMD5(); spec.MD5 != "" && got != spec.MD5 {
		return want, fmt.Errorf("%w: its MD5 is %s, expected %s (%d bytes)", ErrMismatch, got, spec.MD5, s.offset())
	} else if !spec.pinned() && t.version.md5 != "" && got != t.version.md5 {
		return want, fmt.Errorf("%w: its MD5 is %s, but the server reports %s (%d bytes)", ErrMismatch, got, t.version.md5, s.offset())
	}
	return want, nil
}

func shaMismatch(want, got digest.ContentID, size int64) error {
	return fmt.Errorf("%w: its SHA-256 is %s, expected %s (%d bytes)", ErrMismatch, got, want, size)
}

// shaOf adds the SHA-256 to the error for a file whose content the store found
// to be wrong.
func (t *transfer) shaOf(ctx context.Context, s *sink, want digest.ContentID) error {
	w := digest.NewWriter()
	if _, err := cache.Copy(ctx, w, io.NewSectionReader(s.in, 0, s.offset())); err != nil {
		return err
	}
	return shaMismatch(want, w.ID(), w.Size())
}
