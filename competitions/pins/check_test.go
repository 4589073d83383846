package pins_test

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/cache/memory"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/pins"
)

const head = `competition "toy" {
  title       = "Toy"
  complexity  = "demo"
  description = "A toy."
  answers     = "private/test.csv"
  sample      = "public/sample.csv"
  prepare {}
  grade { metric = "accuracy" }

  # What the teams scored.
  medals { scores = [1, 0.5] }
`

// definition loads a definition with this text in its lock file, and a manifest
// file.
func definition(t *testing.T, lock string, manifest []byte) *competitions.Definition {
	t.Helper()
	return definitionWith(t, "", lock, manifest)
}

func definitionWith(t *testing.T, errata, lock string, manifest []byte) *competitions.Definition {
	t.Helper()
	files := fstest.MapFS{"toy/competition.hcl": {Data: []byte(head + errata + "}\n")}, "toy/checksums.lock": {Data: []byte(lock)}}
	if manifest != nil {
		files["toy/manifest.json"] = &fstest.MapFile{Data: manifest}
	}
	def, diags := competitions.LoadOne(files, "toy")
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return def
}

// prepared is prepared data by path.
type prepared map[string]string

func (p prepared) with(changes prepared) prepared {
	out := maps.Clone(p)
	for name, text := range changes {
		if out[name] = text; text == gone {
			delete(out, name)
		}
	}
	return out
}

const gone = "(gone)"

func (p prepared) onDisk() *pins.Data {
	files := fstest.MapFS{"public": {Mode: fs.ModeDir | 0o755}, "private": {Mode: fs.ModeDir | 0o755}}
	for name, text := range p {
		files[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o644}
	}
	return pins.OnDisk(files, &competitions.Definition{})
}

