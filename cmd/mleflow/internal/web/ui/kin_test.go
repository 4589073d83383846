package ui

import (
	"strings"
	"testing"
	"time"

	"github.com/mleflow/mleflow/competitions/results"
)

// TestForksAreShown links an attempt and its forks to each other, marks forks in the lists,
// and draws the scores of both over one axis.
func TestForksAreShown(t *testing.T) {
	l := newLab(t)
	write := func(after time.Duration, a attempt) (id string, pages map[string]string) {
		r := l.write("p.hcl", l.start.Add(after), []attempt{a})
		l.finish(r, 0, a)
		l.close(r, steps(a))
		return r.ID(), pagesOf(r.ID(), a)
	}
	curve := func(score string) string {
		return `[{"seconds":3600,"outcome":"scored","score":0.5,"medal":"none"},{"seconds":28800,"outcome":"scored","score":` + score + `,"medal":"none"}]`
	}
	first := attempt{agent: "first", seed: "0", competition: "demo-digits", score: 0.6, curve: curve("0.6")}
	id, origin := write(0, first)
	past, err := l.ui.History.Open(id)
	if err != nil {
		t.Fatal(err)
	}
	var key string
	for e := range past.Finished("agent-run") {
		key = e.Action[:12]
	}
	second := attempt{agent: "second", seed: "0", competition: "demo-digits", score: 0.8, curve: curve("0.8"), forked: key + "@6h"}
	forkRun, fork := write(time.Hour, second)
	_, lost := write(2*time.Hour, attempt{agent: "third", seed: "0", competition: "demo-digits", score: 0.7, forked: "0123456789ab@2h"})
	l.indexed()
	for name, c := range map[string]struct {
		page  string
		wants []string
	}{
		"origin": {origin["attempt Story"], []string{"Forked after 6h:", fork["attempt Story"], "forked after 6h"}},
		"fork":   {fork["attempt Story"], []string{"Forked after 6h, so no board counts it, from", origin["attempt Story"], "the attempt that was forked"}},
		"list":   {"/runs/" + forkRun + "/attempts", []string{"1 forked"}},
		"runs":   {"/runs", []string{"1 forked"}},
		"lost":   {lost["attempt Story"], []string{"0123456789ab, which no run here has"}},
	} {
		_, body := l.get(c.page)
		for _, want := range c.wants {
			if want = strings.ReplaceAll(want, "&", "&amp;"); !strings.Contains(body, want) {
				t.Errorf("%s does not say %q:\n%.3000s", name, want, body)
			}
		}
	}
	if from, at := forkedFrom(&results.Attempt{AttemptAction: "ab"}); from+at != "" {
		t.Errorf("an attempt without conditions is a fork of %s", from)
	}
}
