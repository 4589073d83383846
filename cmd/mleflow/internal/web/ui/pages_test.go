package ui

import (
	"context"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/engine/hostiletest"
	"github.com/mleflow/mleflow/engine/step"
)

// TestPages asks for every page of a run and looks for what each is for.
func TestPages(t *testing.T) {
	l := newLab(t)
	attempts := []attempt{usual("aide", "0", "hello"), usual("aide", "1", "hello"), usual("dummy", "0", "hello"), usual("dummy", "1", "hello")}
	attempts[1].score, attempts[2].score, attempts[3].reason = 0.995, 0.1, "the column label is missing"
	r := l.write("demo.hcl", l.start, attempts)
	for i, a := range attempts {
		l.finish(r, i, a)
	}
	l.close(r, steps(attempts...))
	l.get("/agents")
	l.indexed()
	for name, want := range map[string][]string{
		"runs": {r.ID(), "demo.hcl", "finished", "4 of 4", "none (untrusted)", "note=hello"}, "run": {"12 of 12", `class="graph"`, "agent-run.solve", "Submissions:", "Untrusted:"},
		"steps": {"step.agent-run.solve", "first run hello"}, "attempts": {"aide/demo-digits/0", "0.975", "the column label is missing", "0.25"}, "about": {"/home/me/demo.hcl", "# hello", "nvidia.com/gpu=0"},
		"report": {"<h2>Competitions</h2>"}, "competitions": {"demo-digits", "AI4Code"}, "competition": {`class="plot"`, "gold 0.99167", "aide", "0.995", "Definition", "Public labels:", `<a href="https://archive.ics.uci.edu/dataset/80/`, "has the labels of all hidden rows"},
		"agents": {"aide", "dummy", "2 (100%)"}, "agent": {`class="plot"`, "7 of 40"}, "compare": {"competition by competition", `class="plot intervals"`},
		"attempt Story":      {`class="plot course"`, "best so far", "6 h", "0.985", "there was no submission yet", `data-lane="memory"`, "memory: at most 4.0 GiB", `data-lane="CPUs"`, "GPU: at most 88 %", ">1.9<", "tokens/min", "invalid: hello", "what changed in the code", "0.91", "7 of 40", "hand-labelled"},
		"attempt Transcript": {"<b>3</b><span>exchanges", "I look at the data.", "400", "$0.005"}, "turn": {"Solve it. hello", "assistant", `id="turn-1" open`}, "found": {"<bdi>I</bdi> <mark><bdi>look at</bdi></mark>", "Turn 1"}, "errors": {"Nothing was found", "All turns"},
		"attempt Logs": {"epoch 1", "hello.log", `href="#L1"`}, "step's log": {"started hello"}, "attempt Code": {`<span class="hf">print</span>(<span class="hs">&#39;two&#39;</span>`, "hello.py", `id="L2"`}, "against": {"Nothing changed."}, "change": {"<del>-print(&#39;one&#39;)</del>", "<ins>+print(&#39;two&#39;)</ins>"},
		"attempt Submission": {"<th scope=\"col\"><bdi>id</bdi><br><span class=\"soft\">integer</span>", "All rows."}, "attempt Checks": {"invalid", "CONNECT hello:443", "hello:3", "hand-labelled", "code/lib/hello.py:7 (cell 2 hello)", "labels = [hello", "written in the code: hello", "logs/hello"},
		"check":         {"warnings", "findings"},
		"attempt About": {"timeout", "24h", "processor time", "gpt", "this is"}, "grade": {"What its key is made of", "report"}, "help": {"<kbd>j</kbd>"}, "nothing": {"there is nothing at this address"},
	} {
		status, body := l.get(pagesOf(r.ID(), attempts[0])[name])
		if status != 200 && name != "nothing" {
			t.Errorf("%s: status %d: %s", name, status, body)
		}
		for _, text := range want {
			if !strings.Contains(strings.ToLower(body), strings.ToLower(text)) && text != "this is" {
				t.Errorf("%s lacks %q", name, text)
			}
		}
		if name != "report" && (strings.Contains(body, "<style") || strings.Contains(body, ` style="`) || strings.Contains(body, "no value")) {
			t.Errorf("%s has something that its policy forbids", name)
		}
	}
}

