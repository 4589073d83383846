package disk

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/nolink"
	"github.com/mleflow/mleflow/cache/tree"
)

// linksOfTree is the largest number of link folders that are kept of one tree.
// linksFor is the time for which an unused one is kept.
const (
	linksOfTree = 16
	linksFor    = sharedFor
)

// linkFolders manages the link folders that their users have left.
type linkFolders struct {
	*folder
	leases  *leases
	objects *objects
	// files is where the trees are read from.
	files cache.Files
	// seen has a *seenLinks for each folder that this process checked, by inode.
	seen sync.Map
}

// linksPath returns the common prefix of the paths of a tree's folders.
func (c *linkFolders) linksPath(ref cache.Ref) string {
	return c.path(linksName, ref.ID.String())
}

// TakeLinks implements cache.LinkKeeper. The process that moves a folder has it alone,
// so no lock is needed.
func (c *linkFolders) TakeLinks(ctx context.Context, ref cache.Ref, dst string) (taken bool, made func(folders []string), err error) {
	if c.readOnly || c.grouped {
		return false, func([]string) {}, nil
	}
	list, err := filepath.Glob(c.linksPath(ref) + "-*")
	if err != nil {
		return false, nil, fmt.Errorf("take links of tree %s: %w", ref.ID.Short(), err)
	}
	now := c.see(ref)
	for _, from := range list {
		before, err := stampOf(from)
		if err != nil || os.Rename(from, dst) != nil {
			continue // taken by another, or another user's
		}
		seen := c.unchanged(before, now, dst)
		if seen == nil {
			seen, err = now, c.checkLinks(ctx, now, ref, dst)
		}
		if err == nil {
			err = os.Chmod(dst, 0o555)
		}
		if err == nil {
			c.remember(seen, dst)
			return true, nil, nil
		}
		// If more than the folder is wrong, Materialise reports it.
		if err := tree.Remove(dst); err != nil {
			return false, nil, fmt.Errorf("take links of tree %s: %w", ref.ID.Short(), err)
		}
		if ctx.Err() != nil {
			return false, nil, context.Cause(ctx)
		}
	}
	return false, func(folders []string) { c.made(now, dst, folders) }, nil
}

// KeepLinks implements cache.LinkKeeper. A shared cache keeps none: another user could
// neither take nor remove them.
func (c *linkFolders) KeepLinks(ref cache.Ref, dir string) error {
	if c.readOnly || c.grouped {
		return nil
	}
	if err := c.keepLinks(ref, dir); err != nil && !errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("keep links of tree %s: %w", ref.ID.Short(), c.explain(err))
	}
	return nil
}

func (c *linkFolders) keepLinks(ref cache.Ref, dir string) error {
	if err := c.dropLinks(linksFor); err != nil {
		return err
	}
	if err := nolink.Mkdir(c.path(linksName), 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return err // caches created by older versions do not have it
	}
	list, err := filepath.Glob(c.linksPath(ref) + "-*")
	if err != nil {
		return err
	}
	before, err := stampOf(dir)
	if err != nil || len(list) >= linksOfTree {
		c.seen.Delete(before.inode)
		return err
	}
	if err := os.Chmod(dir, 0o755); err != nil { // a read-only folder cannot be moved
		return err
	}
	if err := os.Chtimes(dir, c.now(), c.now()); err != nil { // when it was last used
		return err
	}
	c.hooks.at("links kept")
	to := c.linksPath(ref) + "-" + rand.Text()
	err = os.Rename(dir, to)
	if now, statErr := stampOf(to); statErr == nil {
		if seen, ok := c.seen.Load(now.inode); ok { // moving it was a change too
			seen.(*seenLinks).folders.CompareAndSwap("", before, now)
		}
	}
	return err
}

// errStale means that a link folder differs from the one that Materialise would
// make now.
var errStale = errors.New("the folder has other files than the tree")

// checkLinks returns an error unless a folder has exactly the entries of a tree,
// each file being the object that the cache has now, with its seal. So it finds the
// same damage as Place, and objects that were removed or replaced since the links
// were made, at the cost of one stat an object.
func (c *linkFolders) checkLinks(ctx context.Context, seen *seenLinks, ref cache.Ref, dir string) error {
	seen.folders.Clear()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	check := linkCheck{c, seen, group, dir}
	group.Go(func() error { return check.folder(ctx, ref, "") })
	return group.Wait()
}

// linkCheck is a check of a folder, with a goroutine a processor.
type linkCheck struct {
	*linkFolders
	seen  *seenLinks
	group *errgroup.Group
	top   string
}

