package site

import (
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/competitions"
)

// shipped are the published rows in the documentation.
func shipped(t *testing.T) []Reported {
	t.Helper()
	rows, err := ReadReported("../../../../../docs/published.csv")
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func catalog(t *testing.T) *competitions.Catalog {
	t.Helper()
	c, err := competitions.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestPublished: the rows are complete and in MLE-bench's order. The splits have 22, 38
// and 15 competitions, so a mean over three seeds is a number of medals out of 66, 114,
// 45 or 225, and the mean of all follows from the others: a slip of the pen shows.
func TestPublished(t *testing.T) {
	rows := shipped(t)
	if len(rows) != 30 {
		t.Errorf("%d rows; MLE-bench has 28, and 2 that it lists apart", len(rows))
	}
	address := func(r Reported, text string, optional bool) {
		if u, err := url.Parse(text); !(optional && text == "") && (err != nil || u.Scheme != "https" || u.Host == "") {
			t.Errorf("%s (%s): %q is no https address", r.Agent, r.Models, text)
		}
	}
	seen := map[string]bool{}
	for i, r := range rows {
		name := r.Agent + " (" + r.Models + ")"
		apart := strings.Contains(r.Note, "listed apart")
		if apart != (i >= 28) || i > 0 && i != 28 && *r.All > *rows[i-1].All {
			t.Errorf("%s is out of order", name)
		}
		if h, err := strconv.ParseFloat(r.Hours, 64); err != nil || !(h > 0) || r.Models == "" || r.SourceCode != "yes" && r.SourceCode != "no" || r.GradingReports != "yes" {
			t.Errorf("%s is incomplete: %+v", name, r)
		}
		for _, day := range []string{r.Date, r.Read} {
			if _, err := time.Parse(time.DateOnly, day); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		address(r, r.URL, r.Agent == "OpenHands" || r.Agent == "MLAB")
		address(r, r.Source, false)
		if r.Experiment == "" || seen[r.Experiment] {
			t.Errorf("%s has the experiment %q", name, r.Experiment)
		}
		seen[r.Experiment] = true
		if padded := strings.Contains(r.Note, "padded"); padded != (r.Padded == "yes") {
			t.Errorf("%s: padded is %q, the note %q", name, r.Padded, r.Note)
		}
		// The rows of 2024, this of R&D-Agent (5) and AIRA-dojo (up to 20) have other numbers
		// of seeds; those of 2024 even by split.
		three := r.Date > "2025" && r.Agent != "AIRA-dojo" && r.Models != "o1-preview"
		sum := 0.0
		for _, name := range []string{"low", "medium", "high", "all"} {
			n := map[string]float64{"low": 22, "medium": 38, "high": 15, "all": 75}[name]
			mean, sem := r.claims(name)
			if mean == nil || sem == nil || *sem > 50 {
				t.Fatalf("%s: %s is %v ± %v", r.Agent, name, mean, sem)
			}
			if medals := *mean * n * 3 / 100; three && math.Abs(medals-math.Round(medals)) > 0.01*n*3/100 {
				t.Errorf("%s: %s, %v %%, is %v medals over three seeds", r.Agent, name, *mean, medals)
			}
			if name != "all" {
				sum += *mean * n
			}
		}
		if r.Date > "2025" && math.Abs(sum/75-*r.All) > 0.011 {
			t.Errorf("%s: all is %v, by its splits %.3f", name, *r.All, sum/75)
		}
	}
}

// TestPublishedSection shows each row once, rows from bundles first and alone with a
// place.
func TestPublishedSection(t *testing.T) {
	mine := made("mine", "reference", 2, always)
	if part := built(t, mine).Published().Rows; len(part) > 0 {
		t.Errorf("an agent with a part of the splits is beside published ones: %v", part)
	}
	first := mine.Rows
	mine.Rows = nil
	for i, id := range publishedSplits(catalog(t))[0].IDs {
		for _, r := range first {
			again, attempt := *r, *r.Attempt
			again.Attempt = &attempt
			again.Report.CompetitionID, again.Report.Conditions = id, append(slices.Clone(r.Report.Conditions), "time=12h")
			again.Report.AnyMedal, again.Report.GoldMedal = i < 11, i < 11
			again.AttemptAction, again.GradeAction, again.ReportDigest = r.AttemptAction+id, r.GradeAction+id, r.ReportDigest+id
			again.Address, again.GradeAddress, again.Verdict.Address = r.Address+id, r.GradeAddress+id, r.GradeAddress+id
			mine.Rows = append(mine.Rows, &again)
		}
	}
	rows := shipped(t)
	hostile := Reported{Agent: "<script>alert(1)</script>", Note: `"><img src=x onerror=alert(2)>`, Read: "<u>", Experiment: "<i>", URL: "https://example.org/?a=<script>", Source: `https://example.org/"onclick="x`}
	s, err := Build(Request{Bundles: []*Bundle{mine, made("other", "own", 2, always)}, Catalog: catalog(t), Reported: append(rows, hostile)})
	if err != nil {
		t.Fatal(err)
	}
	g := s.Published()
	if len(g.Rows) != 32 {
		t.Fatalf("%d rows; want 1 of an agent with a whole split, and 31", len(g.Rows))
	}
	words := func(cells []cell) (list []string) {
		for _, c := range cells {
			list = append(list, c.Text)
		}
		return list
	}
	if diff := cmp.Diff([]string{"1", "mine", "–", "50.00 ± 0.00", "–", "–", "–", "12", "0001-01-01", "", "–", "in the bundle", "44 recomputed", "bundle"}, words(g.Rows[0])); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"–", "MLEvolve", "Gemini-3-Pro-Preview", "80.30 ± 1.52", "57.89 ± 1.52", "42.22 ± 2.22", "61.33 ± 1.33", "12", "2026-02-14", "", "yes", "yes", "reported, not verified", "source, read 2026-11-26"}, words(g.Rows[4])); diff != "" {
		t.Error(diff)
	}
	for i, r := range g.Rows[1:] {
		if r[0].Text != "–" || !r[12].Pill || r[12].Class != "warn" {
			t.Errorf("row %d: %v", i+1, words(r))
		}
	}
	page, err := s.index().write("")
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"<script", "<img", "<u>", "<i>", `"onclick="`} {
		if strings.Contains(string(page), bad) {
			t.Errorf("the page has %s", bad)
		}
	}
	for _, r := range rows {
		if n := strings.Count(string(page), `href="`+strings.ReplaceAll(r.Source, "&", "&amp;")); n != len(rows) {
			t.Fatalf("%d links to the source of %d rows", n, len(rows))
		}
	}
}

