package ui

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/history"
)

// trial is an attempt of which only a table tells.
type trial struct {
	agent, competition, seed string
	// outcome is how the agent ended, graded how its submission was graded.
	outcome, graded, medal, reason string
	score                          float64
	seconds                        int
	cost                           string
}

// trials makes n attempts of five agents at four competitions.
func trials(n int) []trial {
	agents, ids := []string{"aide", "reference-aide", "openhands", "codex", "mlab"}, []string{"demo-digits", "spooky-author-identification", "leaf-classification", "statoil-iceberg-classifier-challenge"}
	var all []trial
	for i := range n {
		t := trial{agent: agents[i%5], competition: ids[i/5%4], seed: strconv.Itoa(i / 20), outcome: "finished", graded: "scored", medal: "none", score: 0.5 + float64(i*7919%5000)/10000, seconds: 3600 + i*37%80000, cost: fmt.Sprintf("%.4f", float64(i*31%900)/100)}
		switch {
		case i%17 == 3:
			t.graded, t.reason = "invalid", "the column label is missing"
		case i%23 == 5:
			t.outcome, t.graded, t.reason = "timed_out", "missing", ""
		case t.score > 0.95:
			t.medal = "gold"
		case t.score > 0.9:
			t.medal = "bronze"
		}
		all = append(all, t)
	}
	return all
}

// try writes a run of trials.
func (l *lab) try(pipeline string, started time.Time, all []trial) string {
	var attempts []attempt
	for _, t := range all {
		attempts = append(attempts, attempt{agent: t.agent, competition: t.competition, seed: t.seed})
	}
	r := l.write(pipeline, started, attempts)
	r.Emit(event.RunStarted{At: event.At{Time: started}, Run: r.ID(), Steps: 2 * len(all)})
	for i, t := range all {
		key := attempts[i].key()
		solve, grade := addr.Keyed(addr.Step{Kind: "agent-run", Name: "solve"}, key).String(), addr.Keyed(addr.Step{Kind: "grade", Name: "score"}, key).String()
		at := event.At{Time: started.Add(time.Duration(i) * time.Second)}
		end := func(address, kind string, outputs map[string]string) {
			r.Emit(event.StepStarted{At: at, Address: address, Kind: kind, Try: 1})
			r.Emit(event.StepFinished{At: at, Address: address, Kind: kind, Status: event.Ran, Action: r.ID() + address, LastTry: 1, DurationMillis: 5000, Outputs: outputs, Conditions: []string{"isolation=sandbox", "task=own"}})
		}
		end(solve, "agent-run", map[string]string{"outcome": strconv.Quote(t.outcome), "stats": fmt.Sprintf(`{"wall_seconds":%d,"models":{"main":{"provider":"openai","models":["gpt"],"requests":3,"input_tokens":%d,"output_tokens":300,"cost_usd":%q}}}`, t.seconds, 1000*i, t.cost)})
		score, exact := "null", any(nil)
		if t.graded == "scored" {
			score, exact = strconv.FormatFloat(t.score, 'g', -1, 64), t.score
		}
		report := must(json.Marshal(map[string]any{"competition_id": t.competition, "score": exact, "exact_score": exact, "submission_exists": t.graded != "missing", "valid_submission": t.graded == "scored", "above_median": t.graded == "scored" && t.score > 0.6, "outcome": t.graded, "reason": t.reason, "gold_threshold": 0.95, "silver_threshold": 0.93, "bronze_threshold": 0.9, "median_threshold": 0.6,
			"any_medal": t.medal != "none", "gold_medal": t.medal == "gold", "bronze_medal": t.medal == "bronze", "labels": map[string]string{"agent": t.agent, "seed": t.seed}}))
		var ref cache.Ref
		if len(all) <= 100 || l.reports { // of more, the journal is enough
			ref = must(cache.PutBytes(l.ctx, l.cache, report))
		}
		end(grade, "grade", map[string]string{"outcome": strconv.Quote(t.graded), "score": score, "medal": strconv.Quote(t.medal), "reason": string(must(json.Marshal(t.reason))), "report": string(ref.Kind) + ":" + ref.ID.String()})
	}
	l.close(r, 2*len(all))
	return r.ID()
}

var (
	trMatch   = regexp.MustCompile(`(?s)<tr[^>]*>(<th scope="row">.*?)</tr>`)
	cellMatch = regexp.MustCompile(`(?s)<t[hd][^>]*>(.*?)</t[hd]>`)
	tagMatch  = regexp.MustCompile(`<[^>]*>`)
)

