package aggregate_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/outcome"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/steps/aggregate"
	"github.com/mleflow/mleflow/steps/steptest"
)

func number(v float64) *grading.Number { n := grading.Number(v); return &n }

// entry is a report of apples, where higher is better and 1 is gold.
func entry(t *testing.T, agent, seed string, change func(*grading.Report)) aggregate.Entry {
	t.Helper()
	g := grading.Graded{Labels: map[string]string{"agent": agent, "seed": seed}}
	g.CompetitionID, g.CompetitionVersion, g.Outcome = "apples", "v1", outcome.Scored
	g.Thresholds = grading.Thresholds{Gold: 1, Silver: 1, Bronze: 0.5, Median: 0.75}
	g.SubmissionExists, g.ValidSubmission = true, true
	change(&g.Report)
	return aggregate.NewEntry(g, catalog(t))
}

func TestMargins(t *testing.T) {
	e := entry(t, "a", "0", func(r *grading.Report) { r.Score, r.ExactScore = number(0.75), number(0.75) })
	one, zero := -1, 0
	want := map[grading.Threshold]grading.Margin{
		"gold": {Score: -0.25, Places: &one}, "silver": {Score: -0.25, Places: &one}, "bronze": {Score: 0.25, Places: &zero}, "median": {Score: 0, Places: &zero},
	}
	if diff := cmp.Diff(want, e.Margins); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	lower := entry(t, "a", "0", func(r *grading.Report) { r.Score, r.LowerIsBetter, r.CompetitionID = number(0.75), true, "unknown" })
	if m := lower.Margins["gold"]; m.Score != 0.25 || m.Places != nil {
		t.Errorf("lower is better: %+v", m)
	}
	for name, change := range map[string]func(*grading.Report){
		"no score": func(*grading.Report) {}, "NaN": func(r *grading.Report) { r.Score = number(math.NaN()) },
		"no thresholds": func(r *grading.Report) { r.Score, r.Thresholds = number(1), grading.Thresholds{} },
	} {
		if m := entry(t, "a", "0", change).Margins; m != nil {
			t.Errorf("%s: %v", name, m)
		}
	}
}

func TestRoundingAndNonFinite(t *testing.T) {
	for _, tt := range []struct {
		name           string
		exact, rounded float64
		lower          bool
		want           []grading.Threshold
	}{
		{"rounded up to a medal", 0.999999, 1, false, []grading.Threshold{"gold", "silver"}},
		{"reached either way", 1, 1, false, nil},
		{"missed either way", 0.99998, 0.99998, false, nil},
		{"rounded down to the median", 0.750001, 0.75, false, []grading.Threshold{"median"}},
		{"rounded down to a bronze, lower is better", 0.5000001, 0.5, true, []grading.Threshold{"bronze"}},
		{"NaN", math.NaN(), math.NaN(), false, nil},
	} {
		e := entry(t, "a", "0", func(r *grading.Report) {
			r.ExactScore, r.Score, r.LowerIsBetter = &[]grading.Number{grading.Number(tt.exact)}[0], number(tt.rounded), tt.lower
		})
		if diff := cmp.Diff(tt.want, e.RoundingDecides); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	medal := entry(t, "a", "0", func(r *grading.Report) { r.Score, r.GoldMedal = number(math.Inf(1)), true })
	none := entry(t, "a", "0", func(r *grading.Report) { r.Score = number(math.Inf(-1)) })
	if !medal.MedalOnNonFinite || none.MedalOnNonFinite {
		t.Errorf("medal on a score that is not finite: %v, without medal: %v", medal.MedalOnNonFinite, none.MedalOnNonFinite)
	}
	b, err := aggregate.NewBoard([]aggregate.Entry{medal, entry(t, "a", "1", func(r *grading.Report) { r.ExactScore, r.Score = number(0.999999), number(1) })}, byAll)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"a, apples, seed 0: the medal is based on a score that is not finite.", "a, apples, seed 1: the exact score 0.999999 is on the other side of gold and silver"} {
		if text := b.Text("x", aggregate.StoredFull); !strings.Contains(text, want) {
			t.Errorf("the table does not say %q:\n%s", want, text)
		}
	}
	if b.Agents[0].Competitions[0].Uncertain != 2 {
		t.Errorf("%d uncertain medals, want 2", b.Agents[0].Competitions[0].Uncertain)
	}
}

var byAll = aggregate.Grouping{By: "none", Of: func(string) string { return "all" }}

