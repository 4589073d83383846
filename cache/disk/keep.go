package disk

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/nolink"
	"github.com/mleflow/mleflow/cache/tree"
)

// keySuffix is the suffix of the file that holds a folder's key and lock.
const keySuffix = ".key"

// keeping manages the work folders that outlive their processes.
type keeping struct {
	*folder
	// mu guards held, the folders that this process holds.
	mu   sync.Mutex
	held map[*os.File]bool
}

func (k *keeping) add(lock *os.File) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.held == nil {
		k.held = make(map[*os.File]bool)
	}
	k.held[lock] = true
}

// take removes a lock from held and reports whether it was there.
func (k *keeping) take(lock *os.File) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	held := k.held[lock]
	delete(k.held, lock)
	return held
}

// close releases all folders, which stay on disk.
func (k *keeping) close() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	var errs []error
	for lock := range k.held {
		errs = append(errs, lock.Close())
	}
	k.held = nil
	return errors.Join(errs...)
}

// keptPath returns the folder of a key. Its name is short, because the length
// of a socket's path is limited, and derived from the key's digest, so that no
// key can escape the folder.
func (c *keeping) keptPath(key string) string {
	id := digest.Of([]byte(key))
	return c.path(keptName, hex.EncodeToString(id[:10]))
}

// Keep implements cache.Keeper.
func (c *keeping) Keep(ctx context.Context, key string) (string, func(keep bool) error, error) {
	if err := c.writing("keep work folder"); err != nil {
		return "", nil, err
	}
	dir := c.keptPath(key)
	lock, err := c.lockKept(ctx, dir+keySuffix)
	if err != nil {
		return "", nil, fmt.Errorf("keep work folder %q: %w", key, c.explain(err))
	}
	if err := makeKept(lock, dir, key); err != nil {
		lock.Close()
		return "", nil, fmt.Errorf("keep work folder %q: %w", key, c.explain(err))
	}
	c.add(lock)
	return dir, func(keep bool) error {
		if !c.take(lock) {
			return nil // released already, or by Close
		}
		var err error
		if !keep {
			err = errors.Join(tree.Remove(dir), os.Remove(lock.Name()))
		}
		return errors.Join(err, lock.Close())
	}, nil
}

// lockKept opens and locks the key file at path. It tries again if the previous
// holder removed the file before releasing the lock.
func (c *keeping) lockKept(ctx context.Context, path string) (*os.File, error) {
	if err := os.Mkdir(c.path(keptName), 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err // caches created by older versions do not have it
	}
	for {
		lock, err := nolink.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
		if err != nil {
			return nil, err
		}
		same := false
		if err = flockContext(ctx, lock, unix.LOCK_EX); err == nil {
			if same, err = nolink.IsAt(lock, path); same {
				return lock, nil
			}
		}
		lock.Close()
		if err != nil {
			return nil, err
		}
	}
}

// makeKept creates the folder if it does not exist, and records its key.
func makeKept(lock *os.File, dir, key string) error {
	known, err := io.ReadAll(lock)
	if err != nil {
		return err
	}
	// A holder that died may have written only part of the key.
	if !strings.HasPrefix(key, string(known)) {
		return fmt.Errorf("%s is the folder of another key: %q", dir, known)
	}
	if len(known) < len(key) {
		if _, err := lock.WriteAt([]byte(key), 0); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nolink.Check(dir, "")
}

// Kept implements cache.Keeper.
func (c *keeping) Kept(context.Context) ([]cache.Kept, error) {
	list, err := names(c.path(keptName))
	if err := ignoreMissing(err); err != nil {
		return nil, fmt.Errorf("list kept work folders: %w", err)
	}
	var kept []cache.Kept
	for _, name := range list {
		base, ok := strings.CutSuffix(name, keySuffix)
		if !ok {
			continue
		}
		k, err := readKept(c.path(keptName, base))
		if err != nil {
			return nil, fmt.Errorf("list kept work folders: %w", err)
		}
		// A folder without a complete key was never used.
		if c.keptPath(k.Key) == k.Dir {
			kept = append(kept, k)
		}
	}
	slices.SortFunc(kept, func(a, b cache.Kept) int { return strings.Compare(a.Key, b.Key) })
	return kept, nil
}

func readKept(dir string) (cache.Kept, error) {
	k := cache.Kept{Dir: dir}
	f, err := nolink.Open(dir + keySuffix)
	if err != nil {
		return k, ignoreMissing(err)
	}
	defer f.Close()
	key, err := io.ReadAll(f)
	if err != nil {
		return k, err
	}
	k.Key = string(key)
	free, err := tryFlock(f, unix.LOCK_SH)
	k.Held = !free
	return k, err
}
