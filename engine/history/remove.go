package history

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/flock"
	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/nolink"
)

// ErrLive means that a run has not ended, or that another process removes it.
var ErrLive = errors.New("it is running")

// removing begins the name that the folder of a run gets before its files are deleted.
const removing = ".removed-"

// Remove deletes the folder of a run of List, unless its process lives: ErrLive. Tried are the
// addresses of the steps that it began and that are counted. The chain keeps the run's lines and, before
// anything is deleted, gets one that says who removed it. If the process is killed, the
// history has the whole run or nothing of it; the next Remove deletes the rest of its files.
func (l *Store) Remove(id string, tried ...string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("remove run %s: %w", id, err)
		}
	}()
	dir := filepath.Join(l.runs(), id)
	lock, err := nolink.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrPermission) {
		lock, err = nolink.Open(filepath.Join(dir, "lock"))
	}
	if err == nil {
		defer lock.Close()
		if free, err := flock.Try(lock); !free || err != nil {
			return cmp.Or(err, ErrLive)
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	text, err := l.Chain()
	if err != nil {
		return err
	}
	declared := strings.Contains(string(text), `"run":`+strconv.Quote(id))
	if declared || len(tried) > 0 {
		line := Link{Type: Removed, Run: id, By: strconv.Itoa(os.Geteuid())}
		if !declared {
			line.Steps = lists.Of(tried, Mark)
		}
		if err := l.Extend(line); err != nil {
			return err
		}
	}
	gone := filepath.Join(l.runs(), removing+id)
	if err := os.Rename(dir, gone); err != nil {
		return err
	}
	err = nolink.SyncDir(l.runs())
	left, _ := filepath.Glob(filepath.Join(l.runs(), removing+"*")) // the pattern is well-formed
	for _, dir := range left {
		if failed := os.RemoveAll(dir); dir == gone {
			err = errors.Join(err, failed) // what is left of others may be of other users
		}
	}
	return err
}
