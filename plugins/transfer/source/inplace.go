package source

import (
	"context"
	"crypto/md5" //nolint:gosec // published pins are MD5
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
)

// localFile is a local file that is read in place.
type localFile struct {
	io.ReaderAt
	file  fs.File
	info  fs.FileInfo // when it was hashed
	ref   cache.Ref
	store cache.Store
}

// inPlace hashes a local file and returns it without storing it.
func inPlace(ctx context.Context, req Request, name string, f fs.File, at io.ReaderAt) (Data, error) {
	info, err := f.Stat()
	if err != nil {
		return Data{}, err
	}
	data := Data{Name: name, Ref: cache.Ref{Kind: cache.Blob, Size: info.Size()}}
	counted := &counter{r: io.NewSectionReader(at, 0, info.Size()), tell: func(n int64) { req.progress(n, info.Size()) }}
	if data.Ref.ID, data.MD5, err = hashBoth(ctx, counted); err != nil {
		return Data{}, err
	}
	data.File = &localFile{ReaderAt: at, file: f, info: info, ref: data.Ref, store: req.Store}
	return data, verify(req.Spec, req.Spec.Path, data)
}

// hashBoth computes both digests in one pass, on a processor each.
func hashBoth(ctx context.Context, r io.Reader) (digest.ContentID, string, error) {
	sha, old := digest.NewWriter(), md5.New() //nolint:gosec // published pins are MD5
	buf := make([]byte, 1<<20)
	for {
		if ctx.Err() != nil {
			return digest.ContentID{}, "", context.Cause(ctx)
		}
		n, err := io.ReadFull(r, buf)
		var both sync.WaitGroup
		both.Go(func() { _, _ = old.Write(buf[:n]) })
		_, _ = sha.Write(buf[:n])
		both.Wait()
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return sha.ID(), hex.EncodeToString(old.Sum(nil)), nil
		}
		if err != nil {
			return digest.ContentID{}, "", err
		}
	}
}

// Publish implements Fetched.
func (f *localFile) Publish(ctx context.Context) error {
	_, err := cache.Put(ctx, f.store, io.NewSectionReader(f.ReaderAt, 0, f.info.Size()), f.ref)
	return errors.Join(err, f.file.Close())
}

// Drop implements Fetched. It fails if the file was written to since it was
// hashed, because bytes read after that may not match the digests.
func (f *localFile) Drop() error {
	info, err := f.file.Stat()
	if err == nil && (info.Size() != f.info.Size() || !info.ModTime().Equal(f.info.ModTime())) {
		err = fmt.Errorf("the file %s changed while it was read; try again when nobody writes to it", info.Name())
	}
	return errors.Join(err, f.file.Close())
}

// Close implements Fetched.
func (f *localFile) Close() error { return f.file.Close() }

// ingested is a file in an ingest that is not committed.
type ingested struct {
	cache.Ingest
	ref cache.Ref
}

// Publish implements Fetched.
func (f *ingested) Publish(ctx context.Context) error {
	_, err := f.Commit(ctx, f.ref)
	return errors.Join(err, f.Ingest.Close())
}

// Drop implements Fetched.
func (f *ingested) Drop() error { return errors.Join(f.Reset(), f.Ingest.Close()) }
