package ui

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/ui/browsertest"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/history"
)

// solve and score are the steps of an attempt of a lab.
func solve(a attempt) string { return fmt.Sprintf("step.agent-run.solve[%q]", a.key()) }
func score(a attempt) string { return fmt.Sprintf("step.grade.score[%q]", a.key()) }

// crash ends an attempt whose agent printed a traceback and left nothing.
func (l *lab) crash(r *history.Run, a attempt, said string) {
	w := r.Log(solve(a), 1)
	_, _ = w.Write([]byte("epoch 1\nTraceback (most recent call last):\n  File \"/home/agent/main.py\", line 7, in <module>\n    train()\n" + said + "\n"))
	_ = w.Close()
	at := event.At{Time: l.start.Add(time.Minute)}
	r.Emit(event.StepStarted{At: at, Address: solve(a), Kind: "agent-run", Try: 1})
	r.Emit(event.StepFinished{At: at, Address: solve(a), Kind: "agent-run", Status: event.Ran, LastTry: 1, DurationMillis: 60_000,
		Outputs: map[string]string{"outcome": `"agent_failed"`, "stats": `{"wall_seconds":60,"exit_code":1}`}, Conditions: []string{"isolation=none", "runtime=process", "task=own"}})
	r.Emit(event.StepFinished{At: at, Address: score(a), Kind: "grade", Status: event.Ran, LastTry: 1,
		Outputs: map[string]string{"outcome": `"missing"`, "medal": `"none"`, "score": "null", "reason": `"there is no submission"`}})
}

// mixed writes a run with every state: medals, misses, an invalid submission, crashes,
// one that runs and one that waits.
func (l *lab) mixed(agents, competitions []string, seeds int, started time.Time, end bool) (run string, attempts []attempt) {
	for _, agent := range agents {
		for _, id := range competitions {
			for seed := range seeds {
				a := attempt{agent: agent, seed: fmt.Sprint(seed), competition: id, score: 0.5, curve: "[]", message: "x"}
				switch n := len(attempts); {
				case n%7 == 0:
					a.score = 0.995
				case n%7 == 1:
					a.score = 0.98
				case n%7 == 2:
					a.score = 0.95
				case n%7 == 3:
					a.reason = "the column label is missing"
				}
				attempts = append(attempts, a)
			}
		}
	}
	r := l.write("mixed.hcl", started, attempts)
	now := event.At{Time: started}
	r.Emit(event.RunStarted{At: now, Run: r.ID(), Steps: 2 * len(attempts), Blocks: []event.Block{{Block: "step.grade.score", Steps: len(attempts)}}})
	for i, a := range attempts {
		switch {
		case !end && i == len(attempts)-2:
			r.Emit(event.StepStarted{At: now, Address: solve(a), Kind: "agent-run", Try: 1, CPUs: 2})
		case !end && i == len(attempts)-1:
		case i%7 == 5:
			l.crash(r, a, fmt.Sprintf("ValueError: bad row %d", i))
		default:
			l.finish(r, i, a)
		}
	}
	if end {
		l.close(r, 2*len(attempts))
	} else {
		l.t.Cleanup(func() { _ = r.Close() })
	}
	return r.ID(), attempts
}

