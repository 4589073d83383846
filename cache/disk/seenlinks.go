package disk

import (
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
)

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