func TestTies(t *testing.T) {
	var entries []aggregate.Entry
	for _, a := range []struct {
		name  string
		medal bool
	}{{"a", false}, {"b", true}, {"c", true}, {"d", false}, {"e", false}} {
		entries = append(entries, entry(t, a.name, "0", func(r *grading.Report) { r.BronzeMedal = a.medal }))
	}
	b, err := aggregate.NewBoard(entries, byAll)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, a := range b.Agents {
		got = append(got, fmt.Sprintf("%s %d %v", a.Name, a.Place, a.Tied))
	}
	if diff := cmp.Diff([]string{"b 1 true", "c 1 true", "a 3 true", "d 3 true", "e 3 true"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// attempts are values of agent-run steps: the i-th used i+1 seconds.
func attempts(t *testing.T, b *steptest.Bench, usage ...string) cty.Value {
	t.Helper()
	var list []cty.Value
	for i, text := range usage {
		files := map[string]string{"output.log": "x"}
		if text != "" {
			files["usage.json"] = text
		}
		list = append(list, cty.ObjectVal(map[string]cty.Value{
			"logs": b.Tree(t, files), "outcome": cty.StringVal("finished"), "submission": cty.StringVal("more"),
			"stats": cty.ObjectVal(map[string]cty.Value{
				"wall_seconds": cty.NumberIntVal(int64(i + 1)), "cpu_seconds": cty.NumberFloatVal(0.5), "validations": cty.NumberIntVal(2), "runtime": cty.StringVal("process"),
			}),
		}))
	}
	return cty.TupleVal(list)
}

func TestAttempts(t *testing.T) {
	b := steptest.New(aggregate.Kind(catalog(t)))
	runs := []run{{"a", "apples", "0", 0.5, "", false}, {"a", "apples", "1", 0.7, "", false}, {"b", "apples", "0", 0.7, "", false}}
	out, err := b.Run(t, map[string]cty.Value{"reports": reports(t, b, runs),
		"attempts": attempts(t, b, `{"model": "m|1", "input_tokens": 900, "output_tokens": 100, "cost_usd": 1.5, "more": 1}`, `{"cost_usd": -1}`, "")})
	if err != nil {
		t.Fatal(err)
	}
	var board aggregate.Board
	if err := json.Unmarshal([]byte(b.Text(t, out["board"].Ref)), &board); err != nil {
		t.Fatal(err)
	}
	used := map[string]*aggregate.Used{}
	for _, a := range board.Agents {
		used[a.Name] = a.Competitions[0].Used
	}
	f := func(v float64) *float64 { return &v }
	want := map[string]*aggregate.Used{
		"a": {WallSeconds: f(1.5), Validations: f(2), Tokens: f(1000), CostUSD: f(1.5)}, "b": {WallSeconds: f(3), Validations: f(2)},
	}
	if diff := cmp.Diff(want, used); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var table, markdown string
	table = b.Files(t, out["files"].Ref)["board.txt"]
	steptest.Decode(t, out["markdown"], &markdown)
	if !strings.Contains(table, "time  validations  tokens  cost (USD)") || !strings.Contains(markdown, `| a | m\|1 | 0.00 ± 0.00 | - |`) {
		t.Errorf("table:\n%s\nmarkdown:\n%s", table, markdown)
	}
	if !slices.ContainsFunc(b.Warnings(), func(w string) bool { return strings.Contains(w, "-1 is no amount") }) {
		t.Errorf("no warning of a bad usage file: %q", b.Warnings())
	}
	if _, err := b.Run(t, map[string]cty.Value{"reports": reports(t, b, runs), "attempts": attempts(t, b, "")}); err == nil || !strings.Contains(err.Error(), "1 attempts and 3 reports") {
		t.Errorf("too few attempts: %v", err)
	}
}

// measured is the value of an agent-run step's stats.models.
func measured(requests, input, output int64, cost string, models ...string) cty.Value {
	attrs := map[string]cty.Value{}
	for name, ty := range results.ModelUseType.AttributeTypes() {
		attrs[name] = cty.Zero
		if ty == cty.Bool {
			attrs[name] = cty.False
		}
	}
	var names []cty.Value
	for _, m := range models {
		names = append(names, cty.StringVal(m))
	}
	maps.Copy(attrs, map[string]cty.Value{
		"provider": cty.StringVal("openai"), "models": cty.ListVal(names), "cost_usd": cty.StringVal(cost), "tool_cost_usd": cty.StringVal("0"), "tool_calls": cty.MapValEmpty(cty.Number), "exhausted_by": cty.NullVal(cty.List(cty.String)),
		"estimated_cost_usd": cty.NullVal(cty.String), "list_cost_usd": cty.NullVal(cty.String),
		"requests": cty.NumberIntVal(requests), "input_tokens": cty.NumberIntVal(input), "output_tokens": cty.NumberIntVal(output),
	})
	return cty.ObjectVal(attrs)
}

// TestMeasured sees that what the gateway measured goes before what the agent
// says.
func TestMeasured(t *testing.T) {
	b := steptest.New(aggregate.Kind(catalog(t)))
	one := attempts(t, b, `{"model": "boast", "input_tokens": 1, "output_tokens": 1, "cost_usd": 0.000001, "source": "gateway"}`).AsValueSlice()[0].AsValueMap()
	stats := one["stats"].AsValueMap()
	stats["models"] = cty.MapVal(map[string]cty.Value{
		"main": measured(3, 1000, 200, "0.0012", "m2", "m1"), "judge": measured(1, 10, 2, "0.0003", "m1"),
	})
	one["stats"] = cty.ObjectVal(stats)
	out, err := b.Run(t, map[string]cty.Value{
		"reports":  reports(t, b, []run{{"a", "apples", "0", 0.5, "", false}}),
		"attempts": cty.TupleVal([]cty.Value{cty.ObjectVal(one)}),
	})
	if err != nil {
		t.Fatal(err)
	}
	var board aggregate.Board
	if err := json.Unmarshal([]byte(b.Text(t, out["board"].Ref)), &board); err != nil {
		t.Fatal(err)
	}
	f := func(v float64) *float64 { return &v }
	want := &results.Usage{Source: grading.FromGateway, Model: "m1 m2", Requests: f(4), InputTokens: f(1010), CachedInputTokens: f(0), OutputTokens: f(202), CostUSD: f(0.0015)}
	if diff := cmp.Diff(want, board.Entries[0].Attempt.Usage); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	files := b.Files(t, out["files"].Ref)
	if !strings.Contains(files["board.txt"], "1212") || !strings.Contains(files["board.txt"], "0.0015") || !strings.Contains(files["runs.csv"], ",m1 m2,gateway,4.0,1010.0,0.0,202.0,0.0015,") {
		t.Errorf("board:\n%s\nruns:\n%s", files["board.txt"], files["runs.csv"])
	}
}

// TestAttemptsInOrder sees that an attempt is not taken for another's.
func TestAttemptsInOrder(t *testing.T) {
	b := steptest.New(aggregate.Kind(catalog(t)))
	from := func(v cty.Value, address string) cty.Value {
		a := *v.EncapsulatedValue().(*step.Artifact)
		a.From = address
		return step.NewArtifact(&a)
	}
	report := from(b.Blob(t, run{"a", "apples", "0", 0.5, "", false}.report(t)), `step.grade.score["x/0"]`)
	attempt := attempts(t, b, "").AsValueSlice()[0].AsValueMap()
	for key, ok := range map[string]bool{`["x/0"]`: true, `["x/1"]`: false, "": true} {
		attempt["logs"] = from(attempt["logs"], "step.agent-run.solve"+key)
		_, err := b.Run(t, map[string]cty.Value{"reports": cty.ListVal([]cty.Value{report}), "attempts": cty.TupleVal([]cty.Value{cty.ObjectVal(attempt)})})
		if (err == nil) != ok {
			t.Errorf("attempt of %s: %v", key, err)
		}
	}
}

func TestCompareAndLabels(t *testing.T) {
	b := steptest.New(aggregate.Kind(catalog(t)))
	args := map[string]cty.Value{
		"reports": reports(t, b, exampleRuns), "labels": cty.MapVal(map[string]cty.Value{"strong": cty.StringVal("Strong One")}),
		"compare": cty.ListVal([]cty.Value{cty.StringVal("Strong One"), cty.StringVal("weak")}), "resamples": cty.NumberIntVal(100),
	}
	// The agents have no seed in common. Seeds share no randomness, so all runs count.
	out, err := b.Run(t, args)
	if err != nil {
		t.Fatal(err)
	}
	table := b.Files(t, out["files"].Ref)["board.txt"]
	// A medal in one of two runs at apples and at pears.
	for _, want := range []string{"Strong One and weak, 4 and 4 runs at 2 competitions; 2 and 0 runs at others are left out", "\nany_medal             50.00 %    0.00 %      +50.00  "} {
		if !strings.Contains(table, want) {
			t.Errorf("the table does not hold %q:\n%s", want, table)
		}
	}
	// What an earlier version stored is compared again when it is read.
	var old, now aggregate.Board
	stored := b.Text(t, out["board"].Ref)
	if err := json.Unmarshal([]byte(stored), &now); err != nil {
		t.Fatal(err)
	}
	was := regexp.MustCompile(`(?s)"comparisons": \[.*?\n  \]`).ReplaceAllString(stored, `"comparisons": [{"first": "Strong One", "second": "weak", "pairs": 4, "figures": {"any_medal_percentage": {"difference": 7, "mcnemar_p": 0.5}}}]`)
	if err := json.Unmarshal([]byte(was), &old); err != nil || was == stored || !reflect.DeepEqual(old.Comparisons, now.Comparisons) {
		t.Errorf("read as %+v, want %+v (%v)", old.Comparisons, now.Comparisons, err)
	}
	for name, value := range map[string][]cty.Value{"one": {cty.StringVal("weak")}, "unknown": {cty.StringVal("weak"), cty.StringVal("nobody")}} {
		args["compare"] = cty.ListVal(value)
		if _, err := b.Run(t, args); err == nil || !strings.Contains(err.Error(), "compare") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestComparisonIsInKey sees that the way of comparing is in the keys of boards that
// compare, and of no others, which keep the keys that they had.
func TestComparisonIsInKey(t *testing.T) {
	b := steptest.New(aggregate.Kind(catalog(t)))
	plain := map[string]cty.Value{"reports": reports(t, b, exampleRuns)}
	compared := map[string]cty.Value{"reports": plain["reports"], "compare": cty.ListVal([]cty.Value{cty.StringVal("strong"), cty.StringVal("weak")})}
	forms := map[string]cty.Value{"reports": cty.ListVal([]cty.Value{
		told(t, b, run{"x", "apples", "0", 0.9, "gold", true}, "reference"), told(t, b, run{"x", "apples", "0", 0.4, "", false}, "obfuscated"),
	})}
	for _, tt := range []struct {
		args map[string]cty.Value
		want bool
	}{{plain, false}, {compared, true}, {forms, true}} {
		if _, ok := b.Key(t, tt.args)["comparison"]; ok != tt.want {
			t.Errorf("%v: comparison in key: %v", tt.args, ok)
		}
	}
}

func TestVersion(t *testing.T) {
	b := steptest.New(aggregate.Kind(catalog(t)))
	for version, want := range map[string]string{"v1": "", "v2": "no report is of version"} {
		_, err := b.Run(t, map[string]cty.Value{"reports": reports(t, b, exampleRuns), "version": cty.StringVal(version)})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("version %s: %v", version, err)
		}
	}
}

// Whatever the order of reports, every file of the leaderboard has the same
// bytes.
func TestFilesDoNotDependOnOrder(t *testing.T) {
	b := steptest.New(aggregate.Kind(catalog(t)))
	rng := rand.New(rand.NewPCG(5, 6))
	runs := slices.Clone(exampleRuns)
	var first string
	for i := range 5 {
		rng.Shuffle(len(runs), func(i, j int) { runs[i], runs[j] = runs[j], runs[i] })
		out, err := b.Run(t, map[string]cty.Value{"reports": reports(t, b, runs)})
		if err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprint(out["files"].Ref.ID, string(out["table"].JSON), string(out["markdown"].JSON))
		if first == "" {
			first = got
		}
		if got != first {
			t.Fatalf("shuffle %d gives other files", i)
		}
		if _, err := b.Run(t, map[string]cty.Value{"reports": reports(t, b, runs[1:])}); err != nil {
			t.Fatalf("with a missing report: %v", err)
		}
	}
}

// TestLongScores makes sure that scores are shown as people write them.
func TestLongScores(t *testing.T) {
	for score, want := range map[float64]string{24402200: " 24402200 ", 0.5: " 0.50000 ", 328.101164: " 328.10116 ", 12345.6789: " 12345.679 "} {
		e := entry(t, "a", "0", func(r *grading.Report) { r.Score, r.ExactScore = number(score), number(score) })
		b, err := aggregate.NewBoard([]aggregate.Entry{e}, byAll)
		if err != nil {
			t.Fatal(err)
		}
		if text := b.Text("x", aggregate.StoredFull); !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// TestBoardWidth makes sure that boards fit in 100 columns, however long names
// are.
func TestBoardWidth(t *testing.T) {
	e := entry(t, strings.Repeat("agent-", 10)+"x", "0", func(r *grading.Report) {
		r.CompetitionID = "google-research-identify-contrails-reduce-global-warming"
		r.Score, r.ExactScore = number(0.5), number(0.5)
	})
	b, err := aggregate.NewBoard([]aggregate.Entry{e}, byAll)
	if err != nil {
		t.Fatal(err)
	}
	text := b.Text("x", aggregate.StoredFull)
	for line := range strings.Lines(text) {
		if n := utf8.RuneCountInString(line) - 1; n > 100 {
			t.Errorf("a line has %d columns: %s", n, line)
		}
	}
	if !strings.Contains(text, e.Agent) || !strings.Contains(text, e.Report.CompetitionID) {
		t.Errorf("a name is not there in full:\n%s", text)
	}
}
