package report

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/firstscreen"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/engine/hostiletest"
)

func render(t *testing.T, d Data) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, d); err != nil {
		t.Fatal(err)
	}
	if path := os.Getenv("MLEFLOW_REPORT_FIXTURE"); path != "" {
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

func TestReportShowsEverything(t *testing.T) {
	html := render(t, fixture())
	for _, want := range []string{
		"20260301-093000-7f3a", "83.3 ± 16.7", "demo-digits", "gold 0.989219", "run agent: exit status 1",
		`column &#34;label&#34; is missing &lt;b&gt;`, "finished, 1 of 3 attempts without a score", "step.prepare.data", "from the cache", "first run", "behind all 200",
		"main&lt;b&gt; (openai)", "gpt-5.5 &lt;i&gt;x", "0.211884 USD, exhausted", `class="plot"`, `class="timeline"`, `class="graph"`, "0000000000000000000000000000000000000000000000000000000000000002",
	} {
		if !strings.Contains(html, want) {
			t.Errorf("the report lacks %q", want)
		}
	}
}

// TestReportIsSelfContained holds the report to its promise: no scripts, no
// inline styles (the policy would drop them), nothing fetched from anywhere.
func TestReportIsSelfContained(t *testing.T) {
	html := render(t, fixture())
	for _, pattern := range []string{`(?i)<script`, `(?i)<link`, `(?i)<img`, `(?i)<iframe`, `(?i)\sstyle="`, `(?i)\son\w+="`, `(?i)(src|href)="[^#]`, `(?i)url\(`, `@import`} {
		if found := regexp.MustCompile(pattern).FindString(html); found != "" {
			t.Errorf("the report holds %q", found)
		}
	}
	if !strings.Contains(html, `content="default-src &#39;none&#39;; style-src &#39;sha256-`) {
		t.Error("the content security policy is missing")
	}
}

func TestReportOfNothing(t *testing.T) {
	html := render(t, Data{Run: Run{Info: history.Info{ID: "r"}, File: "p.hcl", State: history.Finished}})
	for _, unwanted := range []string{`id="leaderboard"`, `id="timeline"`, `id="graph"`, "NaN", "<no value>"} {
		if strings.Contains(html, unwanted) {
			t.Errorf("an empty report holds %q", unwanted)
		}
	}
}

func TestReportOfManySteps(t *testing.T) {
	d := Data{Run: Run{Info: history.Info{ID: "r"}, File: "p.hcl"}}
	start := fixture().Run.Started
	for range 20_000 {
		d.Steps = append(d.Steps, Step{Bar: page.Bar{Address: "step.a.b", Kind: "a", Status: event.Ran, Started: start, Duration: 1000}, Block: "step.a.b"})
	}
	html := render(t, d)
	if !strings.Contains(html, "15000 more are left out") {
		t.Error("the limit on rows is not said")
	}
	if len(html) > 4<<20 {
		t.Errorf("the report has %d bytes", len(html))
	}
}

func TestNoNonFiniteCoordinates(t *testing.T) {
	d := fixture()
	for i := range d.Competitions {
		d.Competitions[i].Human = []float64{0.5}
		d.Competitions[i].Gold, d.Competitions[i].Silver, d.Competitions[i].Bronze, d.Competitions[i].Median = 0.5, 0.5, 0.5, 0.5
		d.Competitions[i].Scores = nil
	}
	if found := regexp.MustCompile(`(d|x|y|width)="[^"]*(NaN|Inf)`).FindString(render(t, d)); found != "" {
		t.Errorf("a drawing holds %q", found)
	}
}

// TestHostilePage puts hostile texts wherever somebody else has a say.
func TestHostilePage(t *testing.T) {
	for _, h := range hostiletest.Texts() {
		x := h.Text
		d := Data{
			Run: Run{Info: history.Info{ID: x, Pipeline: x, Version: x, Host: x, Argv: []string{x}, Environment: map[string]string{x: x}}, File: x, NotIsolated: x},
			Screen: firstscreen.Screen{
				Tables: []firstscreen.Table{{Title: x, Labels: []string{x}, Same: []string{x}, HasIsolation: true, Classes: []firstscreen.Class{{Letter: x, Name: x}}, Lines: []firstscreen.Line{{Name: x, Isolation: x, Class: firstscreen.Class{Letter: x, Name: x}, Labels: []string{x}}}}, {Title: x, Lines: []firstscreen.Line{{Name: x}}}}, Note: x,
				Matrix:  firstscreen.Matrix{Columns: []string{x}, Rows: []firstscreen.Row{{Name: x, Squares: []firstscreen.Square{{Mean: x, Cells: []firstscreen.Cell{{State: firstscreen.Gold, Title: x}}}}}}},
				Outputs: []page.Fact{{Name: x, Value: x}}, Causes: []firstscreen.Cause{{Outcome: x, Reason: x, Tail: x, Command: x, Steps: []firstscreen.Step{{Address: x, Name: x}}}},
			}, Outcomes: []string{x},
			Pins:  []Pin{{Address: x, Output: x, Digest: x}},
			Steps: []Step{{Bar: page.Bar{Address: x, Kind: x, Status: event.Failed, Started: time.Unix(1, 0), Duration: time.Second}, Block: x, After: []string{x}, Reasons: []string{x}, Error: x}},
			Competitions: []Competition{{AmongPeople: page.AmongPeople{People: page.People{ID: x, Human: []float64{1, 2}}}, Title: x, Metric: x, Note: x, Scores: []Score{
				{Agent: x, Seed: x, Reason: x, Isolation: x}, {Agent: x, Seed: x, Value: 1, Scored: true, Medal: "gold"}}}},
		}
		var b strings.Builder
		if err := Write(&b, d); err != nil {
			t.Fatalf("%s: %v", h.Name, err)
		}
		if err := hostiletest.HTML(b.String()); err != nil {
			t.Errorf("%s: %v", h.Name, err)
		}
	}
}
