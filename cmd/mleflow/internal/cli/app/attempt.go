package app

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/attempts"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/config"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/engine/plan"
)

// addressOrKey reads what names a step or an attempt: an address, or the key of attempts.
func addressOrKey(text string) (address addr.Instance, key bool, err error) {
	address, err = addr.Parse(text)
	switch {
	case err == nil:
		return address, strings.Contains(text, "*"), nil
	case strings.HasPrefix(text, "step.") || !strings.ContainsAny(text, "/*"):
		return address, false, Wrong(fmt.Errorf("%w, or AGENT/COMPETITION/SEED for an attempt", err))
	}
	return address, true, nil
}

// AddressIn returns the address that a text names in a run: that of a step, or of the one
// attempt with a key; see attempts.One.
func AddressIn(past *history.Past, text string) (string, error) {
	address, key, err := addressOrKey(text)
	if err != nil || !key {
		return address.String(), err
	}
	list, sum, err := attempts.Of(past)
	if err != nil {
		return "", err
	}
	if sum.Step(address.String()) != nil { // its own key has a *
		return address.String(), nil
	}
	one, err := attempts.One(text, list)
	if err != nil {
		return "", Wrong(fmt.Errorf("run %s: %w", past.Info.ID, err))
	}
	return cmp.Or(one.Address, one.GradeAddress), nil
}

// AddressOf returns the address that a text names in a pipeline; see AddressIn.
func AddressOf(p *engine.Program, text string) (addr.Instance, error) {
	address, key, err := addressOrKey(text)
	if err != nil || !key {
		return address, err
	}
	at, err := attemptIn(p, text)
	if err != nil {
		return address, Wrong(err)
	}
	return p.Instances[at].Addr, nil
}

// AttemptsIn returns the attempts of a pipeline as its run will name them, and by the names
// that they have without their grades.
func AttemptsIn(p *engine.Program) (list, own []*results.Attempt) {
	pl := &plan.Plan{}
	for i, inst := range p.Instances {
		pl.Steps = append(pl.Steps, plan.Step{Name: inst.Addr.String(), Kind: inst.Step.Kind.Name, Names: p.Names(i), After: inst.Deps})
	}
	j := attempts.JournalOf(pl, &history.Summary{})
	run := func(a *results.Attempt) bool { return a.Address != "" }
	list = lists.Where(j.List(), run)
	for i := range j.Pairs {
		j.Pairs[i].Grade = ""
	}
	return list, lists.Where(j.List(), run)
}

// attemptIn returns the index of the one attempt of a pipeline that a key names.
func attemptIn(p *engine.Program, key string) (at int, err error) {
	list, own := AttemptsIn(p)
	one, err := attempts.One(key, list, own)
	if err != nil {
		return 0, err
	}
	return slices.IndexFunc(p.Instances, func(inst *config.Instance) bool { return inst.Addr.String() == one.Address }), nil
}
