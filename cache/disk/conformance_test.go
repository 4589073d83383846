package disk

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/cachetest"
)

// testHooks are the ways in which a file system may differ.
var testHooks = map[string]hooks{
	"unnamed files":    {unnamed: true},
	"no unnamed files": {unnamed: false},
	"no hard links":    {unnamed: true, link: noLink},
}

func noLink(_ *os.File, _, to string) error {
	return &os.LinkError{Op: "link", New: to, Err: unix.EPERM}
}

func openTest(t testing.TB, dir string, opts Options, h hooks) *Cache {
	t.Helper()
	cachetest.Removable(t, dir)
	c, err := open(dir, opts, h.withDefaults())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return c
}

func TestConformance(t *testing.T) {
	for name, h := range testHooks {
		t.Run(name, func(t *testing.T) {
			cachetest.TestStore(t, func(t *testing.T) cache.Store { return openTest(t, t.TempDir(), Options{}, h) })
			cachetest.TestIndex(t, func(t *testing.T) cachetest.Cache { return openTest(t, t.TempDir(), Options{}, h) })
			cachetest.TestReserver(t, func(t *testing.T, quota int64) cachetest.ReservingStore {
				return openTest(t, t.TempDir(), Options{Quota: quota}, h)
			})
			cachetest.TestKeeper(t, func(t *testing.T) cache.Keeper { return openTest(t, t.TempDir(), Options{}, h) })
			cachetest.TestLocker(t, func(t *testing.T) cache.Locker { return openTest(t, t.TempDir(), Options{}, h) })
		})
	}
}
