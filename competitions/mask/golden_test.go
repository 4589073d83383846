package mask_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/goldentest"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/mask"
	"github.com/mleflow/mleflow/competitions/outcome"
	"github.com/mleflow/mleflow/competitions/prep"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
	"github.com/mleflow/mleflow/plugins/transfer/archive"
)

var salt = mask.Salt("the salt of these tests, not secret")

// TestGolden masks every competition that has a case. All submissions that have
// a score before, among them the perfect one, the sample and a noisy one, have
// the same score after; no id of the answers is left anywhere in the public files.
// A competition that cannot be masked says why.
func TestGolden(t *testing.T) {
	catalog, err := competitions.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	for i, id := range goldentest.IDs(t) {
		if testing.Short() && i%10 != 0 {
			continue
		}
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
				if err := mask.Draw(t.Context(), v1, 1, 1, mask.Options{}); err == nil || !strings.Contains(err.Error(), v1.Mask.Refused) {
					t.Errorf("a draw: error %v, want the reason of the definition", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			checkGolden(t, v1, v1m, goldentest.Unpack(t, id))
		})
	}
}

func checkGolden(t *testing.T, v1, v1m *competitions.Definition, dir string) {
	params := goldentest.Params(t, v1.ID)
	before := filepath.Join(t.TempDir(), "v1")
	folder := newFolder(t, before)
	if err := prep.Run(t.Context(), v1, prep.Options{Raw: os.DirFS(filepath.Join(dir, "raw")), Out: folder, Params: params}); err != nil {
		t.Fatal(err)
	}
	publish(t, folder)
	after := masked(t, v1m, before)
	noLeftOvers(t, v1m, before, after)
	checkDraw(t, v1, params, before)

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

// checkDraw draws half of the ids: those of the answers and of the sample are the same,
// in their order, with all their rows; no file of another is left; the perfect
// submission can be graded.
func checkDraw(t *testing.T, def *competitions.Definition, params map[string]cty.Value, before string) {
	t.Helper()
	answers := filepath.Join(before, def.Layout.Answers)
	all := idsOf(t, def, answers)
	distinct := map[string]bool{}
	for _, cell := range all {
		distinct[idIn(def, cell)] = true
	}
	n := (len(distinct) + 1) / 2
	draw := func(n int, seed uint64) (string, error) {
		dir := filepath.Join(t.TempDir(), "drawn")
		folder := newFolder(t, dir)
		err := mask.Draw(t.Context(), def, n, seed, mask.Options{Public: os.DirFS(filepath.Join(before, "public")), Private: os.DirFS(filepath.Join(before, "private")), Out: folder, Work: t.TempDir()})
		if err == nil {
			publish(t, folder)
		}
		return dir, err
	}
	if def.Mask.Order != "" && def.Mask.Order != def.IDColumn() {
		if _, err := draw(1, 1); err == nil || !strings.Contains(err.Error(), "belong together by "+def.Mask.Order) {
			t.Errorf("a draw: error %v", err)
		}
		return
	}
	if _, err := draw(len(distinct)+1, 1); err == nil || !strings.Contains(err.Error(), "ids are wanted") {
		t.Errorf("a draw of more than all: error %v", err)
	}
	one, err := draw(n, 1)
	if err != nil {
		t.Fatal(err)
	}
	kept := map[string]bool{}
	for _, cell := range idsOf(t, def, filepath.Join(one, def.Layout.Answers)) {
		kept[idIn(def, cell)] = true
	}
	if len(kept) != n {
		t.Errorf("%d ids are drawn, want %d", len(kept), n)
	}
	for _, name := range []string{def.Layout.Answers, def.Layout.Sample} {
		if !strings.HasSuffix(name, ".csv") {
			continue
		}
		want, got := idsOf(t, def, filepath.Join(before, name)), idsOf(t, def, filepath.Join(one, name))
		want = slices.DeleteFunc(want, func(cell string) bool { return !kept[idIn(def, cell)] })
		got = slices.DeleteFunc(got, func(cell string) bool { return !distinct[idIn(def, cell)] }) // a sample may ask for more than is graded
		if !slices.Equal(got, want) {
			t.Errorf("%s has the ids %.200q, want %.200q", name, got, want)
		}
	}
	_ = filepath.WalkDir(filepath.Join(one, "public"), func(name string, _ fs.DirEntry, err error) error {
		stem, _, _ := strings.Cut(filepath.Base(name), ".")
		if distinctive.MatchString(stem) && distinct[stem] && !kept[stem] {
			t.Errorf("%s is left", name)
		}
		return err
	})
	again, err := draw(n, 1)
	if err != nil || contents(t, again) != contents(t, one) {
		t.Errorf("the same draw gives other files (%v)", err)
	}
	if other, err := draw(n, 2); err != nil || len(distinct) > 12 && contents(t, other) == contents(t, one) {
		t.Errorf("another seed gives the same files (%v)", err)
	}
	if !strings.HasSuffix(def.Layout.Gold, ".csv") {
		return
	}
	grade := func(dir string) grading.Report {
		report, err := grading.Grade(t.Context(), def, metric.All(), grading.Request{Submission: filepath.Join(dir, def.Layout.Gold), Answers: filepath.Join(dir, def.Layout.Answers), Params: params})
		if err != nil {
			t.Fatal(err)
		}
		return report
	}
	if grade(before).Outcome != outcome.Scored {
		return
	}
	var reasons []string
	for seed := range uint64(5) { // a small draw may have one class only
		dir, err := draw(n, seed)
		if err != nil {
			t.Fatal(err)
		}
		report := grade(dir)
		if report.Outcome == outcome.Scored {
			return
		}
		reasons = append(reasons, report.Reason)
	}
	t.Errorf("the perfect submission has no score in any of five draws: %q", reasons)
}

// idIn is the id in a cell of the column of ids.
func idIn(def *competitions.Definition, cell string) string {
	for _, c := range def.Mask.Columns {
		if c.Name == def.IDColumn() && c.ID != nil {
			if at := c.ID.FindStringSubmatch(cell); at != nil {
				return at[len(at)-1]
			}
		}
	}
	return cell
}

// contents is a digest of the names and bytes of the files in a folder.
func contents(t *testing.T, dir string) string {
	t.Helper()
	h := sha256.New()
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		fmt.Fprintf(h, "%s %d\n%s", strings.TrimPrefix(name, dir), len(data), data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(h.Sum(nil))
}

// compare grades a submission in both versions and reports whether it has a
// score in v1.
func compare(t *testing.T, v1, v1m *competitions.Definition, params map[string]cty.Value, before, after, one, other string) bool {
	t.Helper()
	grade := func(def *competitions.Definition, prepared, submission string) (string, outcome.Submission) {
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
	want, how := grade(v1, before, one)
	if how != outcome.Scored {
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
	files := int64(0)
	work := &progress.Work{Ended: func(p progress.State) { files = p.Files }}
	err := mask.Run(t.Context(), def, mask.Options{
		Public: os.DirFS(filepath.Join(before, "public")), Private: os.DirFS(filepath.Join(before, "private")),
		Out: folder, Salt: salt, Work: t.TempDir(), Progress: work,
	})
	if err != nil {
		t.Fatal(err)
	}
	if p := work.Now(); p.Files != files || p.Files != p.TotalFiles || p.Files == 0 || p.Bytes == 0 {
		t.Errorf("%d files were read, and then %+v", files, p)
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
