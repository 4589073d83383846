package tree_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/disk"
	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/cache/memory"
	"github.com/mleflow/mleflow/cache/tree"
)

// sample is a folder: paths that end with "/" are empty folders, and files
// below bin are executable.
var sample = map[string]string{
	"train.csv":             "id,x\n1,2\n",
	"images/a.jpg":          "a",
	"images/b.jpg":          "b",
	"images/deep/er/c.jpg":  "a",
	"bin/run":               "#!/bin/sh\n",
	"empty/":                "",
	"empty.txt":             "",
	"odd \\ \n name/é\xff":  "odd",
	"images-2/a.jpg":        "a",
	"images.txt":            "sorts between images and images/",
	"images/deep/er/exact/": "",
}

func writeFolder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if strings.HasSuffix(name, "/") {
			must(t, os.MkdirAll(path, 0o755))
			continue
		}
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		mode := fs.FileMode(0o644)
		if strings.HasPrefix(name, "bin/") {
			mode = 0o755
		}
		must(t, os.WriteFile(path, []byte(content), mode))
	}
	return dir
}

// readFolder is the inverse of writeFolder, with the mode of everything.
func readFolder(t *testing.T, dir string) (files map[string]string, modes map[string]fs.FileMode) {
	t.Helper()
	files, modes = make(map[string]string), make(map[string]fs.FileMode)
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		info, err := d.Info()
		if err != nil {
			return err
		}
		modes[name] = info.Mode()
		if d.IsDir() {
			list, err := os.ReadDir(path)
			if len(list) == 0 {
				files[name+"/"] = ""
			}
			return err
		}
		data, err := os.ReadFile(path)
		files[name] = string(data)
		return err
	}))
	return files, modes
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// stores are the kinds of stores that trees are tested on.
func stores(t *testing.T) map[string]cache.Cache {
	c, err := disk.Open(t.TempDir(), disk.Options{})
	must(t, err)
	t.Cleanup(func() { must(t, c.Close()) })
	return map[string]cache.Cache{"disk": c, "memory": memory.New()}
}

// outDir returns a path for a tree that is removed after the test.
func outDir(t *testing.T) string {
	t.Helper()
	dst := filepath.Join(t.TempDir(), "out")
	t.Cleanup(func() { must(t, tree.Remove(dst)) })
	return dst
}

func importSample(t *testing.T, s cache.Cache) cache.Ref {
	t.Helper()
	ref, err := tree.Import(t.Context(), s, writeFolder(t, sample), tree.ImportOptions{})
	must(t, err)
	return ref
}

func TestImportAndMaterialise(t *testing.T) {
	for name, s := range stores(t) {
		for _, opts := range []tree.Options{{Mode: tree.Link}, {Mode: tree.Copy}, {Mode: tree.Copy, Writable: true}} {
			t.Run(fmt.Sprintf("%s/%+v", name, opts), func(t *testing.T) {
				ref := importSample(t, s)
				dst := outDir(t)
				res, err := tree.Materialise(t.Context(), s, ref, dst, opts)
				must(t, err)
				got, modes := readFolder(t, dst)
				if diff := cmp.Diff(sample, got); diff != "" {
					t.Fatalf("files differ (-want +got):\n%s", diff)
				}
				checkModes(t, modes, opts.Writable)
				if res.Files != ref.Files || res.Bytes != ref.Size || res.Linked+res.Cloned+res.Copied != ref.Files {
					t.Errorf("result %+v of %+v", res, ref)
				}
				if name == "disk" && opts.Mode == tree.Link && res.Linked != ref.Files {
					t.Errorf("%d of %d files are links", res.Linked, ref.Files)
				}
				again, err := tree.Import(t.Context(), s, dst, tree.ImportOptions{})
				if err != nil || again != ref {
					t.Errorf("imported again: %+v, %v, want %+v", again, err, ref)
				}
			})
		}
	}
}

