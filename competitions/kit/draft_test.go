package kit_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/kit"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
)

// rows writes n rows of a CSV file.
func rows(header string, n int, row func(i int, r *rand.Rand) string) string {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	lines := []string{header}
	for i := range n {
		lines = append(lines, row(i, r))
	}
	return strings.Join(lines, "\n") + "\n"
}

// writeFiles writes files to a new folder.
func writeFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// A draft prepares, passes its tests and has no leak; it has what the files show, and asks
// what they do not.
func TestDraft(t *testing.T) {
	numbers := func(start int, answer bool) string {
		header := "id,x,site,y"
		if !answer {
			header = "id,x,site"
		}
		return rows(header, 200+start/10, func(i int, r *rand.Rand) string {
			x, line := r.Float64(), ""
			line = fmt.Sprintf("%d,%v,%s", start+i, x, pick(r, "n", "s"))
			if answer {
				line += fmt.Sprintf(",%v", x+r.Float64())
			}
			return line
		})
	}
	grouped := func(first int) string {
		return rows("id,patient_id,x,label", 300, func(i int, r *rand.Rand) string {
			return fmt.Sprintf("%d,p%d,%v,%d", first+i, first+r.IntN(30), r.Float64(), r.IntN(2))
		})
	}
	dated := rows("day,x,y", 200, func(i int, r *rand.Rand) string {
		return fmt.Sprintf("20%02d-01-%02d,%v,%v", 10+i/20, 1+i%20, r.Float64(), r.Float64())
	})
	species := rows("id,x,species", 200, func(i int, r *rand.Rand) string {
		return fmt.Sprintf("%d,%v,%s", i, r.Float64(), pick(r, "Ant", "Bee ${x}", "Cat"))
	})
	for _, c := range []struct {
		name    string
		files   map[string]string
		options kit.DraftOptions
		// notes and text are in the notes, questions with a ?, and in the definition.
		notes, text []string
	}{
		{
			"sample and unlabelled test", map[string]string{"train.csv": numbers(0, true), "test.csv": numbers(500, false), "sample_submission.csv": "id,y\n500,0\n", "shops.csv": "a\n1\n"},
			kit.DraftOptions{},
			[]string{"targets: the columns of sample_submission.csv", `id: "id" is the first column`, "test.csv has no answers, so it is not used", `?may agents see shops.csv`, "?which metric? rmse"},
			[]string{`metric  = "rmse"`, `targets = ["y"]`, `mean(train.y)`, `train_test_split(all, { test_size = 0.2, random_state = 0 })`},
		},
		{
			"test with answers", map[string]string{"train.csv": numbers(0, true), "test.csv": numbers(500, true)}, kit.DraftOptions{Targets: []string{"y"}, Metric: "Mean Absolute Error"},
			[]string{"test.csv has the answers"}, []string{`metric  = "mae"`, "test   = tested"},
		},
		{
			"groups", map[string]string{"all.csv": grouped(0)}, kit.DraftOptions{},
			[]string{`?do the rows of one "patient_id" belong together?`, "?which metric? roc_auc"},
			[]string{"k_fold(all, { splits = 5, groups = all.patient_id, stratify = all.label })", `metric  = "roc_auc"`, "between    = { min = 0, max = 1 }"},
		},
		{
			"groups that the test table shows", map[string]string{"train.csv": grouped(0), "test.csv": strings.ReplaceAll(grouped(1000), "label", "other")},
			kit.DraftOptions{}, []string{`no value of "patient_id" is in both`}, []string{"groups = all.patient_id"},
		},
		{
			"groups in both", map[string]string{"train.csv": grouped(0), "test.csv": strings.ReplaceAll(grouped(0), "label", "other")},
			kit.DraftOptions{}, []string{`so groups are not kept together`}, []string{"stratify = all.label })"},
		},
		{
			"time", map[string]string{"sales.csv": dated}, kit.DraftOptions{Targets: []string{"y"}},
			[]string{"?are later rows predicted from earlier ones?", "row_id: no column names a row"},
			[]string{`time_series_split(sort_values(all, "day"), { splits = 4 })`, "{ row_id = sequence(parts.test) }"},
		},
		{
			"classes as columns", map[string]string{"train.csv": species, "sample_submission.csv": "id,Ant,Bee ${x},Cat\n0,0.3,0.3,0.4\n"}, kit.DraftOptions{},
			[]string{`are the values of "species"`}, []string{`metric  = "log_loss"`, `["Ant", "Bee $${x}", "Cat"]`, "1 / 3"},
		},
		{
			"log loss of classes", map[string]string{"train.csv": species}, kit.DraftOptions{Targets: []string{"species"}, Metric: "Multiclass Loss"},
			[]string{`a probability of each value of "species"`}, []string{`one_hot(select(test, "id", "species"), "species"`},
		},
		{
			"strings of two classes, some missing", map[string]string{"d.csv": rows("key,x,label", 300, func(i int, r *rand.Rand) string {
				return fmt.Sprintf("%d,%v,%s", i, r.Float64(), pick(r, "yes", "no", "no", ""))
			})}, kit.DraftOptions{Metric: "AUC", Page: nil},
			nil, nil,
		},
		{
			"positive class", map[string]string{"d.csv": rows("key,x,label", 300, func(i int, r *rand.Rand) string {
				return fmt.Sprintf("%d,%v,%s", i, r.Float64(), pick(r, "yes", "no", "no", ""))
			})}, kit.DraftOptions{Metric: "area under receiver operating characteristic curve"},
			[]string{`?is "yes" of "label" the positive class?`, `?72 of 300 rows have no "label". They are left out`},
			[]string{`isna(all_1.label) == false`, `{ "label" = all_2.label == "yes" ? 1 : 0 }`},
		},
		{
			"classes that are floats", map[string]string{"d.csv": rows("x,label", 200, func(_ int, r *rand.Rand) string { return fmt.Sprintf("%v,%d.0", r.Float64(), 1+r.IntN(3)) })},
			kit.DraftOptions{}, []string{"holds integers, which the file has as floats"}, []string{`"label" = integer(all_1.label)`},
		},
		{
			"log loss of floats", map[string]string{"d.csv": rows("x,label", 200, func(_ int, r *rand.Rand) string { return fmt.Sprintf("%v,%d.0", r.Float64(), 1+r.IntN(3)) })},
			kit.DraftOptions{Metric: "log_loss"}, []string{}, []string{`"label", [1, 2, 3])`},
		},
		{
			"flags that are floats", map[string]string{"d.csv": rows("x,label", 200, func(_ int, r *rand.Rand) string {
				return fmt.Sprintf("%v,%s", r.Float64(), pick(r, "0", "1", ""))
			})}, kit.DraftOptions{}, []string{"?which metric? roc_auc"}, []string{`integer(all_2.label)`},
		},
		{
			"metric with parameters", map[string]string{"train.csv": species}, kit.DraftOptions{Targets: []string{"species"}, Metric: "f1"},
			[]string{"?are these params right?"}, []string{`params  = { average = "macro" }`},
		},
		{
			"names that are templates and comments", map[string]string{"d.csv": rows("id,\"a\nb\"\"${path.x} EOT\x1b[31m\",label", 100, func(i int, r *rand.Rand) string {
				return fmt.Sprintf("%d,%v,%s", i, r.Float64(), pick(r, "x", "${y}", "EOT"))
			})}, kit.DraftOptions{},
			[]string{}, []string{`$${path.x}`},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			c.options.Files, c.options.Metrics = writeFiles(t, c.files), metric.All()
			notes, err := kit.Draft(dir, "mine", c.options)
			if c.notes == nil {
				if err == nil || !strings.Contains(err.Error(), `metric "AUC"`) {
					t.Fatalf("an unknown metric: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range c.notes {
				text, question := strings.CutPrefix(want, "?")
				if !slices.ContainsFunc(notes, func(n kit.Note) bool { return n.Question == question && strings.Contains(n.Text, text) }) {
					t.Errorf("no note %q in %+v", want, notes)
				}
			}
			checkDraft(t, filepath.Join(dir, "mine"), c.text, notes)
		})
	}
}

// checkDraft prepares and tests a draft.
func checkDraft(t *testing.T, folder string, texts []string, notes []kit.Note) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, competitions.FileName))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range texts {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	def, diags := competitions.Parse(text, "mine", os.DirFS(folder))
	if diags.HasErrors() {
		t.Fatalf("%v\n%s", diags, text)
	}
	out := prepared(t, def)
	checks, err := kit.Test(context.Background(), def, kit.TestOptions{Prepared: out, Metrics: metric.All()})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range checks {
		if c.Verdict == kit.Failed || c.Verdict == kit.Odd {
			t.Errorf("%s: %s\n%s", c.Name, c.Detail, text)
		}
	}
	found, err := kit.LintPrepared(def, metric.All(), os.DirFS(out))
	if err != nil || len(found) > 0 {
		t.Errorf("lint: %v, %v", found, err)
	}
	open := 0
	for _, f := range kit.Lint(def, metric.All()) {
		if f.Rule == "questions" {
			open++
		} else if f.Severity == kit.Error {
			t.Errorf("%s: %s", f.Rule, f.Message)
		}
	}
	if questions := slices.DeleteFunc(slices.Clone(notes), func(n kit.Note) bool { return !n.Question }); open != len(questions) {
		t.Errorf("lint finds %d open questions of %d", open, len(questions))
	}
}

