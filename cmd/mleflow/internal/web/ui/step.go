package ui

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/steps/agentrun"
)

// attemptTab is a part of the page of an attempt.
type attemptTab struct {
	// name is that in addresses.
	name, title string
	// add adds its sections to a page.
	add func(c *content, r *http.Request, a *shownAttempt)
}

var attemptTabs = []attemptTab{
	{"", "Story", tabOf("story", "story", story)}, {"transcript", "Transcript", addTranscript},
	{"logs", "Logs", func(c *content, r *http.Request, a *shownAttempt) { addLogs(c, r, &a.shownStep) }},
	{"code", "Code", tabOf("code", "code", codePage)}, {"submission", "Submission", tabOf("submission", "submission", submission)},
	{"checks", "Checks", addChecks}, {"about", "About", tabOf("about", "attempt about", aboutAttempt)},
}

// tabOf is the add of a tab with one section.
func tabOf[T any](id, template string, data func(context.Context, *shownAttempt, url.Values) T) func(*content, *http.Request, *shownAttempt) {
	return func(c *content, r *http.Request, a *shownAttempt) {
		c.show(id, template, data(r.Context(), a, r.URL.Query()))
	}
}

// stepPage shows a step; one that runs an agent with its story, and one that
// grades as the attempt that it grades.
func (u *UI) stepPage(r *http.Request) (*content, error) {
	m, unlock, err := u.openRun(r)
	if err != nil {
		return nil, err
	}
	defer unlock()
	parsed, err := addr.Parse(r.URL.Query().Get("address"))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNothing, err)
	}
	address := parsed.String()
	if attempt := m.attemptOf(address); m.kind(address) == conditions.GradeKind && attempt != "" && r.URL.Query().Get("tab") != "grade" {
		address = attempt
	}
	if m.planned[address] == nil && m.sums.Step(address) == nil {
		return nil, fmt.Errorf("%w: the run has no step %s", errNothing, address)
	}
	var result *results.Attempt
	if m.kind(address) == conditions.AttemptKind {
		list, err := u.attemptsOf(r.Context(), m, m.sums.Summary())
		if err != nil {
			return nil, err
		}
		result = &results.Attempt{Address: address}
		if i := slices.IndexFunc(list, func(a *results.Attempt) bool { return a.Address == address }); i >= 0 {
			result = list[i]
		}
	}
	var c *content
	err = u.Results(m.past, func(store Results) error {
		s := openStep(r.Context(), u.Source, m, store, address)
		c = &content{title: page.Name(address) + " · " + s.run.ID, nav: "Runs", wide: true, live: s.live}
		if result == nil {
			addPlain(c, r, s)
			return c.err
		}
		a := u.openAttempt(m, s)
		now, _ := u.results.now()
		a.result, a.kin = result, kinOf(result, now.all)
		return addAttempt(c, r, a)
	})
	return c, err
}

// stepHead is the head of the pages of a step.
type stepHead struct {
	Run, RunLink, Address, Status, Error, Isolation, Class, CachedFrom, CachedLink string
	Untrusted                                                                      bool
	// Headline names an attempt.
	Headline *headline
	Facts    page.Facts
	Kin      []page.Link
	Tabs     []page.Link
}

// headline names an attempt and how it ended.
type headline struct {
	Name, Outcome, Class, Score, Medal string
	Integrity                          page.Cell
}

// addAttempt adds the tab of an attempt that the address names.
func addAttempt(c *content, r *http.Request, a *shownAttempt) error {
	tab := r.URL.Query().Get("tab")
	h := stepHeadOf(&a.shownStep, tab)
	h.Headline, h.Kin = headlineOf(a.result), kinLinks(a)
	if s := a.journal; s != nil && len(s.Conditions) > 0 {
		h.Isolation, h.Untrusted, h.Class = conditions.Described(s.Conditions)+h.Isolation, conditions.Untrusted(s.Conditions), conditions.Class(s.Conditions)
	}
	h.Tabs = lists.Of(attemptTabs, func(t attemptTab) page.Link {
		return page.Link{Text: t.title, Address: a.link(t.name), Here: t.name == tab}
	})
	c.show("head", "step head", h)
	i := slices.IndexFunc(attemptTabs, func(t attemptTab) bool { return t.name == tab })
	if i < 0 {
		return errNothing
	}
	attemptTabs[i].add(c, r, a)
	return c.err
}

func headlineOf(a *results.Attempt) *headline {
	h := &headline{Name: a.Agent + view.After(" · ", nameInAgent(a)), Medal: results.Medal(a.Report)}
	if s := a.Report.ExactScore; s != nil {
		h.Score = page.Score(float64(*s))
	}
	h.Outcome, h.Class = endCell(a)
	h.Integrity = page.Integrity(a)
	return h
}

// addPlain adds what is known of a step that runs no agent.
func addPlain(c *content, r *http.Request, s *shownStep) {
	h := stepHeadOf(s, r.URL.Query().Get("tab"))
	h.Facts.Add("took", tookText(s.journal, s.Now(), s.run), "")
	d := struct {
		Why             []string
		After           []page.Link
		Outputs, Fields []page.Fact
		Missing         string
	}{Why: s.reasons, Missing: s.missing, Outputs: outputsOf(s), Fields: s.fields()}
	d.After = lists.Of(s.after, func(a string) page.Link { return page.Link{Text: a, Address: stepAddress(s.run.ID, a, "")} })
	c.show("head", "step head", h)
	c.show("plain", "plain step", d)
	addLogs(c, r, s)
	c.show("outputs", "plain outputs", d)
}

