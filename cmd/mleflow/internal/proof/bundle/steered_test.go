package bundle

import (
	"errors"
	"testing"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/steps/agentrun"
)

// TestSteeredAuthor leaves out of a bundle who steered a run, and keeps the rest.
func TestSteeredAuthor(t *testing.T) {
	e := event.Steered{At: event.Now(), Request: step.Request{ID: "1", Act: step.Stop, Author: "ada@lab", Reason: "enough"}, Effect: "stopped"}
	got, ok := redacted(e, nil, true).(event.Steered)
	if !ok || got.Request.Author != nobody || got.Request.Reason != "enough" || got.Effect != "stopped" || e.Request.Author != "ada@lab" {
		t.Errorf("got %+v", got)
	}
}

// TestActsCutOut leaves acts out of a bundle, in one of the three places that have them, and
// makes list, statement and frame again.
func TestActsCutOut(t *testing.T) {
	const words = "stopped@3h12m0s time+2h"
	acts := func(address string, refused string, of ...step.Act) (list []event.Event) {
		for _, act := range of {
			e := event.Steered{At: event.Now(), Request: step.Request{ID: string(act), Act: act, Address: address, Author: nobody}, Refused: refused}
			list = append(list, e)
		}
		return list
	}
	const solve = "step.agent-run.solve"
	both := acts(solve, "", step.Stop, step.Extend)
	for name, tt := range map[string]struct {
		record, chain, ended string
		events               []event.Event
		where                string
	}{
		"honest":                    {words, words, "", both, ""},
		"honest, without a chain":   {words, "-", "", both, ""},
		"cancelled before":          {words, words, "cancel", append(acts(solve, "", step.Cancel), both...), ""},
		"nobody steered":            {"", "", "", nil, ""},
		"the journal lacks it":      {words, words, "", both[:1], eventsFile},
		"nor is there a chain":      {words, "-", "", both[1:], eventsFile},
		"it is said to be refused":  {words, words, "", acts(solve, "it has ended", step.Stop, step.Extend), eventsFile},
		"it is said to be another":  {words, words, "", acts("step.agent-run.other", "", step.Stop, step.Extend), eventsFile},
		"the record lacks it":       {"", words, "", both, chainFile},
		"both lack it":              {"", words, "", nil, chainFile},
		"the record has others":     {"time+1m", words, "", both, chainFile},
		"the chain lacks it":        {words, "", "", both, chainFile},
		"the cancelling was cut":    {words, words, "cancel", both, eventsFile},
		"the putting back was cut":  {words, words, "requeue", append(acts(solve, "", step.Cancel), both...), eventsFile},
		"all but the chain lack it": {"", "", "requeue", nil, eventsFile},
	} {
		m := newModel(t)
		m.records[0].Steered = tt.record
		m.events = append(m.events, tt.events...)
		if tt.chain != "-" {
			chain := steeredChain(t, m, tt.chain, tt.ended)
			c := newChain(m.records)
			_ = c.compare(chain, m.run.ID, m.records) // a lie is found later
			m.edit = func(files map[string][]byte) {
				var d Disclosure
				if err := parseForm(files[disclosureFile], &d, document); err != nil {
					t.Fatal(err)
				}
				d.Counted = c.Agents
				files[disclosureFile], _ = document(d)
				files[disclosurePage] = []byte(d.Markdown())
			}
			m.files[chainFile] = chain
		}
		x, err := examine(m.write(t), nil)
		if tt.where == "" {
			if err != nil || len(x.Acts) != len(tt.events) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		refused(t, name, err)
		var bad *Damage
		if errors.As(err, &bad); bad.Where != tt.where {
			t.Errorf("%s: found in %s, want %s (%v)", name, bad.Where, tt.where, err)
		}
	}
}

// steeredChain is the chain of a run whose attempt was steered, after a try that ended so.
func steeredChain(t *testing.T, m *model, steered, ended string) []byte {
	t.Helper()
	l, r := history.New(t.TempDir()), m.records[0]
	at := history.Mark(r.Address)
	action, err := digest.ParseActionID(r.Action)
	if err != nil {
		t.Fatal(err)
	}
	link := history.Link{Run: m.run.ID, Step: at, Action: action, Try: 1}
	for _, name := range agentrun.Counted(r.Fields) {
		link.Subjects = append(link.Subjects, history.Mark(name))
	}
	links := []history.Link{{Type: history.Declared, Run: m.run.ID, Text: m.run.Text, Steps: []string{at}}}
	try := func(status, steered string, result digest.ContentID) {
		began, end := link, link
		began.Type, end.Type, end.Status, end.Steered, end.Result = history.Began, history.Ended, status, steered, result
		links = append(links, began, end)
	}
	if ended != "" {
		try(history.StatusCancelled, ended, digest.ContentID{})
	}
	try(history.StatusRan, steered, engine.ResultID(r.outputs()))
	for _, one := range links {
		if err := l.Extend(one); err != nil {
			t.Fatal(err)
		}
	}
	text, err := l.Chain()
	if err != nil {
		t.Fatal(err)
	}
	return text
}
