package cli

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"strings"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"github.com/mleflow/mleflow/cache/remote"
	"github.com/mleflow/mleflow/plugins/source"
)

// openObjects opens a mirror in an object storage, with the same schemes and
// credentials as a remote cache.
func openObjects(ctx context.Context, base string) (source.Objects, error) {
	location, err := remote.ParseLocation(base)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(base)
	if err != nil {
		return nil, fmt.Errorf("open mirror %s: not an address", location)
	}
	prefix := strings.Trim(u.Path, "/")
	u.Path = ""
	bucket, err := blob.OpenBucket(ctx, u.String())
	if err != nil {
		return nil, fmt.Errorf("open mirror %s: %w", location, err)
	}
	if prefix != "" {
		bucket = blob.PrefixedBucket(bucket, prefix+"/")
	}
	return &bucketObjects{bucket: bucket}, nil
}

// bucketObjects is a bucket as a mirror reads it.
type bucketObjects struct{ bucket *blob.Bucket }

// Size implements source.Objects.
func (b *bucketObjects) Size(ctx context.Context, name string) (int64, error) {
	attrs, err := b.bucket.Attributes(ctx, name)
	if err != nil {
		return 0, objectError(err)
	}
	return attrs.Size, nil
}

// Read implements source.Objects.
func (b *bucketObjects) Read(ctx context.Context, name string, offset int64) (io.ReadCloser, error) {
	r, err := b.bucket.NewRangeReader(ctx, name, offset, -1, nil)
	if err != nil {
		return nil, objectError(err)
	}
	return r, nil
}

// Close implements source.Objects.
func (b *bucketObjects) Close() error { return b.bucket.Close() }

// objectError makes a missing object fs.ErrNotExist.
func objectError(err error) error {
	if gcerrors.Code(err) == gcerrors.NotFound {
		return fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	}
	return err
}
