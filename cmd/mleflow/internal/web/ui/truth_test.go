package ui

import (
	"fmt"
	"html"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/history"
)

// ran writes a run whose attempts have all ended.
func (l *lab) ran(after time.Duration, list ...attempt) string {
	r := l.write("p.hcl", l.start.Add(after), list)
	for i, a := range list {
		l.finish(r, i, a)
	}
	l.close(r, steps(list...))
	return r.ID()
}

// said is the text of a page, without its marks.
func (l *lab) said(path string) string {
	status, body := l.get(path)
	if status != 200 {
		l.t.Fatalf("%s: status %d: %s", path, status, body)
	}
	return strings.Join(strings.Fields(html.UnescapeString(tagMatch.ReplaceAllString(body, " "))), " ")
}

func compared(of ...string) string { return "/compare?" + url.Values{"of": of}.Encode() }

// seeds are three attempts of an agent at one competition; every second one of those that can
// has a medal.
func seeds(agent string, score float64, change func(*attempt)) (list []attempt) {
	for seed := range 3 {
		a := attempt{agent: agent, competition: "demo-digits", seed: fmt.Sprint(seed), score: score, curve: "[]", message: "x", set: []string{"isolation=sandbox", "task=own", "time=10m"}, program: "first"}
		if change != nil {
			change(&a)
		}
		list = append(list, a)
	}
	return list
}

// planted has two agents under two time limits, with a repeated run, a rehearsal, a masked
// version, a fork, and another program of one of them.
func planted(t *testing.T) *lab {
	l := newLab(t)
	under := func(set string) func(*attempt) {
		return func(a *attempt) { a.set = strings.Fields("isolation=sandbox task=own " + set) }
	}
	keyed := func(a *attempt) { a.made = "once" }
	l.ran(0, append(seeds("good", 0.98, keyed), seeds("weak", 0.5, keyed)...)...)
	l.ran(time.Hour, append(seeds("good", 0.98, keyed), seeds("weak", 0.5, keyed)...)...) // from the cache
	l.ran(2*time.Hour, append(seeds("good", 0.5, under("time=11m")), seeds("weak", 0.98, under("time=11m"))...)...)
	l.ran(3*time.Hour, append(seeds("good", 0.1, under("time=10m data=rehearsal")), seeds("weak", 1, under("time=10m data=rehearsal"))...)...)
	l.ran(4*time.Hour, seeds("good", 0.2, func(a *attempt) { a.version = "v1m" })...)
	l.ran(5*time.Hour, seeds("weak", 1, func(a *attempt) { a.forked = "0123456789ab@1m" })[:1]...)
	l.ran(6*time.Hour, seeds("weak", 0.4, func(a *attempt) { a.program = "second" })...)
	l.get("/agents")
	l.indexed()
	return l
}

// TestOneClassIsCompared shows that Compare counts an attempt once, whatever the number of its
// runs, and pools no classes, rehearsals, masked versions, forks or programs.
func TestOneClassIsCompared(t *testing.T) {
	l := planted(t)
	first, second := results.ProgramOf(map[string]string{"agent.command": "first"}), results.ProgramOf(map[string]string{"agent.command": "second"})
	for name, tt := range map[string]struct {
		path  string
		wants []string
	}{
		"newest program": {compared("agent:good", "agent:weak"), []string{"good is better than weak at 1 of 1 competition; any medal +100.0 points", "3 and 3 attempts", "good has more medals at demo-digits", "3 of 3 and 0 of 3",
			"good: 9 attempts are not compared: 3 rehearsals, 3 masked, 3 under other conditions", "weak: 10 attempts are not compared: 3 rehearsals, 1 fork, 3 under other conditions, 3 of", "weak (program " + first[:6] + "…), 10 attempts",
			"0.98", "0.4 ", "Compare in class A , class B"}},
		"earlier program": {compared("agent:good", "agent:weak@"+first), []string{"good is better than weak (program " + first[:6] + "…) at 1 of 1", "0.98", "0.5 ", "3 and 3 attempts"}},
		"newest by name":  {compared("agent:good", "agent:weak@"+second), []string{"good is better than weak (program " + second[:6] + "…) at 1 of 1"}},
		"another class": {compared("agent:good", "agent:weak") + "&class=" + url.QueryEscape("isolation sandbox, task own, time 11m, cpus/memory/gpus/network/budget/feedback/knowledge not recorded"), []string{"good is worse than weak at 1 of 1 competition; any medal -100.0 points", "3 and 3 attempts",
			"weak has more medals at demo-digits"}},
	} {
		body := l.said(tt.path)
		for _, want := range tt.wants {
			if !strings.Contains(body, want) {
				t.Errorf("%s does not say %q: %.900s", name, want, body[strings.Index(body, "Z-0001 Add")+7:])
			}
		}
	}
	if body := l.said(compared("agent:good", "agent:weak") + "&class=B"); !strings.Contains(body, "Class B") {
		t.Error("a class cannot be chosen by its letter")
	}
}

