package ui

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/hostiletest"
)

// TestFind finds runs, agents, competitions, attempts, reasons and lines of logs.
func TestFind(t *testing.T) {
	l := newLab(t)
	a, b := usual("owl", "3", "quokka <b>bold</b>"), usual("lynx", "4", "plain")
	b.reason, b.score = "rows are missing", 0
	a.logs["train/loss.txt"] = "epoch 1\nthe aardvark diverged\n"
	b.logs["data.bin"] = "\x00aardvark\n"
	r := l.write("zebra.hcl", l.start, []attempt{a, b})
	l.finish(r, 0, a)
	l.finish(r, 1, b)
	r.Emit(event.StepFinished{At: event.At{Time: l.start}, Address: solve(attempt{agent: "evicted"}), Kind: "agent-run", Status: event.Ran, Action: strings.Repeat("ab", 32)})
	l.close(r, steps(a, b))
	l.get("/agents")
	l.indexed()
	for query, want := range map[string][]string{
		"OWL": {`href="/agent?name=owl"`, "owl · demo-digits · 3"}, "digits": {`href="/competitions/demo-digits"`}, "zebra": {`href="/runs/` + r.ID() + `"`}, "lynx+missing": {"lynx · demo-digits · 4", "invalid submission rows are missing"},
		"started+quokka": {"started quokka &lt;b&gt;bold&lt;/b&gt;", "logs of ended attempts read, the newest run first; the agents' logs of 1 attempt are not in the cache", "tab=logs&amp;step=1&amp;line=1#L1"}, "aardvark+diverged": {"the aardvark diverged", "owl · demo-digits · 3 · train/loss.txt", "file=train%2Floss.txt&amp;line=2#L2", "1 log<"}, "xylophone": {"Nothing has all words"}, "": {"Type a name"},
	} {
		status, body := l.get("/search?q=" + query)
		for _, text := range want {
			if status != 200 || !strings.Contains(body, text) {
				t.Errorf("%q: status %d, lacks %s", query, status, text)
			}
		}
	}
	var found []hit
	if _, body := l.get("/find?q=owl"); json.Unmarshal([]byte(body), &found) != nil || len(found) != 2 || found[0] != (hit{"agent", "owl", "1 attempt", "/agent?name=owl"}) {
		t.Errorf("the palette gets %s", body)
	}
	if _, body := l.get("/find?q="); body != "[]" {
		t.Errorf("an empty text finds %s", body)
	}
}

// TestSearchStops says where a search of logs ended that found enough.
func TestSearchStops(t *testing.T) {
	l := newLab(t)
	var attempts []attempt
	for i := range searchLines + 3 {
		attempts = append(attempts, attempt{agent: "a", competition: "c", seed: fmt.Sprint(i), score: 0.5, curve: "[]", message: "needle"})
	}
	r := l.write("many.hcl", l.start, attempts)
	for i, a := range attempts {
		l.finish(r, i, a)
	}
	l.close(r, steps(attempts...))
	if _, body := l.get("/search?q=needle"); !strings.Contains(body, "50 logs") || !strings.Contains(body, "the search stopped at 50 lines") && !strings.Contains(body, "the search stopped after") {
		t.Errorf("the page does not say that it stopped: %s", body)
	}
}

// TestHostileSearch finds attempts with hostile names by parts of them.
func TestHostileSearch(t *testing.T) {
	l := newLab(t)
	for i, h := range hostiletest.Texts() {
		r := l.write("demo.hcl", l.start.Add(time.Duration(i)*time.Second), []attempt{hostile(h.Text)})
		l.finish(r, 0, hostile(h.Text))
		l.close(r, steps(hostile(h.Text)))
	}
	l.get("/agents")
	l.indexed()
	for _, path := range []string{"/search?q=demo", "/search?q=started", "/search?q=%3Cscript", "/attempts", "/attempts?group=agent", "/attempts?col=agent&col=reason&sort=reason&dir=asc", "/runs?sort=said&dir=desc"} {
		_, body := l.get(path)
		if err := hostiletest.HTML(strings.Replace(body, `<script src="/page.js" defer></script>`, "", 1)); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	_, body := l.get("/find?q=demo")
	if bytes.ContainsAny([]byte(body), "\x1b\x00<") {
		t.Errorf("the palette gets %q", body)
	}
}