// What cannot be guessed is an error that says what to give, and leaves no folder.
func TestDraftRefuses(t *testing.T) {
	plain := rows("a,b", 20, func(i int, r *rand.Rand) string { return fmt.Sprintf("%d,%d", i, i%3) })
	for name, c := range map[string]struct {
		files   map[string]string
		options kit.DraftOptions
		want    string
	}{
		"no target":        {map[string]string{"a.csv": plain}, kit.DraftOptions{}, "say so with --target NAME"},
		"no such target":   {map[string]string{"a.csv": plain}, kit.DraftOptions{Targets: []string{"c"}}, `no column "c"`},
		"no such id":       {map[string]string{"a.csv": plain}, kit.DraftOptions{Targets: []string{"b"}, ID: "b"}, "two of its rows have the same"},
		"two files":        {map[string]string{"a.csv": plain, "b.csv": plain}, kit.DraftOptions{}, "name it train.csv"},
		"no file":          {map[string]string{"a.txt": plain}, kit.DraftOptions{}, "no CSV file"},
		"one answer":       {map[string]string{"a.csv": rows("a,y", 20, func(i int, _ *rand.Rand) string { return fmt.Sprintf("%d,1", i) })}, kit.DraftOptions{}, "are the same"},
		"no answers":       {map[string]string{"a.csv": rows("a,y", 20, func(i int, _ *rand.Rand) string { return fmt.Sprintf("%d,", i) })}, kit.DraftOptions{}, "are the same"},
		"few rows":         {map[string]string{"a.csv": "a,y\n1,2\n2,3\n"}, kit.DraftOptions{}, "too few to split"},
		"empty":            {map[string]string{"a.csv": ""}, kit.DraftOptions{}, "too few to split"},
		"binary":           {map[string]string{"a.csv": "\x00\xff\xfe\"\n\"\"\""}, kit.DraftOptions{}, ""},
		"class as column":  {map[string]string{"train.csv": rows("id,x,c", 20, func(i int, _ *rand.Rand) string { return fmt.Sprintf("%d,1,%s", i, []string{"x", "z"}[i%2]) }), "sample_submission.csv": "id,x,z\n1,0,1\n"}, kit.DraftOptions{}, ""},
		"metric by chance": {map[string]string{"a.csv": plain}, kit.DraftOptions{Targets: []string{"b"}, Metric: "acuracy"}, "Did you mean accuracy?"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			c.options.Files, c.options.Metrics = writeFiles(t, c.files), metric.All()
			if _, err := kit.Draft(dir, "mine", c.options); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if entries, _ := os.ReadDir(dir); len(entries) > 0 {
				t.Errorf("it left %v", entries)
			}
		})
	}
}

