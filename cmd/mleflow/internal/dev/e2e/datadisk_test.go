package e2e

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/mleflow/mleflow/cache/digest"
)

// TestDiskUse compares what a cache takes with the unique bytes of the raw and
// prepared data, and with the layout of the reference on the same data, which
// prepare writes: archive, raw folder and prepared copies. What an apply takes
// is measured as it ends, before any collection.
func TestDiskUse(t *testing.T) {
	s := newStandIn(t, nil, 8<<20, 0)
	p := s.machine(t, true)
	p.apply()
	took := blocks(t, p.cache)

	data := t.TempDir()
	for _, id := range fetched {
		copyFile(t, filepath.Join(data, id, id+".zip"), bytes.NewReader(s.Archive(id).Data))
		unzip(t, filepath.Join(data, id, id+".zip"), filepath.Join(data, id, "raw"))
		q := s.machine(t, false)
		if out, errs, code := q.run("prepare", "-c", id, "--data-dir", data, "--keep-raw", "--skip-verification", "--offline"); code != 0 {
			t.Fatalf("prepare: exit %d\n%s%s", code, out, errs)
		}
	}
	unique, reference := uniqueBlocks(t, data), blocks(t, data)
	fmt.Printf("BenchmarkDiskUse\t1\t%.4g times-unique\t%.4g times-copied\n", float64(took)/float64(unique), float64(reference)/float64(unique))
	if float64(took) > 1.1*float64(unique) {
		t.Errorf("the cache takes %d bytes for %d unique ones", took, unique)
	}
}

// uniqueBlocks is what the files below a data folder take but for the
// archives, each content once.
func uniqueBlocks(t *testing.T, dir string) (bytes int64) {
	t.Helper()
	seen := map[digest.ContentID]bool{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if rel, _ := filepath.Rel(dir, path); err != nil || !d.Type().IsRegular() || filepath.Dir(filepath.Dir(rel)) == "." {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if id := digest.Of(data); !seen[id] {
			seen[id] = true
			_, taken := onDisk(info)
			bytes += taken
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}