// TestReportedRefused: what is no row, or what only the board may say.
func TestReportedRefused(t *testing.T) {
	for name, text := range map[string]string{
		"a.csv": "agent,source\nx,javascript:alert(1)\n", "b.csv": "agent,recomputed\nx,yes\n", "c.json": `[{"agent": "x", "recomputed": {"figures": {}}}]`,
		"d.csv": "agent,padded\nx,true\n", "e.csv": "agent,url\nx,data:text/html;x\n",
	} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if rows, err := ReadReported(path); err == nil {
			t.Errorf("%s: %+v", text, rows)
		}
	}
}

// group writes the reports of a run group, as MLE-bench does: a seed with medals at the
// first competitions of each split.
func group(t *testing.T, runs, name string, medals map[string]int) {
	t.Helper()
	var reports []map[string]any
	for _, split := range publishedSplits(catalog(t))[:3] {
		for i, id := range split.IDs {
			has := i < medals[split.Name]
			reports = append(reports, map[string]any{
				"competition_id": id, "score": 0.5, "gold_threshold": 1.0, "silver_threshold": 0.9, "bronze_threshold": 0.4, "median_threshold": 0.3, "any_medal": has, "gold_medal": false, "silver_medal": false, "bronze_medal": has,
				"above_median": has, "submission_exists": true, "valid_submission": true, "is_lower_better": false, "created_at": "2026-02-14T00:00:00", "submission_path": "submission.csv",
			})
		}
	}
	text, err := json.Marshal(map[string]any{"total_runs": len(reports), "competition_reports": reports})
	if err == nil {
		err = os.MkdirAll(filepath.Join(runs, name), 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(runs, name, "grading_report_"+name+".json"), text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestRecompute computes a published row from reports with as many medals as its figures
// say: 53 of 66, 66 of 114 and 19 of 45, by seed as its standard errors say.
func TestRecompute(t *testing.T) {
	runs := t.TempDir()
	for i, n := range [][3]int{{17, 22, 6}, {18, 21, 6}, {18, 23, 7}} {
		group(t, runs, fmt.Sprint("mlevolve_group", i+1), map[string]int{"low": n[0], "medium": n[1], "high": n[2]})
	}
	const pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"
	table := "experiment_id,run_group\nMLEvolve,mlevolve_group1\nMLEvolve,mlevolve_group2\nMLEvolve,mlevolve_group3\nthesis,thesis_group1\n"
	for path, text := range map[string]string{"run_group_experiments.csv": table, "thesis_group1/grading_report.json": pointer} {
		to := filepath.Join(runs, path)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	rows := shipped(t)
	of := func(experiment string) Reported {
		r := rows[slices.IndexFunc(rows, func(r Reported) bool { return r.Experiment == experiment })]
		one := []Reported{r}
		Recompute(one, runs, catalog(t))
		return one[0]
	}
	same := of("MLEvolve")
	if c := same.Recomputed; c.Why != "" || len(c.Differs) > 0 {
		t.Errorf("MLEvolve: %+v", c)
	}
	for experiment, why := range map[string]string{"thesis": "git lfs pull", "AIBuildAI": "no experiment"} {
		if c := of(experiment).Recomputed; !strings.Contains(c.Why, why) || strings.Contains(c.Why, runs) {
			t.Errorf("%s: %+v", experiment, c)
		}
	}
	group(t, runs, "mlevolve_group2", map[string]int{"low": 18, "medium": 21, "high": 5})
	other := of("MLEvolve")
	if diff := cmp.Diff([]string{"high 40.00 ± 3.85", "all 60.89 ± 1.60"}, other.Recomputed.Differs); diff != "" {
		t.Error(diff)
	}
	s, err := Build(Request{Catalog: catalog(t), Reported: []Reported{same, other, of("thesis")}})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Findings) != 1 || s.Findings[0].Kind != Misreported || s.Findings[0].About != "MLEvolve" {
		t.Errorf("findings %+v", s.Findings)
	}
	var pills []string
	for _, r := range s.Published().Rows {
		pills = append(pills, r[12].Text+" "+r[12].Class)
	}
	if diff := cmp.Diff([]string{"recomputed from its reports good", "its reports differ bad", "reported, not verified warn"}, pills); diff != "" {
		t.Error(diff)
	}
}
