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

// seenLinks is what this process saw of a link folder when it checked or made it. As
// long as its folders are the same, it has the same names for the same files. That no
// file was damaged is believed for seenFor, unless an object was set aside since.
type seenLinks struct {
	tree       digest.ContentID
	at         time.Time
	quarantine folderStamp

	mu sync.Mutex
	// below has the folders by their path: "" for the top, otherwise with a slash before it.
	below map[string]folderStamp
}

// folderStamp is another one after every change of a folder's names, for nobody can set
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

// see begins to look at a folder of a tree.
func (c *linkFolders) see(ref cache.Ref) (*seenLinks, error) {
	bad, err := stampOf(c.path(quarantineName))
	return &seenLinks{tree: ref.ID, at: c.now(), quarantine: bad, below: map[string]folderStamp{}}, err
}

// add notes a folder.
func (s *seenLinks) add(at string, st *unix.Stat_t) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.below[at] = folderStamp{st.Ino, st.Ctim}
}

// unchanged returns what was seen of a folder if that still holds now. The folder was
// moved to dir; before is its stamp until then.
func (c *linkFolders) unchanged(before folderStamp, now *seenLinks, dir string) *seenLinks {
	found, ok := c.seen.Load(before.inode)
	if !ok {
		return nil
	}
	seen := found.(*seenLinks)
	if seen.tree != now.tree || seen.quarantine != now.quarantine || seen.below[""] != before || now.at.Sub(seen.at) > seenFor {
		return nil
	}
	for at, was := range seen.below {
		if is, err := stampOf(dir + at); at != "" && (err != nil || is != was) {
			return nil
		}
	}
	return seen
}

// look notes the folders below dir, which was just made.
func (s *seenLinks) look(dir string, folders []string) (err error) {
	clear(s.below)
	for _, at := range folders {
		if s.below[at], err = stampOf(dir + at); err != nil {
			return err
		}
	}
	return nil
}

// remember notes what was seen of a folder that this process has just moved to dir,
// which changes the folder itself.
func (c *linkFolders) remember(seen *seenLinks, dir string) {
	if top, err := stampOf(dir); err == nil {
		seen.below[""] = top
		c.seen.Store(top.inode, seen)
	}
}
