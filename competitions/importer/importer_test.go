package importer

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"

	"github.com/mleflow/mleflow/competitions"
)

// toads is a folder in the form of MLE-bench.
func toads() map[string]string {
	return map[string]string{
		"config.yaml": `id: toads
name: "Toads ${of} the pond"
competition_type: simple
awards_medals: true
description: mlebench/competitions/toads/description.md
dataset:
  answers: toads/prepared/private/answers.csv
  sample_submission: toads/prepared/public/sample.csv
grader:
  name: share-right
  grade_fn: mlebench.competitions.toads.grade:grade
preparer: mlebench.competitions.toads.prepare:prepare
`,
		"prepare.py":           "from pathlib import Path\nimport csv\n\n\ndef prepare(raw: Path, public: Path, private: Path):\n    pass\n",
		"grade.py":             "import pandas as pd\nfrom .kinds import KINDS\nimport Levenshtein, strange_module\n\n\ndef grade(submission, answers):\n    return 0.5\n",
		"kinds.py":             "KINDS = ['common', 'natterjack']\n",
		"description.md":       "# Toads\n\nWhich ${toad} is it?\n",
		"leaderboard.csv":      "teamName,score\n\"a, b\",0.9\nc,0.75\nd,\n",
		"checksums.yaml":       "zip: 0123456789abcdef0123456789abcdef\npublic:\n  sample.csv: 11111111111111111111111111111111\nprivate:\n  answers.csv: 22222222222222222222222222222222\n",
		"kernels.txt":          "someone/kernel\n",
		"__pycache__/x.pyc":    "\x00",
		"tables/constants.txt": "1\n",
	}
}

