package bundle

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"slices"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/outputs"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/steps/agentrun"
)

// earlierRuns counts the attempts of earlier runs, so that a choice among attempts shows.
type earlierRuns struct {
	*collector
	// starts counts the starts of agents by action: by subject, and by address in this
	// pipeline file for subjects that are not the bundle's.
	starts map[string]map[string]int
	// subjects are the subjects of the bundle's attempts, and ours their actions, by
	// address.
	subjects, ours map[string]string
}

// addHistory adds the tries and the earlier runs.
func (c *collector) addHistory(d *Disclosure) error {
	h := earlierRuns{c, map[string]map[string]int{}, map[string]string{}, map[string]string{}}
	for _, s := range c.sum.Steps {
		if name := h.subject(s); name != "" {
			h.subjects[s.Address], h.ours[s.Address], h.starts[name] = name, s.Action, map[string]int{}
		}
	}
	made := slices.Collect(maps.Values(h.ours))
	slices.Sort(made)
	entries, err := c.src.History.List()
	if err != nil {
		return err
	}
	slices.Reverse(entries)
	info := c.src.Past.Info
	makers := map[string]*history.Summary{c.sum.ID: c.sum}
	for _, e := range entries {
		if e.ID == info.ID || !e.Started.Before(info.Started) {
			continue
		}
		other, err := c.src.History.Find(e.ID)
		if err != nil {
			return err
		}
		s, err := other.Summary()
		if errors.Is(err, fs.ErrNotExist) {
			continue // it is being removed
		}
		if err != nil {
			return err
		}
		makers[e.ID] = s
		if isRehearsal(s) != isRehearsal(c.sum) {
			continue // it tried nothing on these data
		}
		if run := h.add(s, e.Pipeline == info.Pipeline); e.Pipeline == info.Pipeline {
			d.Earlier = append(d.Earlier, run)
		} else if run.Attempts > 0 {
			d.Elsewhere = append(d.Elsewhere, run)
		}
	}
	for i := range d.Attempts {
		a := &d.Attempts[i]
		h.count(a, made)
		maker := makers[a.History.Run]
		if maker == nil || maker.Step(a.Address) == nil {
			continue
		}
		st := maker.Step(a.Address)
		a.History.Tries = st.LastTry
		for _, r := range st.Retries {
			a.History.Retries = append(a.History.Retries, c.mask.text(r.Error))
		}
	}
	return nil
}

// isRehearsal reports whether a run was made on the data of a rehearsal.
func isRehearsal(s *history.Summary) bool {
	return slices.ContainsFunc(s.Steps, func(st history.StepSummary) bool { return conditions.Rehearsed(st.Conditions) })
}

// count adds the attempts before one to its history. The bundle's other attempts, whose
// sorted actions are made, are visible anyway and don't count.
func (h *earlierRuns) count(a *Attempt, made []string) {
	for _, name := range []string{a.Address, h.subjects[a.Address]} {
		for action, n := range h.starts[name] {
			if _, other := slices.BinarySearch(made, action); !other || action == h.ours[a.Address] {
				a.History.Before += n
				a.History.Distinct++
			}
		}
	}
}

// add sums up an earlier run: all attempts of one of the same pipeline file, and of
// another one those of the same subjects.
func (h *earlierRuns) add(s *history.Summary, same bool) EarlierRun {
	run := EarlierRun{Run: s.ID, Started: s.Started.UTC(), State: s.State}
	for _, st := range s.Steps {
		name := h.subject(st)
		if _, ours := h.starts[name]; !ours || name == "" {
			name = st.Address
		}
		if st.Kind != conditions.AttemptKind || st.Started.IsZero() || name == st.Address && !same {
			continue
		}
		run.Attempts++
		switch {
		case st.Status == event.Failed:
			run.Failed++
			continue
		case st.Status != event.Ran || st.Tries != nil && st.Tries.Provisional != "":
			continue // without a final result there was nothing to choose from
		}
		if h.starts[name] == nil {
			h.starts[name] = map[string]int{}
		}
		h.starts[name][cmp.Or(st.Action, s.ID)]++
	}
	return run
}

// subject returns the subject of an attempt; empty if it failed or its record is gone.
func (h *earlierRuns) subject(s history.StepSummary) string {
	if s.Kind != conditions.AttemptKind {
		return ""
	}
	rec, err := outputs.Lookup(h.ctx, h.src.Cache, s.Action)
	if err != nil {
		return ""
	}
	return agentrun.Subject(rec.Fields)
}