func stepHeadOf(s *shownStep, tab string) stepHead {
	h := stepHead{Run: s.run.ID, RunLink: runAddress(s.run.ID), Address: s.address, Status: s.status}
	if j := s.journal; j != nil {
		h.Error = j.Error
		if j.Tries != nil && j.Tries.Spoilt > 0 {
			h.Isolation = fmt.Sprintf(", %d ended by the environment before", j.Tries.Spoilt)
		}
		if j.MadeIn != "" && j.MadeIn != s.run.ID {
			h.CachedFrom, h.CachedLink = j.MadeIn, stepAddress(j.MadeIn, s.address, tab)
		}
	}
	return h
}

// outputsOf lists the outputs of a step.
func outputsOf(s *shownStep) []page.Fact {
	if s.record == nil {
		return nil
	}
	return factsOf(s.record.Outputs, func(v cache.Value) string {
		if v.Ref.IsZero() {
			return bounded(v.JSON, 2000)
		}
		return fmt.Sprintf("%s %s, %s", v.Ref.Kind, v.Ref.ID, view.Bytes(v.Ref.Size))
	})
}

// aboutData is the page of what an attempt was allowed and what it used.
type aboutData struct {
	Stats, Models, Limits, Fields, Packages []page.Fact
	Missing, RunNote                        string
	Environment                             history.Info
}

// aboutAttempt is the attempt's limits, environment, figures and key.
func aboutAttempt(_ context.Context, a *shownAttempt, _ url.Values) aboutData {
	d := aboutData{Missing: a.missing, Packages: packagesOf(a)}
	if a.stats != nil {
		d.Stats, d.Models = statFacts(a.stats), factsOf(a.stats.Models, modelText)
	}
	for _, f := range a.fields() {
		if agentrun.IsLimit(f.Name) {
			d.Limits = append(d.Limits, f)
		} else {
			d.Fields = append(d.Fields, f)
		}
	}
	if text := a.result.ByHand(); text != "" {
		d.Limits = append(d.Limits, page.Fact{Name: "by hand", Value: text})
	}
	past := a.past
	if a.record != nil && a.record.Run != "" && a.record.Run != a.run.ID {
		d.RunNote = "The attempt was executed by the run " + a.record.Run
		if other, err := a.History.Open(a.record.Run); err == nil {
			past = other
			d.RunNote += "."
		} else {
			d.RunNote += ", which is not in this run history; this is the environment of the present one."
		}
	}
	d.Environment = past.Info
	return d
}

// packagesOf returns the packages of the agent's Python environment, as listed by the step
// that installed them.
func packagesOf(a *shownAttempt) (facts []page.Fact) {
	for _, address := range a.after {
		var versions map[string]string
		if s := a.run.Step(address); s != nil && s.Kind == "python" && decode(s.Outputs["packages"], &versions) {
			facts = append(facts, factsOf(versions, func(version string) string { return version })...)
		}
	}
	return facts
}

func statFacts(s *agentrun.Stats) []page.Fact {
	facts := page.Facts{{Name: "wall time", Value: view.Duration(view.Seconds(s.WallSeconds))}, {Name: "processor time", Value: view.Duration(view.Seconds(s.CPUSeconds))},
		{Name: "peak memory", Value: view.Bytes(s.PeakMemoryBytes)}, {Name: "exit status", Value: fmt.Sprint(s.ExitCode)}, {Name: "runtime", Value: s.Runtime},
		{Name: "isolated", Value: yes(s.Isolated)}, {Name: "network", Value: s.Network}, {Name: "connections", Value: fmt.Sprint(s.Connections)}, {Name: "validity calls", Value: fmt.Sprint(s.Validations)},
		{Name: "refused calls of mlebench", Value: fmt.Sprint(s.ShimCalls)}, {Name: "resumed", Value: yes(s.Resumed)}}
	facts.Add("devices", strings.Join(s.Devices, ", "), "")
	for _, what := range view.SortedKeys(s.Enforced) {
		facts.Add("limit of "+what+" held by", s.Enforced[what], "")
	}
	facts.Add("lost services", strings.Join(s.LostServices, ", "), "")
	facts.Add("not harvested", strings.Join(s.LeftOut, "; "), "")
	facts.Add("processes left at the end", view.When(s.LeftoverProcesses > 0, fmt.Sprint(s.LeftoverProcesses)), "")
	facts.Add("log left out", view.When(s.LogBytesDropped > 0, view.Bytes(s.LogBytesDropped)), "")
	return facts
}

func yes(is bool) string { return view.Either(is, "yes", "no") }

func modelText(u results.ModelUse) string {
	parts := view.Parts{u.Provider + " " + strings.Join(u.Models, ", "), view.Plural(int(u.Requests), "request"),
		view.Count(u.InputTokens) + " tokens in (" + view.Count(u.CachedInputTokens) + " cached)", view.Count(u.OutputTokens) + " out (" + view.Count(u.ReasoningTokens) + " reasoning)", u.Charges()}
	parts.If(u.Refused > 0, view.Count(u.Refused)+" refused")
	parts.If(u.Failed > 0, view.Count(u.Failed)+" failed")
	parts.If(u.Retries > 0, view.Count(u.Retries)+" retries")
	parts.If(u.Replayed > 0, view.Count(u.Replayed)+" replayed")
	parts.If(u.Unreported > 0, view.Count(u.Unreported)+" without reported usage")
	wait := func(seconds float64) string { return view.Duration(view.Seconds(seconds)) }
	parts = append(parts, "first byte after "+wait(u.FirstByteMedian)+" (median), "+wait(u.FirstByteLongest)+" (longest)", "waited "+wait(u.WaitedSeconds))
	parts.If(u.Exhausted, "budget exhausted")
	return parts.Join(" · ")
}
