package site

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/proof/bundle"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/proof/verify"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/outcome"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/plan"
	"github.com/mleflow/mleflow/steps/aggregate"
)

// made is a bundle of an agent with one attempt a seed at demo-digits; gold says
// which seeds got a gold medal.
func made(agent, task string, seeds int, gold func(seed int) bool) *Bundle {
	b := &Bundle{File: agent + ".bundle", Manifest: digest.Of([]byte(agent + task)).String(), Run: "run-" + agent + task, Disclosure: &bundle.Disclosure{}}
	for seed := range seeds {
		score, rank := grading.Number(0.5), 39
		if gold(seed) {
			score, rank = 1, 1
		}
		address := fmt.Sprintf("step.grade.score[%q]", fmt.Sprint(seed))
		rep := grading.Report{
			CompetitionID: "demo-digits", Score: &score, SubmissionExists: true, ValidSubmission: true, Medals: grading.Medals{AnyMedal: gold(seed), GoldMedal: gold(seed), AboveMedian: gold(seed)},
			Detail: grading.Detail{ExactScore: &score, Outcome: outcome.Scored, Rank: &rank, Teams: 40, CompetitionVersion: "v1"},
		}
		rep.MadeUnder([]string{"isolation=sandbox", "runtime=sandbox", "task=" + task})
		b.Rows = append(b.Rows, &Row{
			Attempt: &results.Attempt{
				Agent: agent, Seed: fmt.Sprint(seed), Report: rep, Graded: true, RunID: b.Run, MadeIn: b.Run, Address: fmt.Sprintf("step.agent-run.solve[%q]", fmt.Sprint(seed)),
				GradeAddress: address, AttemptAction: fmt.Sprint(agent, task, seed), GradeAction: fmt.Sprint("grade", agent, task, seed), ReportDigest: fmt.Sprint("report", agent, task, seed),
			},
			Bundle: b, Verdict: verify.Row{Address: address, Attempt: "step.agent-run.solve", Standing: verify.Recomputed},
		})
	}
	return b
}