// gridRowsOf are the texts of the cells of a page's table.
func gridRowsOf(body string) (all [][]string) {
	for _, row := range trMatch.FindAllStringSubmatch(body, -1) {
		var cells []string
		for _, c := range cellMatch.FindAllStringSubmatch(row[1], -1) {
			cells = append(cells, strings.Join(strings.Fields(tagMatch.ReplaceAllString(c[1], "")), " "))
		}
		all = append(all, cells)
	}
	return all
}

// columnsOf keeps some columns of rows.
func columnsOf(all [][]string, columns ...int) (out []string) {
	for _, row := range all {
		var cells []string
		for _, i := range columns {
			cells = append(cells, row[i])
		}
		out = append(out, strings.Join(strings.Fields(strings.Join(cells, " | ")), " "))
	}
	return out
}

// TestAttemptsTable sorts, filters, groups and chooses columns of a few attempts by the
// address alone.
func TestAttemptsTable(t *testing.T) {
	l := newLab(t)
	id := l.try("few.hcl", l.start, []trial{
		{agent: "aide", competition: "c", seed: "10", outcome: "finished", graded: "scored", medal: "gold", score: 0.9, seconds: 90, cost: "1"},
		{agent: "aide", competition: "c", seed: "2", outcome: "finished", graded: "scored", medal: "none", score: 0.75, seconds: 7200, cost: "3"},
		{agent: "aide", competition: "d", seed: "1", outcome: "finished", graded: "invalid", medal: "none", reason: "rows are missing", cost: "0"},
		{agent: "mlab", competition: "c", seed: "1", outcome: "timed_out", graded: "missing", medal: "none", seconds: 60, cost: "0"},
	})
	base := runAddress(id) + "/attempts"
	for query, want := range map[string][]string{
		"?sort=attempt&dir=asc": {"aide · c · 2", "aide · c · 10", "aide · d · 1", "mlab · c · 1"}, "?sort=seed&dir=asc": {"aide · d · 1", "mlab · c · 1", "aide · c · 2", "aide · c · 10"},
		"?sort=score&dir=desc": {"aide · c · 10", "aide · c · 2", "aide · d · 1", "mlab · c · 1"}, "?sort=score&dir=asc": {"aide · c · 2", "aide · c · 10", "aide · d · 1", "mlab · c · 1"},
		"?sort=medal&dir=desc&outcome=scored": {"aide · c · 10", "aide · c · 2"}, "?agent=mlab": {"mlab · c · 1"}, "?competition=d": {"aide · d · 1"}, "?medal=gold": {"aide · c · 10"},
		"?outcome=invalid+submission": {"aide · d · 1"}, "?q=ROWS+missing": {"aide · d · 1"}, "?q=nobody": nil, "?sort=nonsense&dir=x&agent=mlab": {"mlab · c · 1"},
	} {
		_, body := l.get(base + query)
		if diff := cmp.Diff(want, columnsOf(gridRowsOf(body), 0)); diff != "" {
			t.Errorf("%s: %s", query, diff)
		}
	}
	_, body := l.get(base + "?sort=score&dir=desc")
	if diff := cmp.Diff([]string{"scored | 0.90 | gold |", "scored | 0.75 | – |", "invalid submission | | – | rows are missing", "timed out | | – | stopped after 1m0s"}, columnsOf(gridRowsOf(body), 1, 2, 3, 4)); diff != "" {
		t.Errorf("cells: %s", diff)
	}
	for _, want := range []string{`aria-sort="descending"`, `<span class="pill bad">invalid submission</span>`, `<span class="pill good">scored</span>`, `href="` + base + `?dir=asc&amp;sort=score"`} {
		if !strings.Contains(body, want) {
			t.Errorf("the table lacks %s", want)
		}
	}
	if _, body := l.get(base + "?col=seed&col=score"); !slices.Equal(columnsOf(gridRowsOf(body), 1, 2), []string{"0.75 | 2", "0.90 | 10", "| 1", "| 1"}) {
		t.Errorf("chosen columns: %q", gridRowsOf(body))
	}
}

