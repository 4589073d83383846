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

// seenLinks is what a check saw of a link folder. If none of its folders has changed
// since, it has the same names for the same files; that no file was damaged is
// believed for seenFor, unless an object was set aside since.
type seenLinks struct {
	tree             digest.ContentID
	at               time.Time
	root, quarantine folderStamp

	mu sync.Mutex
	// below has the subfolders by their path, which begins with a slash.
	below map[string]folderStamp
}

// folderStamp changes with every name in a folder, and with its mode: nobody can set
// the time of the last status change.
type folderStamp struct {
	inode   uint64
	changed unix.Timespec
}

func stampOf(path string) (folderStamp, error) {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return folderStamp{}, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	return folderStamp{st.Ino, st.Ctim}, nil
}

func (s *seenLinks) add(at string, st *unix.Stat_t) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.below == nil {
		s.below = map[string]folderStamp{}
	}
	s.below[at] = folderStamp{st.Ino, st.Ctim}
}

// unchanged returns what was seen of a folder of a tree if that still holds. The folder
// was moved to dir; before is its stamp until then.
func (c *linkFolders) unchanged(ref cache.Ref, before folderStamp, dir string) *seenLinks {
	found, ok := c.seen.Load(before.inode)
	if !ok {
		return nil
	}
	seen := found.(*seenLinks)
	bad, err := stampOf(c.path(quarantineName))
	if err != nil || seen.tree != ref.ID || seen.root != before || seen.quarantine != bad || c.now().Sub(seen.at) > seenFor {
		return nil
	}
	for at, was := range seen.below {
		if now, err := stampOf(dir + at); err != nil || now != was {
			return nil
		}
	}
	return seen
}

// remember notes what was seen of a folder that this process has just moved to dir.
func (c *linkFolders) remember(seen *seenLinks, dir string) {
	if root, err := stampOf(dir); err == nil {
		seen.root = root
		c.seen.Store(root.inode, seen)
	}
}
