package download_test

import (
	"archive/zip"
	"bytes"
	"crypto/md5" //nolint:gosec // published pins are MD5
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/transfer/source"
	"github.com/mleflow/mleflow/steps/download"
	"github.com/mleflow/mleflow/steps/steptest"
)

var rawFiles = map[string]string{"train.csv": "id,y\n1,2\n", "images/1.png": "png", "inner.zip": string(zipOf(map[string]string{"x": "y"}))}

func zipOf(files map[string]string) []byte {
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	for _, name := range []string{"x", "train.csv", "images/1.png", "inner.zip", "../evil"} {
		if text, ok := files[name]; ok {
			f, _ := w.Create(name)
			f.Write([]byte(text))
		}
	}
	w.Close()
	return buf.Bytes()
}

func md5Of(data []byte) string {
	sum := md5.Sum(data) //nolint:gosec // published pins are MD5
	return hex.EncodeToString(sum[:])
}

// newBench is a catalog of one competition whose sources are the given blocks,
// among which there may be one to prepare.
func newBench(t *testing.T, sources string, files map[string][]byte) *steptest.Bench {
	t.Helper()
	if !strings.Contains(sources, "prepare {") {
		sources += "\nprepare {}"
	}
	folder := fstest.MapFS{"toy/competition.hcl": {Data: []byte(`competition "toy" {
	  title       = "Toy"
	  complexity  = "demo"
	  description = "A toy."
	  answers     = "private/test.csv"
	  sample      = "public/sample_submission.csv"
	  ` + sources + `
	  grade { metric = "accuracy" }
	  medals { scores = [1, 0.5] }
	}`)}}
	for name, data := range files {
		folder["toy/"+name] = &fstest.MapFile{Data: data}
	}
	cat, err := competitions.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	return steptest.New(download.Kind(download.Deps{Catalog: cat, Sources: source.NewRegistry(source.With(source.All(), source.Places{})...)}))
}

func toy(src map[string]cty.Value) map[string]cty.Value {
	values := map[string]cty.Value{"competition": cty.StringVal("toy")}
	if src != nil {
		values["source"] = cty.ObjectVal(src)
	}
	return values
}

func TestShipped(t *testing.T) {
	archive := zipOf(rawFiles)
	b := newBench(t, `source "file" {
	  path = "data/raw.zip"
	  md5 = "`+md5Of(archive)+`"
	}
	source "file" {
	  path = "data/raw.zip"
	  as = "again/copy.zip"
	}
	source "file" {
	  path = "LICENCE.txt"
	}`, map[string][]byte{"data/raw.zip": archive, "LICENCE.txt": []byte("free")})
	out, err := b.Run(t, toy(nil))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"again/copy.zip": string(archive), "LICENCE.txt": "free"}
	maps.Copy(want, rawFiles)
	if diff := cmp.Diff(want, b.Files(t, out["tree"].Ref)); diff != "" {
		t.Errorf("raw data (-want +got):\n%s", diff)
	}
	var files []struct{ Name, MD5 string }
	steptest.Decode(t, out["files"], &files)
	if len(files) != 3 || files[0].Name != "raw.zip" || files[0].MD5 != md5Of(archive) {
		t.Errorf("files: %+v", files)
	}
	if b.Kind.Output("tree").Secrecy != step.Private {
		t.Error("raw data are not private")
	}
}

// Each source can be named by a definition.
func TestDefinitionsNameSources(t *testing.T) {
	for _, e := range source.All() {
		_, diags := competitions.Parse([]byte("competition \"c\" {\n  source \""+e.Name+"\" {}\n}\n"), "c", fstest.MapFS{})
		for _, d := range diags {
			if strings.HasPrefix(d.Summary, "Unknown source") {
				t.Errorf("%s; say in sourceKinds of competitions/blocks.go which attributes it takes", d.Summary)
			}
		}
	}
}

func TestOverride(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(os.MkdirAll(dir+"/raw/sub", 0o755), os.WriteFile(dir+"/raw/sub/a", []byte("1"), 0o600), os.WriteFile(dir+"/raw.zip", zipOf(rawFiles), 0o600)); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer server.Close()
	tests := []struct {
		name string
		src  map[string]cty.Value
		want map[string]string
	}{
		{"folder", map[string]cty.Value{"kind": cty.StringVal("file"), "path": cty.StringVal(dir + "/raw")}, map[string]string{"sub/a": "1"}},
		{"archive", map[string]cty.Value{"kind": cty.StringVal("file"), "path": cty.StringVal(dir + "/raw.zip")}, rawFiles},
		{"web", map[string]cty.Value{"kind": cty.StringVal("http"), "url": cty.StringVal(server.URL + "/raw.zip")}, rawFiles},
		{"kept", map[string]cty.Value{"kind": cty.StringVal("http"), "url": cty.StringVal(server.URL + "/raw.zip"), "as": cty.StringVal("a.zip"), "md5": cty.StringVal(md5Of(zipOf(rawFiles)))},
			map[string]string{"a.zip": string(zipOf(rawFiles))}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, `source "kaggle" { slug = "toy" }`, nil)
			out, err := b.Run(t, toy(tt.src))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, b.Files(t, out["tree"].Ref)); diff != "" {
				t.Errorf("raw data (-want +got):\n%s", diff)
			}
			if warned := len(b.Warnings()) > 0; warned != (tt.name == "web") {
				t.Errorf("warnings: %q", b.Warnings())
			}
		})
	}
}