func checkModes(t *testing.T, modes map[string]fs.FileMode, writable bool) {
	t.Helper()
	for name, mode := range modes {
		want := fs.FileMode(0o444)
		if mode.IsDir() || strings.HasPrefix(name, "bin/") {
			want = 0o555
		}
		if writable {
			want |= 0o200
		}
		if mode.Perm() != want {
			t.Errorf("mode of %q is %v, want %v", name, mode.Perm(), want)
		}
	}
}

func TestImportCounts(t *testing.T) {
	var files, bytes int64
	ref, err := tree.Import(t.Context(), memory.New(), writeFolder(t, sample), tree.ImportOptions{
		Progress: func(f, b int64) { files, bytes = f, b },
	})
	must(t, err)
	var wantFiles, wantBytes int64
	for name, content := range sample {
		if !strings.HasSuffix(name, "/") {
			wantFiles++
			wantBytes += int64(len(content))
		}
	}
	want := cache.Ref{Kind: cache.Tree, ID: ref.ID, Size: wantBytes, Files: wantFiles}
	if ref != want || files != wantFiles || bytes != wantBytes {
		t.Errorf("ref %+v, progress %d files of %d bytes, want %+v", ref, files, bytes, want)
	}
}

func TestImportSpecialFiles(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "secret")
	must(t, os.WriteFile(outside, []byte("secret"), 0o644))
	make := map[string]func(path string) error{
		"link to file":   func(p string) error { return os.Symlink(outside, p) },
		"link to folder": func(p string) error { return os.Symlink(filepath.Dir(outside), p) },
		"dangling link":  func(p string) error { return os.Symlink("nowhere", p) },
		"pipe":           func(p string) error { return syscall.Mkfifo(p, 0o644) },
	}
	for name, create := range make {
		t.Run(name, func(t *testing.T) {
			dir := writeFolder(t, map[string]string{"sub/a": "a"})
			must(t, create(filepath.Join(dir, "sub", "special")))
			s := memory.New()
			if _, err := tree.Import(t.Context(), s, dir, tree.ImportOptions{}); err == nil || !strings.Contains(err.Error(), "sub/special") {
				t.Errorf("Import: error %v, want one that names the entry", err)
			}
			got, err := tree.Import(t.Context(), s, dir, tree.ImportOptions{SkipSpecial: true})
			must(t, err)
			want, err := tree.Import(t.Context(), s, writeFolder(t, map[string]string{"sub/a": "a"}), tree.ImportOptions{})
			must(t, err)
			if got != want {
				t.Errorf("without special files: %+v, want %+v", got, want)
			}
		})
	}
	t.Run("the folder is a link", func(t *testing.T) {
		link := filepath.Join(t.TempDir(), "link")
		must(t, os.Symlink(filepath.Dir(outside), link))
		if _, err := tree.Import(t.Context(), memory.New(), link, tree.ImportOptions{}); err == nil {
			t.Error("Import followed a link")
		}
	})
}

func TestImportManyFolders(t *testing.T) {
	files := make(map[string]string)
	for i := range 400 {
		files[fmt.Sprintf("d%d/e%d/f%d", i%7, i%31, i)] = fmt.Sprint(i % 50)
	}
	dir := writeFolder(t, files)
	want, err := tree.Import(t.Context(), memory.New(), dir, tree.ImportOptions{})
	must(t, err)
	for range 5 {
		got, err := tree.Import(t.Context(), memory.New(), dir, tree.ImportOptions{})
		if err != nil || got != want {
			t.Fatalf("Import = %+v, %v, want %+v", got, err, want)
		}
	}
}

func TestImportCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := tree.Import(ctx, memory.New(), writeFolder(t, sample), tree.ImportOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("Import: %v", err)
	}
}

func TestBuilder(t *testing.T) {
	s := memory.New()
	want := importSample(t, s)
	var b tree.Builder
	for _, name := range slices.Sorted(maps.Keys(sample)) {
		if dir, ok := strings.CutSuffix(name, "/"); ok {
			must(t, b.AddDir(dir))
			continue
		}
		ref, err := cache.PutBytes(t.Context(), s, []byte(sample[name]))
		must(t, err)
		must(t, b.Add(name, ref, strings.HasPrefix(name, "bin/")))
	}
	got, err := b.Build(t.Context(), s)
	if err != nil || got != want {
		t.Errorf("Build = %+v, %v, want %+v", got, err, want)
	}
	if empty, err := b.Build(t.Context(), s); err != nil || empty.Files != 0 {
		t.Errorf("second Build = %+v, %v, want an empty tree", empty, err)
	}
}

