package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/nolink"
)

// sharedLine is formatLine of a cache that belongs to a group. Versions that do not know it
// refuse the folder: they would write files that the group cannot read.
const sharedLine = "mleflow cache 1 shared\n"

// groupFolders are the folders that all members of the group write to, besides those of
// the cache itself.
var groupFolders = []string{"runs", "pipelines", "published", "remote", crashesName, sandboxName, sandboxName + "/" + processorsName}

// The names of a folder whose files are their users' alone, and of one in that of the
// sandbox with locks on processors.
const (
	crashesName    = "crashes"
	processorsName = "cpus"
)

// Shared reports whether the cache in a folder belongs to a group: the folder is the
// group's, or was by InitShared.
func Shared(dir string) bool { return nolink.Shared(dir) || marked(dir) }

// marked reports whether a folder is a cache that InitShared gave to a group.
func marked(dir string) bool {
	data, err := nolink.ReadFile(filepath.Join(dir, formatName))
	return err == nil && string(data) == sharedLine
}

// Enter returns an error if a folder belongs to a group that the user is not in.
func Enter(dir string) error {
	_, err := os.Stat(filepath.Join(dir, formatName))
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("open cache %s: %w", dir, explainRights(dir, err))
	}
	return nil
}

// explainRights adds to an error about rights what the group of a folder has to do with
// it.
func explainRights(dir string, err error) error {
	info, statErr := os.Stat(dir)
	if !errors.Is(err, fs.ErrPermission) || statErr != nil || !nolink.IsShared(info.Mode()) {
		return err
	}
	uid, gid := nolink.Owner(info)
	switch {
	case isMember(gid) && marked(dir):
		return nolink.Explain(err)
	case isMember(gid):
		return fmt.Errorf("%w; a group shares a cache by: mleflow cache init --shared %s", err, nolink.GroupName(gid))
	}
	return fmt.Errorf("%w: it belongs to the group %s, and %s is not a member; ask its owner, %s, or an administrator for: usermod -aG %s %s, and log in again",
		fs.ErrPermission, nolink.GroupName(gid), nolink.UserName(os.Geteuid()), nolink.UserName(uid), nolink.GroupName(gid), nolink.UserName(os.Geteuid()))
}

func isMember(gid int) bool {
	groups, err := os.Getgroups()
	return err == nil && slices.Contains(append(groups, os.Getegid()), gid) || os.Geteuid() == 0
}

// joinGroup finds out whether the cache belongs to a group, and whether the group has its
// rights.
func (c *folder) joinGroup() error {
	if c.grouped = Shared(c.dir); !c.grouped || c.opts.ReadOnly {
		return nil
	}
	if marked(c.dir) {
		if err := c.checkGroup(); err != nil {
			return err
		}
	}
	if c.readOnly {
		return nil
	}
	return c.makeGroupFolders()
}

// makeGroupFolders makes the folders that all members write to, before one makes them for
// itself.
func (c *folder) makeGroupFolders() error {
	return lists.Each(groupFolders, func(name string) error { return nolink.MkdirAll(c.path(name), 0o777) })
}

