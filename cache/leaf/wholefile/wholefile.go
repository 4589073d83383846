// Package wholefile writes files that appear whole or not at all. The text goes to
// a hidden file in the same folder, is synced, and gets its name at the end: a
// crash or a full disk leaves the old file in place.
package wholefile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
)

// Create writes a new file. It returns fs.ErrExist if the path exists. It checks
// this before it writes anything, and again, without a race, at the end.
func Create(path string, mode fs.FileMode, write func(io.Writer) error) error {
	if _, err := os.Lstat(path); err == nil {
		return &fs.PathError{Op: "create", Path: path, Err: syscall.EEXIST}
	}
	return compose(path, mode, write, Move)
}

// Replace creates or replaces a file. It keeps the mode of an old file. A symbolic
// link stays, and its target is replaced, unless the link is another user's. A file that
// is not regular, such as a pipe, is written in place, as is a file in a folder that
// cannot be written to. Another user's file in a folder such as /tmp is refused.
func Replace(path string, write func(io.Writer) error) error {
	old, err := os.Lstat(path)
	if err != nil {
		return compose(path, 0o666, write, os.Rename)
	}
	if owner, ok := old.Sys().(*syscall.Stat_t); ok && old.Mode().Type() == fs.ModeSymlink && owner.Uid != 0 && int(owner.Uid) != os.Geteuid() {
		return &fs.PathError{Op: "replace", Path: path, Err: errForeign}
	}
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return inPlace(path, write)
	}
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	err = compose(target, 0o600, write, func(temporary, target string) error {
		return errors.Join(os.Chmod(temporary, info.Mode().Perm()), os.Rename(temporary, target))
	})
	switch {
	case errors.Is(err, syscall.EACCES):
		return inPlace(path, write)
	case errors.Is(err, syscall.EPERM): // in a folder such as /tmp, where its owner would read what is written in place
		return &fs.PathError{Op: "replace", Path: path, Err: errForeign}
	}
	return err
}

// errForeign means that another user decides what a path leads to, or reads it.
var errForeign = errors.New("it is another user's; remove it or choose another path")

// Bytes is what writes data.
func Bytes(data []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	}
}

func compose(path string, mode fs.FileMode, write func(io.Writer) error, publish func(temporary, path string) error) error {
	temporary := filepath.Join(filepath.Dir(path), fmt.Sprintf(".mleflow-%016x", rand.Uint64()))
	// os.CreateTemp would create the file for its owner only.
	f, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err == nil {
		defer os.Remove(temporary) // gone after a rename
		err = fill(f, write, f.Sync)
	}
	if err == nil {
		err = publish(temporary, path)
	}
	// An error about the temporary file is reported for the path.
	var at *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &at) && at.Path == temporary:
		return &fs.PathError{Op: at.Op, Path: path, Err: at.Err}
	case errors.As(err, &link):
		return &fs.PathError{Op: link.Op, Path: path, Err: link.Err}
	}
	return err
}

func inPlace(path string, write func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return err
	}
	return fill(f, write, func() error { return nil })
}

func fill(f *os.File, write func(io.Writer) error, sync func() error) error {
	buffered := bufio.NewWriterSize(f, 64<<10)
	err := write(buffered)
	if err == nil {
		err = buffered.Flush()
	}
	if err == nil {
		err = sync()
	}
	return errors.Join(err, f.Close())
}

// Move moves a file or folder, within its folder, to a path that is free or an empty
// folder. It replaces nothing else: the error is then fs.ErrExist, or ENOTDIR if a folder
// would replace a file.
func Move(from, to string) error {
	info, err := os.Lstat(from)
	if err != nil {
		return err
	}
	if info.IsDir() { // rename(2) replaces an empty folder; os.Rename does not
		if err := syscall.Rename(from, to); err != nil {
			return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
		}
		return nil
	}
	_ = syscall.Rmdir(to)
	if info.Mode().IsRegular() {
		switch err = os.Link(from, to); {
		case err == nil:
			return os.Remove(from)
		case errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist):
			return err
		}
	}
	// On a file system without hard links, an empty file reserves the name.
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Rename(from, to))
}
