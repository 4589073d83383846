package source

import (
	"context"
	"crypto/md5" //nolint:gosec // published pins are MD5
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/tree"
)

// file fetches a local file or folder.
type file struct {
	// memo is the folder of Fingerprint's memory, or empty.
	memo string
}

// Check implements Source.
func (file) Check(spec Spec) error {
	if spec.Path == "" {
		return errors.New("a file source needs a path")
	}
	if spec.Base != nil && !filepath.IsAbs(spec.Path) && !fs.ValidPath(spec.Path) {
		return fmt.Errorf("path %q is neither absolute nor a clean path below the competition's folder", spec.Path)
	}
	return nil
}

// location is where a spec points: name in a file system. dir is set if that file
// system is the machine's.
type location struct {
	fsys fs.FS
	name string
	dir  string
}

// locate opens the folder that contains the file. Symbolic links in the path
// are followed: the author of the path means their target.
func locate(spec Spec) (*location, error) {
	if spec.Base != nil && !filepath.IsAbs(spec.Path) {
		return &location{fsys: spec.Base, name: spec.Path}, nil
	}
	full, err := filepath.EvalSymlinks(spec.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, absent(spec.Path)
	}
	if err != nil {
		return nil, err
	}
	dir, name := filepath.Split(filepath.Clean(full))
	if name == "" {
		return nil, fmt.Errorf("path %q does not name a file or folder", spec.Path)
	}
	return &location{fsys: os.DirFS(filepath.Clean(dir + ".")), name: name, dir: dir}, nil
}

// absent adds to the error for a missing file where it was expected.
func absent(path string) error {
	if filepath.IsAbs(path) {
		return fmt.Errorf("%s: %w", path, syscall.ENOENT)
	}
	dir, err := os.Getwd()
	if err != nil {
		dir = "the working directory"
	}
	return fmt.Errorf("%s: %w (relative paths start at the working directory, %s)", path, syscall.ENOENT, dir)
}

// Fingerprint implements Source.
func (f file) Fingerprint(spec Spec, h *digest.Hasher) error {
	if fingerprintPins(spec, h) {
		return nil
	}
	at, err := locate(spec)
	if err != nil {
		return fmt.Errorf("look at source: %w", err)
	}
	sum, small, err := at.fingerprint(f.memo)
	if err != nil {
		return fmt.Errorf("look at source: %w", err)
	}
	label := "source content"
	if !small {
		label = "source sizes and times"
	}
	h.Content(label, sum)
	return nil
}

// Fetch implements Source.
func (file) Fetch(ctx context.Context, req Request) (Data, error) {
	at, err := locate(req.Spec)
	if err != nil {
		return Data{}, fmt.Errorf("fetch file: %w", err)
	}
	info, err := fs.Stat(at.fsys, at.name)
	switch {
	case err != nil:
		return Data{}, fmt.Errorf("fetch file: %w", err)
	case info.IsDir():
		return at.fetchFolder(ctx, req)
	case !info.Mode().IsRegular():
		return Data{}, fmt.Errorf("fetch file: %s is neither a file nor a folder", req.Spec.Path)
	}
	src, err := at.fsys.Open(at.name)
	if err != nil {
		return Data{}, fmt.Errorf("fetch file: %w", err)
	}
	if random, ok := src.(io.ReaderAt); ok && req.Unpublished {
		data, err := inPlace(ctx, req, path.Base(at.name), src, random)
		if err != nil {
			return Data{}, errors.Join(fmt.Errorf("fetch file %s: %w", req.Spec.Path, err), src.Close())
		}
		return data, nil
	}
	defer src.Close()
	data := Data{Name: path.Base(at.name)}
	sum := md5.New() //nolint:gosec // published pins are MD5
	counted := &counter{r: io.TeeReader(src, sum), tell: func(n int64) { req.progress(n, info.Size()) }}
	if data.Ref, err = cache.Put(ctx, req.Store, counted, cache.Ref{}); err != nil {
		return Data{}, fmt.Errorf("fetch file %s: %w", req.Spec.Path, err)
	}
	data.MD5 = hex.EncodeToString(sum.Sum(nil))
	return data, verify(req.Spec, req.Spec.Path, data)
}

func (p *location) fetchFolder(ctx context.Context, req Request) (Data, error) {
	if req.Spec.pinned() {
		return Data{}, fmt.Errorf("fetch folder %s: a folder has no MD5 or SHA-256 to compare with the pin; give the archive, or remove the pin", req.Spec.Path)
	}
	if p.dir == "" {
		return Data{}, fmt.Errorf("fetch folder %s: a folder among a competition's own files is not supported; give an archive", req.Spec.Path)
	}
	ref, err := tree.Import(ctx, req.Store, filepath.Join(p.dir, p.name), tree.ImportOptions{
		Progress: func(files, bytes int64) { req.imported(files, 0, bytes) },
	})
	if err != nil {
		return Data{}, fmt.Errorf("fetch folder: %w", err)
	}
	req.imported(ref.Files, ref.Files, ref.Size)
	return Data{Name: p.name, Ref: ref}, nil
}

// counter counts the bytes that were read.
type counter struct {
	r    io.Reader
	n    int64
	tell func(int64)
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	c.tell(c.n)
	return n, err
}

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
