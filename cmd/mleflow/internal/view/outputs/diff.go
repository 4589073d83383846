package outputs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/history"
)

// Change is a difference between two runs; an empty side lacks the item.
type Change struct {
	Name string `json:"name"`
	Was  string `json:"was"`
	Is   string `json:"is"`
}

// StepChange is a step whose key differs, with the inputs that differ.
type StepChange struct {
	Address string   `json:"address"`
	Kind    string   `json:"kind"`
	Inputs  []Change `json:"inputs,omitempty"`
	// Note says why there are no inputs.
	Note string `json:"note,omitempty"`
}

// Score is the score of a graded attempt in both runs.
type Score struct {
	Address    string   `json:"address"`
	Was        *float64 `json:"was"`
	Is         *float64 `json:"is"`
	WasOutcome string   `json:"was_outcome,omitempty"`
	IsOutcome  string   `json:"is_outcome,omitempty"`
	// Difference is Is less Was, where both have a score.
	Difference *float64 `json:"difference"`
}

// AgentChange compares an agent of two runs with itself, where the runs have attempts of the
// same conditions.
type AgentChange struct {
	Agent string `json:"agent"`
	// Sentence is the comparison in words, or the reason why there is none.
	Sentence string `json:"sentence"`
	// Class is the class of the attempts that are compared.
	Class string `json:"class,omitempty"`
	// FromAside and ToAside count the attempts of each run that are not compared.
	FromAside string `json:"from_aside,omitempty"`
	ToAside   string `json:"to_aside,omitempty"`
}

// Difference lists the differences between two runs.
type Difference struct {
	From string `json:"from"`
	To   string `json:"to"`
	// FromUntrusted and ToUntrusted report for each run whether an attempt was not
	// isolated; see conditions.Untrusted.
	FromUntrusted bool `json:"from_untrusted"`
	ToUntrusted   bool `json:"to_untrusted"`
	// Pipeline reports whether the text of the pipeline differs.
	Pipeline    bool     `json:"pipeline"`
	Variables   []Change `json:"variables"`
	Environment []Change `json:"environment"`
	// Only are the steps that only one run has, as changes of their outcome.
	Only  []Change     `json:"only"`
	Steps []StepChange `json:"steps"`
	// Outcomes are the steps and the outputs of the pipeline whose outcome differs.
	Outcomes []Change `json:"outcomes"`
	Outputs  []Change `json:"outputs"`
	Scores   []Score  `json:"scores"`
	// MedalsWon are the graded attempts with a higher medal in the second run, MedalsLost
	// those with a lower one; a side without a medal is "none".
	MedalsWon  []Change `json:"medals_won"`
	MedalsLost []Change `json:"medals_lost"`
	// Agents are those that both runs have.
	Agents []AgentChange `json:"agents"`
}

// Empty reports whether the runs agree.
func (d *Difference) Empty() bool {
	return !d.Pipeline && len(d.Variables)+len(d.Environment)+len(d.Only)+len(d.Steps)+len(d.Outcomes)+len(d.Outputs)+len(d.Scores) == 0
}

func untrusted(run *history.Summary) bool {
	var t conditions.Tally
	for _, s := range run.Steps {
		t.Add(s.Kind, s.Conditions)
	}
	return t.Untrusted()
}

// Diff compares two runs; both are in one cache.
func Diff(ctx context.Context, from, to *Source, pipeline bool) (*Difference, error) {
	d := &Difference{From: from.Run.ID, To: to.Run.ID, Pipeline: pipeline}
	d.FromUntrusted, d.ToUntrusted = untrusted(from.Run), untrusted(to.Run)
	d.Variables = changes(texts(from.Run.Variables), texts(to.Run.Variables))
	d.Environment = changes(environment(from.Run), environment(to.Run))
	d.Outputs = changes(outputs(from.Run), outputs(to.Run))
	for _, st := range from.Run.Steps {
		if to.Run.Step(st.Address) == nil {
			d.Only = append(d.Only, Change{Name: st.Address, Was: status(&st)})
		}
	}
	for i := range to.Run.Steps {
		is := &to.Run.Steps[i]
		was := from.Run.Step(is.Address)
		if was == nil {
			d.Only = append(d.Only, Change{Name: is.Address, Is: status(is)})
			continue
		}
		if err := d.step(ctx, from, to, was, is); err != nil {
			return nil, err
		}
	}
	return d, nil
}

