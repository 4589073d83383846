package tree_test

import (
	"errors"
	"io"
	"io/fs"
	"maps"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/memory"
	"github.com/mleflow/mleflow/cache/tree"
)

func TestWalk(t *testing.T) {
	s := memory.New()
	ref := importSample(t, s)
	var got []string
	must(t, tree.Walk(t.Context(), s, ref, func(path string, e tree.Entry) error {
		got = append(got, string(e.Type)+" "+path)
		if path == "images/deep" {
			return fs.SkipDir
		}
		if path == "images.txt" {
			return fs.SkipAll
		}
		return nil
	}))
	want := []string{
		"d bin", "x bin/run", "d empty", "f empty.txt", "d images", "f images/a.jpg", "f images/b.jpg", "d images/deep",
		"d images-2", "f images-2/a.jpg", "f images.txt",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("walk differs (-want +got):\n%s", diff)
	}
}

func TestFind(t *testing.T) {
	s := memory.New()
	ref := importSample(t, s)
	for path, wantErr := range map[string]error{
		".": nil, "images": nil, "images/deep/er/c.jpg": nil, "odd \\ \n name/é\xff": nil,
		"nothing": fs.ErrNotExist, "train.csv/x": fs.ErrNotExist, "images/deep/x": fs.ErrNotExist,
		"": fs.ErrInvalid, "/images": fs.ErrInvalid, "images/": fs.ErrInvalid, "../images": fs.ErrInvalid,
	} {
		e, err := tree.Find(t.Context(), s, ref, path)
		if !errors.Is(err, wantErr) {
			t.Errorf("Find(%q): error %v, want %v", path, err, wantErr)
		}
		if content, isFile := sample[path]; isFile && e.ID != digest.Of([]byte(content)) {
			t.Errorf("Find(%q) = %+v", path, e)
		}
	}
}

func TestFS(t *testing.T) {
	for name, s := range stores(t) {
		t.Run(name, func(t *testing.T) {
			files := maps.Clone(sample)
			delete(files, "odd \\ \n name/é\xff") // io/fs knows UTF-8 only
			ref, err := tree.Import(t.Context(), s, writeFolder(t, files), tree.ImportOptions{})
			must(t, err)
			f := tree.NewFS(t.Context(), s, ref)
			must(t, fstest.TestFS(f, "train.csv", "images/deep/er/c.jpg", "bin/run", "empty", "empty.txt"))
			data, err := fs.ReadFile(f, "images/b.jpg")
			if err != nil || string(data) != "b" {
				t.Errorf("ReadFile = %q, %v", data, err)
			}
			info, err := fs.Stat(f, "bin/run")
			if err != nil || info.Mode() != 0o555 {
				t.Errorf("Stat = %v, %v", info, err)
			}
			if _, err := fs.ReadDir(f, "train.csv"); err == nil {
				t.Error("ReadDir of a file succeeded")
			}
			checkRandom(t, f)
		})
	}
}

// checkRandom reads one file in every order.
func checkRandom(t *testing.T, fsys fs.FS) {
	t.Helper()
	f, err := fsys.Open("train.csv")
	must(t, err)
	defer f.Close()
	r := f.(interface {
		io.ReadSeeker
		io.ReaderAt
	})
	buf := make([]byte, 2)
	_, err = io.ReadFull(r, buf)
	must(t, err)
	if end, err := r.Seek(-4, io.SeekEnd); err != nil || end != 5 {
		t.Errorf("Seek = %d, %v", end, err)
	}
	rest, err := io.ReadAll(r)
	if err != nil || string(rest) != "1,2\n" {
		t.Errorf("read %q, %v after Seek", rest, err)
	}
	if _, err := r.ReadAt(buf, 3); err != nil || string(buf) != "x\n" {
		t.Errorf("ReadAt = %q, %v", buf, err)
	}
}
