package ui

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/ui/browsertest"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/hostiletest"
	"github.com/mleflow/mleflow/engine/step"
)

// serve serves the pages of a lab behind a guard and returns the address without
// the token, and with it.
func (l *lab) serve() (base, first string) {
	l.t.Helper()
	s := httptest.NewUnstartedServer(nil)
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	g := NewGuard(port, Secret(), url.URL{}, l.ui)
	s.Config.Handler = g
	s.Config.BaseContext = func(net.Listener) context.Context { return l.t.Context() } // Close waits for who follows a page
	s.Start()
	l.t.Cleanup(s.Close)
	return s.URL, s.URL + "/?token=" + g.token
}

// looked checks what holds for every page: nothing went wrong, no script ran but
// ours, nothing is wider than the window, and axe finds nothing serious.
func looked(t *testing.T, tab *browsertest.Tab, name string) {
	t.Helper()
	for _, fault := range tab.Faults() {
		if name != "nothing" || !strings.Contains(fault, "404") {
			t.Errorf("%s: %.400s", name, fault)
		}
	}
}

// TestAxe shows that axe-core is there and finds what is wrong with a page.
func TestAxe(t *testing.T) {
	if !browsertest.HasAxe() {
		t.Skipf("accessibility is not checked: %s does not name axe-core's axe.min.js (npm pack axe-core)", browsertest.Axe)
	}
	b := browsertest.Open(t)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(`<html lang="en"><title>x</title><main><h1>x</h1><button></button><p style="color:#aaa;background:#fff">pale</p></main>`))
	}))
	defer s.Close()
	tab := b.Tab(browsertest.Forms()[0])
	tab.Go(s.URL)
	if found := strings.Join(tab.Violations(), "\n"); !strings.Contains(found, "button-name") || !strings.Contains(found, "color-contrast") {
		t.Errorf("axe finds %q", found)
	}
}

// TestLayout shows that the check of the layout finds what is wrong with a page, and
// nothing in one that is right.
func TestLayout(t *testing.T) {
	b := browsertest.Open(t)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte("<!DOCTYPE html><main>" + r.FormValue("page") + "</main>"))
	}))
	defer s.Close()
	tab := b.Tab(browsertest.Forms()[0])
	long := strings.Repeat("long ", 30)
	for want, page := range map[string]string{
		"":                     `<p style="width:5em;overflow:hidden;text-overflow:ellipsis;white-space:nowrap">` + long + `</p><p><bdi>שלום</bdi> 12:30</p><button style="height:24px">x</button>`,
		"text is cut off":      `<p style="width:5em;overflow:hidden;white-space:nowrap">` + long + `</p>`,
		"lower than 24 pixels": `<button style="height:20px">x</button>`,
		"out of sight":         `<nav><a aria-current="page" style="position:absolute;left:1270px">Current</a></nav>`,
		"takes the width":      `<div class="scroll" style="width:200px;overflow:auto"><table><tr><td style="white-space:nowrap"><bdi>` + long + `</bdi></td><td>1</td></tr></table></div>`,
		"is squeezed":          `<table><tr><td style="width:30px"><bdi>` + long + `</bdi></td><td style="width:900px">1</td></tr></table>`,
		"is not isolated":      `<p>שלום 12:30</p><p>name: שלום <b>12:30</b></p>`,
		"changes the direct":   "<p>a\u202eb</p>",
		"leaves its drawing":   `<svg width="50" height="20"><text x="40" y="10">label</text></svg>`,
		"labels collide":       `<svg width="90" height="20"><text x="1" y="10">label</text><text x="9" y="10">other</text></svg>`,
		"leaves its box":       `<p style="width:3em;white-space:nowrap">` + long + `</p>`,
	} {
		tab.Go(s.URL + "?page=" + url.QueryEscape(page))
		if got := strings.Join(tab.Layout(), "\n"); !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("of %q: %q", page, got)
		}
	}
}

