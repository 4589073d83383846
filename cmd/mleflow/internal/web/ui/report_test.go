package ui

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/firstscreen"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/engine/hostiletest"
	"github.com/mleflow/mleflow/plugins/sandbox/shim"
)

// fixture is a run built by hand: two competitions, two agents, three seeds,
// one failure and hostile texts where a person or an agent may put them.
func reportFixture() *reportData {
	start := time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC)
	d := &reportData{
		Info: history.Info{ID: "20260301-093000-7f3a", Started: start, Version: "0.1.0", CPUs: 2, MemoryBytes: 25_232_932_864, Argv: []string{"mleflow", "apply", "pipelines/demo.hcl"}, Environment: map[string]string{"cache": "~/.cache/mleflow"}}, File: "pipelines/demo.hcl",
		overview: overview{Facts: page.Facts{{Name: "outcome", Value: "finished, 1 of 3 attempts without a score", Class: "warn"}}, Screen: firstscreen.Screen{
			Tables: []firstscreen.Table{{Title: "All competitions", Lines: []firstscreen.Line{
				{Place: "1", Name: "baseline", Seeds: 3, Percentages: board.Split{"any_medal_percentage": {Mean: 83.33, SEM: 16.67}, "gold_medal_percentage": {Mean: 50}, "silver_medal_percentage": {Mean: 33.33, SEM: 16.67}, "bronze_medal_percentage": {}, "above_median_percentage": {Mean: 100}, "valid_submissions_percentage": {Mean: 100}}, Medals: 5, Graded: 6},
				{Place: "2", Name: "dummy", Seeds: 3, Percentages: board.Split{"any_medal_percentage": {}, "valid_submissions_percentage": {Mean: 100}}, Graded: 6},
				{Name: `<script>alert("x")</script>`, Seeds: 1},
			}}},
			Outputs: []page.Fact{{Name: "leaderboard", Value: "agent     any medal\nbaseline  83.3 ± 16.7\ndummy     0.0 ± 0.0"}, {Name: "seeds", Value: "3"}},
			Matrix: firstscreen.Matrix{Corner: "Competition", Columns: []string{"baseline"}, Rows: []firstscreen.Row{{Name: "demo-digits", Squares: []firstscreen.Square{{Mean: "0.98", Cells: []firstscreen.Cell{
				{State: firstscreen.Gold, Title: "baseline · demo-digits · seed 0: gold", N: 1}, {State: firstscreen.Failed, Title: "<b>failed", N: 1}}}}}}, Legend: []firstscreen.Cell{{State: firstscreen.Gold, N: 1}}},
			Causes: []firstscreen.Cause{{Outcome: "step failed", Reason: "run agent: exit status 1", N: 1, Tail: "ValueError: <i>", Steps: []firstscreen.Step{{Address: `step.agent-run.solve["demo-digits/baseline/9"]`}}, Command: "mleflow logs r"}},
		}},
		Models: []stepFact[results.ModelUse]{{`step.agent-run.solve["demo-digits/0"]`, "main<b>", results.ModelUse{
			Provider: "openai", Models: []string{"gpt-5.5", "<i>x"}, Requests: 12, Refused: 1, Replayed: 2, InputTokens: 68808, CachedInputTokens: 100, OutputTokens: 364, CostUSD: "0.211884", WaitedSeconds: 1.25, Exhausted: true,
		}}},
		Refused: []stepFact[shim.Group]{{Address: `step.agent-run.solve["demo-digits/0"]`, Of: shim.Group{Kind: "grade", Call: "mlebench.grade.grade_csv", File: "/home/agent/<img src=x>.py", Line: 7, Times: 3}}},
	}
	d.Competitions = []reportCompetition{
		humanCompetition("demo-digits", "Handwritten digits", "accuracy", false, []scoreRow{
			{Agent: "baseline", Seed: "0", Score: "0.9861", Medal: "gold", Rank: results.Place(3, 200), AboveMedian: true},
			{Agent: "baseline", Seed: "1", Score: "0.9805", Medal: "silver", Rank: results.Place(27, 200), AboveMedian: true},
			{Agent: "baseline", Seed: "2", Score: "0.9722", AboveMedian: true, Rank: results.Place(88, 200)},
			{Agent: "dummy", Seed: "0", Score: "0.1", Rank: results.Place(201, 200)},
			{Agent: "dummy", Seed: "1", Why: `column "label" is missing <b>`},
		}),
		humanCompetition("demo-cancer", "Wisconsin breast cancer", "log_loss", true, []scoreRow{
			{Agent: "baseline", Seed: "0", Score: "0.071", Medal: "bronze", Rank: results.Place(61, 200), AboveMedian: true},
			{Agent: "dummy", Seed: "0", Score: "0.6931", Rank: results.Place(200, 200)},
			{Agent: "dummy", Seed: "1", Score: "NaN"},
		}),
	}
	d.fixtureSteps(start)
	return d
}

