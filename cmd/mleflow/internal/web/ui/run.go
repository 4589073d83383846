package ui

import (
	"cmp"
	"crypto/subtle"
	"math"
	"net/http"
	"path/filepath"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/attempts"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/history"
)

// tab is a page of a run, which fill completes.
func (u *UI) tab(name string, fill func(*http.Request, *model, *history.Summary, *content) error) func(*http.Request) (*content, error) {
	return func(r *http.Request) (*content, error) {
		m, unlock, err := u.openRun(r)
		if err != nil {
			return nil, err
		}
		defer unlock()
		sum := m.sums.Summary()
		c := u.runContent(m, sum, name)
		return c, cmp.Or(fill(r, m, sum, c), c.err)
	}
}

// openRun returns the model of the run that an address names, locked, and the function
// that unlocks it.
func (u *UI) openRun(r *http.Request) (*model, func(), error) {
	m, err := u.models.of(u.History, r.PathValue("run"))
	if err != nil {
		return nil, nil, err
	}
	m.mu.Lock()
	return m, m.mu.Unlock, nil
}

// runHead is the head of every page of a run.
type runHead struct {
	ID, Pipeline, State, Class, Started, Warning string
	Live                                         bool
	Tabs                                         []page.Link
}

// runContent begins a page of a run.
func (u *UI) runContent(m *model, sum *history.Summary, tab string) *content {
	live := sum.State == history.Running
	h := runHead{ID: sum.ID, Pipeline: filepath.Base(cmp.Or(sum.Pipeline, "?")), Started: page.Date(sum.Started), Live: live,
		Warning: m.state.Attempts.NotIsolated("were not isolated")}
	bad, all := m.state.Outcomes.Unscored()
	h.State, h.Class = page.Verdict(sum.State, bad, all)
	base := runAddress(sum.ID)
	for _, t := range [][2]string{{"Overview", ""}, {"Steps", "/steps"}, {"Attempts", "/attempts"}, {"About", "/about"}} {
		h.Tabs = append(h.Tabs, page.Link{Text: t[0], Address: base + t[1], Here: t[0] == tab})
	}
	h.Tabs = append(h.Tabs, page.Link{Text: "Report", Address: base + "/report"})
	c := &content{title: h.Pipeline + " · " + sum.ID, nav: "Runs", live: live, wide: true}
	c.show("head", "run head", h)
	return c
}

// aboutPage lists a run's command, variables and machine.
func (u *UI) aboutPage(r *http.Request, m *model, sum *history.Summary, c *content) error {
	sources, err := m.past.Sources()
	if err != nil {
		return err
	}
	files := factsOf(sources, func(text []byte) string { return bounded(text, 256<<10) })
	c.show("about", "about", struct {
		Info          history.Info
		Files         []page.Fact
		Said          history.About
		Action, Token string
	}{m.past.Info, files, m.past.About(), runAddress(sum.ID) + describeEnd, u.token})
	return nil
}

// describeEnd ends the one address that changes something.
const describeEnd = "/describe"

// describe changes the name, the tags and the note of a run, which no result depends on.
// It is the only change that the pages make. The guard has found that the request is from
// a page of ours; the token shows that the page was made by this process.
func (u *UI) describe(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	if subtle.ConstantTimeCompare([]byte(r.PostFormValue("token")), []byte(u.token)) != 1 {
		http.Error(w, "The page is of an earlier start of mleflow ui. Load it again.", http.StatusForbidden)
		return
	}
	past, err := u.History.Open(r.PathValue("run"))
	if err == nil {
		_, err = past.Describe(func(a *history.About) {
			a.RunName, a.Tags = strings.TrimSpace(r.PostFormValue("name")), tagsIn(r.PostFormValue("tags"))
			a.Note = strings.TrimSpace(strings.ReplaceAll(r.PostFormValue("note"), "\r\n", "\n"))
		})
	}
	if err != nil {
		u.fail(w, r, err)
		return
	}
	http.Redirect(w, r, u.Base+runAddress(past.Info.ID)+"/about", http.StatusSeeOther)
}

