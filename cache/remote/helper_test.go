package remote

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/disk"
	"github.com/mleflow/mleflow/cache/tree"
)

// quick is a patience that suits tests.
var quick = patience{
	attempts: 6, base: time.Millisecond, most: 20 * time.Millisecond, stall: 10 * time.Second, strikes: 1000, pause: time.Millisecond,
}

// machine is a computer with a cache of its own.
type machine struct {
	*Tier
	t     testing.TB
	disk  *disk.Cache
	mu    sync.Mutex
	warns []string
}

func (m *machine) said() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.warns
}

func openDisk(t testing.TB) *disk.Cache { return openDiskOf(t, 0) }

func openDiskOf(t testing.TB, quota int64) *disk.Cache {
	t.Helper()
	c, err := disk.Open(t.TempDir(), disk.Options{Quota: quota})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func newMachine(t testing.TB, address string, p patience) *machine {
	t.Helper()
	return newMachineOn(t, openDisk(t), address, p)
}

func newMachineOn(t testing.TB, c *disk.Cache, address string, p patience) *machine {
	t.Helper()
	loc, err := ParseLocation(address)
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{t: t, disk: c}
	m.Tier = New(c, loc, Options{patience: p, Warn: func(text string) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.warns = append(m.warns, text)
	}})
	t.Cleanup(func() { m.Close() })
	return m
}

// folder returns the address of an empty folder, and the folder.
func folder(t testing.TB) (address, dir string) {
	dir = t.TempDir()
	return "file://" + filepath.ToSlash(dir), dir
}

func noise(seed uint64, size int) []byte {
	data := make([]byte, size)
	var key [32]byte
	copy(key[:], fmt.Sprint(seed))
	_, _ = rand.NewChaCha8(key).Read(data)
	return data
}

// sample writes a folder of small and large files, some of them equal, with an
// empty file, an empty folder and an executable.
func sample(t testing.TB, seed uint64, small, large int) string {
	t.Helper()
	dir := t.TempDir()
	write := func(name string, data []byte, mode os.FileMode) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, mode); err != nil {
			t.Fatal(err)
		}
	}
	for i := range small {
		write(fmt.Sprintf("dir%d/sub/file%d", i%7, i), noise(seed+uint64(i/2), 100+i*37%4000), 0o644)
	}
	for i := range large {
		write(fmt.Sprintf("large/%d.bin", i), noise(seed+uint64(1000+i), smallObject+1+i*400_000), 0o644)
	}
	write("empty", nil, 0o644)
	write("run.sh", []byte("#!/bin/sh\n"), 0o755)
	if err := os.MkdirAll(filepath.Join(dir, "nothing"), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// made is a record on a machine, of a tree, a blob and a value.
func (m *machine) made(name, dir string, blob []byte) *cache.Record {
	m.t.Helper()
	root, err := tree.Import(context.Background(), m.disk, dir, tree.ImportOptions{})
	if err != nil {
		m.t.Fatal(err)
	}
	return m.recordOf(name, cache.Outputs{"tree": {Ref: root}, "blob": {Ref: m.putBlob(blob)}, "value": {JSON: []byte("42")}})
}

func (m *machine) putBlob(data []byte) cache.Ref {
	m.t.Helper()
	ref, err := cache.PutBytes(context.Background(), m.disk, data)
	if err != nil {
		m.t.Fatal(err)
	}
	return ref
}

func (m *machine) recordOf(name string, outputs cache.Outputs) *cache.Record {
	m.t.Helper()
	h := digest.NewHasher("test", "1")
	h.String("name", name)
	rec := &cache.Record{Action: h.Sum(), Address: "step.test." + name, Kind: "test", Fields: h.Fields(), Outputs: outputs, Run: "run-1", StartedUnixMilli: 5, DurationMillis: 7}
	if err := m.disk.Record(context.Background(), rec); err != nil {
		m.t.Fatal(err)
	}
	return rec
}

// mustPush stores a record, or ends the test.
func (m *machine) mustPush(rec *cache.Record) {
	m.t.Helper()
	if err := m.Push(context.Background(), rec); err != nil {
		m.t.Fatalf("Push: %v", err)
	}
}

// take finds and fetches a record; nil is a miss.
func (m *machine) take(id digest.ActionID) *cache.Record {
	ctx := context.Background()
	found := m.Find(ctx, []digest.ActionID{id})
	if found[0] == nil || len(m.Fetch(ctx, found)) > 0 {
		return nil
	}
	return found[0]
}

// wantTree checks that a machine has exactly the files of dir.
func (m *machine) wantTree(ref cache.Ref, dir string) {
	m.t.Helper()
	out := filepath.Join(m.t.TempDir(), "out")
	m.t.Cleanup(func() { // its folders are read-only
		if err := tree.Remove(out); err != nil {
			m.t.Error(err)
		}
	})
	if _, err := tree.Materialise(context.Background(), m.disk, ref, out, tree.Options{}); err != nil {
		m.t.Fatalf("Materialise: %v", err)
	}
	sameFolder(m.t, dir, out)
}

// sameFolder compares all files of two folders.
func sameFolder(t testing.TB, want, got string) {
	t.Helper()
	files := func(root string) map[string][]byte {
		found := map[string][]byte{}
		err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			name, _ := filepath.Rel(root, path)
			found[name], err = os.ReadFile(path)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	a, b := files(want), files(got)
	if len(a) != len(b) {
		t.Errorf("%d files, want %d", len(b), len(a))
	}
	for name, data := range a {
		if !bytes.Equal(data, b[name]) {
			t.Errorf("file %s differs", name)
		}
	}
}