// TestKeepArchives leaves archives that the competition extracts as files, and
// has another key than what has them unpacked.
func TestKeepArchives(t *testing.T) {
	archive := zipOf(rawFiles)
	b := newBench(t, `source "file" { path = "raw.zip" }
	prepare { extract = ["inner.zip"] }`, map[string][]byte{"raw.zip": archive})
	want := map[string]map[string]string{"true": {}, "false": {"inner.zip/x": "y"}}
	keys := map[string]bool{}
	for name, text := range rawFiles {
		want["true"][name] = text
		if name != "inner.zip" {
			want["false"][name] = text
		}
	}
	for _, keep := range []bool{true, false} {
		args := map[string]cty.Value{"competition": cty.StringVal("toy"), "keep_archives": cty.BoolVal(keep)}
		out, err := b.Run(t, args)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want[fmt.Sprint(keep)], b.Files(t, out["tree"].Ref)); diff != "" {
			t.Errorf("keep_archives = %v (-want +got):\n%s", keep, diff)
		}
		keys[fmt.Sprint(b.Key(t, args))] = true
	}
	if len(keys) != 2 {
		t.Errorf("%d keys for two trees", len(keys))
	}
}

func TestFailures(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/busy":
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(http.StatusServiceUnavailable)
		case "/forbidden":
			w.WriteHeader(http.StatusForbidden)
		}
	}))
	defer server.Close()
	archive := zipOf(rawFiles)
	files := map[string][]byte{"raw.zip": archive, "evil.zip": zipOf(map[string]string{"../evil": "x"}), "cut.zip": archive[:len(archive)-30]}
	tests := []struct {
		name, sources, want string
		mismatch, retry     bool
	}{
		{"pin", `source "file" {
		  path = "raw.zip"
		  md5 = "00000000000000000000000000000000"
		}`, md5Of(archive), true, false},
		{"leads out of its folder", `source "file" { path = "evil.zip" }`, "leads out of its folder", false, false},
		{"cut off", `source "file" { path = "cut.zip" }`, "unpack cut.zip", false, false},
		{"missing", `source "file" { path = "none.zip" }`, "none.zip", false, false},
		{"twice", `source "file" { path = "raw.zip" }
		source "file" { path = "raw.zip" }`, "occurs twice", false, false},
		{"Kaggle", `source "kaggle" { slug = "toy" }`, "competitions/toy/data", false, false},
		{"busy", `source "http" { url = "` + server.URL + `/busy" }`, "503", false, true},
		{"forbidden", `source "http" { url = "` + server.URL + `/forbidden" }`, "403", false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := newBench(t, tt.sources, files).Run(t, toy(nil))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got %v, want an error with %q", err, tt.want)
			}
			if got := errors.Is(err, step.ErrMismatch); got != tt.mismatch {
				t.Errorf("mismatch %v, want %v: %v", got, tt.mismatch, err)
			}
			after, retry := step.IsRetryable(err)
			if retry != tt.retry || retry && after.Hours() != 1 {
				t.Errorf("retryable %v after %v, want %v", retry, after, tt.retry)
			}
		})
	}
}

func TestRefuses(t *testing.T) {
	b := newBench(t, "", nil)
	file := func(name string, v string) map[string]cty.Value {
		return map[string]cty.Value{"kind": cty.StringVal("file"), name: cty.StringVal(v)}
	}
	for _, tt := range []struct {
		name   string
		values map[string]cty.Value
		want   string
	}{
		{"unknown", map[string]cty.Value{"competition": cty.StringVal("tox")}, `did you mean "toy"`},
		{"no source", toy(nil), "a source block"},
		{"no path", toy(file("url", "http://x/y")), "needs a path"},
		{"no address", toy(map[string]cty.Value{"kind": cty.StringVal("http"), "url": cty.StringVal("x")}), "http://"},
	} {
		if _, err := b.Run(t, tt.values); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want an error with %q", tt.name, err, tt.want)
		}
	}
}

