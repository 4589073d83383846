package disk

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/nolink"
)

// formatLine is the content of the file "format", the version of the layout.
const formatLine = "mleflow cache 1\n"

// The names in a cache folder.
const (
	formatName     = "format"
	stateName      = "state"
	syncName       = "sync"
	reserveName    = "reserve"
	objectsName    = "objects"
	indexName      = "index"
	recordsName    = "records"
	leasesName     = "leases"
	tmpName        = "tmp"
	ingestName     = "ingest"
	pinsName       = "pins"
	quarantineName = "quarantine"
	locksName      = "locks"
	keptName       = "kept"
	sharesName     = "shared"
	linksName      = "links"
	verifyName     = "verify"
)

// sandboxName is a folder that the runtime sandbox keeps next to those of the
// cache.
const sandboxName = "sandbox"

var folderNames = []string{objectsName, indexName, recordsName, leasesName, tmpName, ingestName, pinsName, quarantineName, locksName, keptName, sharesName, linksName}

// folder is the part of a cache that all other parts share: the paths, the counters
// of all processes, and the locks.
type folder struct {
	dir      string
	opts     Options
	readOnly bool
	hooks    hooks
	// grouped is true if the cache belongs to a group; see InitShared.
	grouped bool
	// masked is true if a new file needs chmod to get the mode of an object.
	masked bool
	state  *state
	// unlinked is set once the file system has turned out to have no hard links.
	unlinked atomic.Bool
	// file is the folder itself, for syncing its file system.
	file    *os.File
	syncing sync.Mutex
}

// others are the folders that other packages keep next to those of the cache.
var others = append([]string{sandboxName + "/images", sandboxName + "/docker", sandboxName + "/programs", sandboxName + "/runs", sandboxName + "/users"}, groupFolders...)

// checkFolders refuses links in the place of folders: files below them would be
// written and removed elsewhere.
func (c *folder) checkFolders() error {
	if err := nolink.Check(c.dir, append(others, folderNames...)...); err != nil {
		return err
	}
	shards, err := names(c.path(objectsName))
	shards = slices.DeleteFunc(shards, func(name string) bool { return len(name) != 2 })
	return errors.Join(ignoreMissing(err), nolink.Check(c.path(objectsName), shards...))
}

// path joins names to the cache folder.
func (c *folder) path(names ...string) string {
	return c.dir + "/" + strings.Join(names, "/")
}

// objectName returns the path of an object, or of its executable twin, below the
// cache folder.
func objectName(id digest.ContentID, executable bool) string {
	buf := make([]byte, 0, len("objects/ab/")+2*digest.Size+1)
	buf = append(buf, "objects/"...)
	buf = hex.AppendEncode(buf, id[:1])
	buf = append(buf, '/')
	buf = hex.AppendEncode(buf, id[:])
	if executable {
		buf = append(buf, 'x')
	}
	return string(buf)
}

// objectPath returns the path of an object, or of its executable twin.
func (c *folder) objectPath(id digest.ContentID, executable bool) string {
	return c.dir + "/" + objectName(id, executable)
}

// openObject opens an object, or its executable twin.
func (c *folder) openObject(id digest.ContentID, executable bool) (*os.File, error) {
	name := objectName(id, executable)
	return openFile(int(c.file.Fd()), name, c.path(name), unix.O_RDONLY, 0)
}

// openFile opens a file of an open folder. os.OpenFile would offer it to the poller,
// which never takes a file, and needs five more system calls.
func openFile(dir int, name, path string, flags int, mode uint32) (*os.File, error) {
	var fd int
	err := uninterrupted(func() (err error) {
		fd, err = unix.Openat(dir, name, flags|unix.O_CLOEXEC|unix.O_NOFOLLOW|unix.O_NONBLOCK, mode)
		return err
	})
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	_ = unix.SetNonblock(fd, false)
	return os.NewFile(uintptr(fd), path), nil
}

