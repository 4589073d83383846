package remote

import (
	"context"
	"io"
)

// objects is a connection to a bucket. Each method makes one attempt. A missing
// object is cache.ErrNotFound, or an error that classify recognises as such. It
// is safe for concurrent use.
type objects interface {
	// stat returns the size of an object.
	stat(ctx context.Context, key string) (int64, error)
	// open reads an object from an offset on, to its end if length is negative.
	// whole is the size of the whole object.
	open(ctx context.Context, key string, offset, length int64) (r io.ReadCloser, whole int64, err error)
	// write stores the size bytes of body, and nothing if body fails. With create, it
	// fails if the object exists already.
	write(ctx context.Context, key string, size int64, create bool, body io.Reader) error
	// remove deletes an object.
	remove(ctx context.Context, key string) error
	// list calls fn with the names that start with prefix and sort after another
	// one, in order, and reports whether there may be more.
	list(ctx context.Context, prefix, after string, fn func(key string)) (more bool, err error)
	// close closes idle connections.
	close()
}

// Objects reads single objects of a Location, each with one attempt. It is safe
// for concurrent use.
type Objects struct {
	loc  Location
	conn objects
}

// OpenObjects connects to a location.
func OpenObjects(ctx context.Context, loc Location) (*Objects, error) {
	conn, err := loc.open(ctx)
	if err != nil {
		return nil, &maskedError{mask(err.Error())}
	}
	return &Objects{loc, conn}, nil
}

// Size returns the length of an object; a missing one is cache.ErrNotFound.
func (r *Objects) Size(ctx context.Context, name string) (int64, error) {
	size, err := r.conn.stat(ctx, name)
	return size, r.error(ctx, err)
}

// Open reads an object from an offset on; a missing one is cache.ErrNotFound.
func (r *Objects) Open(ctx context.Context, name string, offset int64) (io.ReadCloser, error) {
	body, _, err := r.conn.open(ctx, name, offset, -1)
	return body, r.error(ctx, err)
}

// Close closes the connection.
func (r *Objects) Close() error {
	r.conn.close()
	return nil
}

// error turns a driver's error into one of this package.
func (r *Objects) error(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	_, err = classify(ctx, err)
	return err
}
