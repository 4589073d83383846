package remote

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/mleflow/mleflow/cache"
)

// folderObjects keeps objects as files in a folder, on a file system that
// several machines may mount. Only complete files have the name of an object.
type folderObjects struct {
	dir string
	// mode is the folder's own, which decides who may read what is below it.
	mode fs.FileMode
}

// unfinished is the prefix of the names of files that are being written.
const unfinished = ".unfinished-"

// openFolder opens a folder, and creates it unless the cache is read-only. A new one is
// its user's alone, since answers get into it.
func openFolder(dir string, readOnly bool) (objects, error) {
	if !readOnly {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
	}
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	return folderObjects{dir, info.Mode() & (fs.ModePerm | fs.ModeSetgid)}, nil
}

// makeFolder makes a folder below f.dir, with its mode whatever the umask is.
func (f folderObjects) makeFolder(dir string) error {
	err := os.Mkdir(dir, f.mode)
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil
	case errors.Is(err, fs.ErrNotExist) && len(dir) > len(f.dir):
		if err := f.makeFolder(filepath.Dir(dir)); err != nil {
			return err
		}
		return f.makeFolder(dir)
	case err != nil:
		return err
	}
	return os.Chmod(dir, f.mode)
}

func (f folderObjects) path(key string) string { return filepath.Join(f.dir, filepath.FromSlash(key)) }

func (f folderObjects) stat(_ context.Context, key string) (int64, error) {
	info, err := os.Stat(f.path(key))
	switch {
	case err != nil:
		return 0, absent(err)
	case !info.Mode().IsRegular():
		return 0, cache.ErrNotFound
	}
	return info.Size(), nil
}

func (f folderObjects) open(ctx context.Context, key string, offset, length int64) (io.ReadCloser, int64, error) {
	whole, err := f.stat(ctx, key)
	if err != nil {
		return nil, 0, err
	}
	file, err := os.Open(f.path(key))
	if err != nil {
		return nil, 0, absent(err)
	}
	if length < 0 {
		length = max(0, whole-offset)
	}
	return struct {
		io.Reader
		io.Closer
	}{io.NewSectionReader(file, offset, length), file}, whole, nil
}

func (f folderObjects) write(_ context.Context, key string, _ int64, create bool, body io.Reader) error {
	name := f.path(key)
	if err := f.makeFolder(filepath.Dir(name)); err != nil {
		return err
	}
	temporary := filepath.Join(filepath.Dir(name), fmt.Sprintf("%s%016x", unfinished, rand.Uint64()))
	file, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer os.Remove(temporary)                                         // gone after a rename
	buffered := bufio.NewWriterSize(struct{ io.Writer }{file}, 64<<10) // which fills its buffer, unlike a file
	if _, err = io.Copy(buffered, body); err == nil {
		err = buffered.Flush()
	}
	if err := errors.Join(err, file.Chmod(f.mode&0o666), file.Close()); err != nil {
		return err
	}
	return publish(temporary, name, create)
}

// publish gives a complete file its name.
func publish(temporary, name string, create bool) error {
	if !create {
		return os.Rename(temporary, name)
	}
	err := os.Link(temporary, name)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrExist):
		return errExists
	}
	// On a file system without hard links, the last of two concurrent writers
	// wins, and both write the same bytes.
	if _, err := os.Lstat(name); err == nil {
		return errExists
	}
	return os.Rename(temporary, name)
}

func (f folderObjects) remove(_ context.Context, key string) error {
	return absent(os.Remove(f.path(key)))
}

func (f folderObjects) list(ctx context.Context, prefix, after string, fn func(key string)) (bool, error) {
	top := f.path(path.Dir(prefix + "x"))
	return false, filepath.WalkDir(top, func(name string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // nothing was written yet, or it was just removed
			return nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil || !entry.Type().IsRegular() || strings.HasPrefix(entry.Name(), unfinished) {
			return err
		}
		inside, err := filepath.Rel(f.dir, name)
		if key := filepath.ToSlash(inside); err == nil && strings.HasPrefix(key, prefix) && key > after {
			fn(key)
		}
		return err
	})
}

func (folderObjects) close() {}

// absent turns a missing file into cache.ErrNotFound.
func absent(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return cache.ErrNotFound
	}
	return err
}