func (p prepared) inStore(t *testing.T, store cache.Cache) *pins.Data {
	t.Helper()
	dir := t.TempDir()
	for _, half := range []string{"public", "private"} {
		if err := os.Mkdir(filepath.Join(dir, half), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range p {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var refs []cache.Ref
	for _, half := range []string{"public", "private"} {
		ref, err := tree.Import(t.Context(), store, filepath.Join(dir, half), tree.ImportOptions{})
		if err != nil {
			t.Fatal(err)
		}
		refs = append(refs, ref)
	}
	data, err := pins.InStore(t.Context(), store, refs[0], refs[1])
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// right is data with a table, a folder that is listed and one that is not.
func right() prepared {
	p := prepared{
		"public/train.csv": "id,x\n1,1.5\n2,2.5\n", "public/sample.csv": "id,y\n3,0\n", "private/test.csv": "id,y\n3,1\n",
		"public/doc/a.txt": "a", "public/doc/b.txt": "b",
	}
	p["public/images/labels.csv"] = "id,x\n1,2\n"
	for i := range pins.MaxListed + 1 {
		p[fmt.Sprintf("public/images/%03d.png", i)] = fmt.Sprint("image ", i)
	}
	return p
}

// locked returns a definition that pins the data.
func locked(t *testing.T, data *pins.Data) *competitions.Definition {
	t.Helper()
	l, err := pins.NewLock(t.Context(), definition(t, "", nil), data, pins.LockOptions{})
	if err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{"toy/competition.hcl": {Data: []byte(head + "}\n")}, "toy/checksums.lock": {Data: l.Pinned}, "toy/manifest.json": {Data: l.Manifest}}
	def, diags := competitions.LoadOne(files, "toy")
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return def
}

// differences are changes of the right data and what is said of them.
var differences = []struct {
	name    string
	changes prepared
	// want are the beginnings of the mismatches' paths with their problem, by
	// the manifest file alone; withBytes where more is known with the bytes.
	want, withBytes []string
	text            string
}{
	{name: "cell", changes: prepared{"public/train.csv": "id,x\n1,1.5\n2,2.6\n"}, want: []string{"wrong public/train.csv"}, text: `differ: "x"|column "x": want "2.5", got "2.6"`},
	{name: "line ends", changes: prepared{"private/test.csv": "id,y\r\n3,1\r\n"}, want: []string{"wrong private/test.csv"}, text: "the content is equal, the bytes differ in line ends"},
	{name: "missing", changes: prepared{"public/train.csv": gone, "public/doc/a.txt": gone}, want: []string{"missing public/train.csv", "missing public/doc/a.txt"}, text: "missing (want "},
	{name: "unexpected", changes: prepared{"private/more.csv": "x"}, want: []string{"unexpected private/more.csv"}, text: "unexpected (SHA-256 2d711642"},
	{name: "unexpected folder", changes: prepared{"public/x/1": "x", "public/x/2": "x"}, want: []string{"unexpected public/x/"}, text: "a folder of 2 files"},
	{name: "missing folder", changes: prepared{"public/doc/a.txt": gone, "public/doc/b.txt": gone}, want: []string{"missing public/doc/"}, text: "a folder of 2 files"},
	{name: "not pinned by MD5", changes: prepared{"public/doc/b.txt": "c"}, want: []string{"wrong public/doc/b.txt"}, text: "where they differ is not known|offset 0: want 0x62, got 0x63"},
	{name: "file for folder", changes: prepared{"public/doc/a.txt": gone, "public/doc/b.txt": gone, "public/doc": "x"}, want: []string{"wrong public/doc"}, text: "a file where a folder should be"},
	{name: "one of many", changes: prepared{"public/images/007.png": "imagE 7"}, want: []string{"wrong public/images/"}, withBytes: []string{"wrong public/images/007.png"},
		text: "want 102 files, got 102; which of them differ is not known|offset 4: want 0x65, got 0x45"},
	{name: "a table among many files", changes: prepared{"public/images/labels.csv": "id,x\n1,3\n"}, want: []string{"wrong public/images/", "wrong public/images/labels.csv"}, withBytes: []string{"wrong public/images/labels.csv"},
		text: `1 of 2 columns differ: "x"|row 1, column "x": want "2", got "3"; 1 of 1 row differ; 1 of 2 columns differ: "x"`},
	{name: "one of many missing", changes: prepared{"public/images/007.png": gone}, want: []string{"wrong public/images/"}, withBytes: []string{"missing public/images/007.png"}, text: "got 101|missing (want"},
}

func TestDifferences(t *testing.T) {
	for _, d := range differences {
		t.Run(d.name, func(t *testing.T) {
			byManifest, withBytes, _ := strings.Cut(d.text, "|")
			if withBytes == "" {
				withBytes = byManifest
			}
			if d.withBytes == nil {
				d.withBytes = d.want
			}
			def, changed := locked(t, right().onDisk()), right().with(d.changes)
			check := func(how string, r pins.Request, want []string, text string) {
				t.Helper()
				r.Definition = def
				report, err := pins.Run(t.Context(), r)
				if err != nil {
					t.Fatal(err)
				}
				checkReport(t, how, report, want, text)
			}
			check("manifest", pins.Request{Data: changed.onDisk()}, d.want, byManifest)
			expected := func(context.Context) (*pins.Data, error) { return right().onDisk(), nil }
			check("expected", pins.Request{Data: changed.onDisk(), Expected: expected}, d.withBytes, withBytes)
			store := memory.New()
			check("empty cache", pins.Request{Data: changed.inStore(t, store), Store: store}, d.want, byManifest)
			right().inStore(t, store)
			check("cache", pins.Request{Data: changed.inStore(t, store), Store: store}, d.withBytes, withBytes)
		})
	}
}

func checkReport(t *testing.T, how string, report pins.Report, want []string, text string) {
	t.Helper()
	var got []string
	for _, m := range report.Mismatches {
		got = append(got, string(m.Problem)+" "+m.Path)
	}
	slices.Sort(got)
	if diff := cmp.Diff(slices.Sorted(slices.Values(want)), got); diff != "" {
		t.Errorf("%s: mismatches (-want +got):\n%s", how, diff)
	}
	if report.Verdict != pins.Differs {
		t.Errorf("%s: verdict %s", how, report.Verdict)
	}
	if lines := strings.Join(report.Lines(0), "\n"); !strings.Contains(lines, text) {
		t.Errorf("%s: lacks %q:\n%s", how, text, lines)
	}
}

func TestRightDataAreVerified(t *testing.T) {
	store := memory.New()
	def := locked(t, right().onDisk())
	for how, data := range map[string]*pins.Data{"disk": right().onDisk(), "store": right().inStore(t, store)} {
		report, err := pins.Run(t.Context(), pins.Request{Definition: def, Data: data})
		if err != nil {
			t.Fatal(err)
		}
		if report.Verdict != pins.Verified || report.Pinned != 4 || report.Matched != 4 || len(report.Lines(0)) != 0 {
			t.Errorf("%s: %+v", how, report)
		}
	}
}

// What is next to the halves is not theirs.
func TestOtherFilesBeside(t *testing.T) {
	def := locked(t, right().onDisk())
	report, err := pins.Run(t.Context(), pins.Request{Definition: def, Data: right().with(prepared{"checksums.yaml": "x"}).onDisk()})
	if err != nil || report.Verdict != pins.Verified {
		t.Errorf("%v, %+v", err, report)
	}
}

// TestWork sees that all that is read is counted, and no more. A byte is in each of
// the four files, of which three are pinned.
func TestWork(t *testing.T) {
	def := locked(t, small.onDisk())
	for name, data := range map[string]*pins.Data{"disk": small.with(prepared{"other/file": "not read"}).onDisk(), "store": small.inStore(t, memory.New())} {
		var got []progress.State
		work := &progress.Work{Ended: func(p progress.State) { got = append(got, p) }}
		if _, err := pins.Run(t.Context(), pins.Request{Definition: def, Data: data, Work: work}); err != nil {
			t.Fatal(err)
		}
		work.Begin("", 0, 0)
		want := []progress.State{{What: "checking pinned files", Files: 3, TotalFiles: 3, Bytes: 3, TotalBytes: 3}}
		if name == "disk" {
			want = append(want, progress.State{What: "checking all files", Files: 4, TotalFiles: 4, Bytes: 4, TotalBytes: 4})
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestStaleManifestIsNotUsed(t *testing.T) {
	old := locked(t, right().onDisk())
	manifest, err := fs.ReadFile(old.Folder(), old.ManifestName())
	if err != nil {
		t.Fatal(err)
	}
	def := definition(t, `prepared "v1" { manifest = "`+strings.Repeat("1", 64)+`" }`+"\n", manifest)
	report, err := pins.Run(t.Context(), pins.Request{Definition: def, Data: right().onDisk()})
	if err != nil {
		t.Fatal(err)
	}
	if report.Verdict != pins.Differs || !strings.Contains(report.Note, "mleflow competition lock toy") {
		t.Errorf("%+v", report)
	}
	for _, broken := range []string{"{", `{"format":"mleflow manifest 9"}`} {
		def := definition(t, "", []byte(broken))
		if _, err := pins.Run(t.Context(), pins.Request{Definition: def, Data: right().onDisk()}); err == nil {
			t.Errorf("%s is accepted", broken)
		}
	}
}

func TestManifestStaysSmall(t *testing.T) {
	def := locked(t, right().onDisk())
	m, err := pins.ReadManifest(def)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := m.Files["public/images/000.png"]; ok {
		t.Error("a file of a large folder is listed")
	}
	if f := m.Folders["public/images"]; f.Files != 102 || f.Listed {
		t.Errorf("large folder: %+v", f)
	}
}

func TestManyFilesAreCounted(t *testing.T) {
	changes := prepared{}
	for i := range 250 {
		changes[fmt.Sprintf("private/%03d", i)] = "x"
	}
	report, err := pins.Run(t.Context(), pins.Request{Definition: locked(t, right().onDisk()), Data: right().with(changes).onDisk()})
	if err != nil {
		t.Fatal(err)
	}
	if report.Unexpected != 250 || len(report.Mismatches) != 100 || report.Counts() != "250 unexpected" {
		t.Errorf("%d unexpected, %d listed, %s", report.Unexpected, len(report.Mismatches), report.Counts())
	}
	if lines := report.Lines(20); len(lines) != 21 || lines[20] != "… and 230 more" {
		t.Errorf("lines end in %q", lines[len(lines)-1])
	}
}
