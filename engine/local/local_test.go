package local_test

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/memory"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/engine/local"
	"github.com/mleflow/mleflow/engine/step"
)

// folder writes files, by path, and returns where.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// paths lists what an artifact's tree holds once it is in a store.
func paths(t *testing.T, a *step.Artifact) (list []string) {
	t.Helper()
	store := memory.New()
	if err := a.Local.Store(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	err := tree.Walk(t.Context(), store, a.Ref, func(path string, e tree.Entry) error {
		if !e.IsDir() {
			list = append(list, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestDirLeavesOut(t *testing.T) {
	dir := folder(t, map[string]string{
		"a.py": "", "b.log": "", "sub/c.py": "", "sub/d.log": "", "data/raw/x": "", "data/keep": "",
		".git/HEAD": "", "sub/__pycache__/c.pyc": "", "cache/objects/1": "",
	})
	f := local.Folder(dir, []string{filepath.Join(dir, "cache")}, local.NewDigests(""))
	for _, tt := range []struct {
		name    string
		exclude []string
		want    []string
	}{
		{"nothing", nil, []string{"a.py", "b.log", "data/keep", "data/raw/x", "sub/c.py", "sub/d.log"}},
		{"a name anywhere", []string{"*.log"}, []string{"a.py", "data/keep", "data/raw/x", "sub/c.py"}},
		{"a path", []string{"data/raw"}, []string{"a.py", "b.log", "data/keep", "sub/c.py", "sub/d.log"}},
		{"from the root", []string{"/b.log", "./data/"}, []string{"a.py", "sub/c.py", "sub/d.log"}},
		{"any depth", []string{"**/*.log", "data/**"}, []string{"a.py", "sub/c.py"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, err := f.Dir(".", tt.exclude)
			if err != nil {
				t.Fatal(err)
			}
			got := paths(t, a)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	if _, err := f.Dir(".", []string{"[a"}); err == nil {
		t.Error("a broken pattern was taken")
	}
}

func TestContentDecides(t *testing.T) {
	one, two := folder(t, map[string]string{"x": "1", "d/y": "2"}), folder(t, map[string]string{"x": "1", "d/y": "2"})
	refs := func(dir string) (list []cache.Ref) {
		f := local.Folder(dir, nil, local.NewDigests(""))
		for _, path := range []string{"x", "d"} {
			a, err := f.Any(path)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, a.Ref)
		}
		return list
	}
	if diff := cmp.Diff(refs(one), refs(two)); diff != "" {
		t.Errorf("equal folders differ: %s", diff)
	}
	before := refs(two)
	if err := os.WriteFile(filepath.Join(two, "d/y"), []byte("3"), 0o644); err != nil {
		t.Fatal(err)
	}
	if after := refs(two); after[0] != before[0] || after[1] == before[1] {
		t.Errorf("an edit of d/y changed %v to %v", before, after)
	}
}

func TestChangedMeanwhile(t *testing.T) {
	dir := folder(t, map[string]string{"x": "1"})
	a, err := local.Folder(dir, nil, local.NewDigests("")).File("x")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "x"), []byte("2"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := a.Local.Store(t.Context(), memory.New()); err == nil || !strings.Contains(err.Error(), "changed after the plan") {
		t.Errorf("storing a changed file: %v", err)
	}
}

func TestExecutable(t *testing.T) {
	dir := folder(t, map[string]string{"run.sh": "#!/bin/sh\n", "plain": ""})
	if err := os.Chmod(filepath.Join(dir, "run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	f, store := local.Folder(dir, nil, local.NewDigests("")), memory.New()
	files := map[string]*step.Artifact{}
	for _, name := range []string{"run.sh", "plain"} {
		a, err := f.File(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Local.Store(t.Context(), store); err != nil {
			t.Fatal(err)
		}
		files["bin/"+name] = a
	}
	ref, err := step.FilesTree(t.Context(), store, files)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]tree.Type{"bin/run.sh": tree.Executable, "bin/plain": tree.File} {
		if e, err := tree.Find(t.Context(), store, ref, name); err != nil || e.Type != want {
			t.Errorf("%s: %c, %v; want %c", name, e.Type, err, want)
		}
	}
}

// TestRecorded expands again from the answers alone.
func TestRecorded(t *testing.T) {
	dir := folder(t, map[string]string{"x": "text", "d/y": ""})
	ask := func(f *local.Files) (got []any) {
		for _, path := range []string{"x", filepath.Join(dir, "x"), "./d"} {
			a, err := f.Any(path)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, a.Ref, a.Local.Path())
		}
		text, err := f.Text("x")
		list, err2 := f.List(".", "**/*")
		return append(got, text, err, list, err2)
	}
	f := local.Folder(dir, nil, local.NewDigests(""))
	want := ask(f)
	text, err := local.Encode(f.Answers())
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), dir) {
		t.Errorf("the answers name this machine's folder:\n%s", text)
	}
	answers, err := local.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	again := local.Recorded(dir, answers)
	if diff := cmp.Diff(want, ask(again)); diff != "" {
		t.Error(diff)
	}
	if _, err := again.Text("other"); err == nil || !strings.Contains(err.Error(), "was not read by the recorded run") {
		t.Errorf("an unknown file: %v", err)
	}
}

func TestRefusals(t *testing.T) {
	dir := folder(t, map[string]string{"binary": "\xff", "long": strings.Repeat("a", 1<<20+1), "d/f": "", "l/f": ""})
	if err := os.Symlink("f", filepath.Join(dir, "l", "link")); err != nil {
		t.Fatal(err)
	}
	f := local.Folder(dir, nil, local.NewDigests(""))
	text := func(path string) error { _, err := f.Text(path); return err }
	file := func(path string) error { _, err := f.File(path); return err }
	tree := func(path string) error { _, err := f.Dir(path, nil); return err }
	for _, tt := range []struct {
		err  error
		want string
	}{
		{text("binary"), "not UTF-8"}, {text("long"), "larger than 1 MiB"}, {text("none"), "there is no none"},
		{file("d"), "use dir"}, {file("none"), "there is no none"}, {file(os.DevNull), "belong to the machine"},
		{tree("binary"), "use file"}, {tree("l"), "symbolic link"},
	} {
		if tt.err == nil || !strings.Contains(tt.err.Error(), tt.want) {
			t.Errorf("got %v, want %q", tt.err, tt.want)
		}
	}
}

func TestPrivate(t *testing.T) {
	dir := folder(t, map[string]string{
		"cache/objects/1": "", "x/prepared/private/test.csv": "", "x/prepared/public/train.csv": "", "free/f": "",
	})
	f := local.Folder(dir, []string{filepath.Join(dir, "cache")}, local.NewDigests(""))
	for path, want := range map[string]bool{
		"cache/objects/1": true, "x/prepared/private/test.csv": true, "x/prepared/private": true, "x": true, ".": true,
		"x/prepared/public": false, "free": false, "free/f": false,
	} {
		a, err := f.Any(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := local.IsPrivate(a); got != want {
			t.Errorf("%s: private %v, want %v", path, got, want)
		}
	}
}

func TestNamed(t *testing.T) {
	dir, outside := folder(t, map[string]string{"train.py": "", "src/lib.py": ""}), folder(t, map[string]string{"python": ""})
	if err := os.Symlink(filepath.Join(outside, "python"), filepath.Join(dir, "python")); err != nil {
		t.Fatal(err)
	}
	f := local.Folder(dir, nil, local.NewDigests(""))
	for word, want := range map[string][]string{
		"train.py": {"train.py"}, "./src/lib.py": {"src/lib.py"}, filepath.Join(dir, "train.py"): {"train.py"},
		"python train.py --lib='src/lib.py'": {"train.py", "src/lib.py"},
		"src":                                nil, "python": nil, "other.py": nil, "": nil, "-c": nil, filepath.Join(outside, "python"): nil,
	} {
		if diff := cmp.Diff(want, f.Named(word)); diff != "" {
			t.Errorf("%q: %s", word, diff)
		}
	}
}

// TestComposed finds files whose names the disk has in the decomposed form of Unicode,
// by either form, as an agent's words, functions and patterns name them.
func TestComposed(t *testing.T) {
	if runtime.GOOS == "darwin" {
		t.Skip("its file systems take both forms for one name")
	}
	const composed, decomposed = "r\u00e9sum\u00e9", "re\u0301sume\u0301"
	dir := folder(t, map[string]string{
		decomposed + "/" + decomposed + ".py": "one", decomposed + "/\u00e9.log": "", decomposed + "/e\u0301.log": "", decomposed + "/" + decomposed + ".log": "", "a/a.py": "",
		"both/\u00e9": "composed", "both/e\u0301": "decomposed", "two/a\u0323\u0302": "", "two/a\u0302\u0323": "",
	})
	for base, in := range map[string]string{dir: composed + "/" + composed + ".py", filepath.Join(dir, decomposed): composed + ".py"} {
		f := local.Folder(base, nil, local.NewDigests(""))
		for _, path := range []string{in, strings.ReplaceAll(in, composed, decomposed), filepath.Join(base, in), cty.NormalizeString(filepath.Join(base, in))} {
			if a, err := f.Text(path); err != nil || a.Text != "one" {
				t.Errorf("%+q: %q, %v", path, a.Text, err)
			}
			if named := f.Named(path); !slices.Equal(named, []string{in}) {
				t.Errorf("%+q names %+q", path, named)
			}
			if _, err := f.File(path); err != nil {
				t.Errorf("%+q: %v", path, err)
			}
		}
	}
	f := local.Folder(dir, nil, local.NewDigests(""))
	for _, pattern := range []string{"**/" + composed + ".py", composed + "/*.py", "*/r\u00e9*.py"} {
		if a, err := f.List(".", pattern); err != nil || len(a.List) != 1 || cty.NormalizeString(a.List[0]) != composed+"/"+composed+".py" {
			t.Errorf("%+q: %+q, %v", pattern, a.List, err)
		}
	}
	if a, err := f.Text("both/\u00e9"); err != nil || a.Text != "composed" {
		t.Errorf("the name of two files: %q, %v", a.Text, err)
	}
	if _, err := f.Text("two/\u1ead"); err == nil {
		t.Error("a name is taken for one of two files")
	}
	a, err := f.Dir(composed, []string{"\u00e9.log", composed + ".log"})
	if err != nil {
		t.Fatal(err)
	}
	if list := paths(t, a); len(list) != 1 {
		t.Errorf("what the patterns leave: %+q", list)
	}
}
