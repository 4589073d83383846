package prep_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mleflow/mleflow/competitions/prep"
)

// TestReadAgain prepares a table that stays in its file, which says that it is large.
func TestReadAgain(t *testing.T) {
	dir := t.TempDir()
	text := "n,s\n" + strings.Repeat("1,"+strings.Repeat("abcdefg ", 5_000)+"\n2,x\n", 1_000)
	if err := os.WriteFile(filepath.Join(dir, "t.csv"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	def := define(t, `public {
  table "same.csv" { rows = csv("t.csv") }
  table "numbers.csv" { rows = select(reverse(csv("t.csv")), "n") }
}`)
	out := prepare(t, def, prep.Options{Raw: largeFS{FS: os.DirFS(dir)}})
	for name, want := range map[string]string{"same.csv": text, "numbers.csv": "n\n" + strings.Repeat("2\n1\n", 1_000)} {
		if got, err := os.ReadFile(filepath.Join(out, "public", name)); err != nil || string(got) != want {
			t.Errorf("%s has %d bytes, want %d: %v", name, len(got), len(want), err)
		}
	}
	folder, err := prep.NewFolder(filepath.Join(t.TempDir(), "prepared"))
	if err != nil {
		t.Fatal(err)
	}
	err = prep.Run(t.Context(), def, prep.Options{Raw: largeFS{os.DirFS(dir), true}, Out: folder})
	if err == nil || !strings.Contains(err.Error(), "t.csv has changed while it was read") {
		t.Errorf("a file that changes: %v", err)
	}
}

// largeFS has files that say that they are large; touched ones change all the time.
type largeFS struct {
	fs.FS
	touched bool
}

func (f largeFS) Open(name string) (fs.File, error) {
	file, err := f.FS.Open(name)
	if err != nil {
		return nil, err
	}
	return &largeFile{File: file.(*os.File), touched: f.touched}, nil
}

type largeFile struct {
	*os.File
	touched bool
	times   int64
}

func (f *largeFile) Stat() (fs.FileInfo, error) {
	if f.touched {
		f.times++
		if err := os.Chtimes(f.Name(), time.Time{}, time.Unix(f.times, 0)); err != nil {
			return nil, err
		}
	}
	info, err := f.File.Stat()
	return largeInfo{info}, err
}

type largeInfo struct{ fs.FileInfo }

func (i largeInfo) Size() int64 { return i.FileInfo.Size() + 1<<40 }
