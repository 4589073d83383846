package ui

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/ui/browsertest"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/history"
)

// TestCompareLeadsWithDifferences compares agents that differ in one figure and at one
// competition: both come first, what is equal is one line.
func TestCompareLeadsWithDifferences(t *testing.T) {
	l := newLab(t)
	run := l.rivals()
	l.get("/agents")
	l.indexed()
	_, body := l.get("/compare?of=" + escaped(runPrefix+run+"/aide") + "&of=" + escaped(runPrefix+run+"/dummy"))
	for _, want := range []string{
		"What differs most", "<bdi>Figure</bdi>", "<bdi>Other runs</bdi>", "<bdi>Smallest p</bdi>", "+50.0", "<bdi>above median</bdi>", "Equal: ", "any medal (0.0 %)", `class="plot curve"`, `class="area c1 faint"`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the comparison lacks %q", want)
		}
	}
	if a, b := strings.Index(body, "<code>demo-cancer</code></a></h3>"), strings.Index(body, "<code>demo-digits</code></a></h3>"); a < 0 || b < a {
		t.Error("the competition with a difference is not the first")
	}
	// Addresses of earlier versions name two sides as a and b.
	if _, old := l.get("/compare?a=" + escaped(agentPrefix+"aide") + "&b=" + escaped(agentPrefix+"dummy")); !strings.Contains(old, "+50.0") {
		t.Error("sides named a and b are not compared")
	}
}

// TestCompareThree compares three sides in all of their pairs with the first, and says
// what was changed between runs.
func TestCompareThree(t *testing.T) {
	l := newLab(t)
	first := l.rivals()
	a := attempt{agent: "aide", seed: "0", competition: "demo-cancer", score: 0.97, curve: "[]", message: "another note"}
	r := l.write("other.hcl", l.start.Add(time.Hour), []attempt{a})
	l.finish(r, 0, a)
	l.close(r, 2)
	l.indexed()
	q := url.Values{"of": {runPrefix + first + "/aide", runPrefix + first + "/dummy", runPrefix + r.ID(), runPrefix + "nope"}}
	if status, body := l.get("/compare?" + q.Encode()); status != 200 || !strings.Contains(body, "nope") {
		t.Errorf("a run that is not there: status %d", status)
	}
	q["of"] = q["of"][:3]
	_, body := l.get("/compare?" + q.Encode())
	for _, want := range []string{"The first of each pair minus the second", "Sides", "variable note", "another note", "<del>-# x</del>", "as in " + history.Nickname(r.ID()), "remove", "Only <bdi>aide in " + history.Nickname(first)} {
		if !strings.Contains(body, want) {
			t.Errorf("the comparison lacks %q", want)
		}
	}
}

// TestComparedLine shows that a curve ends with the score of what was handed in, better or
// worse than the best before, and that one without snapshots is none.
func TestComparedLine(t *testing.T) {
	half, more := 0.5, 0.6
	points := []grading.Moment{{Seconds: 60, Score: &half}, {Seconds: 120, Score: &more}, {Seconds: 180, Score: &half}}
	for final, want := range map[float64][]float64{0.9: {0.5, 0.6, 0.6, 0.9}, 0.55: {0.5, 0.6, 0.6, 0.55}} {
		exact, hour := grading.Number(final), 3600.0
		a := &results.Attempt{Made: results.Made{WallSeconds: &hour}}
		a.Report.ExactScore = &exact
		var got []float64
		for _, m := range bestLine(points, a) {
			got = append(got, m.Score)
		}
		if !slices.Equal(got, want) {
			t.Errorf("the curve is %v, not %v", got, want)
		}
		if bestLine(nil, a) != nil {
			t.Error("there is a curve of nothing")
		}
	}
}

// rivals is a run of two agents that are equal at one of two competitions.
func (l *lab) rivals() string {
	curve := `[{"seconds":600,"outcome":"scored","score":0.4,"medal":"none"},{"seconds":1200,"outcome":"scored","score":0.5,"medal":"none"}]`
	var list []attempt
	for _, agent := range []string{"aide", "dummy"} {
		for _, id := range []string{"demo-digits", "demo-cancer"} {
			for _, seed := range []string{"0", "1"} {
				a := attempt{agent: agent, seed: seed, competition: id, score: 0.5, curve: curve, message: "x"}
				if agent == "aide" && id == "demo-cancer" {
					a.score = 0.95
				}
				list = append(list, a)
			}
		}
	}
	r := l.write("rivals.hcl", l.start, list)
	for i, a := range list {
		l.finish(r, i, a)
	}
	l.close(r, 2*len(list))
	return r.ID()
}

// TestCompareInTheBrowser opens a comparison from a run.
func TestCompareInTheBrowser(t *testing.T) {
	b := browsertest.Open(t)
	l := newLab(t)
	run := l.rivals()
	l.get("/agents")
	l.indexed()
	base, first := l.serve()
	forms := browsertest.Forms()[:1]
	if os.Getenv("MLEFLOW_SHOTS") != "" {
		forms = sizes
	}
	for _, f := range forms {
		tab := b.Tab(f)
		tab.Go(first)
		tab.Go(base + runAddress(run))
		tab.Run("[...document.querySelectorAll('a')].find(a => a.innerText === 'Compare its agents').click()")
		tab.Wait("location.pathname === '/compare' && document.querySelector('svg.intervals') && document.readyState === 'complete'")
		looked(t, tab, "compare "+f.Name)
		if dir := os.Getenv("MLEFLOW_SHOTS"); dir != "" {
			tab.Shot(filepath.Join(dir, "compare-"+f.Name+".png"))
		}
	}
}