// TestPagesInTheBrowser opens every page in four forms. MLEFLOW_AXE names the path of
// axe-core's axe.min.js.
func TestPagesInTheBrowser(t *testing.T) {
	b := browsertest.Open(t)
	l := newLab(t)
	run, attempts := l.usualRun()
	l.get("/agents")
	l.indexed()
	base, first := l.serve()
	forms := browsertest.Forms()
	if !full() {
		forms = []browsertest.Form{forms[0], forms[3]} // each width and each theme once
	}
	for _, f := range forms {
		t.Run(f.Name, func(t *testing.T) {
			tab := b.Tab(f)
			tab.Go(first)
			if at := tab.Run("location.href"); strings.Contains(at, "token") {
				t.Errorf("the token stays in the address %s", at)
			}
			for name, path := range pagesOf(run, attempts[0]) {
				if name == "report" {
					continue // a document of its own, tested where it is made
				}
				tab.Go(base + path)
				looked(t, tab, name)
			}
			for _, asked := range tab.Asked() {
				if !strings.HasPrefix(asked, base+"/") && !strings.HasPrefix(asked, "about:") {
					t.Errorf("the pages ask for %s", asked)
				}
			}
		})
	}
}

// TestMainPath goes the way of a working day by clicks alone: a run, its attempts by score,
// the best of them, a word in its transcript, its agent beside another.
func TestMainPath(t *testing.T) {
	b := browsertest.Open(t)
	l := newLab(t)
	attempts := []attempt{usual("aide", "0", "a note"), usual("dummy", "0", "a note"), usual("codex", "0", "a note")}
	attempts[0].score, attempts[1].score, attempts[2].score = 0.8, 0.995, 0.9
	r := l.write("day.hcl", l.start, attempts)
	for i, a := range attempts {
		l.finish(r, i, a)
	}
	l.close(r, steps(attempts...))
	_, first := l.serve()
	tab := b.Tab(browsertest.Forms()[0])
	tab.Go(first)
	link := func(text string) {
		tab.Run(fmt.Sprintf("setTimeout(() => [...document.querySelectorAll('main a')].find(a => a.innerText === %q).click())", text))
	}
	tab.Click("[data-section=grid] tbody a")
	tab.Wait("document.querySelector('table.board') && document.querySelector('a.cell.gold')")
	looked(t, tab, "the run")
	link("All attempts with their scores")
	tab.Wait("location.pathname.endsWith('/attempts') && document.querySelectorAll('.grid tbody tr').length === 3")
	tab.Click(`.grid thead a[href*="sort=score"]`)
	tab.Wait("document.querySelector('[aria-sort=descending]') && document.querySelector('.grid tbody tr').innerText.startsWith('dummy')")
	looked(t, tab, "the attempts by score")
	tab.Click(".grid tbody a")
	tab.Wait("document.querySelector('h1').innerText.startsWith('dummy · demo-digits · 0') && document.querySelector('h1 .pill.good').innerText.includes('0.995')")
	link("Transcript")
	tab.Wait("document.querySelector('#turn-1[open]')")
	tab.Key("/")
	tab.Type("look at")
	tab.Key("Enter")
	tab.Wait("document.querySelector('.found mark')?.innerText === 'look at'")
	looked(t, tab, "the turns found")
	tab.Click(".crumbs a[href*='/runs/']")
	tab.Wait("document.querySelector('table.board')")
	link("Compare its agents")
	tab.Wait("location.pathname === '/compare' && document.querySelector('.chips') && document.querySelectorAll('.columns svg').length > 0")
	for _, agent := range []string{"aide", "dummy", "codex"} {
		if tab.Run(fmt.Sprintf("document.querySelector('.chips').innerText.includes(%q)", agent)) != "true" {
			t.Errorf("the comparison lacks %s", agent)
		}
	}
	looked(t, tab, "the comparison")
}

// full reports whether MLEFLOW_BROWSER=full asks for every page in every form with
// every text, which takes minutes.
func full() bool { return os.Getenv("MLEFLOW_BROWSER") == "full" }

