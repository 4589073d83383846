package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	continuity "github.com/containerd/continuity/fs"
	"golang.org/x/sys/unix"
)

// materialise opens a path of the guest. If it does not exist, materialise creates it as a
// folder or an empty file. Links are resolved by their text, so that no link in the image
// leads out of the root, not even through descriptors.
func (w *world) materialise(guest string, folder bool) (*os.File, error) {
	at, err := openPath(unix.AT_FDCWD, "/")
	if err != nil {
		return nil, err
	}
	real, err := continuity.RootPath("/", guest)
	parts := strings.FieldsFunc(real, func(r rune) bool { return r == '/' })
	for i := 0; err == nil && i < len(parts); i++ {
		var next *os.File
		if next, err = w.enterOrMake(at, parts[:i], parts[i], folder || i < len(parts)-1); err == nil {
			at.Close()
			at = next
		}
	}
	if err != nil {
		at.Close()
		return nil, fmt.Errorf("make %s in the sandbox: %w", guest, err)
	}
	return at, nil
}

// enterOrMake opens an entry of the folder and creates it if it does not exist.
func (w *world) enterOrMake(at *os.File, done []string, part string, folder bool) (*os.File, error) {
	dir := int(at.Fd())
	f, err := openPath(dir, part)
	if !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	err = makeEntry(dir, part, folder)
	if errors.Is(err, unix.EROFS) && len(done) > 0 {
		// The folder is the image's. A folder in memory with the same entries takes its
		// place.
		there := "/" + path.Join(done...)
		if err := errors.Join(mountTmpfs(there, baseBytes, "mode=755", false), w.spread(at, there)); err != nil {
			return nil, err
		}
		over, err := openPath(unix.AT_FDCWD, there)
		if err != nil {
			return nil, err
		}
		defer over.Close()
		if err := makeEntry(int(over.Fd()), part, folder); err != nil {
			return nil, err
		}
		return openPath(int(over.Fd()), part)
	}
	if err != nil {
		return nil, err
	}
	return openPath(dir, part)
}

func makeEntry(dir int, name string, folder bool) error {
	if folder {
		return unix.Mkdirat(dir, name, 0o755)
	}
	fd, err := unix.Openat(dir, name, unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o644)
	if err == nil {
		err = unix.Close(fd)
	}
	return err
}
