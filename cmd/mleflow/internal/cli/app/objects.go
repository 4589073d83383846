package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/remote"
	"github.com/mleflow/mleflow/plugins/transfer/source"
)

// openObjects opens a mirror in an object storage, with the same schemes and
// credentials as a remote cache.
func openObjects(ctx context.Context, base string) (source.Objects, error) {
	location, err := remote.ParseLocation(base)
	if err != nil {
		return nil, err
	}
	reader, err := remote.OpenObjects(ctx, location)
	if err != nil {
		return nil, fmt.Errorf("open mirror %s: %w", location, err)
	}
	return mirrorObjects{reader}, nil
}

// mirrorObjects is a location as a mirror reads it.
type mirrorObjects struct{ *remote.Objects }

// Size implements source.Objects.
func (m mirrorObjects) Size(ctx context.Context, name string) (int64, error) {
	size, err := m.Objects.Size(ctx, name)
	return size, objectError(err)
}

// Read implements source.Objects.
func (m mirrorObjects) Read(ctx context.Context, name string, offset int64) (io.ReadCloser, error) {
	r, err := m.Open(ctx, name, offset)
	return r, objectError(err)
}

// objectError makes a missing object fs.ErrNotExist.
func objectError(err error) error {
	if errors.Is(err, cache.ErrNotFound) {
		return fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	}
	return err
}
