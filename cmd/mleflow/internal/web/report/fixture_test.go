package report

import (
	"fmt"
	"math"
	"time"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/firstscreen"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/plugins/sandbox/shim"
)

// fixture is a run built by hand: two competitions, two agents, three seeds,
// one failure and hostile texts where a person or an agent may put them.
func fixture() Data {
	start := time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC)
	d := Data{
		Run: Run{Info: history.Info{ID: "20260301-093000-7f3a", Started: start, Version: "0.1.0", CPUs: 2, MemoryBytes: 25_232_932_864, Argv: []string{"mleflow", "apply", "pipelines/demo.hcl"}, Environment: map[string]string{"cache": "~/.cache/mleflow"}}, File: "pipelines/demo.hcl", State: history.Finished, Unscored: 1, Attempts: 3, Duration: 41300 * time.Millisecond},
		Screen: firstscreen.Screen{
			Tables: []firstscreen.Table{{Title: "All competitions", Lines: []firstscreen.Line{
				{Place: "1", Name: "baseline", Seeds: 3, Percentages: board.Split{"any_medal_percentage": {Mean: 83.33, SEM: 16.67}, "gold_medal_percentage": {Mean: 50}, "silver_medal_percentage": {Mean: 33.33, SEM: 16.67}, "bronze_medal_percentage": {}, "above_median_percentage": {Mean: 100}, "valid_submissions_percentage": {Mean: 100}}, Medals: 5, Graded: 6},
				{Place: "2", Name: "dummy", Seeds: 3, Percentages: board.Split{"any_medal_percentage": {}, "valid_submissions_percentage": {Mean: 100}}, Graded: 6},
				{Name: `<script>alert("x")</script>`, Seeds: 1},
			}}},
			Outputs: []page.Fact{{Name: "leaderboard", Value: "agent     any medal\nbaseline  83.3 ± 16.7\ndummy     0.0 ± 0.0"}, {Name: "seeds", Value: "3"}},
			Matrix: firstscreen.Matrix{Corner: "Competition", Columns: []string{"baseline"}, Rows: []firstscreen.Row{{Name: "demo-digits", Squares: []firstscreen.Square{{Mean: "0.98", Cells: []firstscreen.Cell{
				{State: firstscreen.Gold, Title: "baseline · demo-digits · seed 0: gold", N: 1}, {State: firstscreen.Failed, Title: "<b>failed", N: 1}}}}}}, Legend: []firstscreen.Count{{State: firstscreen.Gold, N: 1}}},
			Causes: []firstscreen.Cause{{Outcome: "step failed", Reason: "run agent: exit status 1", N: 1, Tail: "ValueError: <i>", Steps: []firstscreen.Step{{Address: `step.agent-run.solve["demo-digits/baseline/9"]`}}, Command: "mleflow logs r"}},
		},
		Models: []ModelUse{{`step.agent-run.solve["demo-digits/0"]`, "main<b>", results.ModelUse{
			Provider: "openai", Models: []string{"gpt-5.5", "<i>x"}, Requests: 12, Refused: 1, Replayed: 2, InputTokens: 68808, CachedInputTokens: 100, OutputTokens: 364, CostUSD: "0.211884", WaitedSeconds: 1.25, Exhausted: true,
		}}},
		Refused: []Refused{{Address: `step.agent-run.solve["demo-digits/0"]`, Group: shim.Group{Kind: "grade", Call: "mlebench.grade.grade_csv", File: "/home/agent/<img src=x>.py", Line: 7, Times: 3}}},
	}
	d.Competitions = []Competition{
		humanCompetition("demo-digits", "Handwritten digits", "accuracy", false, []Score{
			{Agent: "baseline", Seed: "0", Value: 0.9861, Scored: true, Medal: "gold", Rank: 3, Teams: 200, AboveMedian: true},
			{Agent: "baseline", Seed: "1", Value: 0.9805, Scored: true, Medal: "silver", Rank: 27, Teams: 200, AboveMedian: true},
			{Agent: "baseline", Seed: "2", Value: 0.9722, Scored: true, AboveMedian: true, Rank: 88, Teams: 200},
			{Agent: "dummy", Seed: "0", Value: 0.1, Scored: true, Rank: 201, Teams: 200},
			{Agent: "dummy", Seed: "1", Reason: `column "label" is missing <b>`},
		}),
		humanCompetition("demo-cancer", "Wisconsin breast cancer", "log_loss", true, []Score{
			{Agent: "baseline", Seed: "0", Value: 0.071, Scored: true, Medal: "bronze", Rank: 61, Teams: 200, AboveMedian: true},
			{Agent: "dummy", Seed: "0", Value: 0.6931, Scored: true, Rank: 200, Teams: 200},
			{Agent: "dummy", Seed: "1", Value: math.NaN(), Scored: true, Rank: 201, Teams: 200},
		}),
	}
	d.Steps = fixtureSteps(start)
	for i, s := range d.Steps {
		if s.Status == event.Ran {
			d.Pins = append(d.Pins, Pin{Address: s.Address, Output: "tree", Digest: fmt.Sprintf("%064x", i+1), Size: int64(i) * 12345})
		}
	}
	return d
}

func humanCompetition(id, title, metric string, lower bool, scores []Score) Competition {
	c := Competition{AmongPeople: page.AmongPeople{People: page.People{ID: id, LowerIsBetter: lower}}, Title: title, Metric: metric, Scores: scores, Note: "made up for the demo"}
	for i := range 200 {
		x := float64(i) / 200
		v := 0.99 - 0.06*math.Pow(x, 1.4) - 0.3*math.Pow(x, 30)
		if lower {
			v = 0.05 + 0.1*math.Pow(x, 1.7) + 0.5*math.Pow(x, 40)
		}
		c.Human = append(c.Human, v)
	}
	c.Gold, c.Silver, c.Bronze, c.Median = c.Human[9], c.Human[39], c.Human[79], c.Human[100]
	return c
}

func fixtureSteps(start time.Time) []Step {
	var steps []Step
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	ms := time.Millisecond
	add := func(kind, name, key string, status event.Status, from, took int, reasons []string, after ...string) {
		s := Step{Bar: page.Bar{Address: fmt.Sprintf("step.%s.%s[%q]", kind, name, key), Kind: kind, Status: status}, Block: "step." + kind + "." + name, Reasons: reasons, After: after}
		if status == event.Ran || status == event.Failed {
			s.Started, s.Duration, s.Attempts = at(from), time.Duration(took)*ms, 1
		}
		steps = append(steps, s)
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
			steps[len(steps)-1].Attempts = 2
			add("grade", "score", key, event.Skipped, 0, 0, nil, "step.agent-run.solve", "step.checksum.data")
			continue
		}
		add("grade", "score", key, event.Ran, from+5900, 60, first, "step.agent-run.solve", "step.checksum.data")
	}
	add("aggregate", "board", "all", event.Ran, 41000, 40, first, "step.grade.score")
	return steps
}
