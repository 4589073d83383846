package bundle

import (
	"slices"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/ledger"
)

// addHistory tells of tries and of earlier runs: somebody who picks among attempts
// shows it here.
func addHistory(d *Disclosure, l *ledger.Ledger, past *ledger.Past, sum *ledger.Summary, m *masker) error {
	entries, err := l.List()
	if err != nil {
		return err
	}
	slices.Reverse(entries)
	before := map[string]int{}
	actions := map[string]map[string]bool{}
	makers := map[string]*ledger.Summary{sum.ID: sum}
	for _, e := range entries {
		if e.Pipeline != past.Info.Pipeline || e.ID == past.Info.ID || !e.Started.Before(past.Info.Started) {
			continue
		}
		other, err := l.Find(e.ID)
		if err != nil {
			return err
		}
		s, err := other.Summary()
		if err != nil {
			return err
		}
		makers[e.ID] = s
		d.Earlier = append(d.Earlier, earlier(s, before, actions))
	}
	for i := range d.Attempts {
		a := &d.Attempts[i]
		a.History.Before, a.History.Distinct = before[a.Address], len(actions[a.Address])
		if s := makers[a.History.Run]; s != nil {
			a.History.tried(s.Step(a.Address), m)
		}
	}
	return nil
}

// tried tells how often an attempt was begun.
func (h *History) tried(s *ledger.StepSummary, m *masker) {
	if s == nil {
		return
	}
	h.Tries = s.Attempts
	for _, r := range s.Retries {
		h.Retries = append(h.Retries, m.text(r.Error))
	}
}

// earlier sums up an earlier run.
func earlier(s *ledger.Summary, before map[string]int, actions map[string]map[string]bool) EarlierRun {
	run := EarlierRun{Run: s.ID, Started: s.Started.UTC(), State: s.State}
	for _, st := range s.Steps {
		if st.Kind != kindAgentRun || st.Started.IsZero() {
			continue
		}
		run.Attempts++
		if st.Status == event.Failed {
			run.Failed++
		}
		before[st.Address]++
		key := st.Action
		if key == "" {
			key = digest.Of([]byte(s.ID)).String()
		}
		if actions[st.Address] == nil {
			actions[st.Address] = map[string]bool{}
		}
		actions[st.Address][key] = true
	}
	return run
}