// shardName returns the folder of the objects whose digest starts with b, below the
// cache folder.
func shardName(b byte) string { return objectsName + "/" + hex.EncodeToString([]byte{b}) }

// checkFormat reads the version of the layout. A folder without one becomes a
// cache if it is empty or an unfinished cache.
func checkFormat(dir string, readOnly bool) error {
	data, err := nolink.ReadFile(filepath.Join(dir, formatName))
	switch {
	case err == nil && (string(data) == formatLine || string(data) == sharedLine):
		return nil
	case err == nil:
		line, _, _ := strings.Cut(string(data[:min(len(data), 64)]), "\n")
		if strings.Trim(line, "\x00") == "" {
			return fmt.Errorf("its file %q is damaged: if this version of mleflow made the cache, write the line %q to it, or %q if a group shares it", formatName, strings.TrimSpace(formatLine), strings.TrimSpace(sharedLine))
		}
		return fmt.Errorf("its format is %q; this version of mleflow reads %q: use the version that wrote it, or another folder",
			line, strings.TrimSpace(formatLine))
	case !errors.Is(err, fs.ErrNotExist):
		return err
	case readOnly:
		return errors.New("it is not a cache (it has no format file), and it is read-only, so it cannot become one")
	}
	return initialise(dir)
}

// initialise turns dir into a cache. Several processes may do so at once. The
// format file is written last: its presence means that the rest is complete.
func initialise(dir string) error {
	list, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, d := range list {
		if !slices.Contains(folderNames, d.Name()) && d.Name() != sandboxName && !strings.HasPrefix(d.Name(), formatName) && !strings.HasPrefix(d.Name(), ProbePrefix) {
			if _, err := os.Lstat(filepath.Join(dir, formatName)); err == nil {
				return checkFormat(dir, false) // another process was first
			}
			return fmt.Errorf("it is not a cache (it has no format file) and not empty (it contains %q): choose an empty folder", d.Name())
		}
	}
	spreadObjects(dir)
	for _, name := range folderNames {
		if err := nolink.Mkdir(filepath.Join(dir, name), 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	if err := lacks(filepath.Join(dir, locksName)); err != nil {
		return err
	}
	return writeFileAtomic(filepath.Join(dir, formatName), []byte(formatLine))
}

// writeFileAtomic writes a small file durably, all or nothing. The data must be on
// disk before the name is: otherwise a crash of the machine may leave the name with
// an empty file.
func writeFileAtomic(path string, data []byte) error {
	return nolink.WriteFile(path, data, 0o644, true)
}

// readJSON reads a small file in JSON.
func readJSON[T any](path string) (v T, err error) {
	data, err := nolink.ReadFile(path)
	if err != nil {
		return v, err
	}
	if err := json.Unmarshal(data, &v); err != nil {
		return v, fmt.Errorf("read %s: %w", path, err)
	}
	return v, nil
}

// writeJSON writes a small file in JSON, as writeFileAtomic does.
func writeJSON(path string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return writeFileAtomic(path, append(data, '\n'))
}

// makePrivate creates the folder of a cache, or closes an existing one to other
// users: it contains answers, and submissions of running attempts. The group
// keeps its permissions if others have none, or if it may write: that is how a
// cache is shared on purpose. A folder with another owner is left as it is.
func makePrivate(dir string) error {
	if err := nolink.MkdirAll(filepath.Dir(dir), 0o777); err != nil {
		return err
	}
	err := nolink.Mkdir(dir, 0o700)
	if err == nil || !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	mode, drop := info.Mode().Perm(), fs.FileMode(0o007)
	if mode&0o007 == 0 {
		return nil
	}
	if mode&0o020 == 0 {
		drop = 0o077
	}
	err = os.Chmod(dir, info.Mode()&^drop)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.EROFS) {
		return nil
	}
	return err
}

// writable reports whether the folder can be written to.
func writable(dir string) bool { return unix.Access(dir, unix.W_OK|unix.X_OK) == nil }
