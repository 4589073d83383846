package task_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/memory"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/transfer/source"
	"github.com/mleflow/mleflow/steps/steptest"
	"github.com/mleflow/mleflow/steps/task"
)

// The texts of the made-up competition.
const (
	plain       = "# Small\n\nThe original.\n"
	obfuscated  = "# Some task\n\nNo names.\n"
	rules       = "Solve it.\n"
	hiddenRules = "Do it.\n"
)

// catalog has one competition, which has texts as those of the reference have.
type catalog struct{ def *competitions.Definition }

func (c catalog) Get(string) (*competitions.Definition, error) { return c.def, nil }

func newCatalog(t *testing.T, reference string) catalog {
	t.Helper()
	def, diags := competitions.Parse([]byte(`competition "small" {
  title       = "Small"
  complexity  = "low"
  description = "Ours."
  answers     = "private/test.csv"
  sample      = "public/sample.csv"
  prepare {}
  grade { metric = "log_loss" }
  medals { scores = [0.9, 0.8, 0.7] }
  `+reference+`
}`), "small", fstest.MapFS{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return catalog{def}
}

func pins() string {
	return fmt.Sprintf("reference {\n sha256 = %q\n obfuscated_sha256 = %q\n}", digest.Of([]byte(plain)), digest.Of([]byte(obfuscated)))
}

// checkout is the repository as far as the test needs it.
func checkout() map[string]string {
	return map[string]string{
		"mlebench/competitions/small/description.md":            plain,
		"mlebench/competitions/small/description_obfuscated.md": obfuscated,
		"environment/instructions.txt":                          rules,
		"environment/instructions_obfuscated.txt":               hiddenRules,
	}
}

// with returns files with one changed; an empty text drops it.
func with(files map[string]string, name, text string) map[string]string {
	if files[name] = text; text == "" {
		delete(files, name)
	}
	return files
}

func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// server serves files below /, and counts the requests.
func server(t *testing.T, files map[string]string) (base string, asked *atomic.Int64) {
	t.Helper()
	asked = &atomic.Int64{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		text, ok := files[strings.TrimPrefix(r.URL.Path, "/")]
		if !ok {
			http.NotFound(w, r)
			return
		}
		http.ServeContent(w, r, path.Base(r.URL.Path), time.Unix(1e9, 0), strings.NewReader(text))
	}))
	t.Cleanup(s.Close)
	return s.URL, asked
}

// bucket is object storage in memory.
type bucket map[string]string

func (b bucket) Size(_ context.Context, name string) (int64, error) {
	if _, ok := b[name]; !ok {
		return 0, fs.ErrNotExist
	}
	return int64(len(b[name])), nil
}

func (b bucket) Read(_ context.Context, name string, offset int64) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader(b[name][offset:])), nil
}

func (bucket) Close() error { return nil }

// setup is where a test's texts are.
type setup struct {
	adopt, mirror, address string
	objects                bucket
	offline                bool
}

func (s setup) bench(t *testing.T) *steptest.Bench {
	t.Helper()
	return steptest.New(task.Kind(s.deps(t, pins())))
}

func (s setup) deps(t *testing.T, reference string) task.Deps {
	t.Helper()
	places := source.Places{Offline: s.offline, Mirror: s.mirror, Open: func(context.Context, string) (source.Objects, error) { return s.objects, nil }}
	return task.Deps{
		Catalog: newCatalog(t, reference), Sources: source.NewRegistry(source.With(source.All(), places)...), Adopt: s.adopt, Mirror: s.mirror,
		Repository: &competitions.Repository{URL: s.address, Instructions: map[competitions.Task]competitions.Pin{
			competitions.TaskReference:  {Path: "environment/instructions.txt", SHA256: digest.Of([]byte(rules)).String()},
			competitions.TaskObfuscated: {Path: "environment/instructions_obfuscated.txt", SHA256: digest.Of([]byte(hiddenRules)).String()},
		}},
	}
}