// TestFirstScreen looks for the leaderboard, a cell of each state and what went wrong.
func TestFirstScreen(t *testing.T) {
	l := newLab(t)
	run, attempts := l.mixed([]string{"aide", "dummy"}, []string{"demo-digits", "demo-cancer"}, 3, time.Now(), false)
	_, body := l.get(runAddress(run))
	for _, want := range []string{
		`class="board"`, "Leaderboard so far", "partial: 9 of 12 attempts graded", `<bdi>dummy</bdi>`, `<td class="num">1.25</td>`,
		`aria-label="aide · demo-digits · seed 0: gold, 0.995"`, `aria-label="aide · demo-cancer · seed 0: invalid submission: the column label is missing"`,
		"dummy · demo-cancer · seed 1: running", "dummy · demo-cancer · seed 2: waiting", `class="cell failed"`, `class="cell median"`, `class="cell miss"`,
		"agent failed", "<bdi>aide · demo-cancer · 2</bdi>", "ValueError: bad row 5", "Traceback (most recent call last):", `class="timeline"`, `class="graph"`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the first screen lacks %q", want)
		}
	}
	if i, j := strings.Index(body, `class="board"`), strings.Index(body, `class="cause"`); i < 0 || j >= 0 && j < i {
		t.Error("the leaderboard is not first")
	}
	if link := `href="` + strings.ReplaceAll(stepAddress(run, solve(attempts[0]), ""), "&", "&amp;") + `"`; !strings.Contains(body, link) {
		t.Errorf("no cell leads to %s", link)
	}
}

// TestFailureIsVisible shows a run as bad whose steps all ran, but whose attempts all
// failed.
func TestFailureIsVisible(t *testing.T) {
	l := newLab(t)
	a := usual("aide", "0", "x")
	a.reason = "the column label is missing"
	r := l.write("bad.hcl", l.start, []attempt{a})
	l.finish(r, 0, a)
	l.close(r, steps(a))
	_, body := l.get(runAddress(r.ID()))
	for _, want := range []string{`<span class="pill bad">finished, no attempt has a score</span>`, "0 of 1", `class="cell invalid"`, "the column label is missing", `class="node failed"`} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, name := range []string{"run", "attempts", "runs", "attempt Story"} {
		if _, body := l.get(pagesOf(r.ID(), a)[name]); strings.Contains(body, "pill finished") || strings.Contains(body, "pill ran") || strings.Contains(body, `class="ran"`) || strings.Contains(body, `class="good"`) {
			t.Errorf("%s: something is green", name)
		}
	}
}

// TestReportsFollow opens a run with more reports than are read at once: its page is there,
// says that it is partial and is made again until it is whole.
func TestReportsFollow(t *testing.T) {
	l := newLab(t)
	l.reports = true
	run := l.try("many.hcl", l.start, trials(reportsAtOnce+100))
	_, body := l.get(runAddress(run))
	if !strings.Contains(body, "data-live") || !strings.Contains(body, "500 reports are read, the others follow") {
		t.Errorf("the first page is not partial: %.3000s", body)
	}
	l.indexed()
	_, body = l.get(runAddress(run))
	if strings.Contains(body, "data-live") || strings.Contains(body, "reports are read") || !strings.Contains(body, "Leaderboard<") {
		t.Errorf("the page is not whole: %.3000s", body)
	}
}

// TestFirstScreenOfNothing has a run that ended before its first attempt.
func TestFirstScreenOfNothing(t *testing.T) {
	l := newLab(t)
	r := l.write("none.hcl", l.start, []attempt{{agent: "a", competition: "b", message: "x"}})
	l.close(r, 0)
	status, body := l.get(runAddress(r.ID()))
	if status != 200 || !strings.Contains(body, `class="cell notrun"`) || strings.Contains(body, `class="board"`) {
		t.Errorf("status %d, or attempts that never ran have a leaderboard", status)
	}
}

// sizes are the windows of which pictures are looked at.
var sizes = []browsertest.Form{{Name: "1400-light", Width: 1400, Height: 900, Dark: false}, {Name: "1400-dark", Width: 1400, Height: 900, Dark: true}, {Name: "1000-light", Width: 1000, Height: 900, Dark: false}, {Name: "1000-dark", Width: 1000, Height: 900, Dark: true}, {Name: "400-light", Width: 400, Height: 800, Dark: false}, {Name: "400-dark", Width: 400, Height: 800, Dark: true}}