func humanCompetition(id, title, metric string, lower bool, scores []scoreRow) reportCompetition {
	people := page.People{ID: id, LowerIsBetter: lower}
	for i := range 200 {
		x := float64(i) / 200
		v := 0.99 - 0.06*math.Pow(x, 1.4) - 0.3*math.Pow(x, 30)
		if lower {
			v = 0.05 + 0.1*math.Pow(x, 1.7) + 0.5*math.Pow(x, 40)
		}
		people.Human = append(people.Human, v)
	}
	people.Gold, people.Silver, people.Bronze, people.Median = people.Human[9], people.Human[39], people.Human[79], people.Human[100]
	var rows []page.Row
	for _, s := range scores {
		if v, err := strconv.ParseFloat(s.Score, 64); err == nil {
			rows = page.AddScores(rows, s.Agent, v)
		}
	}
	return reportCompetition{AmongPeople: page.Distribution(people, rows), Title: title, Metric: metric, Scores: scores, Note: "made up for the demo"}
}

func (d *reportData) fixtureSteps(start time.Time) {
	var steps []reportStep
	var pins []stepFact[pin]
	var bars []page.Bar
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	ms := time.Millisecond
	add := func(kind, name, key string, status event.Status, from, took int, reasons []string, after ...string) {
		s := reportStep{StepSummary: &history.StepSummary{StepFinished: event.StepFinished{Kind: kind, Status: status}}, Name: fmt.Sprintf("step.%s.%s[%q]", kind, name, key), Reasons: reasons}
		block := d.Blocks.Add("step."+kind+"."+name, status, after...)
		if status == event.Ran || status == event.Failed {
			s.Took, s.LastTry = (time.Duration(took) * ms).String(), 1
			block.Time += time.Duration(took) * ms
			bars = append(bars, page.Bar{Address: s.Name, Kind: kind, Status: status, Started: at(from), Duration: time.Duration(took) * ms})
		}
		steps = append(steps, s)
		if status == event.Ran {
			pins = append(pins, stepFact[pin]{s.Name, "tree", pin{fmt.Sprintf("%064x", len(steps)), int64(len(steps)) * 12345}})
		}
	}
	first := []string{"first run"}
	for _, id := range []string{"demo-digits", "demo-cancer"} {
		add("download", "raw", id, event.Cached, 0, 0, nil)
		add("prepare", "data", id, event.Ran, 100, 1900, first, "step.download.raw")
		add("checksum", "data", id, event.Ran, 2050, 220, first, "step.prepare.data")
	}
	for i := range 12 {
		key := fmt.Sprintf("demo-digits/baseline/%d", i)
		from := 2300 + i/2*6100
		status := event.Ran
		if i == 9 {
			status = event.Failed
		}
		add("agent-run", "solve", key, status, from+i%2*90, 5400+i*37, first, "step.checksum.data")
		if status == event.Failed {
			steps[len(steps)-1].Error = "run agent: exit status 1"
			steps[len(steps)-1].LastTry = 2
			add("grade", "score", key, event.Skipped, 0, 0, nil, "step.agent-run.solve", "step.checksum.data")
			continue
		}
		add("grade", "score", key, event.Ran, from+5900, 60, first, "step.agent-run.solve", "step.checksum.data")
	}
	add("aggregate", "board", "all", event.Ran, 41000, 40, first, "step.grade.score")
	d.Steps, d.Pins = cappedRows(steps), cappedRows(pins)
	d.Kinds = page.Kinds(bars)
	d.Graph, d.Timeline = d.Blocks.Graph("", false), page.Timeline(start, bars, d.Kinds)
}
func render(t *testing.T, d *reportData) string {
	t.Helper()
	file := must(d.file())
	if path := os.Getenv("MLEFLOW_REPORT_FIXTURE"); path != "" {
		if err := os.WriteFile(path, file, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return string(file)
}

func TestReportShowsEverything(t *testing.T) {
	html := render(t, reportFixture())
	for _, want := range []string{
		"20260301-093000-7f3a", "83.3 ± 16.7", "demo-digits", "gold 0.989219", "run agent: exit status 1",
		`column &#34;label&#34; is missing &lt;b&gt;`, "finished, 1 of 3 attempts without a score", "step.prepare.data", "first run", "behind all 200",
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
	html := render(t, reportFixture())
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
	html := render(t, &reportData{Info: history.Info{ID: "r"}, File: "p.hcl"})
	for _, unwanted := range []string{`id="leaderboard"`, `id="timeline"`, `id="graph"`, "NaN", "<no value>"} {
		if strings.Contains(html, unwanted) {
			t.Errorf("an empty report holds %q", unwanted)
		}
	}
}

func TestReportOfManySteps(t *testing.T) {
	d := &reportData{Info: history.Info{ID: "r"}, File: "p.hcl"}
	var bars []page.Bar
	for range 20_000 {
		bars = append(bars, page.Bar{Address: "step.a.b", Kind: "a", Status: event.Ran, Started: time.Unix(1, 0), Duration: 1000})
		d.Blocks.Add("step.a.b", event.Ran)
	}
	d.Kinds = page.Kinds(bars)
	d.Timeline = page.Timeline(time.Unix(1, 0), bars, d.Kinds)
	d.Steps = cappedRows(lists.Of(bars, func(b page.Bar) reportStep { return reportStep{&history.StepSummary{}, b.Address, "1ms", nil} }))
	html := render(t, d)
	if !strings.Contains(html, "15000 more are left out") {
		t.Error("the limit on rows is not said")
	}
	if len(html) > 4<<20 {
		t.Errorf("the report has %d bytes", len(html))
	}
}

func TestNoNonFiniteCoordinates(t *testing.T) {
	d := reportFixture()
	for i := range d.Competitions {
		c := &d.Competitions[i]
		people := c.People
		people.Human = []float64{0.5}
		people.Gold, people.Silver, people.Bronze, people.Median = 0.5, 0.5, 0.5, 0.5
		c.AmongPeople = page.Distribution(people, nil)
		c.Scores = nil
	}
	if found := regexp.MustCompile(`(d|x|y|width)="[^"]*(NaN|Inf)`).FindString(render(t, d)); found != "" {
		t.Errorf("a drawing holds %q", found)
	}
}

// TestHostileReport puts hostile texts wherever somebody else has a say.
func TestHostileReport(t *testing.T) {
	for _, h := range hostiletest.Texts() {
		x := h.Text
		d := &reportData{
			Info: history.Info{ID: x, Pipeline: x, Version: x, Host: x, Argv: []string{x}, Environment: map[string]string{x: x}}, File: x, NotIsolated: x,
			overview: overview{Warnings: []string{x}, Kinds: []string{x}, Outcomes: []string{x}, Screen: firstscreen.Screen{
				Tables: []firstscreen.Table{{Title: x, Labels: []string{x}, Same: []string{x}, HasIsolation: true, Classes: []firstscreen.Class{{Letter: x, Name: x}}, Lines: []firstscreen.Line{{Name: x, Isolation: x, Class: firstscreen.Class{Letter: x, Name: x}, Labels: []string{x}}}}, {Title: x, Lines: []firstscreen.Line{{Name: x}}}}, Note: x,
				Matrix:  firstscreen.Matrix{Columns: []string{x}, Rows: []firstscreen.Row{{Name: x, Squares: []firstscreen.Square{{Mean: x, Cells: []firstscreen.Cell{{State: firstscreen.Gold, Title: x}}}}}}},
				Outputs: []page.Fact{{Name: x, Value: x}}, Causes: []firstscreen.Cause{{Outcome: x, Reason: x, Tail: x, Command: x, Steps: []firstscreen.Step{{Address: x, Name: x}}}},
			}},
			Models: []stepFact[results.ModelUse]{{x, x, results.ModelUse{Provider: x, Models: []string{x}}}}, Refused: []stepFact[shim.Group]{{x, x, shim.Group{Call: x, File: x, Kind: "grade"}}},
			Pins:  cappedRows([]stepFact[pin]{{x, x, pin{Digest: x}}}),
			Steps: cappedRows([]reportStep{{&history.StepSummary{StepFinished: event.StepFinished{Status: event.Failed, Error: x}}, x, x, []string{x}}}),
			Competitions: []reportCompetition{{AmongPeople: page.Distribution(page.People{ID: x, Human: []float64{1, 2}}, []page.Row{{Name: x, Scores: []float64{1}}}), Title: x, Metric: x, Note: x, Scores: []scoreRow{
				{Agent: x, Seed: x, Why: x, Isolation: x}, {Agent: x, Seed: x, Score: "1", Rank: x, Medal: "gold"}}}},
		}
		d.Blocks.Add(x, event.Failed)
		d.Graph = d.Blocks.Graph("", false)
		bars := []page.Bar{{Address: x, Kind: x, Status: event.Failed, Started: time.Unix(1, 0), Duration: time.Second}}
		d.Timeline = page.Timeline(time.Unix(1, 0), bars, []string{x})
		file, err := d.file()
		if err != nil {
			t.Fatalf("%s: %v", h.Name, err)
		}
		if err := hostiletest.HTML(string(file)); err != nil {
			t.Errorf("%s: %v", h.Name, err)
		}
	}
}

// TestReportOfARun makes the report of a run with all that an attempt can leave.
func TestReportOfARun(t *testing.T) {
	l := newLab(t)
	a := usual("aide", "0", "x")
	r := l.write("demo.hcl", l.start, []attempt{a})
	l.finish(r, 0, a)
	l.close(r, steps(a))
	_, html := l.get(runAddress(r.ID()) + "/report")
	for _, want := range []string{
		"<h1><bdi>demo.hcl</bdi></h1>", `id="leaderboard"`, `id="competitions"`, `id="graph"`, `id="timeline"`, `id="steps"`, `id="environment"`, `id="pins"`,
		"<span>outcome</span>", "<span>took</span>", "<span>steps done</span>", "<td class=\"num\">0.975", "submission", "first run x",
	} {
		if !strings.Contains(html, want) {
			t.Errorf("the report lacks %q", want)
		}
	}
}