// sets are texts that set a mark if a page takes them for more than text.
var sets = []hostiletest.Text{
	{Name: "sets a mark", Text: `"><script>window.owned=1</script><svg onload="window.owned=1"><img src=x onerror="window.owned=1">`},
	{Name: "in a string", Text: `';window.owned=1;//`}, {Name: "in a template", Text: "${window.owned=1}`{{constructor.constructor('window.owned=1')()}}"},
	{Name: "address", Text: `javascript:window.owned=1`}, {Name: "end of a script", Text: `</script><script>window.owned=1</script>`},
	{Name: "huge line", Text: strings.Repeat("<b onclick=window.owned=1>", 40_000)},
}

// TestTheBrowserSeesScripts shows that what the next test looks for can be
// found: without escaping and policy, these texts run.
func TestTheBrowserSeesScripts(t *testing.T) {
	b := browsertest.Open(t)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<p title=\"" + sets[0].Text + "\">"))
	}))
	defer s.Close()
	tab := b.Tab(browsertest.Forms()[0])
	tab.Go(s.URL)
	tab.Wait("window.owned === 1")
}

// TestHostileInTheBrowser opens pages full of hostile texts in a real browser:
// no script of theirs runs.
func TestHostileInTheBrowser(t *testing.T) {
	b := browsertest.Open(t)
	l := newLab(t)
	texts := append(hostiletest.Texts(), sets...)
	var attempts []attempt
	for i, h := range texts {
		a := hostile(h.Text)
		a.agent, a.seed = fmt.Sprintf("%.200s", a.agent), fmt.Sprint(i)
		attempts = append(attempts, a)
	}
	r := l.write("hostile.hcl", l.start, attempts)
	for i, a := range attempts {
		l.finish(r, i, a)
	}
	l.close(r, steps(attempts...))
	l.get("/agents")
	l.indexed()
	base, first := l.serve()
	tab := b.Tab(browsertest.Forms()[2])
	tab.Go(first)
	shared := pagesOf(r.ID(), attempts[0])
	for _, name := range []string{"runs", "run", "steps", "attempts", "all attempts", "about", "competition", "agents"} {
		tab.Go(base + shared[name])
		tab.Run("document.querySelectorAll('details').forEach(d => d.open = true)")
		looked(t, tab, name)
	}
	for i, a := range attempts {
		if i%24 != 0 && i < len(hostiletest.Texts()) && !full() {
			continue // without a browser, the rest of the corpus is tested
		}
		for _, name := range []string{"attempt Story", "turn", "attempt Logs", "attempt Code", "attempt Submission", "attempt Checks"} {
			began := time.Now()
			tab.Go(base + pagesOf(r.ID(), a)[name])
			looked(t, tab, texts[i].Name+" in "+name)
			if took := time.Since(began); took > 5*time.Second {
				t.Logf("%s in %s took %s", texts[i].Name, name, took.Round(time.Millisecond))
			}
		}
	}
}