// tagsIn are the tags of a text, one KEY=VALUE a line. One without a value is none.
func tagsIn(text string) map[string]string {
	tags := map[string]string{}
	for line := range strings.Lines(text) {
		if key, value, _ := strings.Cut(strings.TrimSpace(line), "="); strings.TrimSpace(value) != "" {
			tags[strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
	}
	return tags
}

// stepRow is a step in the list of those of a run.
type stepRow struct {
	*history.StepSummary
	address, status, class, took, reason string

	seconds float64
}

// stepsPage lists the steps of a run.
func (u *UI) stepsPage(r *http.Request, m *model, sum *history.Summary, c *content) error {
	t := &table{Noun: "step", Path: runAddress(sum.ID) + "/steps", Placeholder: "address, error", Facets: []string{"status", "kind"}}
	rows := lists.Of(m.addresses(), func(address string) stepRow { return u.stepRow(m, sum, address) })
	fillTable(t, m.stepColumns(sum.ID), rows, func(s stepRow) gridLine { return gridLine{Address: s.address} })
	t.show(c, r)
	return nil
}

func (m *model) stepColumns(run string) []page.Column[stepRow] {
	return []page.Column[stepRow]{
		{Key: "step", Title: "Step", Of: func(s stepRow) cell { return cell{Text: s.address, Link: stepAddress(run, s.address, "")} }},
		{Key: "status", Title: "Status", Kind: page.Ends, Of: func(s stepRow) cell { return cell{Text: s.status, Class: s.class} }},
		{Key: "took", Title: "Took", Kind: page.Spells, Of: func(s stepRow) cell { return cell{Text: s.took, Value: s.seconds} }},
		{Key: "tries", Title: "Tries", Kind: page.Amounts, Of: func(s stepRow) cell { return page.Count(s.LastTry).If(s.LastTry > 0) }},
		{Key: "reason", Title: "Reason", Text: func(s stepRow) string { return brief(s.reason) }},
		{Key: "on", Title: "On", Text: func(s stepRow) string { return strings.Join(s.Devices, ", ") }},
		{Key: "why", Title: "Why it runs", Text: func(s stepRow) string { return brief(strings.Join(m.reasons(s.address), "; ")) }},
		{Key: "kind", Title: "Kind", Extra: true, Text: func(s stepRow) string { return m.kind(s.address) }},
	}
}

func (u *UI) stepRow(m *model, sum *history.Summary, address string) stepRow {
	s := cmp.Or(m.sums.Step(address), &history.StepSummary{})
	row := stepRow{StepSummary: s, address: address, status: sum.StatusOf(s), took: tookText(s, u.Now(), sum), seconds: math.NaN(), reason: brief(cmp.Or(s.Error, s.Reason))}
	if row.class = row.status; s.Status != "" && row.took != "" {
		row.seconds = s.Duration.Seconds()
	}
	if why := unsuccessful(s); why != "" {
		row.class, row.reason = "bad", strings.TrimSuffix(why+": "+row.reason, ": ")
	}
	return row
}

// unsuccessful is why a step that ran brought no score, "" if it did or never does.
func unsuccessful(s *history.StepSummary) string {
	pair := attempts.Pair{Attempt: s.Address}
	switch {
	case s.Status != event.Ran && s.Status != event.Cached, s.Kind != conditions.AttemptKind && s.Kind != conditions.GradeKind:
		return ""
	case s.Kind == conditions.GradeKind:
		pair = attempts.Pair{Grade: s.Address}
	}
	steps := map[string]*history.StepSummary{s.Address: s}
	a := (&attempts.Journal{Pairs: []attempts.Pair{pair}, Step: func(address string) *history.StepSummary { return steps[address] }}).List()[0]
	if text, mood := a.Ended(); mood == results.Bad {
		return strings.TrimSuffix(text+": "+a.Reason(), ": ")
	}
	return ""
}