func TestBuilderAddsTrees(t *testing.T) {
	s := memory.New()
	images, err := tree.Find(t.Context(), s, importSample(t, s), "images")
	must(t, err)
	var b tree.Builder
	must(t, b.Add("public/images", images.Ref(), false))
	ref, err := b.Build(t.Context(), s)
	must(t, err)
	got, err := tree.Find(t.Context(), s, ref, "public/images/deep/er/c.jpg")
	if err != nil || got.ID != digest.Of([]byte("a")) || ref.Files != images.Files {
		t.Errorf("Find = %+v, %v in %+v", got, err, ref)
	}
}

func TestBuilderRefuses(t *testing.T) {
	s := memory.New()
	ref, err := cache.PutBytes(t.Context(), s, []byte("x"))
	must(t, err)
	for _, path := range []string{"", ".", "/a", "a/", "a//b", "../a", "a/../b", "a/./b", "a\x00", strings.Repeat("n", 300)} {
		var b tree.Builder
		if err := b.Add(path, ref, false); !errors.Is(err, tree.ErrInvalid) {
			t.Errorf("Add(%q): error %v, want ErrInvalid", path, err)
		}
	}
	for name, paths := range map[string][]string{"twice": {"d/a", "d/a"}, "file and folder": {"d/a", "d/a/b"}, "folder and file": {"d/a/b", "d/a"}} {
		var b tree.Builder
		for _, p := range paths {
			must(t, b.Add(p, ref, false))
		}
		if _, err := b.Build(t.Context(), s); !errors.Is(err, tree.ErrInvalid) || !strings.Contains(err.Error(), `"d/a"`) {
			t.Errorf("%s: Build: error %v, want ErrInvalid that names d/a", name, err)
		}
	}
}

// A tree that lies about what is below it must not be believed.
func TestWrongSums(t *testing.T) {
	s := memory.New()
	ref := importSample(t, s)
	for name, wrong := range map[string]cache.Ref{
		"size":  {Kind: cache.Tree, ID: ref.ID, Size: ref.Size + 1, Files: ref.Files},
		"files": {Kind: cache.Tree, ID: ref.ID, Size: ref.Size, Files: ref.Files - 1},
	} {
		if _, err := tree.Read(t.Context(), s, wrong); !errors.Is(err, tree.ErrInvalid) {
			t.Errorf("%s: Read: error %v, want ErrInvalid", name, err)
		}
	}
	if _, err := tree.Read(t.Context(), s, cache.Ref{Kind: cache.Blob, ID: ref.ID}); err == nil {
		t.Error("Read of a blob succeeded")
	}
}

func TestMaterialiseIsAtomic(t *testing.T) {
	for name, s := range stores(t) {
		t.Run(name, func(t *testing.T) {
			ref := importSample(t, s)
			missing, err := cache.PutBytes(t.Context(), memory.New(), []byte("never stored"))
			must(t, err)
			var b tree.Builder
			must(t, b.Add("good", ref, false))
			must(t, b.Add("missing", missing, false))
			broken, err := b.Build(t.Context(), s)
			must(t, err)
			parent := t.TempDir()
			if _, err := tree.Materialise(t.Context(), s, broken, parent+"/out", tree.Options{}); !errors.Is(err, cache.ErrNotFound) {
				t.Errorf("Materialise: error %v, want cache.ErrNotFound", err)
			}
			if list, err := os.ReadDir(parent); err != nil || len(list) != 0 {
				t.Errorf("left behind: %v, %v", list, err)
			}
		})
	}
}

