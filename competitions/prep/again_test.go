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

// TestReadAgain prepares a table that is large enough to stay in its file.
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
	out := prepare(t, def, prep.Options{Raw: os.DirFS(dir)})
	for name, want := range map[string]string{"same.csv": text, "numbers.csv": "n\n" + strings.Repeat("2\n1\n", 1_000)} {
		if got, err := os.ReadFile(filepath.Join(out, "public", name)); err != nil || string(got) != want {
			t.Errorf("%s has %d bytes, want %d: %v", name, len(got), len(want), err)
		}
	}
	folder, err := prep.NewFolder(filepath.Join(t.TempDir(), "prepared"))
	if err != nil {
		t.Fatal(err)
	}
	err = prep.Run(t.Context(), def, prep.Options{Raw: touchedFS{os.DirFS(dir)}, Out: folder})
	if err == nil || !strings.Contains(err.Error(), "t.csv has changed while it was read") {
		t.Errorf("a file that changes: %v", err)
	}
}

// touchedFS has files that change all the time.
type touchedFS struct{ fs.FS }

func (f touchedFS) Open(name string) (fs.File, error) {
	file, err := f.FS.Open(name)
	if err != nil {
		return nil, err
	}
	return &touchedFile{File: file.(*os.File)}, nil
}

type touchedFile struct {
	*os.File
	times int64
}

func (f *touchedFile) Stat() (fs.FileInfo, error) {
	f.times++
	if err := os.Chtimes(f.Name(), time.Time{}, time.Unix(f.times, 0)); err != nil {
		return nil, err
	}
	return f.File.Stat()
}