func arguments(task string) map[string]cty.Value {
	return map[string]cty.Value{"competition": cty.StringVal("small"), "task": cty.StringVal(task)}
}

// nowhere is an address that must not be asked.
const nowhere = "http://127.0.0.1:1"

// TestWays gets both forms of the texts from every place, and no place that
// comes later is asked.
func TestWays(t *testing.T) {
	web, _ := server(t, checkout())
	data := with(map[string]string{}, "small/prepared/public/description.md", plain)
	for name, s := range map[string]setup{
		"adopted checkout":   {adopt: folder(t, checkout()), mirror: nowhere, address: nowhere},
		"adopted data":       {adopt: folder(t, data), mirror: folder(t, with(checkout(), "mlebench/competitions/small/description.md", "")), address: nowhere},
		"folder mirror":      {mirror: folder(t, checkout()), address: nowhere},
		"folder with scheme": {mirror: "file://" + folder(t, checkout()), address: nowhere},
		"web mirror":         {mirror: web, address: nowhere},
		"object storage":     {mirror: "s3://bucket/x", objects: checkout(), address: nowhere},
		"address":            {address: web},
		"mirror lacks it":    {mirror: t.TempDir(), address: web},
		"folder offline":     {mirror: folder(t, checkout()), address: nowhere, offline: true},
	} {
		t.Run(name, func(t *testing.T) {
			for form, want := range map[string][2]string{"reference": {plain, rules}, "obfuscated": {obfuscated, hiddenRules}} {
				b := s.bench(t)
				if _, err := preflight(t, b, form); err != nil {
					t.Errorf("%s: preflight: %v", form, err)
				}
				out, err := b.Run(t, arguments(form))
				if err != nil {
					t.Fatalf("%s: %v\n%s", form, err, b.Log())
				}
				if got := [2]string{b.Text(t, out["description"].Ref), b.Text(t, out["instructions"].Ref)}; got != want {
					t.Errorf("%s: %q, want %q", form, got, want)
				}
			}
		})
	}
}

func preflight(t *testing.T, b *steptest.Bench, form string) (step.Preflight, error) {
	t.Helper()
	s, err := b.Kind.New(b.Args(t, arguments(form)))
	if err != nil {
		t.Fatal(err)
	}
	return s.(step.Preflighter).Preflight(t.Context())
}

// TestByteOff sees that a text that is not the pinned one is a mismatch which
// says what was expected, found and where, and that no later place is asked.
func TestByteOff(t *testing.T) {
	off := strings.Replace(plain, "original", "0riginal", 1)
	changed := with(checkout(), "mlebench/competitions/small/description.md", off)
	right, asked := server(t, checkout())
	web, _ := server(t, changed)
	for name, s := range map[string]setup{
		"adopted": {adopt: folder(t, changed), mirror: right, address: right},
		"data":    {adopt: folder(t, map[string]string{"small/prepared/public/description.md": off}), mirror: right, address: right},
		"folder":  {mirror: folder(t, changed), address: right},
		"web":     {mirror: web, address: right},
		"objects": {mirror: "s3://bucket/x", objects: changed, address: right},
		"address": {address: web},
	} {
		t.Run(name, func(t *testing.T) {
			before := asked.Load()
			_, err := s.bench(t).Run(t, arguments("reference"))
			if !errors.Is(err, step.ErrMismatch) {
				t.Fatalf("no mismatch: %v", err)
			}
			for _, part := range []string{digest.Of([]byte(plain)).String(), digest.Of([]byte(off)).String(), "description.md of small, from "} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q is not in: %v", part, err)
				}
			}
			if asked.Load() != before {
				t.Error("another place was asked")
			}
			if _, err := preflight(t, s.bench(t), "reference"); (name == "adopted" || name == "data" || name == "folder") && !errors.Is(err, step.ErrMismatch) {
				t.Errorf("preflight: %v", err)
			}
		})
	}
}