func TestMaterialiseRefusesToReplace(t *testing.T) {
	s := memory.New()
	ref := importSample(t, s)
	dst := outDir(t)
	must(t, os.Mkdir(dst, 0o755))
	if _, err := tree.Materialise(t.Context(), s, ref, dst, tree.Options{}); err != nil {
		t.Errorf("into an empty folder: %v", err)
	}
	if _, err := tree.Materialise(t.Context(), s, ref, dst, tree.Options{}); err == nil {
		t.Error("a folder with files was replaced")
	}
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, []byte("mine"), 0o644))
	blob, err := cache.PutBytes(t.Context(), s, []byte("other"))
	must(t, err)
	for _, r := range []cache.Ref{ref, blob} {
		if _, err := tree.Materialise(t.Context(), s, r, file, tree.Options{}); err == nil {
			t.Errorf("a file was replaced by a %s", r.Kind)
		}
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != "mine" {
		t.Errorf("the file holds %q, %v", data, err)
	}
	if _, err := tree.Materialise(t.Context(), s, ref, outDir(t), tree.Options{Writable: true}); err == nil {
		t.Error("writable links were allowed")
	}
}

func TestMaterialiseBlob(t *testing.T) {
	for name, s := range stores(t) {
		blob, err := cache.PutBytes(t.Context(), s, []byte("text"))
		must(t, err)
		dst := filepath.Join(t.TempDir(), "file")
		_, err = tree.Materialise(t.Context(), s, blob, dst, tree.Options{})
		must(t, err)
		if data, err := os.ReadFile(dst); err != nil || string(data) != "text" {
			t.Errorf("%s: the file holds %q, %v", name, data, err)
		}
	}
}

// Folders of more files than one goroutine takes at once, and of files that are
// larger together, come out whole.
func TestMaterialiseManyFiles(t *testing.T) {
	for name, s := range stores(t) {
		t.Run(name, func(t *testing.T) {
			text, err := cache.PutBytes(t.Context(), s, []byte("text"))
			must(t, err)
			large, err := cache.PutBytes(t.Context(), s, make([]byte, 9<<20))
			must(t, err)
			var b tree.Builder
			for i := range 1200 {
				must(t, b.Add(fmt.Sprintf("many/%04d", i), text, false))
			}
			for i := range 3 {
				must(t, b.Add(fmt.Sprintf("many/large/%d", i), large, false))
			}
			must(t, b.Add("many/0000.txt", text, true))
			ref, err := b.Build(t.Context(), s)
			must(t, err)
			for _, mode := range []tree.Mode{tree.Link, tree.Copy} {
				dst := outDir(t)
				res, err := tree.Materialise(t.Context(), s, ref, dst, tree.Options{Mode: mode})
				if err != nil || res.Files != ref.Files || res.Bytes != ref.Size {
					t.Errorf("result %+v, %v, want all of %+v", res, err, ref)
				}
				again, err := tree.Import(t.Context(), s, dst, tree.ImportOptions{})
				if err != nil || again != ref {
					t.Errorf("imported again: %+v, %v, want %+v", again, err, ref)
				}
			}
		})
	}
}

func TestMaterialiseTellsProgress(t *testing.T) {
	s := memory.New()
	ref := importSample(t, s)
	var last tree.Result
	_, err := tree.Materialise(t.Context(), s, ref, outDir(t), tree.Options{Progress: func(r tree.Result) { last = r }})
	if err != nil || last.Files != ref.Files || last.Bytes != ref.Size {
		t.Errorf("last progress %+v, %v, want all of %+v", last, err, ref)
	}
	// A store that tells of the pieces that it copies, one of them twice.
	work := new(progress.Work)
	work.Begin("", 0, 0)
	_, err = tree.Materialise(t.Context(), telling{s}, ref, outDir(t), tree.Options{Progress: tree.Count(work)})
	if now := work.Now(); err != nil || now.Files != ref.Files || now.Bytes != ref.Size {
		t.Errorf("last progress %+v, %v, want all of %+v", now, err, ref)
	}
}

// telling is a store that tells how much it has copied, and once too much.
type telling struct{ *memory.Cache }

func (s telling) Place(ctx context.Context, ref cache.Ref, path string, p cache.Placement) (cache.Placed, error) {
	p.Copied(ref.Size)
	p.Copied(1)
	return s.Cache.Place(ctx, ref, path, p)
}
