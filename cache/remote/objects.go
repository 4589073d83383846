package remote

import (
	"context"
	"io"
)

// objects is a connection to a place where objects are kept. Each method tries
// once; a missing object is cache.ErrNotFound, or an error that classify knows
// as that. It is safe for concurrent use.
type objects interface {
	// stat returns the size of an object.
	stat(ctx context.Context, key string) (int64, error)
	// open reads an object from an offset on, up to its end if length is
	// negative. whole is the size of all of it.
	open(ctx context.Context, key string, offset, length int64) (r io.ReadCloser, whole int64, err error)
	// write stores what fill gives, which is size bytes, and nothing when fill
	// fails. With create it fails if the object is there already.
	write(ctx context.Context, key string, size int64, create bool, fill func(io.Writer) error) error
	// remove deletes an object.
	remove(ctx context.Context, key string) error
	// list calls fn with names that start with prefix and come after another
	// one, in order, and reports whether there may be more after the last.
	list(ctx context.Context, prefix, after string, fn func(key string)) (more bool, err error)
	// close lets go of idle connections.
	close()
}

// Objects reads single objects of a Location, each with one attempt. It is safe
// for concurrent use.
type Objects struct {
	loc  Location
	conn objects
}

// OpenObjects connects to a location, of which credentials are looked for.
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

// Close lets go of the connection.
func (r *Objects) Close() error {
	r.conn.close()
	return nil
}

// error is one of this package for one of a driver.
func (r *Objects) error(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	_, err = classify(ctx, err)
	return err
}
