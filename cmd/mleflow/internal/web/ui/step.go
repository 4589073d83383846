package ui

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/addr"
)

// attemptTab is a part of the page of an attempt.
type attemptTab struct {
	// name is that in addresses.
	name, title string
	// add adds its sections to a page.
	add func(c *content, r *http.Request, a *shownAttempt) error
}

var attemptTabs = []attemptTab{
	{"", "Story", tabOf("story", "story", story)}, {"transcript", "Transcript", addTranscript},
	{"logs", "Logs", func(c *content, r *http.Request, a *shownAttempt) error { return addLogs(c, r, &a.shownStep) }},
	{"code", "Code", tabOf("code", "code", code)}, {"submission", "Submission", tabOf("submission", "submission", submission)},
	{"checks", "Checks", addChecks}, {"about", "About", tabOf("about", "attempt about", about)},
}

// tabOf is the add of a tab with one section.
func tabOf[T any](id, template string, data func(context.Context, *shownAttempt, url.Values) T) func(*content, *http.Request, *shownAttempt) error {
	return func(c *content, r *http.Request, a *shownAttempt) error {
		return c.add(id, template, data(r.Context(), a, r.URL.Query()))
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
	if _, planned := m.planned[address]; !planned && m.sums.Step(address) == nil {
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
			return addPlain(c, r, s)
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
	Facts    []page.Fact
	Kin      []page.Link
	Tabs     []page.Link
}

// headline names an attempt and how it ended.
type headline struct{ Name, Outcome, Class, Score, Medal string }

// addAttempt adds the tab of an attempt that the address names.
func addAttempt(c *content, r *http.Request, a *shownAttempt) error {
	tab := r.URL.Query().Get("tab")
	h := headOf(&a.shownStep, tab)
	h.Headline, h.Kin = headlineOf(a.result), kinLinks(a)
	if s := a.journal; s != nil && len(s.Conditions) > 0 {
		h.Isolation, h.Untrusted, h.Class = conditions.Described(s.Conditions)+h.Isolation, conditions.Untrusted(s.Conditions), conditions.Class(s.Conditions)
	}
	for _, t := range attemptTabs {
		h.Tabs = append(h.Tabs, page.Link{Text: t.title, Address: a.link(t.name), Here: t.name == tab})
	}
	if err := c.add("head", "step head", h); err != nil {
		return err
	}
	i := slices.IndexFunc(attemptTabs, func(t attemptTab) bool { return t.name == tab })
	if i < 0 {
		return errNothing
	}
	return attemptTabs[i].add(c, r, a)
}

func headlineOf(a *results.Attempt) *headline {
	h := &headline{Name: a.Agent, Medal: results.Medal(a.Report)}
	if rest := rest(a); rest != "" {
		h.Name += " · " + rest
	}
	if s := a.Report.ExactScore; s != nil {
		h.Score = page.Score(float64(*s))
	}
	h.Outcome, h.Class = endCell(a)
	return h
}

// addPlain adds what is known of a step that runs no agent.
func addPlain(c *content, r *http.Request, s *shownStep) error {
	h := headOf(s, r.URL.Query().Get("tab"))
	if t := took(s.journal, s.Now(), s.run); t != "" {
		h.Facts = append(h.Facts, page.Fact{Name: "took", Value: t})
	}
	d := struct {
		Why             []string
		After           []page.Link
		Outputs, Fields []page.Fact
		Missing         string
	}{Why: s.reasons, Missing: s.missing, Outputs: outputsOf(s), Fields: s.fields()}
	for _, a := range s.after {
		d.After = append(d.After, page.Link{Text: a, Address: stepAddress(s.run.ID, a, "")})
	}
	if err := c.add("head", "step head", h); err != nil {
		return err
	}
	if err := c.add("plain", "plain step", d); err != nil {
		return err
	}
	if err := addLogs(c, r, s); err != nil {
		return err
	}
	return c.add("outputs", "plain outputs", d)
}

func headOf(s *shownStep, tab string) stepHead {
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
func outputsOf(s *shownStep) (facts []page.Fact) {
	if s.record == nil {
		return nil
	}
	for _, name := range sortedKeys(s.record.Outputs) {
		v := s.record.Outputs[name]
		text := bounded(v.JSON, 2000)
		if !v.Ref.IsZero() {
			text = fmt.Sprintf("%s %s, %s", v.Ref.Kind, v.Ref.ID, view.Bytes(v.Ref.Size))
		}
		facts = append(facts, page.Fact{Name: name, Value: text})
	}
	return facts
}
