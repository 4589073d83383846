package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// maxLinks is the maximum number of links on the way to one path.
const maxLinks = 40

// place opens a path of the guest. If it does not exist, place creates it as a folder
// or an empty file. It resolves links itself, by their text, so that no link in the
// image leads out of the root, not even through descriptors.
func (w *world) place(guest string, folder bool) (*os.File, error) {
	todo := strings.Split(strings.TrimPrefix(path.Clean(guest), "/"), "/")
	var done []string // the path so far, without links and never above the root
	at, err := openPath(unix.AT_FDCWD, "/")
	for links := 0; err == nil && len(todo) > 0; {
		part := todo[0]
		todo = todo[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			if len(done) > 0 {
				done = done[:len(done)-1]
			}
			at.Close()
			at, err = w.walk(done)
			continue
		}
		var next *os.File
		next, err = w.enterOrMake(at, done, part, folder || len(todo) > 0)
		if err != nil {
			break
		}
		var target string
		if target, err = readLink(next); err == nil && target != "" {
			next.Close()
			if links++; links > maxLinks {
				err = unix.ELOOP
				break
			}
			todo = append(strings.Split(target, "/"), todo...)
			if strings.HasPrefix(target, "/") {
				done = nil
				at.Close()
				at, err = openPath(unix.AT_FDCWD, "/")
			}
			continue
		}
		at.Close()
		at, done = next, append(done, part)
	}
	if err != nil {
		if at != nil {
			at.Close()
		}
		return nil, fmt.Errorf("make %s in the sandbox: %w", guest, err)
	}
	return at, nil
}

// walk opens a path that is known to have no links.
func (w *world) walk(parts []string) (*os.File, error) {
	return openPath(unix.AT_FDCWD, "/"+path.Join(parts...))
}

// readLink returns a link's target, or "" if the file is not a link.
func readLink(f *os.File) (string, error) {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(int(f.Fd()), "", buf)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EINVAL) {
		return "", nil
	}
	return string(buf[:max(n, 0)]), err
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
