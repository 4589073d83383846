package mask_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/mask"
	"github.com/mleflow/mleflow/competitions/prep"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
	"github.com/mleflow/mleflow/plugins/transfer/archive"
)

// goldenFolder holds a miniature raw data set and submissions for each
// competition; see competitions/prep/golden_test.go.
const goldenFolder = "../testdata/golden"

var salt = mask.Salt("the salt of these tests, not secret")

// TestGolden masks every competition that has a case. All submissions that have
// a score before, among them the perfect one, the sample and a noisy one, have
// the same score after; no id of the answers is left anywhere in the public files.
// A competition that cannot be masked says why.
func TestGolden(t *testing.T) {
	cases, err := filepath.Glob(goldenFolder + "/*.tar.zst")
	if err != nil || len(cases) == 0 {
		t.Fatalf("no golden cases (%v)", err)
	}
	catalog, err := competitions.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	for i, file := range cases {
		if testing.Short() && i%10 != 0 {
			continue
		}
		id := strings.TrimSuffix(filepath.Base(file), ".tar.zst")
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			v1, err := catalog.Get(id)
			if err != nil {
				t.Fatal(err)
			}
			v1m, err := v1.At("v1m")
			if v1.Mask.Refused != "" {
				if err == nil || !strings.Contains(err.Error(), strings.TrimSuffix(v1.Mask.Refused, ".")) {
					t.Fatalf("error %v, want the reason of the definition", err)
				}
				t.Skip(v1.Mask.Refused)
			}
			if err != nil {
				t.Fatal(err)
			}
			checkGolden(t, v1, v1m, filepath.Join(unpack(t, file), id))
		})
	}
}

func checkGolden(t *testing.T, v1, v1m *competitions.Definition, dir string) {
	params := goldenParams(t, v1.ID)
	before := filepath.Join(t.TempDir(), "v1")
	folder := newFolder(t, before)
	if err := prep.Run(t.Context(), v1, prep.Options{Raw: os.DirFS(filepath.Join(dir, "raw")), Out: folder, Params: params}); err != nil {
		t.Fatal(err)
	}
	publish(t, folder)
	after := masked(t, v1m, before)
	noLeftOvers(t, v1m, before, after)

	own := map[string]string{}
	for _, name := range []string{v1.Layout.Sample, v1.Layout.Gold} {
		if _, err := os.Stat(filepath.Join(before, name)); err == nil && strings.HasSuffix(name, ".csv") {
			own[name] = name
			compare(t, v1, v1m, params, before, after, filepath.Join(before, name), filepath.Join(after, name))
		}
	}
	if len(own) == 0 {
		t.Error("neither a sample nor a perfect submission")
	}
	list, err := filepath.Glob(filepath.Join(dir, "submissions", "*.csv"))
	if err != nil {
		t.Fatal(err)
	}
	scored := map[string]bool{}
	asked, answered := idsOf(t, v1, filepath.Join(before, v1.Layout.Sample)), idsOf(t, v1, filepath.Join(before, v1.Layout.Gold))
	for _, file := range list {
		if ids := idsOf(t, v1, file); ids == nil || !slices.Equal(ids, asked) && !slices.Equal(ids, answered) {
			continue // ids in another order, or spelled in another way
		}
		if compare(t, v1, v1m, params, before, after, file, relabelled(t, v1m, file)) {
			scored[filepath.Base(file)] = true
		}
	}
	if len(scored) < 4 {
		t.Errorf("only these submissions have a score: %v", scored)
	}
}

// compare grades a submission in both versions and reports whether it has a
// score in v1.
func compare(t *testing.T, v1, v1m *competitions.Definition, params map[string]cty.Value, before, after, one, other string) bool {
	t.Helper()
	grade := func(def *competitions.Definition, prepared, submission string) (string, grading.Outcome) {
		report, err := grading.Grade(context.Background(), def, metric.All(), grading.Request{
			Submission: submission, Answers: filepath.Join(prepared, def.Layout.Answers), Params: params,
		})
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(report.Score)
		if err != nil {
			t.Fatal(err)
		}
		return string(text) + " " + report.Reason, report.Outcome
	}
	want, outcome := grade(v1, before, one)
	if outcome != grading.Scored {
		return false
	}
	if got, _ := grade(v1m, after, other); got != want {
		t.Errorf("%s: score %s when masked, want %s", filepath.Base(one), got, want)
	}
	return true
}