func (d *Difference) step(ctx context.Context, from, to *Source, was, is *history.StepSummary) error {
	if was.Status.Succeeded() != is.Status.Succeeded() {
		d.Outcomes = append(d.Outcomes, Change{is.Address, status(was), status(is)})
	}
	if was.Action != is.Action && was.Action != "" && is.Action != "" {
		c := StepChange{Address: is.Address, Kind: is.Kind}
		a, errA := from.Record(ctx, is.Address)
		b, errB := to.Record(ctx, is.Address)
		switch err := errors.Join(errA, errB); {
		case errors.Is(err, ErrNone):
			c.Note = "its inputs are no longer in the cache"
		case err != nil:
			return err
		default:
			c.Inputs = changes(fields(a), fields(b))
		}
		d.Steps = append(d.Steps, c)
	}
	if is.Kind == conditions.GradeKind {
		d.score(was, is)
	}
	return nil
}

func (d *Difference) score(was, is *history.StepSummary) {
	c := Change{addr.KeyOf(is.Address), cmp.Or(text(was.Outputs["medal"]), "none"), cmp.Or(text(is.Outputs["medal"]), "none")}
	switch change := results.MedalChange(c.Was, c.Is); {
	case !was.Status.Succeeded() || !is.Status.Succeeded():
	case change > 0:
		d.MedalsWon = append(d.MedalsWon, c)
	case change < 0:
		d.MedalsLost = append(d.MedalsLost, c)
	}
	s := Score{Address: is.Address, Was: number(was.Outputs["score"]), Is: number(is.Outputs["score"]),
		WasOutcome: text(was.Outputs["outcome"]), IsOutcome: text(is.Outputs["outcome"])}
	if s.Was != nil && s.Is != nil {
		if *s.Was == *s.Is {
			return
		}
		s.Difference = new(*s.Is - *s.Was)
	} else if s.Was == nil && s.Is == nil && s.WasOutcome == s.IsOutcome {
		return
	}
	d.Scores = append(d.Scores, s)
}

func status(s *history.StepSummary) string {
	return cmp.Or(string(s.Status), string(history.Interrupted))
}

func changes(was, is map[string]string) (list []Change) {
	all := maps.Clone(was)
	maps.Copy(all, is)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if was[name] != is[name] {
			list = append(list, Change{name, was[name], is[name]})
		}
	}
	return list
}

func texts(values map[string]json.RawMessage) map[string]string {
	out := make(map[string]string, len(values))
	for name, v := range values {
		out[name] = text(string(v))
	}
	return out
}

func environment(run *history.Summary) map[string]string {
	out := map[string]string{"mleflow": run.Version, "host": run.Host, "os": run.OS}
	maps.Copy(out, run.Environment)
	return out
}

func outputs(run *history.Summary) map[string]string {
	out := map[string]string{}
	for _, o := range run.Outputs {
		out[o.Name] = o.Value
	}
	return out
}

func fields(rec *cache.Record) map[string]string {
	out := map[string]string{}
	for _, f := range rec.Fields {
		out[f.Label] = f.Value
	}
	return out
}

// text returns a JSON string without its quotes, and any other value unchanged.
func text(value string) string {
	var s string
	if json.Unmarshal([]byte(value), &s) == nil {
		return s
	}
	return value
}

func number(value string) *float64 {
	var f *float64
	if json.Unmarshal([]byte(value), &f) != nil {
		return nil
	}
	return f
}