// TestLiveRunInTheBrowser watches a run from its start to its end without loading
// the page again, and uses the keys and the filter.
func TestLiveRunInTheBrowser(t *testing.T) {
	b := browsertest.Open(t)
	l := newLab(t)
	a := usual("aide", "0", "x")
	r := l.write("live.hcl", time.Now(), []attempt{a})
	defer r.Close()
	base, first := l.serve()
	tab := b.Tab(browsertest.Forms()[0])
	tab.Go(first)
	tab.Wait(`document.body.innerText.includes('live.hcl')`)
	tab.Go(base + runAddress(r.ID()))
	tab.Run("window.same = true")
	tab.Wait(`document.body.innerText.includes('0 of 3')`)
	address := pagesOf(r.ID(), a)["attempt Story"]
	now := event.At{Time: time.Now()}
	solve := `step.agent-run.solve["aide/demo-digits/0"]`
	r.Emit(event.StepStarted{At: now, Address: solve, Kind: "agent-run", Try: 1, CPUs: 2, MemoryBytes: 1 << 30, Devices: []string{"nvidia.com/gpu=0"}})
	r.Emit(event.StepPhase{At: now, Address: solve, Phase: step.Phase{Name: step.Running, Started: now.Time, LimitMillis: 60_000, MemoryBytes: 3 << 30, Submission: step.SubmissionInvalid, Reason: "<b>rows</b>"}})
	r.Emit(event.Waiting{At: now, For: []event.Wait{{Resource: "gpu", Steps: 3, Holders: 1}}})
	r.Emit(event.ExpectedEnd{At: now, End: now.Time.Add(time.Hour)})
	for _, want := range []string{"3.0 GiB", "invalid: <b>rows</b>", "nvidia.com/gpu=0", "1 of 1", "3 for GPUs", "in 1h00m"} {
		tab.Wait(`document.body.innerText.includes(` + fmt.Sprintf("%q", want) + `)`)
	}
	looked(t, tab, "a live run")
	if dir := os.Getenv("MLEFLOW_SHOTS"); dir != "" {
		tab.Shot(filepath.Join(dir, "live-desktop-light.png"))
	}
	tab.Run(`document.querySelector('[data-section=running] a').focus()`)
	l.finish(r, 0, a)
	tab.Wait(`document.body.innerText.includes('3 of 3')`)
	l.close(r, steps(a))
	tab.Wait(`document.querySelector('.pill.finished') && !document.querySelector('[data-live]')`)
	if tab.Run("window.same === true") != "true" {
		t.Error("the page was loaded again")
	}
	// Keys: to the runs, down to the first, into it, up again.
	tab.Key("g")
	tab.Key("r")
	tab.Wait(`location.pathname === '/runs' && document.querySelector('tbody a')`)
	tab.Key("j")
	tab.Wait(`document.activeElement.matches('tbody a')`)
	tab.Key("Enter")
	tab.Wait(`location.pathname.startsWith('/runs/2')`)
	tab.Go(base + address)
	tab.Key("u")
	tab.Wait(`location.pathname.startsWith('/runs/2')`)
	// The filter follows what is typed, in the address, too.
	tab.Go(base + runAddress(r.ID()) + "/steps")
	tab.Key("/")
	tab.Wait(`document.activeElement.matches('[data-filter] input')`)
	tab.Type("grade")
	tab.Wait(`document.querySelectorAll('tbody tr').length === 1 && location.search === '?q=grade'`)
	tab.Go(tab2(tab))
	tab.Wait(`document.querySelectorAll('tbody tr').length === 1 && document.querySelector('[data-filter] input').value === 'grade'`)
	looked(t, tab, "a filtered table")
}

// tab2 is the address that a tab shows.
func tab2(tab *browsertest.Tab) string { return strings.Trim(tab.Run("location.href"), `"`) }

// searchOn holds when a condition does, and goes on with a search that stopped after its
// time, as on a busy machine.
func searchOn(script string) string {
	return script + ` || (a => { if (a && !window.went) { window.went = true; a.click(); } })(document.querySelector('p a[rel=next]'))`
}

