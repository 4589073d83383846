package grading_test

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/goldentest"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/grading/profile"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
)

// TestReferenceProfile gives the submissions of profile.json the scores that the
// reference's graders give with the profile's libraries.
func TestReferenceProfile(t *testing.T) {
	answers, err := profile.Read()
	if err != nil {
		t.Fatal(err)
	}
	versions := answers.Versions[profile.Reference]
	for part := range strings.FieldsSeq(grading.ReferenceProfile) {
		library, version := part[:strings.LastIndex(part, "-")], part[strings.LastIndex(part, "-")+1:]
		if library != "scipy" && !strings.HasPrefix(versions[library], version+".") {
			t.Errorf("profile.json was made with %s %s, the profile is %s", library, versions[library], version)
		}
	}
	catalog, err := competitions.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string][]profile.Case{}
	for _, c := range answers.Cases {
		cases[c.Competition] = append(cases[c.Competition], c)
	}
	for id, cases := range cases {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			def, err := catalog.Get(id)
			if err != nil {
				t.Fatal(err)
			}
			dir := goldentest.Unpack(t, id)
			for _, c := range cases {
				checkProfile(t, def, dir, c)
			}
		})
	}
}

func checkProfile(t *testing.T, def *competitions.Definition, dir string, c profile.Case) {
	file := filepath.Join(t.TempDir(), "submission.csv")
	if err := os.WriteFile(file, edited(t, filepath.Join(dir, "submissions", c.Submission), c.Edits), 0o600); err != nil {
		t.Fatal(err)
	}
	report, err := grading.Grade(t.Context(), def, metric.All(), grading.Request{Submission: file, Answers: filepath.Join(dir, "prepared", def.Layout.Answers)})
	if err != nil {
		t.Fatal(err)
	}
	want := c.Answers[profile.Reference]
	if c.Ours != "" {
		want = c.Ours
	}
	want = strings.ReplaceAll(want, "hangs", "none")
	got := strings.Trim(spell(t, report.Score), `"`)
	if got == "null" {
		got = "none"
	}
	if got != want {
		t.Errorf("%s: %s with %s: %s (%s), want %s", c.Rule, c.Submission, c.Edits, got, report.Reason, want)
	}
}

// edited makes the edits that testdata/profile.py makes.
func edited(t *testing.T, path string, edits []json.RawMessage) []byte {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	start, end := "", ""
	for _, text := range edits {
		var edit profile.Change
		switch {
		case string(text) == `"nul line at the end"`:
			end = "\x00"
		case string(text) == `"nul line at the start"`:
			start = "\x00\n"
		case json.Unmarshal(text, &edit) != nil:
			t.Fatalf("unknown edit %s", text)
		}
		for k, row := range rows[1:] {
			if len(edit.Values) > 0 && (edit.Rows == nil || slices.Contains(edit.Rows, k)) {
				row[slices.Index(rows[0], edit.Column)] = edit.Values[k%len(edit.Values)]
			}
		}
	}
	var b strings.Builder
	for i, row := range rows {
		for k, cell := range row {
			if k > 0 {
				b.WriteByte(',')
			}
			b.WriteString(`"` + strings.ReplaceAll(cell, `"`, `""`) + `"`)
		}
		b.WriteByte('\n')
		if i == 0 {
			b.WriteString(start)
		}
	}
	return []byte(b.String() + end)
}