// TestFirstScreenInTheBrowser opens a run, its cells and an attempt. MLEFLOW_SHOTS names a
// folder for pictures.
func TestFirstScreenInTheBrowser(t *testing.T) {
	b := browsertest.Open(t)
	l := newLab(t)
	comps := []string{"demo-digits", "demo-cancer", "aerial-cactus-identification", "jigsaw-toxic-comment-classification-challenge", "spooky-author-identification", "nomad2018-predict-transparent-conductors"}
	runs := map[string]string{}
	runs["small"], _ = l.mixed([]string{"aide"}, comps[:1], 1, l.start, true)
	runs["usual"], _ = l.mixed([]string{"baseline", "aide-gpt-5.5-with-a-long-name", "dummy"}, comps, 3, l.start.Add(time.Second), true)
	runs["live"], _ = l.mixed([]string{"aide", "dummy"}, comps[:2], 3, time.Now(), false)
	var agents []string
	for i := range 20 {
		agents = append(agents, fmt.Sprintf("agent-%d", i))
	}
	runs["many"], _ = l.mixed(agents, comps, 3, l.start.Add(2*time.Second), true)
	base, first := l.serve()
	forms := browsertest.Forms()
	if os.Getenv("MLEFLOW_SHOTS") != "" {
		forms = sizes
	}
	for _, f := range forms {
		tab := b.Tab(f)
		tab.Go(first)
		for name, run := range runs {
			tab.Go(base + runAddress(run))
			looked(t, tab, name+" "+f.Name)
			if dir := os.Getenv("MLEFLOW_SHOTS"); dir != "" {
				tab.Shot(filepath.Join(dir, "first-"+name+"-"+f.Name+".png"))
			}
			if name != "usual" {
				continue
			}
			tab.Go(base + runAddress(run) + "/report")
			looked(t, tab, "report of "+name+" "+f.Name)
			if cut := tab.Run("[...document.querySelectorAll('.scroll')].filter(e => e.querySelector('table') && e.scrollWidth > e.clientWidth).map(e => e.innerText.slice(0, 60) + ' ' + e.scrollWidth + ' of ' + e.clientWidth)"); f.Width >= 1280 && cut != "[]" {
				t.Errorf("the report of %s has tables that scroll sideways: %s", name, cut)
			}
			if dir := os.Getenv("MLEFLOW_SHOTS"); dir != "" {
				tab.Shot(filepath.Join(dir, "report-"+name+"-"+f.Name+".png"))
			}
		}
		tab.Go(base + runAddress(runs["usual"]))
		if tab.Run("document.querySelectorAll('a.cell').length > 0") != "true" {
			t.Fatal("there are no cells")
		}
		tab.Run("document.querySelector('a.cell.gold').click()")
		tab.Wait("location.pathname.startsWith('/step/') && document.body.innerText.includes('step.agent-run')")
		if !full() && os.Getenv("MLEFLOW_SHOTS") == "" {
			break
		}
	}
}

// TestMatrixFollows watches a cell change without loading the page again, and keeps the
// focus on it.
func TestMatrixFollows(t *testing.T) {
	b := browsertest.Open(t)
	l := newLab(t)
	a := attempt{agent: "aide", seed: "0", competition: "demo-digits", score: 0.975, curve: "[]", message: "x"}
	r := l.write("live.hcl", time.Now(), []attempt{a})
	defer r.Close()
	base, first := l.serve()
	tab := b.Tab(browsertest.Forms()[0])
	tab.Go(first)
	tab.Go(base + runAddress(r.ID()))
	tab.Wait("document.querySelector('a.cell.waiting')")
	r.Emit(event.StepStarted{At: event.At{Time: time.Now()}, Address: solve(a), Kind: "agent-run", Try: 1})
	tab.Wait("document.querySelector('a.cell.running')")
	tab.Run("document.querySelector('a.cell').focus()")
	l.finish(r, 0, a)
	tab.Wait("document.querySelector('a.cell.bronze') && document.querySelector('table.board') && document.activeElement.matches('a.cell')")
	l.close(r, 2)
	tab.Wait("!document.querySelector('[data-live]')")
	looked(t, tab, "a matrix that changed")
}
