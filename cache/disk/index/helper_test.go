package index

import (
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func actionOf(name string) digest.ActionID { return digest.NewHasher("test", name).Sum() }

func recordOf(name string) *cache.Record {
	return &cache.Record{Action: actionOf(name), Address: "step.test." + name, Kind: "test", Run: "r", Outputs: cache.Outputs{}}
}

// openTest opens the index with its log at path, for one process.
func openTest(t testing.TB, path string) *Index {
	t.Helper()
	return openWith(t, path, filepath.Join(t.TempDir(), "copy"), new(atomic.Int64))
}

// openWith opens the index with a copy and the size that the state remembers.
func openWith(t testing.TB, path, copied string, size *atomic.Int64) *Index {
	t.Helper()
	var lock sync.Mutex
	ix, err := Open(Config{
		Path: path, Copy: copied, Size: size, Changes: new(atomic.Int64), Lost: new(atomic.Int64), OnDrop: func() {}, At: func(string) {},
		Hold: func(fn func() error) error {
			lock.Lock()
			defer lock.Unlock()
			return fn()
		},
		Now:   func() time.Time { return time.UnixMilli(5000) },
		Write: func(f *os.File, p []byte) (int, error) { return f.Write(p) },
	})
	must(t, err)
	t.Cleanup(func() { _ = ix.Close() })
	return ix
}