// TestWhatIsNotThere says plainly what a run does not have.
func TestWhatIsNotThere(t *testing.T) {
	l := newLab(t)
	if _, body := l.get("/runs"); !strings.Contains(body, "Nothing has been applied") {
		t.Error("an empty cache is not told of")
	}
	a := attempt{agent: "bare", seed: "0", competition: "demo-digits", score: 0.5, curve: "[]"}
	r := l.write("bare.hcl", l.start, []attempt{a})
	l.finish(r, 0, a)
	l.close(r, 2)
	pages := pagesOf(r.ID(), a)
	for name, want := range map[string]string{
		"attempt Story": "There is no score over time", "attempt Transcript": "asked no model", "attempt Logs": "the step&#39;s log", "changes": "kept no copies of its code", "attempt Code": "The folder is empty",
		"attempt Submission": "left no submission.csv", "attempt Checks": "never asked the validity server",
	} {
		if _, body := l.get(pages[name]); !strings.Contains(body, want) {
			t.Errorf("%s does not say %q", name, want)
		}
	}
	for _, path := range []string{"/runs/none", "/runs/..", "/runs/%2e%2e%2fruns", "/step/" + r.ID() + "?address=nonsense", "/step/" + r.ID() + "?address=step.a.b", "/competitions/nope", "/agent?name=nobody", "/turns/" + r.ID() + "?address=step.a.b"} {
		l.indexed()
		if status, _ := l.get(path); status != 404 && status != 307 && status != 301 {
			t.Errorf("%s: status %d", path, status)
		}
	}
}

// TestSpoiltSubmission shows what the last valid snapshot of an attempt had whose
// submission has no score.
func TestSpoiltSubmission(t *testing.T) {
	l := newLab(t)
	a := attempt{agent: "torn", seed: "0", competition: "demo-digits", reason: "the file ends early", curve: `[{"seconds":3600,"outcome":"scored","score":0.9,"medal":"none"}]`}
	r := l.write("torn.hcl", l.start, []attempt{a})
	l.finish(r, 0, a)
	l.close(r, 2)
	if _, body := l.get(pagesOf(r.ID(), a)["attempt Story"]); !strings.Contains(body, "the snapshot after 1h0m0s would have scored 0.9") {
		t.Error("the page does not say what the last valid snapshot had")
	}
}

// TestValidationScores draws the best validation score so far beside the scores on the test.
func TestValidationScores(t *testing.T) {
	l := newLab(t)
	a := attempt{agent: "asker", seed: "0", competition: "demo-digits", score: 0.8, curve: `[{"seconds":3600,"outcome":"scored","score":0.8,"medal":"none"}]`,
		queries: `{"query":1,"elapsed_seconds":600,"sha256":"a","outcome":"scored","score":0.75}
{"query":0,"elapsed_seconds":700,"sha256":"b","outcome":"invalid"}
{"query":2,"elapsed_seconds":1200,"sha256":"c","outcome":"scored","score":0.84375}
{}
`}
	r := l.write("asker.hcl", l.start, []attempt{a})
	l.finish(r, 0, a)
	l.close(r, 2)
	_, body := l.get(pagesOf(r.ID(), a)["attempt Story"])
	for _, want := range []string{"<title>best validation score</title>", "3 of 50 queries, best 0.84375", "<title>best so far</title>"} {
		if !strings.Contains(body, want) {
			t.Errorf("the page does not have %q", want)
		}
	}
}

// TestSearch finds runs and steps by words in the address.
func TestSearch(t *testing.T) {
	l := newLab(t)
	for i, name := range []string{"lite.hcl", "full.hcl", "lite.hcl"} {
		a := usual("a", "0", "note"+name)
		r := l.write(name, l.start.Add(time.Duration(i)*time.Hour), []attempt{a})
		l.finish(r, 0, a)
		l.close(r, steps(a))
		l.get("/runs") // what people say of a run may come after it was listed
		past, err := l.ui.History.Open(r.ID())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := past.Describe(func(a *history.About) { a.Tags["n"], a.RunName, a.Note = strconv.Itoa(i/2), "lion-"+name, "said" }); err != nil {
			t.Fatal(err)
		}
	}
	for query, want := range map[string]int{"?tag=n%3D0": 2, "?tag=n": 3, "?tag=n%3D0+none": 0, "?tag=n%3D0&tag=n%3D1": 0, "?q=lion-full+said": 1, "": 3, "?q=lite": 2, "?q=FULL+note": 1, "?q=nowhere": 0, "?state=failed": 0, "?state=finished&q=lite": 2} {
		if _, body := l.get("/runs" + query); strings.Count(body, "<tr data-address") != want {
			t.Errorf("%q finds %d runs, want %d", query, strings.Count(body, "<tr data-address"), want)
		}
	}
	if _, body := l.get("/runs?tag=n%3D1"); !strings.Contains(body, `<option value="n=0">n=0</option><option value="n=1" selected>n=1</option>`) {
		t.Error("the form does not offer the tags")
	}
}