// idsOf returns the ids of a submission; nil if it cannot be read.
func idsOf(t *testing.T, def *competitions.Definition, file string) []string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	records, err := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(data, []byte("\ufeff")))).ReadAll()
	if err != nil || len(records) < 2 {
		return nil
	}
	at := slices.Index(records[0], cmp.Or(def.IDColumn(), "id"))
	if at < 0 {
		return nil
	}
	ids := []string{}
	for _, r := range records[1:] {
		ids = append(ids, r[at])
	}
	return ids
}

// relabelled writes a submission with masked ids.
func relabelled(t *testing.T, def *competitions.Definition, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := mask.Table(def, salt, bytes.NewReader(data), &b); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "submission.csv")
	if err := os.WriteFile(out, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return out
}

// masked masks a prepared folder.
func masked(t *testing.T, def *competitions.Definition, before string) string {
	t.Helper()
	after := filepath.Join(t.TempDir(), "masked")
	folder := newFolder(t, after)
	err := mask.Run(t.Context(), def, mask.Options{
		Public: os.DirFS(filepath.Join(before, "public")), Private: os.DirFS(filepath.Join(before, "private")),
		Out: folder, Salt: salt, Work: t.TempDir(),
	})
	if err != nil {
		t.Fatal(err)
	}
	publish(t, folder)
	return after
}

// texts are the files whose bytes are searched. (The cases' images and recordings are
// made up of their names.)
var texts = regexp.MustCompile(`(?i)\.(csv|tsv|txt|jsonl?|xml|md|html)$`)

var distinctive = regexp.MustCompile(`^[^\s]{6,}$`)

// noLeftOvers searches the public files, and those packed in them, for ids of
// the answers that cannot be there by accident.
func noLeftOvers(t *testing.T, def *competitions.Definition, before, after string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(before, def.Layout.Answers))
	if err != nil {
		t.Fatal(err)
	}
	records, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
	if err != nil || len(records) == 0 {
		return // the answers are no CSV file
	}
	at := slices.Index(records[0], cmp.Or(def.IDColumn(), "id"))
	if at < 0 {
		t.Errorf("%s has no column %s", def.Layout.Answers, def.IDColumn())
		return
	}
	var ids []string
	for _, r := range records[1:] {
		if id := strings.TrimSuffix(r[at], filepath.Ext(r[at])); distinctive.MatchString(id) {
			ids = append(ids, id)
		}
	}
	left := 0
	search := func(name string, content []byte) {
		if left > 2 {
			return
		}
		for _, id := range ids {
			if strings.Contains(name, id) || bytes.Contains(content, []byte(id)) {
				t.Errorf("%s still holds the id %s", name, id)
				left++
				return
			}
		}
	}
	public := os.DirFS(filepath.Join(after, "public"))
	err = fs.WalkDir(public, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			search(name, nil)
			return err
		}
		content, err := fs.ReadFile(public, name)
		if !texts.MatchString(name) {
			search(name, nil)
		} else {
			search(name, content)
		}
		if format := archive.FormatOf(name); format != "" {
			src := archive.Source{ReaderAt: bytes.NewReader(content), Size: int64(len(content))}
			if format, err = archive.FormatIn(src, name); err != nil {
				return err
			}
			err = archive.Walk(t.Context(), src, format, archive.DefaultLimits(), func(e archive.Entry, r io.Reader) error {
				var content []byte
				if texts.MatchString(e.Name) {
					content, err = io.ReadAll(r)
				}
				search(name+": "+e.Name, content)
				return err
			})
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func newFolder(t *testing.T, path string) *prep.Folder {
	t.Helper()
	folder, err := prep.NewFolder(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { folder.Discard() })
	return folder
}

func publish(t *testing.T, folder *prep.Folder) {
	t.Helper()
	if err := folder.Publish(); err != nil {
		t.Fatal(err)
	}
}

func goldenParams(t *testing.T, id string) map[string]cty.Value {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(goldenFolder, "params.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]map[string]string
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	out := map[string]cty.Value{}
	for name, value := range all[id] {
		out[name] = cty.StringVal(value)
	}
	return out
}

func unpack(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	src := archive.Source{ReaderAt: bytes.NewReader(data), Size: int64(len(data))}
	if err := archive.Unpack(t.Context(), src, archive.TarZstd, archive.DefaultLimits(), dir); err != nil {
		t.Fatal(err)
	}
	return dir
}