// TestAttemptsWithoutGrades looks for attempts that no report tells of in the list of all:
// one that failed, one that nobody graded, one at which the grader failed and one that a
// later run has graded.
func TestAttemptsWithoutGrades(t *testing.T) {
	l := newLab(t)
	var all []attempt
	for _, agent := range []string{"failing", "alone", "ungraded", "later"} {
		all = append(all, attempt{agent: agent, competition: "demo-digits", seed: "7", score: 0.5, curve: "[]"})
	}
	end := func(r *history.Run, address, kind string, status event.Status, message string) {
		e := event.StepFinished{At: event.At{Time: l.start}, Address: address, Kind: kind, Status: status, Error: message, Action: address}
		if status != event.Failed {
			e.Outputs = map[string]string{"outcome": `"finished"`}
		}
		r.Emit(e)
	}
	r := l.write("first.hcl", l.start, all)
	end(r, solve(all[0]), "agent-run", event.Failed, "no space")
	for _, a := range all[1:] {
		end(r, solve(a), "agent-run", event.Ran, "")
	}
	end(r, score(all[2]), "grade", event.Failed, "the grader broke")
	l.close(r, 3)
	r = l.write("second.hcl", l.start.Add(time.Hour), all[3:])
	end(r, solve(all[3]), "agent-run", event.Cached, "")
	outputs := l.graded(all[3])
	r.Emit(event.StepFinished{At: event.At{Time: l.start}, Address: score(all[3]), Kind: "grade", Status: event.Ran, Action: "graded", Outputs: outputs})
	l.close(r, 2)
	l.get("/attempts")
	l.indexed()
	_, body := l.get("/attempts")
	want := map[string][2]string{"failing": {"failed", "no space"}, "alone": {"not graded", ""}, "ungraded": {"not graded", "the grader broke"}, "later": {"scored", "0.5"}}
	rows := gridRowsOf(body)
	if len(rows) != len(want) {
		t.Errorf("%d rows: %q", len(rows), rows)
	}
	for _, row := range rows {
		agent, _, _ := strings.Cut(row[0], " ")
		if text := strings.Join(row[2:], " "); row[1] != want[agent][0] || !strings.Contains(text, want[agent][1]) {
			t.Errorf("%q is not %q", row, want[agent])
		}
	}
	if _, body = l.get("/search?q=grader+broke"); !strings.Contains(body, "ungraded · demo-digits · 7") {
		t.Error("the search does not find the reason of an attempt without a grade")
	}
}

// graded stores the report of an attempt and returns the outputs of its grade.
func (l *lab) graded(a attempt) map[string]string {
	ref := must(cache.PutBytes(l.ctx, l.cache, must(json.Marshal(map[string]any{"competition_id": a.competition, "score": a.score, "exact_score": a.score, "outcome": "scored", "labels": map[string]string{"agent": a.agent, "seed": a.seed}}))))
	return map[string]string{"outcome": `"scored"`, "score": fmt.Sprint(a.score), "medal": `"none"`, "report": string(ref.Kind) + ":" + ref.ID.String()}
}

// TestGroups has means and standard errors computed by hand: of 0.9 and 0.75 the mean
// is 0.825 and the standard error 0.075; of a medal and none, 50 and 50.
func TestGroups(t *testing.T) {
	l := newLab(t)
	id := l.try("few.hcl", l.start, []trial{
		{agent: "a", competition: "c", seed: "0", outcome: "finished", graded: "scored", medal: "gold", score: 0.9, cost: "1"}, {agent: "a", competition: "c", seed: "1", outcome: "finished", graded: "scored", medal: "none", score: 0.75, cost: "3"},
		{agent: "b", competition: "c", seed: "0", outcome: "finished", graded: "scored", medal: "none", score: 0.5, cost: "2"}, {agent: "b", competition: "d", seed: "0", outcome: "finished", graded: "invalid", medal: "none", cost: "0"},
	})
	base := runAddress(id) + "/attempts?col=outcome&col=score&col=medal&col=cost&fold=1&group="
	for query, want := range map[string][]string{
		"agent":                       {"a 2 | 2 of 2 | 0.825 ± 0.075 | 50.0 ± 50.0 % | 2.00 ± 1.00", "b 2 | 1 of 2 | | 0.0 ± 0.0 % | 1.00 ± 1.00"},
		"agent&sort=score&dir=asc":    {"a 2 | 2 of 2 | 0.825 ± 0.075 | 50.0 ± 50.0 % | 2.00 ± 1.00", "b 2 | 1 of 2 | | 0.0 ± 0.0 % | 1.00 ± 1.00"},
		"agent&sort=cost&dir=asc":     {"b 2 | 1 of 2 | | 0.0 ± 0.0 % | 1.00 ± 1.00", "a 2 | 2 of 2 | 0.825 ± 0.075 | 50.0 ± 50.0 % | 2.00 ± 1.00"},
		"agent%2Bcompetition&agent=b": {"b · c 1 | 1 of 1 | 0.500 | 0.0 % | 2.00", "b · d 1 | 0 of 1 | | 0.0 % | 0.00"},
	} {
		_, body := l.get(base + query)
		if diff := cmp.Diff(want, columnsOf(gridRowsOf(body), 0, 1, 2, 3, 4)); diff != "" {
			t.Errorf("%s: %s", query, diff)
		}
	}
	if _, body := l.get(runAddress(id) + "/attempts?group=agent&sort=score&dir=desc"); !slices.Equal(columnsOf(gridRowsOf(body), 0), []string{"a 2", "a · c · 0", "a · c · 1", "b 2", "b · c · 0", "b · d · 0"}) {
		t.Errorf("groups with their members: %q", gridRowsOf(body))
	}
}