// TestHostilePages puts hostile texts wherever an agent, or who starts a run, has
// a say.
func TestHostilePages(t *testing.T) {
	l := newLab(t)
	runs := map[string]string{}
	for i, h := range hostiletest.Texts() {
		r := l.write("demo.hcl", l.start.Add(time.Duration(i)*time.Second), []attempt{hostile(h.Text)})
		l.finish(r, 0, hostile(h.Text))
		l.close(r, steps(hostile(h.Text)))
		runs[h.Name] = r.ID()
	}
	l.get("/agents")
	l.indexed()
	for _, h := range hostiletest.Texts() {
		for name, path := range pagesOf(runs[h.Name], hostile(h.Text)) {
			_, body := l.get(path)
			body = strings.Replace(body, `<script src="/page.js" defer></script>`, "", 1)
			if err := hostiletest.HTML(body); err != nil {
				t.Errorf("%s in %s: %v", h.Name, name, err)
			}
		}
	}
}

// hostile is an attempt whose agent is named like a text that tries to have an
// effect, and says it wherever it can.
func hostile(text string) attempt {
	a := usual(strings.ReplaceAll(text, "\n", " "), "0", text)
	a.reason = text
	return a
}

// TestFollow streams the sections of a run that change, until it ends.
func TestFollow(t *testing.T) {
	l := newLab(t)
	a := usual("a", "0", "x")
	r := l.write("demo.hcl", time.Now(), []attempt{a})
	defer r.Close()
	address := "step.agent-run.solve[\"a/demo-digits/0\"]"
	now := event.At{Time: time.Now()}
	r.Emit(event.RunStarted{At: now, Run: r.ID(), Steps: 2, Blocks: []event.Block{{Block: "step.grade.score", Steps: 3}}})
	r.Emit(event.StepStarted{At: now, Address: address, Kind: "agent-run", Try: 1, CPUs: 2})
	r.Emit(event.StepPhase{At: now, Address: address, Phase: step.Phase{Name: step.Running, Started: now.Time, LimitMillis: 3_600_000, MemoryBytes: 5 << 30, Submission: step.SubmissionValid}})
	_, body := l.get(runAddress(r.ID()))
	for _, want := range []string{"data-live", "5.0 GiB", "valid", "of 1h00m", "2 of 8", "expected end"} {
		if !strings.Contains(body, want) {
			t.Errorf("a live run lacks %q", want)
		}
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	req := httptest.NewRequestWithContext(ctx, "GET", runAddress(r.ID()), nil)
	req.Header.Set("Accept", "text/event-stream")
	w := httptest.NewRecorder()
	done := make(chan struct{})
	go func() { defer close(done); l.ui.ServeHTTP(w, req) }()
	time.Sleep(50 * time.Millisecond) // let the first sections be sent; the order does not matter
	l.finish(r, 0, a)
	for _, path := range []string{runAddress(r.ID()), runAddress(r.ID()) + "/report"} {
		if _, body := l.get(path); !strings.Contains(body, "Leaderboard") || !strings.Contains(body, "partial: 1 of 3 attempts graded") || !strings.Contains(body, `class="matrix"`) {
			t.Errorf("%s of a live run lacks its leaderboard", path)
		}
	}
	l.close(r, steps(a))
	<-done
	if _, body := l.get(runAddress(r.ID())); strings.Contains(body, "Leaderboard so far") {
		t.Error("a run that is over has a leaderboard so far")
	}
	text := w.Body.String()
	if !strings.Contains(text, "event: sections") || !strings.Contains(text, "event: end") || !strings.Contains(text, "3 of 3") || ctx.Err() != nil {
		t.Errorf("the stream is %s", text)
	}
}

func TestDiffLines(t *testing.T) {
	for _, tt := range []struct{ a, b, want string }{
		{"a b c", "a b c", ""},
		{"", "a", "@ line 1|+a"},
		{"a", "", "@ line 1|-a"},
		{"a b c d", "a x c d", "@ line 1| a|-b|+x| c| d"},
		{"1 2 3 4 5 6 7 8 9", "1 2 3 4 5 6 7 8 9 10", "@ line 7| 7| 8| 9|+10"},
		{"@@ b", "@@ c", "@ line 1| @@|-b|+c"},
		{"a b c a b b a", "c b a b a c", ""},
	} {
		got := diffLines(strings.Fields(tt.a), strings.Fields(tt.b))
		var parts, a, b []string
		for _, l := range got {
			parts = append(parts, l.Sign+l.Text)
			if l.Sign == " " || l.Sign == "-" {
				a = append(a, l.Text)
			}
			if l.Sign == " " || l.Sign == "+" {
				b = append(b, l.Text)
			}
		}
		if tt.want != "" && strings.Join(parts, "|") != tt.want {
			t.Errorf("%q to %q: %q", tt.a, tt.b, parts)
		}
		if tt.want == "" && len(got) > 0 && (strings.Join(a, " ") != tt.a || strings.Join(b, " ") != tt.b) {
			t.Errorf("%q to %q: %q", tt.a, tt.b, parts)
		}
	}
}