// A pipe is not opened, and no link is followed.
func TestDraftLeavesPipesAndLinks(t *testing.T) {
	files := writeFiles(t, map[string]string{"a.csv": rows("a,y", 20, func(i int, _ *rand.Rand) string { return fmt.Sprintf("%d,%d", i, i%2) })})
	if err := syscall.Mkfifo(filepath.Join(files, "train.csv"), 0o600); err != nil {
		t.Skip(err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(files, "test.csv")); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	notes, err := kit.Draft(dir, "mine", kit.DraftOptions{Files: files, Metrics: metric.All()})
	if err != nil || !slices.ContainsFunc(notes, func(n kit.Note) bool { return strings.HasPrefix(n.Text, "2 entries of the folder are no CSV files") }) {
		t.Errorf("%+v, %v", notes, err)
	}
	checkDraft(t, filepath.Join(dir, "mine"), nil, notes)
}

// Without files, a draft of a Kaggle competition has the metric of its page.
func TestDraftOfPage(t *testing.T) {
	for page, want := range map[string]string{
		"Quadratic Weighted Kappa": `weights = "quadratic"`, "MAP@{K}": `metric  = "map_at_k"`, "Categorization Accuracy": `metric  = "accuracy"`,
		"Root Mean Squared Error": `metric  = "rmse"`, "Sharpness of ${x}\nhidden": `# Question: Kaggle's metric is "Sharpness of ${x}\nhidden"`, "": `# Question: which metric?`,
	} {
		dir := t.TempDir()
		if _, err := kit.Draft(dir, "mine", kit.DraftOptions{Page: &kit.Page{Slug: "theirs", Title: "Their \"${x}\"\n", Metric: page}, Metrics: metric.All()}); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(dir, "mine", competitions.FileName))
		if _, diags := competitions.Parse(text, "mine", os.DirFS(dir)); err != nil || diags.HasErrors() || !strings.Contains(string(text), want) || !strings.Contains(string(text), `slug = "theirs"`) {
			t.Errorf("%q: no %s, %v, %v:\n%s", page, want, err, diags, text)
		}
	}
}