// TestLongTable asks for the parts of a table of 5,000 attempts.
func TestLongTable(t *testing.T) {
	l := newLab(t)
	id := l.try("many.hcl", l.start, trials(5000))
	seen := map[string]bool{}
	for _, page := range []int{0, 1, 30, 49} {
		_, body := l.get(fmt.Sprintf("%s/attempts?sort=score&dir=desc&page=%d", runAddress(id), page))
		for _, name := range columnsOf(gridRowsOf(body), 0) {
			seen[name] = true
		}
	}
	if len(seen) != 400 {
		t.Errorf("the parts have %d attempts", len(seen))
	}
	_, body := l.get(runAddress(id) + "/attempts")
	if !strings.Contains(body, `data-total="5000"`) || len(body) > 120_000 {
		t.Errorf("the first part has %d bytes", len(body))
	}
}

// TestRunsTable has the runs with who ran what; one none of whose attempts got a score is
// not green.
func TestRunsTable(t *testing.T) {
	l := newLab(t)
	bad := trial{agent: "mlab", competition: "c", seed: "0", outcome: "timed_out", graded: "missing", medal: "none", cost: "0.5"}
	l.try("bad.hcl", l.start, []trial{bad, {agent: "mlab", competition: "d", seed: "0", outcome: "finished", graded: "invalid", medal: "none", cost: "0.25"}})
	l.try("good.hcl", l.start.Add(time.Hour), []trial{{agent: "aide", competition: "c", seed: "0", outcome: "finished", graded: "scored", medal: "gold", score: 0.9, cost: "1.5"}, {agent: "b", competition: "c", seed: "0", outcome: "finished", graded: "scored", medal: "none", score: 0.5, cost: "1"}})
	l.get("/agents")
	l.indexed()
	_, body := l.get("/runs")
	want := []string{"finished | | good.hcl | aide, b | c | 2 of 2 | 1 of 2 | 100.0 % | 2.50", "finished | 1 invalid submission, 1 timed out | bad.hcl | mlab | c, d | 1 of 2 | 0 of 2 | 0.0 % | 0.75"}
	if diff := cmp.Diff(want, columnsOf(gridRowsOf(body), 1, 2, 3, 4, 5, 6, 7, 8, 9)); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(body, `<span class="pill bad">finished</span>`) || !strings.Contains(body, `<span class="pill finished">finished</span>`) {
		t.Error("a run without a score is as green as one with scores")
	}
	if _, body := l.get("/runs?agents=b"); !slices.Equal(columnsOf(gridRowsOf(body), 2), []string{"good.hcl"}) {
		t.Errorf("the runs of an agent: %q", gridRowsOf(body))
	}
	if _, body := l.get("/attempts?agent=mlab&sort=competition&dir=desc"); !slices.Equal(columnsOf(gridRowsOf(body), 0, 1), []string{"mlab · d · 0 | invalid submission", "mlab · c · 0 | timed out"}) {
		t.Errorf("the attempts of all runs: %q", gridRowsOf(body))
	}
}

// TestOwnCompetition finds the definition of a competition that only the pipeline of a
// run names.
func TestOwnCompetition(t *testing.T) {
	l := newLab(t)
	l.ui.Catalog = func(past *history.Past) (*competitions.Catalog, error) {
		if past == nil {
			return competitions.Load(fstest.MapFS{})
		}
		return competitions.Shipped()
	}
	l.try("own.hcl", l.start, trials(1))
	l.get("/agents")
	l.indexed()
	for _, path := range []string{"/competitions", "/competitions/demo-digits", "/agent?name=aide"} {
		if _, body := l.get(path); !strings.Contains(body, "Handwritten digits") {
			t.Errorf("%s does not name the competition", path)
		}
	}
}

// TestEmptyTable has the sections that a page needs to follow what comes.
func TestEmptyTable(t *testing.T) {
	l := newLab(t)
	for path, want := range map[string]string{"/runs": "Nothing has been applied", "/attempts": "No attempt has ended", "/agents": "No attempt of an agent"} {
		if _, body := l.get(path); !strings.Contains(body, want) || !strings.Contains(body, `data-section="grid"`) {
			t.Errorf("%s: %s", path, body)
		}
	}
}