// checkGroup returns an error if somebody has taken a folder of a shared cache from its
// group.
func (c *folder) checkGroup() error {
	top, err := os.Stat(c.dir)
	if err != nil {
		return err
	}
	_, gid := nolink.Owner(top)
	for _, name := range slices.Concat([]string{"."}, folderNames, groupFolders) {
		info, err := os.Lstat(c.path(name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if uid, is := nolink.Owner(info); !nolink.IsShared(info.Mode()) || is != gid {
			return fmt.Errorf("it is a shared cache, but its group %s has no longer all rights to the folder %s (%s, group %s): "+
				"its owner, %s, or root restores them with: mleflow cache init --shared %s",
				nolink.GroupName(gid), filepath.Clean(c.path(name)), info.Mode(), nolink.GroupName(is), nolink.UserName(uid), nolink.GroupName(gid))
		}
	}
	return nil
}

// own returns the name of what each user has for themselves in a folder that a group
// shares. What a user had there before the cache was shared keeps its name.
func (c *folder) own(path, suffix string) string {
	if !c.grouped {
		return path
	}
	if nolink.IsMine(path + suffix) {
		return path
	}
	return path + "-" + strconv.Itoa(os.Geteuid())
}

// giveGroup gives a new private folder to the group of a shared cache.
func (c *folder) giveGroup(dir string) error {
	if !c.grouped {
		return nil
	}
	top, err := c.file.Stat()
	if err != nil {
		return err
	}
	_, gid := nolink.Owner(top)
	return errors.Join(os.Chown(dir, -1, gid), os.Chmod(dir, 0o775|fs.ModeSetgid))
}

// SandboxDir is the folder of the runtime sandbox in the cache in a folder. In a shared
// cache each user has one: what runs there is private, and an unpacked image has its user
// as the owner of its files.
func SandboxDir(dir string) string {
	all := filepath.Join(dir, sandboxName)
	if !Shared(dir) || nolink.IsMine(filepath.Join(all, "runs")) { // from before the cache was shared
		return all
	}
	return filepath.Join(all, "user-"+strconv.Itoa(os.Geteuid()))
}

// SharedResult is the result of InitShared.
type SharedResult struct {
	Dir   string `json:"dir"`
	Group string `json:"group"`
	// Others is the number of files and folders without the group's rights by the
	// name of their owner, who has to give them.
	Others map[string]int `json:"others,omitempty"`
}

// InitShared makes a cache that belongs to a group, or gives an existing one to it: each
// file and folder, but for what is private. It may be repeated to restore the group's
// rights. The user must be in the group, and own the folder unless it is shared already.
func InitShared(dir, group string) (res SharedResult, err error) {
	dir = nolink.Folder(dir)
	defer func() {
		if err != nil {
			err = fmt.Errorf("share cache %s: %w", dir, err)
		}
	}()
	gid, err := groupID(group)
	if err != nil {
		return res, err
	}
	was := marked(dir)
	if !was {
		if err := unused(dir); err != nil {
			return res, err
		}
	}
	g := grouping{dir: dir, gid: gid, again: was, res: SharedResult{Dir: dir, Group: nolink.GroupName(gid), Others: map[string]int{}}}
	if err := g.give(dir, true); err != nil {
		return res, err
	}
	if !nolink.Shared(dir) {
		return res, fmt.Errorf("%w: its owner has to do this", fs.ErrPermission)
	}
	if err := (&folder{dir: dir}).makeGroupFolders(); err != nil {
		return res, err
	}
	if err := filepath.WalkDir(dir, g.visit); err != nil {
		return res, err
	}
	if !was {
		err = writeFileAtomic(filepath.Join(dir, formatName), []byte(sharedLine))
	}
	return g.res, err
}

// groupID returns the number of a group by its name or number.
func groupID(name string) (int, error) {
	gid, err := strconv.Atoi(name)
	if g, lookErr := user.LookupGroup(name); lookErr == nil {
		gid, err = strconv.Atoi(g.Gid)
	}
	if err != nil || gid < 0 {
		return 0, fmt.Errorf("there is no group %q on this machine", name)
	}
	if !isMember(gid) {
		return 0, fmt.Errorf("%s is not in the group %s; an administrator adds users with: usermod -aG %s %s", nolink.UserName(os.Geteuid()), name, name, nolink.UserName(os.Geteuid()))
	}
	return gid, nil
}

// unused makes the cache, or makes sure that no other process has it open: an older one
// would go on without the group.
func unused(dir string) error {
	c, err := Open(dir, Options{})
	if err != nil {
		return err
	}
	live, err := c.leases.others()
	if err = errors.Join(err, c.Close()); err != nil {
		return err
	}
	if live.others > 0 {
		return fmt.Errorf("other processes have it open (%d); let them end first", live.others)
	}
	return nil
}

// grouping gives the content of a cache to a group.
type grouping struct {
	dir string
	gid int
	// again is true if the cache was shared before.
	again bool
	res   SharedResult
}

// visit gives a file or folder to the group unless it is private.
func (g *grouping) visit(path string, d fs.DirEntry, err error) error {
	if err != nil {
		if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
			return fs.SkipDir // counted as its owner's
		}
		return err
	}
	rel, _ := filepath.Rel(g.dir, path)
	switch above := filepath.Dir(rel); {
	case d.IsDir() && g.private(rel, above, d):
		return fs.SkipDir
	case !d.IsDir() && (!d.Type().IsRegular() || above == crashesName):
		return nil
	}
	return g.give(path, d.IsDir())
}

// private reports whether a folder is one user's alone, also if somebody moved it in the
// shared cache.
func (g *grouping) private(rel, above string, d fs.DirEntry) bool {
	if rel == "." || slices.Contains(folderNames, rel) || slices.Contains(groupFolders, rel) {
		return false
	}
	info, err := d.Info()
	made := err == nil && g.again && info.Mode()&(fs.ModeSetgid|0o070) == 0
	return made || above == tmpName || above == keptName || above == sandboxName
}

// give gives one file or folder to the group. The descriptions of runs stay read-only to
// it: see history.Past.Own.
func (g *grouping) give(path string, isDir bool) error {
	open := nolink.Open
	if isDir {
		open = nolink.OpenDir
	}
	info, err := os.Lstat(path)
	if err != nil {
		return ignoreMissing(err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if ok && !isDir && st.Nlink > 1 && !strings.HasPrefix(path, g.dir+"/"+objectsName+"/") {
		return nil // also a file elsewhere
	}
	uid, gid := nolink.Owner(info)
	mode := nolink.Grouped(info.Mode())
	switch {
	case isDir:
		mode |= 0o020 // also a read-only one of a copy, which another member may have to remove
	case strings.HasPrefix(path, g.dir+"/runs/") && !strings.HasSuffix(path, "lock"):
		mode = info.Mode() | info.Mode()&0o400>>3
	}
	if mode == info.Mode() && gid == g.gid {
		return nil
	}
	if me := os.Geteuid(); me != 0 && me != uid {
		g.res.Others[nolink.UserName(uid)]++
		return nil
	}
	f, err := open(path)
	if err != nil {
		return ignoreMissing(err)
	}
	defer f.Close()
	if now, err := f.Stat(); err != nil || !os.SameFile(now, info) {
		return err
	}
	return errors.Join(f.Chown(-1, g.gid), f.Chmod(mode&^fs.ModeType))
}