// TestTranscriptInTheBrowser reads an attempt's transcript as people do: it opens turns,
// goes to the next page, searches, follows a permanent link and looks for failures.
func TestTranscriptInTheBrowser(t *testing.T) {
	b := browsertest.Open(t)
	l := newLab(t)
	n := 3000
	if _, err := fmt.Sscan(os.Getenv("MLEFLOW_EXCHANGES"), &n); err != nil {
		n = 3000
	}
	a := usual("aide", "0", "x")
	a.exchanges = nil
	for i := range n {
		a.exchanges = append(a.exchanges, [2]string{fmt.Sprintf("question %d", i+1), fmt.Sprintf("answer %d", i+1)})
	}
	a.exchanges[1234][0] = "Traceback (most recent call last):\n  boom"
	r := l.write("long.hcl", l.start, []attempt{a})
	l.finish(r, 0, a)
	l.close(r, steps(a))
	base, first := l.serve()
	tab := b.Tab(browsertest.Forms()[0])
	tab.Go(first)
	tab.Go(base + pagesOf(r.ID(), a)["attempt Story"])
	tab.Run(`[...document.querySelectorAll('.tabs a')].find(a => a.innerText === 'Transcript').click()`)
	tab.Wait(`document.querySelector('#turn-1[open]')?.innerText.includes('question 1')`)
	tab.Run(`document.querySelector('#turn-1 summary').focus()`)
	tab.Key("n")
	tab.Key("o")
	tab.Wait(`document.querySelector('#turn-2[open]')?.innerText.includes('question 2') && location.hash === '#turn-2'`)
	tab.Run(`scrollTo(0, document.body.scrollHeight)`)
	tab.Wait(`document.querySelector('#turn-51')`)
	tab.Run(`document.querySelector('#turn-51').open = true`)
	tab.Wait(`document.querySelector('#turn-51 .body').innerText.includes('question 51')`)
	looked(t, tab, "a transcript")
	tab.Key("/")
	tab.Type("QUESTION 2999")
	tab.Key("Enter")
	tab.Wait(searchOn(`document.querySelector('.found mark')?.innerText === 'question 2999'`))
	looked(t, tab, "a search in a transcript")
	tab.Run(`document.querySelector('.found a').click()`)
	tab.Wait(`location.hash === '#turn-2999' && document.querySelector('#turn-2999[open]').getBoundingClientRect().top < innerHeight`)
	tab.Go(base + pagesOf(r.ID(), a)["attempt Transcript"] + "#turn-1500") // as somebody sent it
	tab.Wait(`document.querySelector('#turn-1500[open]')?.innerText.includes('question 1500')`)
	tab.Run(`document.querySelector('[data-errors]').click()`)
	tab.Wait(searchOn(`document.querySelector('.found a')?.innerText === 'Turn 1235'`))
	// A line of a log, as somebody sent it.
	tab.Go(base + pagesOf(r.ID(), a)["attempt Logs"] + "#L1")
	tab.Wait(`document.querySelector('#L1:target')`)
	looked(t, tab, "a line of a log")
}

// TestLogInTheBrowser follows the log of a step that runs, while something is typed.
func TestLogInTheBrowser(t *testing.T) {
	b := browsertest.Open(t)
	l := newLab(t)
	a := usual("aide", "0", "x")
	r := l.write("live.hcl", time.Now(), []attempt{a})
	defer r.Close()
	solve := `step.agent-run.solve["aide/demo-digits/0"]`
	r.Emit(event.StepStarted{At: event.At{Time: time.Now()}, Address: solve, Kind: "agent-run", Try: 1, CPUs: 2})
	log := r.Log(solve, 1)
	defer log.Close()
	line := func(text string) {
		if _, err := log.Write([]byte(text + "\n")); err != nil {
			t.Fatal(err)
		}
	}
	line("epoch 1")
	base, first := l.serve()
	tab := b.Tab(browsertest.Forms()[0])
	tab.Go(first)
	tab.Go(base + pagesOf(r.ID(), a)["attempt Logs"])
	tab.Wait(`document.querySelector('.logtext')?.innerText.includes('epoch 1')`)
	tab.Key("/")
	tab.Type("loss")
	for i := range 100 {
		line(fmt.Sprintf("epoch %d", i+2))
	}
	line("ERROR boom")
	tab.Wait(`document.querySelector('.l.error')?.innerText.includes('boom') && document.querySelector('[data-find]').value === 'loss'`)
	tab.Wait(`(e => e.scrollTop > 0 && e.scrollTop + e.clientHeight > e.scrollHeight - 2)(document.querySelector('.logtext'))`)
	tab.Run(`document.querySelector('[data-wrap]').click()`)
	tab.Wait(`document.querySelector('.logtext.unwrapped')`)
	looked(t, tab, "a log that grows")
}