// TestManyRuns reads only the runs of a page, and all of them to sort or choose.
func TestManyRuns(t *testing.T) {
	l := newLab(t)
	for i := range allRuns + 5 {
		r := l.write(fmt.Sprintf("p%d.hcl", i), l.start.Add(time.Duration(i)*time.Minute), []attempt{{agent: "a"}})
		l.close(r, 0)
	}
	for query, want := range map[string]int{"": 100, "?page=3": 5, "?page=99": 5, "?q=p7.hcl": 1, "?sort=pipeline&dir=asc&page=3": 5, "?state=finished&page=1": 100} {
		if _, body := l.get("/runs" + query); len(gridRowsOf(body)) != want {
			t.Errorf("%q has %d rows, want %d", query, len(gridRowsOf(body)), want)
		}
	}
	if _, body := l.get("/runs?sort=pipeline&dir=asc"); gridRowsOf(body)[10][2] != "p10.hcl" {
		t.Errorf("the eleventh is %q", gridRowsOf(body)[10])
	}
}

// TestPins keeps chosen columns beside the first, in the order of the table, shown or not
// by default, through sorting.
func TestPins(t *testing.T) {
	l := newLab(t)
	id := l.try("few.hcl", l.start, trials(20))
	_, body := l.get(runAddress(id) + "/attempts?pin=seed&pin=score&pin=nonsense&agent=codex&sort=seed&dir=asc")
	if rows := gridRowsOf(body); len(rows) != 4 || rows[1][2] != "0" || rows[1][1] != "0.7947" || rows[1][3] != "scored" {
		t.Errorf("the pinned columns are not first: %q", gridRowsOf(body))
	}
	for _, want := range []string{`class="num pin"><a href="` + runAddress(id) + `/attempts?agent=codex&amp;dir=desc&amp;pin=seed&amp;pin=score&amp;pin=nonsense&amp;sort=score"`, `<td class="num pin">`, `name="pin" value="score" aria-label="Pin Score" checked`, `name="pin" value="medal" aria-label="Pin Medal">`} {
		if !strings.Contains(body, want) {
			t.Errorf("the table lacks %s", want)
		}
	}
}

// TestChecks has all kinds of checks of an attempt in one table, and says what there is
// none of.
func TestChecks(t *testing.T) {
	l := newLab(t)
	a := usual("aide", "0", "x")
	a.network = ""
	r := l.write("demo.hcl", l.start, []attempt{a})
	l.finish(r, 0, a)
	l.close(r, steps(a))
	at := pagesOf(r.ID(), a)["attempt Checks"]
	for query, want := range map[string][]string{
		"":                               {"12 B, abcdef | validity call | invalid | x", "x | refused call | grade | x:3", "hand-labelled | rule | warning | The predictions are written in the code: x", "x | rule | note | x"},
		"&check=rule&sort=verdict":       {"x | rule | note | x", "hand-labelled | rule | warning | The predictions are written in the code: x"},
		"&q=predictions&verdict=warning": {"hand-labelled | rule | warning | The predictions are written in the code: x"},
		"&col=verdict&col=time&sort=time&dir=asc&check=validity+call": {"12 B, abcdef | invalid | 10:00:00"},
	} {
		_, body := l.get(at + query)
		var got []string
		for _, row := range gridRowsOf(body) {
			row = slices.DeleteFunc(row, func(cell string) bool { return cell == "" })
			got = append(got, strings.Join(row[:min(len(row), 4)], " | "))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", query, diff)
		}
		if !strings.Contains(body, "No connection went through the proxy.") || !strings.Contains(body, "2 rules applied by") {
			t.Errorf("%q does not say what there is none of", query)
		}
	}
}

// TestMeanOf has no error of rounding where all values are equal.
func TestMeanOf(t *testing.T) {
	if mean, sem := meanOf([]float64{0.91667, 0.91667, 0.91667}); mean != 0.91667 || sem != 0 {
		t.Errorf("%v ± %v", mean, sem)
	}
	if mean, sem := meanOf([]float64{2}); mean != 2 || !math.IsNaN(sem) {
		t.Errorf("of one value: %v ± %v", mean, sem)
	}
	if mean, sem := meanOf(nil); !math.IsNaN(mean) || !math.IsNaN(sem) {
		t.Errorf("of nothing: %v ± %v", mean, sem)
	}
}