// TestNowhere sees that a text that cannot be had is told with the ways to get
// it, before anything runs.
func TestNowhere(t *testing.T) {
	empty, _ := server(t, nil)
	for name, s := range map[string]setup{
		"offline":  {address: nowhere, offline: true},
		"silent":   {address: nowhere},
		"not here": {adopt: t.TempDir(), mirror: t.TempDir(), address: empty},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := preflight(t, s.bench(t), "reference")
			if err == nil || errors.Is(err, step.ErrMismatch) {
				t.Fatalf("preflight: %v", err)
			}
			if _, passing := step.IsRetryable(err); passing {
				t.Error("the run would begin")
			}
			for _, part := range []string{"description.md and instructions.txt", "--adopt", "--mirror", s.address, `"own"`} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q is not in: %v", part, err)
				}
			}
		})
	}
}

// TestKey sees that the key is that of the digests, wherever the texts are, and
// that a text in the cache is not asked for again.
func TestKey(t *testing.T) {
	web, asked := server(t, checkout())
	key := func(s setup, form string) string {
		b := s.bench(t)
		args := b.Args(t, arguments(form))
		one, err := b.Kind.New(args)
		if err != nil {
			t.Fatal(err)
		}
		h, err := step.Key(b.Kind, args, one)
		if err != nil {
			t.Fatal(err)
		}
		return h.Sum().String()
	}
	a, b := setup{address: web}, setup{adopt: "x", mirror: "y", address: nowhere}
	if key(a, "reference") != key(b, "reference") || key(a, "reference") == key(a, "obfuscated") || key(a, "own") == key(a, "reference") {
		t.Error("the keys go by something else than the texts")
	}
	first := a.bench(t)
	if _, err := first.Run(t, arguments("reference")); err != nil {
		t.Fatal(err)
	}
	before := asked.Load()
	if _, err := first.Run(t, arguments("reference")); err != nil || asked.Load() != before {
		t.Errorf("asked again: %v", err)
	}
}

// TestOwn sees that our own text needs no place, and that a competition without
// a text of the reference says so.
func TestOwn(t *testing.T) {
	b := setup{address: nowhere, offline: true}.bench(t)
	out, err := b.Run(t, arguments("own"))
	if err != nil {
		t.Fatal(err)
	}
	if got := b.Text(t, out["description"].Ref); got != "# Small\n\nOurs.\n" {
		t.Errorf("description %q", got)
	}
	kind := task.Kind(task.Deps{Catalog: newCatalog(t, ""), Sources: source.NewRegistry(source.All()...)})
	bare := steptest.New(kind)
	if _, err := kind.New(bare.Args(t, arguments("reference"))); err == nil || !strings.Contains(err.Error(), `use task = "own"`) {
		t.Errorf("without a text: %v", err)
	}
}

// TestDescribe gets a description for those who lay data out, and tells a text
// that is wrong from one that cannot be had.
func TestDescribe(t *testing.T) {
	off := with(checkout(), "mlebench/competitions/small/description.md", plain+"x")
	for name, tt := range map[string]struct {
		setup
		want     string
		mismatch bool
	}{
		"mirror": {setup{mirror: folder(t, checkout()), address: nowhere}, plain, false},
		"off":    {setup{mirror: folder(t, off), address: nowhere}, "", true},
		"none":   {setup{address: nowhere, offline: true}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			d := task.NewDescriber(tt.deps(t, pins()), time.Second)
			got, err := d.Describe(t.Context(), memory.New(), newCatalog(t, pins()).def)
			if string(got) != tt.want || (err == nil) != (tt.want != "") || errors.Is(err, step.ErrMismatch) != tt.mismatch {
				t.Errorf("%q, %v", got, err)
			}
			if got, err := d.Describe(t.Context(), memory.New(), newCatalog(t, "").def); got != nil || err != nil {
				t.Errorf("a competition without a text: %q, %v", got, err)
			}
		})
	}
}