func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "toads")
	for name, text := range files {
		at := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestMLEBench(t *testing.T) {
	into := t.TempDir()
	got, err := Import(folder(t, toads()), Options{Into: into})
	if err != nil {
		t.Fatal(err)
	}
	want := Result{
		Competition: "toads", Path: filepath.Join(into, "toads"), Teams: 2, Pins: 2,
		Packages: []string{"Levenshtein==0.26.1", "numpy==1.26.4", "pandas==2.2.3", "scikit-learn==1.5.2", "scipy==1.14.1", "tqdm==4.66.6"},
		Unknown:  []string{"strange_module"}, Notes: []string{"teams of leaderboard.csv without a score, which are left out: 1"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
	catalog, err := competitions.LoadFolder(competitions.Folder{Path: into})
	if err != nil {
		t.Fatal(err)
	}
	def, err := catalog.Get("toads")
	if err != nil {
		t.Fatal(err)
	}
	if def.Title != "Toads ${of} the pond" || def.Description != "# Toads\n\nWhich ${toad} is it?" || !def.PreparedByPython() || !def.GradedByPython() {
		t.Errorf("definition: %q, %q", def.Title, def.Description)
	}
	if p := def.Python; p.Package != "mlebench.competitions.toads" || p.Prepare != "prepare:prepare" || p.Grade != "grade:grade" {
		t.Errorf("python: %+v", p)
	}
	if l := def.Layout; l.Answers != "private/answers.csv" || l.Sample != "public/sample.csv" {
		t.Errorf("layout: %+v", l)
	}
	if diff := cmp.Diff([]float64{0.9, 0.75}, def.Medals.Scores); diff != "" {
		t.Errorf("leaderboard (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"public/sample.csv": strings.Repeat("1", 32), "private/answers.csv": strings.Repeat("2", 32)}, def.Checksums.Pinned()); diff != "" {
		t.Errorf("pins (-want +got):\n%s", diff)
	}
	code, err := filepath.Glob(filepath.Join(into, "toads", "python", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range code {
		code[i] = filepath.Base(code[i])
	}
	if diff := cmp.Diff([]string{"grade.py", "kinds.py", "prepare.py", "tables"}, code); diff != "" {
		t.Errorf("code (-want +got):\n%s", diff)
	}
	if _, err := Import(folder(t, toads()), Options{Into: into}); err == nil || !strings.Contains(err.Error(), "--id") {
		t.Errorf("a second import: %v", err)
	}
}

// TestKeys changes files of an imported competition: those that a digest must name change it.
func TestKeys(t *testing.T) {
	into := t.TempDir()
	made, err := Import(folder(t, toads()), Options{Into: into})
	if err != nil {
		t.Fatal(err)
	}
	digests := func() (prepare, grade string) {
		catalog, err := competitions.LoadFolder(competitions.Folder{Path: into})
		if err != nil {
			t.Fatal(err)
		}
		def, err := catalog.Get("toads")
		if err != nil {
			t.Fatal(err)
		}
		p, diags := def.PrepareDigest(nil)
		g, more := def.GradeDigest(nil)
		if diags.HasErrors() || more.HasErrors() {
			t.Fatal(diags, more)
		}
		return p.String(), g.String()
	}
	for file, changes := range map[string]bool{
		"python/prepare.py": true, "python/kinds.py": true, "python/tables/constants.txt": true, "requirements.txt": true, "requirements.lock": true,
		"description.md": false,
	} {
		prepare, grade := digests()
		f, err := os.OpenFile(filepath.Join(made.Path, file), os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
		if err == nil {
			_, err = f.WriteString("# changed\n")
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
		p, g := digests()
		if (p != prepare) != changes || (g != grade) != changes {
			t.Errorf("%s: the digests change: %v and %v, want %v", file, p != prepare, g != grade, changes)
		}
	}
}

// TestMistakes imports folders with a mistake each. The error says where and what to do, and
// nothing is written.
func TestMistakes(t *testing.T) {
	replaced := func(file, old, text string) func(map[string]string) {
		return func(files map[string]string) {
			if !strings.Contains(files[file], old) {
				panic(old)
			}
			files[file] = strings.Replace(files[file], old, text, 1)
		}
	}
	bomb := "a: &a [x, x, x, x, x, x, x, x, x]\n"
	for c := 'b'; c < 'k'; c++ {
		bomb += string(c) + ": &" + string(c) + " [" + strings.TrimSuffix(strings.Repeat("*"+string(c-1)+", ", 9), ", ") + "]\n"
	}
	for name, c := range map[string]struct {
		change func(map[string]string)
		line   int
		want   []string
	}{
		"no config":            {func(f map[string]string) { delete(f, "config.yaml") }, 0, []string{"config.yaml", "no such file"}},
		"no grade.py":          {func(f map[string]string) { delete(f, "grade.py") }, 11, []string{"no file grade.py", "Add the file"}},
		"no description":       {func(f map[string]string) { delete(f, "description.md") }, 0, []string{"description.md", "add it"}},
		"no leaderboard":       {func(f map[string]string) { delete(f, "leaderboard.csv") }, 0, []string{"leaderboard.csv", "--better"}},
		"unknown function":     {replaced("config.yaml", "grade:grade", "grade:rate"), 11, []string{"defines no function rate"}},
		"a module of Python":   {replaced("config.yaml", "mlebench.competitions.toads.grade:grade", "os:system"), 11, []string{"no file os.py", "is not imported"}},
		"a path as a module":   {replaced("config.yaml", "mlebench.competitions.toads.grade:grade", "../../evil:grade"), 11, []string{"Write module and function"}},
		"dots as a module":     {replaced("config.yaml", "mlebench.competitions.toads.grade:grade", "....evil:grade"), 11, []string{"no file evil.py"}},
		"code after a colon":   {replaced("config.yaml", "grade:grade", `"grade:grade(),__import__('os').system('id')"`), 11, []string{""}},
		"another competition":  {replaced("config.yaml", "toads.grade:grade", "frogs.grade:grade"), 11, []string{"Two packages"}},
		"no identifier":        {replaced("config.yaml", "id: toads\n", ""), 1, []string{"needs id"}},
		"a slash in the id":    {replaced("config.yaml", "id: toads", "id: ../../toads"), 1, []string{"--id"}},
		"an odd identifier":    {replaced("config.yaml", "id: toads", "id: \"to\\nads\""), 1, []string{"--id"}},
		"answers outside":      {replaced("config.yaml", "toads/prepared/private/answers.csv", "toads/prepared/private/../../x"), 7, []string{"must be a path such as"}},
		"answers of others":    {replaced("config.yaml", "toads/prepared/private", "frogs/prepared/private"), 7, []string{"must be a path such as"}},
		"a list as a name":     {replaced("config.yaml", "name: \"Toads", "name: [\"Toads"), 0, []string{"config.yaml"}},
		"a mapping as answers": {replaced("config.yaml", "answers: toads/prepared/private/answers.csv", "answers: {a: b}"), 7, []string{"Expected a string"}},
		"a bomb":               {func(f map[string]string) { f["config.yaml"] = bomb }, 1, []string{"needs id"}},
		"a huge config":        {func(f map[string]string) { f["config.yaml"] += strings.Repeat("# long\n", 1<<18) }, 0, []string{"config.yaml"}},
		"a huge name":          {replaced("config.yaml", "Toads", strings.Repeat("T", 1<<13)), 2, []string{"4096 characters"}},
		"a huge file":          {func(f map[string]string) { f["data.bin"] = strings.Repeat("x", maxFile+1) }, 0, []string{"data.bin"}},
		"a pointer of LFS":     {func(f map[string]string) { f["leaderboard.csv"] = "version https://git-lfs.github.com/spec/v1\n" }, 1, []string{"git lfs pull"}},
		"no column score":      {func(f map[string]string) { f["leaderboard.csv"] = "team\na\n" }, 1, []string{"column score"}},
		"a score that is none": {func(f map[string]string) { f["leaderboard.csv"] = "score\n1\nbest\n" }, 3, []string{"best"}},
		"a score that is NaN":  {func(f map[string]string) { f["leaderboard.csv"] = "score\nnan\n" }, 2, []string{"nan"}},
		"a pin that is none":   {func(f map[string]string) { f["checksums.yaml"] = "public:\n  a.csv: abc\n" }, 2, []string{"32 lower-case"}},
		"a pin outside": {func(f map[string]string) {
			f["checksums.yaml"] = "public:\n  ../a.csv: " + strings.Repeat("1", 32) + "\n"
		}, 2, []string{"below public"}},
	} {
		t.Run(name, func(t *testing.T) {
			files, into := toads(), t.TempDir()
			c.change(files)
			_, err := Import(folder(t, files), Options{Into: into})
			bad, ok := errors.AsType[*competitions.LoadError](err)
			if !ok {
				t.Fatalf("got %v", err)
			}
			at := slices.IndexFunc(bad.Diags, func(d *hcl.Diagnostic) bool {
				text := d.Subject.Filename + ": " + d.Summary + ": " + d.Detail
				return d.Subject.Start.Line == c.line && !slices.ContainsFunc(c.want, func(w string) bool { return !strings.Contains(text, w) })
			})
			if at < 0 {
				t.Errorf("no mistake in line %d with %q in:\n%v", c.line, c.want, bad.Diags)
			}
			if left, err := os.ReadDir(into); err != nil || len(left) > 0 {
				t.Errorf("written: %v %v", left, err)
			}
		})
	}
}

// TestLinks refuses links, also those within the folder: what is read is what is there.
func TestLinks(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("def grade(submission, answers): pass # the secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"grade.py", "config.yaml", "description.md", "leaderboard.csv", "tables"} {
		dir, into := folder(t, toads()), t.TempDir()
		at := filepath.Join(dir, name)
		if err := errors.Join(os.RemoveAll(at), os.Symlink(secret, at)); err != nil {
			t.Fatal(err)
		}
		_, err := Import(dir, Options{Into: into})
		if err == nil || strings.Contains(err.Error(), "the secret") {
			t.Errorf("%s: %v", name, err)
		}
		if left, err := os.ReadDir(into); err != nil || len(left) > 0 {
			t.Errorf("%s: written: %v %v", name, left, err)
		}
	}
	dir := folder(t, toads())
	if err := os.Symlink(filepath.Join(dir, "grade.py"), filepath.Join(dir, "other.py")); err != nil {
		t.Fatal(err)
	}
	if _, err := Import(dir, Options{Into: t.TempDir()}); err == nil || !strings.Contains(err.Error(), "link") {
		t.Errorf("a link within the folder: %v", err)
	}
}

// TestOtherNames imports with another identifier, and the code keeps its package.
func TestOtherNames(t *testing.T) {
	files, into := toads(), t.TempDir()
	delete(files, "leaderboard.csv")
	delete(files, "checksums.yaml")
	made, err := Import(folder(t, files), Options{Into: into, ID: "my-toads", Better: "lower"})
	if err != nil {
		t.Fatal(err)
	}
	catalog, err := competitions.LoadFolder(competitions.Folder{Path: into})
	if err != nil {
		t.Fatal(err)
	}
	def, err := catalog.Get("my-toads")
	if err != nil {
		t.Fatal(err)
	}
	if def.Python.Package != "mlebench.competitions.toads" || def.Sources[0].Slug != "toads" || !def.Medals.LowerIsBetter || made.Teams != 0 {
		t.Errorf("%+v, slug %s, lower %v", def.Python, def.Sources[0].Slug, def.Medals.LowerIsBetter)
	}
}

// TestPlaces marks the value that is wrong.
func TestPlaces(t *testing.T) {
	files := toads()
	delete(files, "grade.py")
	_, err := Import(folder(t, files), Options{Into: t.TempDir()})
	bad, ok := errors.AsType[*competitions.LoadError](err)
	if !ok {
		t.Fatal(err)
	}
	at := bad.Diags[0].Subject
	if got := string(at.SliceBytes([]byte(files["config.yaml"]))); got != "mlebench.competitions.toads.grade:grade" {
		t.Errorf("marked %q", got)
	}
}