// TestAgentsByClass has a row for each agent, program and class, and no share of medals of a
// rehearsal.
func TestAgentsByClass(t *testing.T) {
	l := planted(t)
	first := results.ProgramOf(map[string]string{"agent.command": "first"})[:6]
	_, body := l.get("/agents")
	want := []string{"good A 3 3 (100%) 0.25", "good D 3 0 (0%) ", "good C 3 0 (0%) ", "good B 3 rehearsal ",
		"weak A 3 0 (0%) ", "weak (program " + first + "…) A 3 0 (0%) ", "weak (program " + first + "…) C 3 3 (100%) 0.25", "weak (program " + first + "…) B 3 rehearsal "}
	var got []string
	for _, row := range gridRowsOf(body) {
		got = append(got, strings.Join(append(row[:3:3], row[4], row[10]), " "))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	text := l.said("/agents")
	for _, want := range []string{"Class A: isolation sandbox, task own, time 10m, cpus/memory/gpus/network/budget/feedback/knowledge not recorded .", "1 attempt is not compared: 1 fork."} {
		if !strings.Contains(text, want) {
			t.Errorf("the list of agents lacks %q", want)
		}
	}
}

// TestBestIsReal takes the best score of a competition from a real attempt that counts, and
// marks the runs and groups of rehearsals.
func TestBestIsReal(t *testing.T) {
	l := planted(t)
	_, body := l.get("/competitions?q=demo-digits&col=attempts&col=medals&col=best&col=by&col=class")
	if diff := cmp.Diff([]string{"25 | 6 | 0.98 | good | A"}, columnsOf(gridRowsOf(body), 1, 2, 3, 4, 5)); diff != "" {
		t.Error(diff)
	}
	var runs []string
	_, body = l.get("/runs?col=medals&col=best&sort=started&dir=asc")
	for _, row := range gridRowsOf(body) {
		runs = append(runs, strings.TrimSpace(row[1]+" "+row[2]))
	}
	if diff := cmp.Diff([]string{"3 of 6 100.0 %", "3 of 6 100.0 %", "3 of 6 100.0 %", "rehearsal", "0 of 3 0.0 %", "", "0 of 3 0.0 %"}, runs); diff != "" {
		t.Error(diff)
	}
	_, body = l.get("/attempts?group=agent&fold=1&col=medal")
	if diff := cmp.Diff([]string{"good (class A) 3 | 100.0 ± 0.0 %", "good (class B) 3 | rehearsal", "good (class C) 3 | 0.0 ± 0.0 %", "good (class D) 3 | 0.0 ± 0.0 %"}, columnsOf(gridRowsOf(body), 0, 1)[:4]); diff != "" {
		t.Error(diff)
	}
}

// TestRunsAreMatchedByAgent compares runs agent by agent where they share one, their only
// agents where they share none, and asks which where that is not clear.
func TestRunsAreMatchedByAgent(t *testing.T) {
	l := newLab(t)
	keyed := func(a *attempt) { a.made = "once" }
	both := l.ran(0, append(seeds("good", 0.98, nil), seeds("weak", 0.5, keyed)...)...)
	weak := l.ran(time.Hour, seeds("weak", 0.5, keyed)...)
	good := l.ran(2*time.Hour, seeds("good", 0.98, nil)...)
	others := l.ran(3*time.Hour, append(seeds("x", 0.6, nil), seeds("y", 0.5, nil)...)...)
	for name, tt := range map[string]struct{ path, want string }{
		"a shared agent": {compared("run:"+both, "run:"+weak), "are the same 3 attempts: nothing differs.|have the same 3 attempts: nothing differs."},
		"no agent":       {compared("run:"+good, "run:"+weak), "any medal +100.0 points"},
		"which":          {compared("run:"+both, "run:"+others), "has good, weak and"},
		"chosen":         {compared("run:"+both+"/good", "run:"+others+"/x"), "any medal +100.0 points"},
		"an agent":       {compared("run:"+both, "agent:weak"), "nothing differs."},
	} {
		l.indexed()
		body, found := l.said(tt.path), false
		for want := range strings.SplitSeq(tt.want, "|") {
			found = found || strings.Contains(body, want)
		}
		if !found {
			t.Errorf("%s does not say %q: %.900s", name, tt.want, body[strings.LastIndex(body, " Add ")+5:])
		}
	}
}

// TestCausesAreFound says of an agent that crashed what its log says, in every list and in the
// search.
func TestCausesAreFound(t *testing.T) {
	l := newLab(t)
	a := attempt{agent: "aide", competition: "demo-digits", seed: "0", message: "x"}
	r := l.write("crash.hcl", l.start, []attempt{a})
	l.crash(r, a, "ModuleNotFoundError: No module named 'torch'")
	l.close(r, 2)
	l.get("/agents")
	l.indexed()
	for _, path := range []string{runAddress(r.ID()) + "/attempts", runAddress(r.ID()) + "/attempts?q=modulenotfound", "/attempts?q=ModuleNotFound", "/search?q=modulenotfounderror+torch", stepAddress(r.ID(), solve(a), "")} {
		if body := l.said(path); !strings.Contains(body, "ModuleNotFoundError: No module named 'torch'") || strings.Contains(body, "there is no submission") {
			t.Errorf("%s does not say why: %s", path, body)
		}
	}
}

// TestRunsSayWhyTheyStopped gives the first error of a run that failed, and how far one came
// that was stopped or killed.
func TestRunsSayWhyTheyStopped(t *testing.T) {
	l := newLab(t)
	a := attempt{agent: "aide", competition: "demo-digits", seed: "0", message: "x"}
	begin := func(after time.Duration) *history.Run {
		r := l.write("p.hcl", l.start.Add(after), []attempt{a})
		r.Emit(event.RunStarted{At: event.At{Time: l.start}, Run: r.ID(), Steps: 2})
		return r
	}
	end := func(r *history.Run, e event.RunFinished) {
		e.Run = r.ID()
		r.Emit(e)
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	failed, cancelled, killed := begin(0), begin(time.Hour), begin(2*time.Hour)
	failed.Emit(event.StepFinished{At: event.At{Time: l.start}, Address: "step.prepare.data", Kind: "prepare", Status: event.Failed, Error: "no such file"})
	end(failed, event.RunFinished{Status: event.Failed, Failed: 1, Skipped: 2})
	end(cancelled, event.RunFinished{Status: event.Cancelled, Ran: 1, Cancelled: 1})
	if err := killed.Close(); err != nil {
		t.Fatal(err)
	}
	_, body := l.get("/runs?col=reason&sort=started&dir=asc")
	if diff := cmp.Diff([]string{"step.prepare.data: no such file", "stopped after 1 of 2 steps", "killed, or its machine stopped"}, columnsOf(gridRowsOf(body), 1)); diff != "" {
		t.Error(diff)
	}
}

// TestNothingIsShared says which classes the sides have that have none in common.
func TestNothingIsShared(t *testing.T) {
	l := newLab(t)
	l.ran(0, append(seeds("good", 0.98, nil), seeds("weak", 0.5, func(a *attempt) { a.set = []string{"isolation=none", "task=own"} })...)...)
	l.get("/agents")
	l.indexed()
	want := "good and weak have no attempts of the same conditions. good has class B, weak class A."
	if body := l.said(compared("agent:good", "agent:weak")); !strings.Contains(body, want) {
		t.Errorf("the page does not say %q: %s", want, body)
	}
}
