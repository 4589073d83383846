package nolink

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// Shared reports whether a folder belongs to a group: it has the set-group-ID bit, and
// the group may write to it. What OpenFile, WriteFile and the functions below make in
// such a folder gives the group the owner's rights, whatever the umask; folders are
// shared in turn. Only what is made with a mode that gives the group nothing, such as
// 0600 or 0700, is private; in a private folder the group is not inherited either, which
// a user namespace may not know.
func Shared(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && IsShared(info.Mode())
}

// IsShared is Shared for the mode of a folder.
func IsShared(mode fs.FileMode) bool {
	return mode.IsDir() && mode&fs.ModeSetgid != 0 && mode.Perm()&0o020 != 0
}

// Grouped returns the mode with the group's rights that a file or folder of this mode has
// in a shared folder.
func Grouped(mode fs.FileMode) fs.FileMode {
	if mode.IsDir() {
		mode |= fs.ModeSetgid
	}
	return mode | mode&0o700>>3
}

// Mkdir is os.Mkdir.
func Mkdir(path string, mode fs.FileMode) error {
	if err := os.Mkdir(path, mode); err != nil || !Shared(filepath.Dir(path)) {
		return err
	}
	dir, err := OpenDir(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	if mode&0o070 == 0 {
		return dir.Chmod(mode)
	}
	return grant(dir)
}

// MkdirAll is os.MkdirAll.
func MkdirAll(path string, mode fs.FileMode) error {
	err := Mkdir(path, mode)
	if errors.Is(err, fs.ErrNotExist) && filepath.Dir(path) != path {
		if err = MkdirAll(filepath.Dir(path), mode); err == nil {
			err = Mkdir(path, mode)
		}
	}
	if err != nil {
		info, statErr := os.Stat(path)
		if statErr == nil && info.IsDir() {
			return nil
		}
		_, linkErr := os.Readlink(path)
		if errors.Is(err, fs.ErrExist) && errors.Is(statErr, fs.ErrNotExist) && linkErr != nil {
			return MkdirAll(path, mode) // it was removed in the meantime
		}
	}
	return err
}

// MkdirTemp makes a folder in another whose name starts with prefix.
func MkdirTemp(dir, prefix string, mode fs.FileMode) (string, error) {
	for {
		path := filepath.Join(dir, prefix+strconv.FormatUint(rand.Uint64(), 36))
		if err := Mkdir(path, mode); !errors.Is(err, fs.ErrExist) {
			return path, err
		}
	}
}

// Chmod sets the mode of an open file or folder, and gives the group the owner's rights
// if the folder around it is shared.
func Chmod(f *os.File, mode fs.FileMode) error {
	if mode&0o070 != 0 && Shared(filepath.Dir(f.Name())) {
		info, err := f.Stat()
		if err != nil {
			return err
		}
		mode = Grouped(mode|info.Mode().Type()) &^ fs.ModeType
	}
	return f.Chmod(mode)
}

// grant gives the group its rights to a file or folder that was just made in a shared
// folder. What has content, or belongs to another user, was moved here by somebody: it
// stays as it is.
func grant(f *os.File) error {
	info, err := f.Stat()
	want := Grouped(info.Mode())
	if err != nil || want == info.Mode() {
		return err
	}
	empty := info.Size() == 0
	if info.IsDir() {
		names, err := f.Readdirnames(1)
		empty = len(names) == 0 && err != nil
	}
	if uid, _ := Owner(info); !empty || uid != os.Geteuid() {
		return nil
	}
	return f.Chmod(want &^ fs.ModeType)
}

// openGrouped opens a file that may have to be made in a shared folder. Another user may
// just have made it, and not have given it to the group yet.
func openGrouped(path string, flags int, mode fs.FileMode) (*os.File, error) {
	f, err := open(path, flags, mode)
	for n := 0; n < 20 && errors.Is(err, fs.ErrPermission) && Shared(filepath.Dir(path)); n++ {
		time.Sleep(5 * time.Millisecond)
		f, err = open(path, flags, mode)
	}
	if err != nil {
		return nil, Explain(err)
	}
	return f, nil
}

// Explain is Closed for an error about a file in a shared folder that did not give the
// group its rights.
func Explain(err error) error {
	at, ok := errors.AsType[*fs.PathError](err)
	if !ok || !Shared(filepath.Dir(at.Path)) {
		return err
	}
	return Closed(err, at.Path, "chmod -R g+rwX")
}

// Owner returns the numbers of the user and the group of a file.
func Owner(info fs.FileInfo) (uid, gid int) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid), int(st.Gid)
	}
	return -1, -1
}

// IsMine reports whether a file exists and belongs to this user.
func IsMine(path string) bool {
	info, err := os.Lstat(path)
	if err != nil {
		return false
	}
	uid, _ := Owner(info)
	return uid == os.Geteuid()
}

// users are the names of users by number.
var users sync.Map

// UserName is the name of a user or, without one, the number.
func UserName(uid int) string {
	if name, ok := users.Load(uid); ok {
		return name.(string)
	}
	name := strconv.Itoa(uid)
	if u, err := user.LookupId(name); err == nil {
		name = u.Username
	}
	users.Store(uid, name)
	return name
}

// GroupName is UserName for a group.
func GroupName(gid int) string {
	if g, err := user.LookupGroupId(strconv.Itoa(gid)); err == nil {
		return g.Name
	}
	return strconv.Itoa(gid)
}
