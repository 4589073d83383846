package kit_test

import (
	"archive/zip"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/kit"
	"github.com/mleflow/mleflow/competitions/prep"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
)

// edited returns the skeleton's definition with texts replaced.
func edited(t *testing.T, replace ...string) *competitions.Definition {
	t.Helper()
	dir := t.TempDir()
	if err := kit.New(dir, "sample-1", "tabular"); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "sample-1", competitions.FileName)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	for i := 0; i < len(replace); i += 2 {
		if !strings.Contains(text, replace[i]) {
			t.Fatalf("the skeleton has no %q", replace[i])
		}
		text = strings.Replace(text, replace[i], replace[i+1], 1)
	}
	def, diags := competitions.Parse([]byte(text), "sample-1", os.DirFS(filepath.Join(dir, "sample-1")))
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return def
}

func prepared(t *testing.T, def *competitions.Definition) string {
	t.Helper()
	f, err := def.Folder().Open(def.Sources[0].Path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := zip.NewReader(f.(*os.File), info.Size())
	if err != nil {
		t.Fatal(err)
	}
	final := filepath.Join(t.TempDir(), "prepared")
	out, err := prep.NewFolder(final)
	if err != nil {
		t.Fatal(err)
	}
	if err := prep.Run(context.Background(), def, prep.Options{Raw: raw, Out: out}); err != nil {
		t.Fatal(err)
	}
	if err := out.Publish(); err != nil {
		t.Fatal(err)
	}
	return final
}

func TestSkeletonWorks(t *testing.T) {
	def := edited(t)
	folder := prepared(t, def)
	checks, err := kit.Test(context.Background(), def, kit.TestOptions{Prepared: folder, Metrics: metric.All()})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]kit.Verdict{}
	for _, c := range checks {
		got[c.Name] = c.Verdict
	}
	want := map[string]kit.Verdict{
		"gold gets the best score":                     kit.Passed,
		"sample gets its pinned score":                 kit.Skipped,
		"shuffled rows change nothing":                 kit.Passed,
		"sample scores worse than gold":                kit.Passed,
		"gold with a few swapped targets scores worse": kit.Passed,
		"gold with shuffled targets scores worse":      kit.Passed,
		"more swapped targets score worse than a few":  kit.Passed,
		"no rows are refused":                          kit.Passed,
		"a missing target column is refused":           kit.Passed,
		"a missing row is refused":                     kit.Passed,
		"a missing id column is refused":               kit.Passed,
		"a wrong id is refused":                        kit.Passed,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, f := range kit.Lint(def, metric.All()) {
		if f.Severity == kit.Error {
			t.Errorf("%s: %s", f.Rule, f.Message)
		}
	}
	found, err := kit.LintPrepared(def, metric.All(), os.DirFS(folder))
	if err != nil || len(found) > 0 {
		t.Errorf("%v, %v", found, err)
	}
}

func TestNewRefuses(t *testing.T) {
	dir := t.TempDir()
	for _, id := range []string{"", "../x", "a b", "-a", "a/b"} {
		if err := kit.New(dir, id, "tabular"); err == nil {
			t.Errorf("New(%q) succeeded", id)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "there"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := kit.New(dir, "there", "tabular"); err == nil {
		t.Error("an existing folder was taken")
	}
}

func TestLint(t *testing.T) {
	tests := []struct {
		name    string
		replace []string
		rule    string
		want    string
	}{
		{"unknown verb", []string{"drop(parts.test", "dorp(parts.test"}, "blocks", "Unknown verb dorp: Did you mean drop?"},
		{"unknown local", []string{"drop(parts.test", "drop(prats.test"}, "blocks", "Unknown name prats: Did you mean parts?"},
		{"too few arguments", []string{"drop(parts.test, target)", "train_test_split()"}, "blocks", "Write train_test_split(rows, options)."},
		{"unknown metric", []string{`"roc_auc"`, `"roc_auk"`}, "blocks", "Unknown metric"},
		{"unknown attribute", []string{`table "test.csv" { rows = drop`, `table "test.csv" { row = drop`}, "blocks", "Unknown attribute row"},
		{"no pin", []string{`md5    = "`, `#`, `sha256 = "`, `#`}, "pins", "neither md5 nor sha256"},
		{"answers not declared", []string{"  description = <<", "  answers = \"private/answers.csv\"\n  description = <<"}, "layout", "not an output"},
		{"answers public", []string{"  description = <<", "  answers = \"public/train.csv\"\n  description = <<"}, "layout", "under public"},
		{"direction", []string{"0.99, 0.97, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.6, 0.5", "0.1, 0.2, 0.3"}, "direction", "higher is better"},
		{"not in rank order", []string{"0.99, 0.97, 0.95", "0.99, 0.95, 0.97"}, "direction", "not in rank order"},
		{"length of a column", []string{"drop(parts.test, target)", "assign(drop(parts.test, target), { n = length(parts.test.id) })"}, "length", "characters(column)"},
		{"test with labels", []string{"drop(parts.test, target)", `select(parts.test, "id", target)`}, "same-answers", "has the same value as the answers"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			found := kit.Lint(edited(t, tt.replace...), metric.All())
			for _, f := range found {
				if f.Rule == tt.rule && (f.Severity == kit.Error || tt.rule == "length") && strings.Contains(f.Message, tt.want) {
					return
				}
			}
			t.Errorf("no error of rule %s with %q among %+v", tt.rule, tt.want, found)
		})
	}
}

func TestLintPrepared(t *testing.T) {
	tests := []struct {
		name    string
		replace []string
		rule    string
	}{
		{"labels under another name", []string{"drop(parts.test, target)", `rename(parts.test, { label = "hint" })`}, "reachable-answers"},
		{"labels in the training part", []string{"rows = parts.train", "rows = all"}, "reachable-answers"},
		{"same bytes", []string{"drop(parts.test, target)", `drop(parts.test, "width", "height")`}, "prepared-file"},
		{"sample without target", []string{`[target], 0.5`, `["lable"], 0.5`}, "columns"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			def := edited(t, tt.replace...)
			found, err := kit.LintPrepared(def, metric.All(), os.DirFS(prepared(t, def)))
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range found {
				if f.Rule == tt.rule && f.Severity == kit.Error {
					return
				}
			}
			t.Errorf("no error of rule %s among %+v", tt.rule, found)
		})
	}
}

func TestLintFindsPointers(t *testing.T) {
	def := edited(t)
	folder := prepared(t, def)
	path := filepath.Join(folder, "public", "picture.png")
	if err := os.WriteFile(path, []byte("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	found, err := kit.LintPrepared(def, metric.All(), os.DirFS(folder))
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 1 || !strings.Contains(found[0].Message, "public/picture.png: it is a pointer") {
		t.Errorf("%+v", found)
	}
}

// TestShippedDefinitionsLint keeps the shipped definitions free of errors.
func TestShippedDefinitionsLint(t *testing.T) {
	cat, err := competitions.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range cat.IDs() {
		def, err := cat.Get(id)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range kit.Lint(def, metric.All()) {
			if f.Severity == kit.Error && f.Excuse == "" {
				t.Errorf("%s: %s: %s", id, f.Rule, f.Message)
			}
		}
	}
}