func built(t *testing.T, bundles ...*Bundle) *Site {
	t.Helper()
	catalog, err := competitions.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	s, err := Build(Request{Title: "Test", Bundles: bundles, Catalog: catalog, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func always(int) bool { return true }
func never(int) bool  { return false }

func kinds(s *Site) (list []Kind) {
	for _, f := range s.Findings {
		list = append(list, f.Kind)
	}
	return list
}

// An agent with attempts under two tasks is on two tables, the reference's first;
// agents that have one task each are no finding.
func TestMixedTasks(t *testing.T) {
	second := made("a", "reference", 2, never)
	s := built(t, made("a", "own", 2, always), second)
	if diff := cmp.Diff([]Kind{MixedTask}, kinds(s)); diff != "" || !strings.Contains(s.Findings[0].Text, `2 under "own", 2 under "reference"`) {
		t.Errorf("%+v\n%s", s.Findings, diff)
	}
	if len(s.Tables) != 2 || s.Tables[0].Task != "reference" || s.Tables[1].Task != "own" {
		t.Fatalf("the tables are %+v", s.Tables)
	}
	if mean := s.Tables[0].Agents[0].Overall.Percentages[shownFigure].Mean; mean != 0 {
		t.Errorf("the medals of one task count in the other: %v", mean)
	}
	if s := built(t, made("a", "own", 2, always), made("b", "reference", 2, always)); len(s.Findings) != 0 || len(s.Tables) != 2 {
		t.Errorf("two agents with a task each: %+v", s.Findings)
	}
}

// TestEvaluated takes the unequal numbers of seeds of an evaluation for its work, and
// names one that was not declared first.
func TestEvaluated(t *testing.T) {
	// five seeds at demo-digits, three at demo-cancer
	uneven := func(declared plan.Declared) *Bundle {
		b := made("a", "own", 8, always)
		for i, r := range b.Rows {
			r.Verdict.Evaluated = true
			if i >= 5 {
				r.Report.CompetitionID, r.Seed = "demo-cancer", fmt.Sprint(i-5)
			}
		}
		b.Evaluation = &plan.Evaluation{Name: "both", Agents: []string{"a", "b"}, Round: 3, Attempts: 16, Declared: declared}
		return b
	}
	for _, c := range []struct {
		declared plan.Declared
		want     []Kind
		text     string
	}{
		{plan.Declared{}, nil, ""},
		{plan.Declared{Outside: 2}, []Kind{Selection}, "evaluation both: chosen afterwards: 2 of 16 attempts began in runs without this rule"},
		{plan.Declared{Unknown: 16}, []Kind{Unproven}, "evaluation both: not provable that it was declared first: 16 of 16 attempts are not in the chain"},
		{plan.Declared{Unused: 1}, []Kind{Selection}, "evaluation both: possibly selected: 1 more began for it and do not count"},
	} {
		s := built(t, uneven(c.declared))
		if diff := cmp.Diff(c.want, kinds(s)); diff != "" || c.text != "" && s.Findings[0].Text != c.text {
			t.Errorf("%+v: %+v\n%s", c.declared, s.Findings, diff)
		}
	}
	gap := uneven(plan.Declared{})
	gap.Rows = slices.Delete(gap.Rows, 1, 2)
	if s := built(t, gap); !slices.Equal(kinds(s), []Kind{Selection}) || !strings.Contains(s.Findings[0].Text, "missing seeds 1 of 0 to 4") {
		t.Errorf("a seed in the middle is missing: %+v", s.Findings)
	}
	chosen := uneven(plan.Declared{})
	for _, r := range chosen.Rows {
		r.Verdict.Evaluated = false
	}
	if s := built(t, chosen); !slices.Equal(kinds(s), []Kind{Selection}) {
		t.Errorf("without an evaluation: %+v", s.Findings)
	}
}

// TestMasked compares each agent with itself at the masked version, on a table of its
// own, which is no finding.
func TestMasked(t *testing.T) {
	masked := func(b *Bundle) *Bundle {
		b.File, b.Run = "masked-"+b.File, b.Run+"m"
		b.Manifest = digest.Of([]byte(b.Run)).String()
		for _, r := range b.Rows {
			r.Report.CompetitionVersion = "v1m"
			r.RunID, r.MadeIn, r.AttemptAction, r.GradeAction, r.ReportDigest = b.Run, b.Run, r.AttemptAction+"m", r.GradeAction+"m", r.ReportDigest+"m"
		}
		return b
	}
	s := built(t, made("knows", "own", 6, always), masked(made("knows", "own", 6, never)), made("learns", "own", 6, always), masked(made("learns", "own", 6, always)), made("elsewhere", "own", 6, always))
	if len(s.Findings) != 0 || len(s.Tables) != 2 {
		t.Errorf("%d tables, findings %+v", len(s.Tables), s.Findings)
	}
	got := map[string]float64{}
	for _, m := range s.Masked {
		got[m.Agent+" "+m.Version] = float64(m.Comparison.Figures[shownFigure].Difference)
	}
	if diff := cmp.Diff(map[string]float64{"knows v1": 100, "learns v1": 0}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	later := masked(made("knows", "own", 6, never))
	for _, r := range later.Rows {
		r.Report.Conditions = append(r.Report.Conditions, "time=1h")
	}
	if m := built(t, made("knows", "own", 6, always), later).Masked; len(m) > 0 {
		t.Errorf("attempts of two classes are compared: %+v", m)
	}
	index, err := s.index().write("")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Masked versions", "knows, v1 − v1m", "learns, v1 − v1m"} {
		if !strings.Contains(string(index), want) {
			t.Errorf("the board lacks %q", want)
		}
	}
}

// TestClasses: places of two classes stand with their letters, wherever they are shown, and
// what is compared with nothing is counted. A fork has no class of its own.
func TestClasses(t *testing.T) {
	longer := made("longer", "reference", 2, always)
	for _, r := range longer.Rows {
		r.Report.Conditions = append(r.Report.Conditions, "time=36h")
	}
	short := made("short", "reference", 3, never)
	short.Rows[2].Report.Conditions = append(short.Rows[2].Report.Conditions, "forked=0123456789ab@1h")
	s := built(t, longer, short, made("other", "reference", 2, never))
	var shown strings.Builder
	for _, d := range []document{s.index(), s.agentPage("longer")} {
		text, err := d.write("")
		if err != nil {
			t.Fatal(err)
		}
		shown.Write(text)
	}
	for _, want := range []string{"Class A: isolation sandbox", "Class B: ", "time 36h, cpus/memory/gpus/network/budget/feedback/knowledge not recorded.", "Place 1 of 1 in its class B, tie group 1.", "1 attempt is not compared: 1 fork."} {
		if !strings.Contains(shown.String(), want) {
			t.Errorf("no %q in\n%s", want, shown.String())
		}
	}
	// The best score of a competition is not that of another class.
	for _, c := range s.competitions() {
		if c.by() != "other" && c.by() != "short" {
			t.Errorf("the best score at %s is by %s", c.id, c.by())
		}
	}
}

// TestClassesOfAnAgent: an agent that tried a competition under two budgets has two rows on
// the board, with figures of their own, and one page.
func TestClassesOfAnAgent(t *testing.T) {
	agent := made("x", "reference", 5, func(seed int) bool { return seed < 2 })
	for i, r := range agent.Rows {
		r.Report.Conditions = append(r.Report.Conditions, []string{"time=36h", "time=12h"}[min(i/2, 1)])
		r.Made.WallSeconds = new(float64(i))
	}
	s := built(t, agent)
	var got []string
	for _, a := range s.Tables[0].Agents {
		got = append(got, fmt.Sprintf("%s %s %s %v, %d rows, %v s, at %s", a.ClassLetter, a.Name, rate(a.Overall, shownFigure), a.Overall.Seeds, len(a.rows), *a.Seconds, a.path()))
	}
	page := " s, at " + agentPath("x")
	if diff := cmp.Diff([]string{"A x (time 12h) 0.0 ± 0.0 3, 3 rows, 9" + page, "B x (time 36h) 100.0 ± 0.0 2, 2 rows, 1" + page}, got); diff != "" {
		t.Error(diff)
	}
	var titles []string
	for _, sec := range s.agentPage("x").Sections {
		titles = append(titles, sec.Title)
	}
	if name := s.Tables[0].Name(); !slices.Contains(titles, name+" (time 12h)") || !slices.Contains(titles, name+" (time 36h)") {
		t.Errorf("sections %q", titles)
	}
}

// A claimed row is matched if its grade was recomputed for another one.
func TestMatched(t *testing.T) {
	one, other := made("a", "own", 1, always), made("b", "own", 2, always)
	for i, r := range other.Rows {
		r.Verdict.Standing = verify.Claimed
		if i == 0 {
			r.GradeAction, r.ReportDigest = one.Rows[0].GradeAction, one.Rows[0].ReportDigest
		}
	}
	other.Rows[1].GradeAction = one.Rows[0].GradeAction // with another report
	s := built(t, one, other)
	if diff := cmp.Diff(map[verify.Standing]int{verify.Recomputed: 1, Matched: 1, verify.Claimed: 1}, s.Standings); diff != "" {
		t.Error(diff)
	}
}

// Agents that differ in few of their runs are one tie group, those that are far
// behind another.
func TestTieGroups(t *testing.T) {
	but := func(n int) func(int) bool { return func(seed int) bool { return seed >= n } }
	s := built(t, made("best", "own", 20, always), made("near", "own", 20, but(1)), made("far", "own", 20, but(15)), made("last", "own", 20, but(16)), made("same", "own", 20, always))
	var got []string
	for _, a := range s.Tables[0].Agents {
		got = append(got, fmt.Sprintf("%d %v %s %d", a.Place, a.Tied, a.Name, a.Group))
	}
	want := []string{"1 true best 1", "1 true same 1", "3 false near 1", "4 false far 2", "5 false last 2"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestTieGroupsAgreeWithTheirTest: the p beside an agent is that which decides on its group,
// corrected for all pairs, and one run more at a competition tells nobody apart.
func TestTieGroupsAgreeWithTheirTest(t *testing.T) {
	agents := []*Bundle{}
	for i := range 6 {
		agents = append(agents, made(fmt.Sprint("agent", i), "own", 1+i%2, func(seed int) bool { return i%2 == 1 && seed == 0 }))
	}
	agents = append(agents, made("far", "own", 20, never), made("best", "own", 20, always))
	s := built(t, agents...)
	list, last := s.Tables[0].Agents, 1
	for _, a := range list[1:] {
		d := a.Behind.Figures[shownFigure]
		if opened := a.Group > last; *d.AdjustedP < *d.P || opened != (*d.AdjustedP <= 0.05) {
			t.Errorf("%s in group %d after %d, compared with %s: p %v, adjusted %v", a.Name, a.Group, last, a.Head, *d.P, *d.AdjustedP)
		}
		last = a.Group
	}
	if list[0].Group != 1 || last != 2 {
		t.Errorf("groups from %d to %d", list[0].Group, last)
	}
}

// Rows that are refused, or that no attempt made, do not count.
// TestExclude leaves out by rule the attempts in which the rule found something,
// and counts those that nobody looked at.
func TestExclude(t *testing.T) {
	sly, honest := made("sly", "own", 2, always), made("honest", "own", 2, never)
	sly.Rows[0].Check = found("grader-import", "sample-copy")
	honest.Rows[0].Check = &results.Check{Rules: []string{"grader-import", "sample-copy"}}
	catalog, err := competitions.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	s, err := Build(Request{Title: "Test", Bundles: []*Bundle{sly, honest}, Catalog: catalog, Exclude: []string{"grader-import", "sample-copy"}})
	if err != nil {
		t.Fatal(err)
	}
	if e := s.Excluded; e == nil || e.Rows != 1 || e.Unchecked != 2 || sly.Rows[0].Aside != "left out by rule: grader-import, sample-copy" {
		t.Errorf("%+v, %q", e, sly.Rows[0].Aside)
	}
	counted := 0
	for _, n := range s.Standings {
		counted += n
	}
	if counted != 3 || len(s.Findings) != 0 {
		t.Errorf("%d rows count, findings %+v", counted, s.Findings)
	}
	for rows, want := range map[*Row]string{sly.Rows[0]: "1 warning: grader-import", sly.Rows[1]: "not checked", honest.Rows[0]: "none"} {
		if got := foundIn(rows.Check).Text; got != want {
			t.Errorf("found %q, want %q", got, want)
		}
	}
	if got := foundInAll(honest.Rows).Text; got != "warnings in 0 of 1, 1 not checked" {
		t.Errorf("all: %q", got)
	}
}

func TestAside(t *testing.T) {
	b := made("a", "own", 3, always)
	b.Rows[0].Verdict.Standing, b.Rows[0].Verdict.Why = verify.Refused, "grading it again gives a different report"
	b.Rows[1].Verdict.Attempt = ""
	for _, r := range b.Rows {
		r.Aside = aside(r.Verdict)
	}
	s := built(t, b)
	if diff := cmp.Diff([]Kind{Refused, Selection, SetAside}, kinds(s)); diff != "" || s.Standings[verify.Recomputed] != 1 {
		t.Errorf("%+v %v\n%s", s.Findings, s.Standings, diff)
	}
}

// Early stopping is columns of the board on request; of an agent without graded
// snapshots nothing is said.
func TestStops(t *testing.T) {
	early, none := made("early", "own", 2, always), made("none", "own", 2, always)
	for _, r := range early.Rows {
		r.Made.WallSeconds = new(7 * 3600.0)
		r.Snapshots = []results.Snapshot{{Seconds: 7000, Outcome: "scored", Score: new(0.7), Medal: "none"}, {Seconds: 20_000, Outcome: "scored", Score: new(0.98), Medal: "bronze"}}
	}
	early.Rows[0].Snapshots[1].Medal = "none"
	catalog, err := competitions.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	s, err := Build(Request{Title: "Test", Bundles: []*Bundle{early, none}, Catalog: catalog, Stops: []time.Duration{time.Hour, 6 * time.Hour, 12 * time.Hour}})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, row := range s.Tables[0].Ranking().Rows {
		for _, cell := range row[4:10] {
			got[row[3].Text] = append(got[row[3].Text], cell.Text)
		}
	}
	want := map[string][]string{"early": {"100.0 ± 0.0", "0.0 to 100.0", "–", "0.0 ± 0.0", "50.0 ± 50.0", "100.0 ± 0.0"}, "none": {"100.0 ± 0.0", "0.0 to 100.0", "–", "–", "–", "–"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	files, err := s.Files()
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{agentPath("early"): ">0.98 bronze<", agentPath("none"): ">… after 12h<", "board.json": `"hours": 6`, "attempts.csv": ",outcome_at_12h,score_at_12h,medal_at_12h\n"} {
		if !strings.Contains(string(files[path]), text) {
			t.Errorf("%s lacks %q", path, text)
		}
	}
}

// The order of the bundles changes no byte of any file.
func TestOrderChangesNothing(t *testing.T) {
	bundles := func() []*Bundle {
		repeat := made("a", "own", 3, never)
		repeat.Manifest, repeat.Run, repeat.File = digest.Of([]byte("x")).String(), "run-later", "later.bundle"
		for _, r := range repeat.Rows {
			r.RunID, r.MadeIn, r.AttemptAction = repeat.Run, repeat.Run, r.AttemptAction+"x"
		}
		return []*Bundle{made("a", "own", 3, always), repeat, made("b", "own", 2, never), made("c", "reference", 2, always), {File: "bad", Refused: "x"}, {File: "worse", Refused: "y"}}
	}
	want, err := built(t, bundles()...).Files()
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 5 {
		list := bundles()
		random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		got, err := built(t, list...).Files()
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range slices.Sorted(maps.Keys(want)) {
			if diff := cmp.Diff(string(want[path]), string(got[path])); diff != "" {
				t.Fatalf("%s (-want +got):\n%s", path, diff)
			}
		}
	}
}

// A bundle of another version is told apart from one that was tampered with.
func TestOtherVersion(t *testing.T) {
	s := built(t, made("a", "own", 1, always), &Bundle{File: "old", Refused: "verify it with mleflow 0.0.9", OtherVersion: true}, &Bundle{File: "bad", Refused: "x"})
	if diff := cmp.Diff([]Kind{Refused, OtherVersion}, kinds(s)); diff != "" {
		t.Error(diff)
	}
	files, err := s.Files()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Of another version: old.</strong>", "verify it with mleflow 0.0.9", `<span class="pill warn">of another version</span>`, `<span class="pill bad">refused</span>`} {
		if !strings.Contains(string(files["index.html"]), want) {
			t.Errorf("the board lacks %q", want)
		}
	}
}

func TestSlug(t *testing.T) {
	seen := map[string]string{}
	for _, name := range []string{"AIDE", "aide", "a/../b", "..", "", "CON", "ünï", "a b", "a-b", strings.Repeat("x", 300), "\x00", `"><img>`, "日本"} {
		s := slug(name)
		if len(s) > 60 || strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			t.Errorf("%q becomes %q", name, s)
		}
		if other, found := seen[s]; found {
			t.Errorf("%q and %q are both %q", name, other, s)
		}
		seen[s] = name
	}
}

// BenchmarkGroup tells agents of a class apart: 378 tests and 27 comparisons.
func BenchmarkGroup(b *testing.B) {
	for name, runs := range map[string]func(agent, competition int) int{
		"equal":   func(_, _ int) int { return 3 },
		"unequal": func(a, c int) int { return 1 + (a+c*c)%7 },
	} {
		t := &Table{Board: &aggregate.Board{}}
		for i := range 28 {
			a := &Agent{}
			a.Name = fmt.Sprint("agent", i)
			t.Agents = append(t.Agents, a)
			for c := range 75 {
				for r := range runs(i, c) {
					e := aggregate.Entry{Agent: a.Name}
					e.Report.CompetitionID, e.Report.BronzeMedal = fmt.Sprint("c", c), (i+c*3+r*7)%10 < 3
					t.Board.Entries = append(t.Board.Entries, e)
				}
			}
		}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := t.group(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
