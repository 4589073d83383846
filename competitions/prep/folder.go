package prep

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/nolink"
)

// Folder is a sink that writes into a directory. The outputs appear at its
// final place when Publish is called, all at once; Discard drops them.
type Folder struct {
	final   string
	partial string
	made    sync.Map
}

// NewFolder returns a sink whose outputs will be published as the directory
// final, which must not be inside a file. They are written next to it first, where only
// their owner can read them. It refuses earlier outputs that Publish could not replace.
func NewFolder(final string) (*Folder, error) {
	if err := nolink.MkdirAll(nolink.Folder(filepath.Dir(final)), 0o777); err != nil {
		return nil, fmt.Errorf("create folder: %w", err)
	}
	if err := replaceable(final); err != nil {
		return nil, err
	}
	partial, err := os.MkdirTemp(filepath.Dir(final), "."+filepath.Base(final)+".partial-")
	if err != nil {
		return nil, fmt.Errorf("create folder: %w", nolink.Closed(err, filepath.Dir(final), toShare))
	}
	return &Folder{final: final, partial: partial}, nil
}

// toShare opens a folder to its group.
const toShare = "chmod -R g+rwX"

// replaceable returns an error if this user cannot move and remove a folder of another.
func replaceable(final string) error {
	above := filepath.Dir(final)
	if _, err := os.Lstat(final); err != nil || os.Geteuid() == 0 || nolink.IsMine(final) {
		return nil
	}
	in, err := os.Stat(above)
	sticky := err == nil && in.Mode()&fs.ModeSticky != 0 && !nolink.IsMine(above)
	err = filepath.WalkDir(final, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() && (sticky || unix.Access(path, unix.W_OK|unix.X_OK) != nil) {
			err = &fs.PathError{Op: "replace", Path: path, Err: fs.ErrPermission}
		}
		return err
	})
	return nolink.Closed(err, final, toShare)
}

// Dir returns the folder that has the outputs until they are published.
func (f *Folder) Dir() string { return f.partial }

// Replaces reports whether there are earlier outputs.
func (f *Folder) Replaces() bool {
	_, err := os.Lstat(f.final)
	return err == nil
}

// Publish moves the outputs to their final place and replaces earlier ones.
// Only its owner can read a folder "private" among them, and, in a folder that is
// nolink.Shared, its group, which may also write to all outputs.
func (f *Folder) Publish() error {
	if err := os.Chmod(filepath.Join(f.partial, "private"), 0o700); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("publish %s: %w", f.final, err)
	}
	if err := os.Chmod(f.partial, 0o755); err != nil {
		return fmt.Errorf("publish %s: %w", f.final, err)
	}
	if err := nolink.ShareAll(f.partial); err != nil {
		return fmt.Errorf("publish %s: %w", f.final, err)
	}
	old := f.partial + ".old"
	err := os.Rename(f.final, old)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("publish %s: %w", f.final, err)
	}
	if err := os.Rename(f.partial, f.final); err != nil {
		if backErr := os.Rename(old, f.final); backErr != nil && !errors.Is(backErr, fs.ErrNotExist) {
			err = errors.Join(err, backErr)
		}
		return fmt.Errorf("publish %s: %w", f.final, err)
	}
	if err := os.RemoveAll(old); err != nil {
		return fmt.Errorf("the new files are in %s, but the earlier ones cannot be removed: %w", f.final, err)
	}
	return nil
}

// Discard removes outputs that were not published. It is safe after Publish.
func (f *Folder) Discard() error { return os.RemoveAll(f.partial) }

// Folder implements Sink.
func (f *Folder) Folder(_ context.Context, path string) error {
	return f.mkdir(filepath.Join(f.partial, filepath.FromSlash(path)))
}

func (f *Folder) mkdir(dir string) error {
	if _, ok := f.made.Load(dir); ok {
		return nil
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	f.made.Store(dir, true)
	return nil
}

// Create implements Sink.
func (f *Folder) Create(_ context.Context, path string) (File, error) {
	file, err := f.create(path)
	if err != nil {
		return nil, err
	}
	return &folderFile{File: file}, nil
}

func (f *Folder) create(path string) (*os.File, error) {
	name := filepath.Join(f.partial, filepath.FromSlash(path))
	if err := f.mkdir(filepath.Dir(name)); err != nil {
		return nil, err
	}
	// With O_NONBLOCK, which has no effect on files, four system calls less.
	return os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NONBLOCK, 0o666)
}

// DirFS is os.DirFS in two system calls a file, not six: it does not offer files
// to the poller, which takes none.
func DirFS(dir string) fs.FS {
	of := os.DirFS(dir)
	return dirFS{of.(fs.StatFS), of.(fs.ReadDirFS), of.(fs.ReadFileFS), dir}
}

type dirFS struct {
	fs.StatFS
	fs.ReadDirFS
	fs.ReadFileFS
	dir string
}

// Open implements fs.FS.
func (d dirFS) Open(name string) (fs.File, error) {
	if path := d.dir + "/" + name; fs.ValidPath(name) {
		if fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0); err == nil {
			return os.NewFile(uintptr(fd), path), nil
		}
	}
	return d.StatFS.Open(name)
}

// Copy implements Sink.
func (f *Folder) Copy(ctx context.Context, path string, from Source) (err error) {
	in, err := from.FS.Open(from.Name)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := f.create(path)
	if err != nil {
		return err
	}
	var n int64
	if _, ok := in.(*os.File); ok {
		n, err = io.Copy(out, in) // the system may share its bytes
	} else {
		n, err = cache.Copy(ctx, struct{ io.Writer }{out}, in)
	}
	from.CountCopied(n)
	return errors.Join(err, out.Close())
}

// folderFile is a file of a Folder; it is dropped unless committed.
type folderFile struct {
	*os.File
	done bool
}

// Commit implements File.
func (f *folderFile) Commit() error {
	f.done = true
	return f.File.Close()
}

// Close implements File.
func (f *folderFile) Close() error {
	if f.done {
		return nil
	}
	f.done = true
	return errors.Join(f.File.Close(), os.Remove(f.Name()))
}