// TestFrom takes the data from a local folder or archive.
func TestFrom(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(os.MkdirAll(dir+"/folder/sub", 0o755), os.WriteFile(dir+"/folder/sub/a", []byte("1"), 0o600), os.WriteFile(dir+"/packed.zip", zipOf(rawFiles), 0o600)); err != nil {
		t.Fatal(err)
	}
	from := func(path string) map[string]cty.Value {
		return map[string]cty.Value{"competition": cty.StringVal("toy"), "from": cty.StringVal(path)}
	}
	both := from(dir)
	both["source"] = toy(map[string]cty.Value{"kind": cty.StringVal("file"), "path": cty.StringVal(dir)})["source"]
	for _, tt := range []struct {
		name   string
		values map[string]cty.Value
		want   map[string]string
		err    string
	}{
		{"folder", from(dir + "/folder"), map[string]string{"sub/a": "1"}, ""},
		{"archive", from(dir + "/packed.zip"), rawFiles, ""},
		{"archive without its suffix", from(dir + "/packed"), rawFiles, ""},
		{"missing", from(dir + "/none"), nil, "none: no such file"},
		{"two places", both, nil, "not both"},
	} {
		b := newBench(t, `source "kaggle" { slug = "toy" }`, nil)
		out, err := b.Run(t, tt.values)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: got %v, want an error with %q", tt.name, err, tt.err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if diff := cmp.Diff(tt.want, b.Files(t, out["tree"].Ref)); diff != "" {
			t.Errorf("%s: raw data (-want +got):\n%s", tt.name, diff)
		}
		ends := b.Ends(t)
		if want := (step.Progress{What: "importing", Done: 1, Total: 1, Unit: "files", Bytes: 1}); tt.name == "folder" && !slices.Equal(ends, []step.Progress{want}) {
			t.Errorf("%s: progress %+v, want %+v", tt.name, ends, want)
		}
	}
}

// TestKey sees that a changed file changes the key and a moved one does not.
func TestKey(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) map[string]cty.Value {
		if err := errors.Join(os.MkdirAll(dir+"/"+name, 0o755), os.WriteFile(dir+"/"+name+"/raw.csv", []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
		return toy(map[string]cty.Value{"kind": cty.StringVal("file"), "path": cty.StringVal(dir + "/" + name + "/raw.csv")})
	}
	b := newBench(t, `source "kaggle" { slug = "toy" }`, nil)
	first := b.Key(t, put("a", "1"))
	if diff := cmp.Diff(first, b.Key(t, put("b", "1"))); diff != "" {
		t.Errorf("the same file elsewhere has another key:\n%s", diff)
	}
	if cmp.Equal(first, b.Key(t, put("b", "2"))) {
		t.Error("another content has the same key")
	}
}

// TestBeside asks that a file next to the download is fetched whatever the
// download is taken from, without credentials, unless it is in there.
func TestBeside(t *testing.T) {
	asked := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked++; r.Header.Get("Authorization") != "" {
			t.Error("a credential was sent")
		}
		_, _ = w.Write(zipOf(map[string]string{"x": "label"}))
	}))
	defer srv.Close()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"packed.zip": string(zipOf(map[string]string{"train.csv": "1"})), "folder/train.csv": "1", "full/train.csv": "1", "full/inner.zip": "own",
		"full.zip": string(zipOf(map[string]string{"train.csv": "1", "inner.zip": "own"})), "ref/raw/train.csv": "1",
		"done/prepared/public/a": "1", "done/prepared/private/b": "1",
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(dir+"/"+name), 0o755), os.WriteFile(dir+"/"+name, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	fetched := map[string]string{"train.csv": "1", "inner.zip": string(zipOf(map[string]string{"x": "label"}))}
	own := map[string]string{"train.csv": "1", "inner.zip": "own"}
	for _, tt := range []struct {
		name, from string
		want       map[string]string
	}{
		{"as declared", "", fetched},
		{"archive", dir + "/packed", fetched},
		{"folder", dir + "/folder", fetched},
		{"folder that has it", dir + "/full", own},
		{"archive that has it", dir + "/full.zip", own},
		{"the reference's raw folder", dir + "/ref", fetched},
		{"prepared data", dir + "/done", map[string]string{"prepared/public/a": "1", "prepared/private/b": "1"}},
	} {
		b := newBench(t, `source "file" { path = "raw.zip" }
		source "http" {
		  url = "`+srv.URL+`/inner.zip?download=1"
		  as  = "inner.zip"
		}`, map[string][]byte{"raw.zip": zipOf(map[string]string{"train.csv": "1"})})
		values := toy(nil)
		if tt.from != "" {
			values["from"] = cty.StringVal(tt.from)
		}
		out, err := b.Run(t, values)
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if diff := cmp.Diff(tt.want, b.Files(t, out["tree"].Ref)); diff != "" {
			t.Errorf("%s: raw data (-want +got):\n%s", tt.name, diff)
		}
	}
	if asked == 0 {
		t.Error("nothing was fetched")
	}
}