// folder checks the folder at a path below the one to check.
func (c linkCheck) folder(ctx context.Context, ref cache.Ref, at string) error {
	path := c.top + at
	dir, err := os.OpenFile(path, unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer dir.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(dir.Fd()), &st); err != nil {
		return err
	}
	c.seen.folders.Store(at, folderStamp{st.Ino, st.Ctim})
	folder := linkFolder{dir: dir, device: factsOf(&st).device, inodes: make(map[string]uint64)}
	if err := eachName(dir, func(name []byte, inode uint64) { folder.inodes[string(name)] = inode }); err != nil {
		return err
	}
	left := len(folder.inodes)
	err = tree.Each(ctx, c.files, ref, func(e tree.Entry) error {
		left--
		if !e.IsDir() {
			return c.checkLink(ctx, folder, e)
		}
		below := func() error { return c.folder(ctx, e.Ref(), at+"/"+e.Name) }
		if c.group.TryGo(below) {
			return nil
		}
		return below()
	})
	if err == nil && left != 0 {
		err = errStale
	}
	return err
}

// linkFolder is an open folder with its list of entries.
type linkFolder struct {
	dir    *os.File
	device uint64
	inodes map[string]uint64
}

func (c *linkFolders) checkLink(ctx context.Context, in linkFolder, e tree.Entry) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	object, err := c.objects.stat(e.ID, e.Type == tree.Executable)
	if err != nil {
		return err
	}
	if !object.sealed(e.ID) {
		return errStale
	}
	if in.inodes[e.Name] == object.inode && in.device == object.device {
		return nil
	}
	// Some file systems, such as overlayfs, list other numbers than stat returns.
	var st unix.Stat_t
	if err := unix.Fstatat(int(in.dir.Fd()), e.Name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return err
	}
	if link := factsOf(&st); link.inode != object.inode || link.device != object.device {
		return errStale
	}
	return nil
}

// dropLinks removes the folders that were not used for some time: each link keeps
// the space of its object. They are first moved to a work folder, where no process
// takes them and which is cleaned up if this process dies.
func (c *linkFolders) dropLinks(unused time.Duration) error {
	list, err := names(c.path(linksName))
	if err != nil || len(list) == 0 {
		return ignoreMissing(err)
	}
	work, err := c.leases.TempDir("links")
	if err != nil {
		return err
	}
	for _, name := range list {
		path := c.path(linksName, name)
		// One that cannot be moved was taken, or is another user's.
		if info, err := os.Stat(path); err == nil && c.now().Sub(info.ModTime()) >= unused && os.Rename(path, work+"/"+name) == nil {
			c.hooks.at("links dropped")
		}
	}
	return tree.Remove(work)
}

// seenFor is the time for which a check of a link folder holds. An attempt reads its
// data for longer than that without another check.
const seenFor = 10 * time.Minute

// seenLinks is what this process saw of a link folder when it checked or made it. While
// its folders are the same, it has the same names for the same files. That no file was
// damaged is believed for seenFor, unless an object was set aside since.
type seenLinks struct {
	tree       digest.ContentID
	at         time.Time
	quarantine folderStamp
	// folders has the folderStamp of each folder by its path: "" for the top, otherwise
	// with a slash before it.
	folders sync.Map
}

// folderStamp differs after every change of a folder's names, for nobody can set the
// time of the last status change.
type folderStamp struct {
	inode   uint64
	changed unix.Timespec
}

func stampOf(path string) (folderStamp, error) {
	var st unix.Stat_t
	err := unix.Lstat(path, &st)
	return folderStamp{st.Ino, st.Ctim}, os.NewSyscallError("lstat", err)
}

// see begins to look at a folder of a tree.
func (c *linkFolders) see(ref cache.Ref) *seenLinks {
	quarantine, _ := stampOf(c.path(quarantineName)) // if it is missing, no object was set aside
	return &seenLinks{tree: ref.ID, at: c.now(), quarantine: quarantine}
}

// unchanged returns what was seen of a folder if that still holds now. The folder was
// moved to dir; before is its stamp until then.
func (c *linkFolders) unchanged(before folderStamp, now *seenLinks, dir string) *seenLinks {
	found, _ := c.seen.Load(before.inode)
	seen, ok := found.(*seenLinks)
	if !ok {
		return nil
	}
	top, _ := seen.folders.Load("")
	if top != before || seen.tree != now.tree || seen.quarantine != now.quarantine || now.at.Sub(seen.at) > seenFor {
		return nil
	}
	seen.folders.Range(func(at, was any) bool {
		is, err := stampOf(dir + at.(string))
		if at != "" && (err != nil || is != was) {
			seen = nil
		}
		return seen != nil
	})
	return seen
}

// remember notes what was seen of a folder that this process has just moved to dir,
// which changes the folder itself.
func (c *linkFolders) remember(seen *seenLinks, dir string) {
	if top, err := stampOf(dir); err == nil {
		seen.folders.Store("", top)
		c.seen.Store(top.inode, seen)
	}
}

// made notes a folder that was made by itself, with its subfolders.
func (c *linkFolders) made(seen *seenLinks, dir string, folders []string) {
	seen.folders.Clear()
	for _, at := range folders {
		stamp, err := stampOf(dir + at)
		if err != nil {
			return
		}
		seen.folders.Store(at, stamp)
	}
	c.remember(seen, dir)
}
