package pins

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/plugins/data/table"
)

// String names the kind of the sum.
func (s summed) String() string {
	if len(s.sum) == 32 {
		return "MD5 " + s.sum
	}
	return s.sum
}

// unreadable is the sum of a file that is no Parquet file.
const unreadable = competitions.ContentPin + "unreadable"

// contentOf returns the digest of a Parquet file's content.
func contentOf(ctx context.Context, file fs.File, size int64) (summed, error) {
	at, size, done, err := anywhere(ctx, file, size)
	if err != nil {
		return summed{}, err
	}
	defer done()
	sum, err := table.ParquetContent(ctx, at, size)
	switch {
	case ctx.Err() != nil:
		return summed{}, ctx.Err()
	case err != nil:
		return summed{sum: unreadable, size: size}, nil
	}
	return summed{sum: competitions.ContentPin + sum, size: size}, nil
}

// anywhere makes a file readable at any place, by a temporary copy if need be.
func anywhere(ctx context.Context, file fs.File, size int64) (io.ReaderAt, int64, func(), error) {
	if at, ok := file.(io.ReaderAt); ok {
		return at, size, func() {}, nil
	}
	out, err := os.CreateTemp("", "mleflow-")
	if err != nil {
		return nil, 0, nil, err
	}
	done := func() {
		_ = out.Close()
		_ = os.Remove(out.Name())
	}
	n, err := cache.Copy(ctx, out, file)
	if err != nil {
		done()
		return nil, 0, nil, err
	}
	return out, n, done, nil
}

// parquet describes the content of a Parquet file whose bytes are not the pinned ones.
func (v *verification) parquet(ctx context.Context, m *Mismatch) string {
	got, err := sumOf(ctx, v.Data.folder, m.Path, competitions.ContentPin, nil)
	switch {
	case err != nil || got.missing:
		return ""
	case got.sum == unreadable:
		return "it cannot be read as Parquet"
	case len(m.Want) == 32:
		return fmt.Sprintf("it holds %s; the bytes of a Parquet file depend on the library that writes it and its version, what it holds does not", got.sum)
	}
	return "it holds another table"
}
