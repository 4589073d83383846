package disk

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/tree"
)

func TestReadOnly(t *testing.T) {
	dir := t.TempDir()
	var ref cache.Ref
	session(t, dir, Options{}, hooks{unnamed: true}, func(c *Cache) {
		ref = putTree(t, c, "x", 5)
		record(t, c, "x", ref)
	})
	before := entriesOf(t, dir)
	c := openTest(t, dir, Options{ReadOnly: true}, hooks{unnamed: true})
	if !c.ReadOnly() || !has(t, c, "x") || has(t, c, "y") {
		t.Error("the record is not found")
	}
	must(t, closure(t, c, ref))
	dst := t.TempDir() + "/out"
	_, err := tree.Materialise(t.Context(), c, ref, dst, tree.Options{})
	must(t, err)
	must(t, tree.Remove(dst))
	_, ingestErr := c.Ingest(t.Context(), "")
	_, keyedErr := c.Ingest(t.Context(), "key")
	_, dirErr := c.TempDir("x")
	_, lockErr := c.LockAction(t.Context(), actionOf("x"))
	_, gcErr := c.GC(t.Context(), GCOptions{})
	for name, err := range map[string]error{
		"Ingest": ingestErr, "keyed Ingest": keyedErr, "TempDir": dirErr, "LockAction": lockErr, "GC": gcErr,
		"Record": c.Record(t.Context(), recordOf("y")), "Pin": c.Pin(t.Context(), Pin{Name: "p"}), "Unpin": c.Unpin(t.Context(), "p"),
	} {
		if !errors.Is(err, cache.ErrReadOnly) || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: error %v, want cache.ErrReadOnly with the folder", name, err)
		}
	}
	must(t, c.Close())
	if diff := cmp.Diff(before, entriesOf(t, dir)); diff != "" {
		t.Errorf("files changed:\n%s", diff)
	}
}

func TestOpenRefuses(t *testing.T) {
	tests := map[string]struct {
		make func(dir string) error
		opts Options
		want string
	}{
		"other version": {func(dir string) error { return os.WriteFile(dir+"/format", []byte("mleflow cache 9\n"), 0o644) }, Options{}, `its format is "mleflow cache 9"`},
		"other folder":  {func(dir string) error { return os.WriteFile(dir+"/thesis.tex", nil, 0o644) }, Options{}, `it contains "thesis.tex"`},
		"a file":        {func(dir string) error { return errors.Join(os.Remove(dir), os.WriteFile(dir, nil, 0o644)) }, Options{}, "not a directory"},
		"read-only":     {func(string) error { return nil }, Options{ReadOnly: true}, "it is not a cache"},
		"index version": {func(dir string) error {
			c, err := Open(dir, Options{})
			if err == nil {
				err = errors.Join(c.Close(), os.WriteFile(dir+"/index/log", []byte("mleflow index 7\n"), 0o644))
			}
			return err
		}, Options{}, `unknown format "mleflow index 7"`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "cache")
			must(t, os.Mkdir(dir, 0o755))
			must(t, tt.make(dir))
			c, err := Open(dir, tt.opts)
			if err == nil {
				c.Close()
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), dir) {
				t.Errorf("Open: error %v, want one with %q and the folder", err, tt.want)
			}
		})
	}
	t.Run("unfinished", func(t *testing.T) {
		dir := t.TempDir()
		must(t, os.Mkdir(dir+"/objects", 0o755))
		must(t, os.WriteFile(dir+"/format.new-1", nil, 0o644))
		must(t, openTest(t, dir, Options{}, hooks{unnamed: true}).Close())
	})
}

// A process that finds no format file may list the folder when another one has
// finished it.
func TestInitialiseTwice(t *testing.T) {
	dir := t.TempDir()
	must(t, openTest(t, dir, Options{}, hooks{unnamed: true}).Close())
	if err := initialise(dir); err != nil {
		t.Error(err)
	}
	must(t, os.WriteFile(dir+"/format", []byte("mleflow cache 9\n"), 0o644))
	if err := initialise(dir); err == nil || !strings.Contains(err.Error(), "its format is") {
		t.Errorf("another version: %v", err)
	}
}
