package bundle

import (
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/config"
	"github.com/mleflow/mleflow/engine/lockfile"
	"github.com/mleflow/mleflow/engine/step"
)

// lock makes the lock of the records, which are sorted by address. An agent's outputs
// are not pinned, and results derived from them only together with them, so that another
// attempt is no deviation; see package lockfile.
func (a account) lock(g *config.Graph) ([]byte, error) {
	l := locker{by: map[string]record{}, from: map[string][]string{}, dynamic: map[string]bool{}, varies: map[string]bool{}}
	for _, r := range a.records {
		l.by[r.Address] = r
	}
	l.learn(g)
	steps := make([]lockfile.Step, 0, len(a.records))
	for _, r := range a.records {
		s, err := l.step(r)
		if err != nil {
			return nil, err
		}
		steps = append(steps, s)
	}
	return lockfile.New(a.Run.Version, a.Run.Pipeline, steps).Encode(), nil
}

// locker makes the entries of a bundle's lock.
type locker struct {
	by map[string]record
	// from are the varying steps among the dependencies of a step.
	from    map[string][]string
	dynamic map[string]bool
	// varies are the steps without a pinned output.
	varies map[string]bool
}

// learn finds the steps that depend on a varying step.
func (l *locker) learn(g *config.Graph) {
	below := make([]bool, len(g.Instances))
	for i, inst := range g.Instances {
		at := inst.Addr.String()
		l.varies[at], l.dynamic[at] = inst.Step.Kind.Varies, inst.Dynamic
		below[i] = inst.Step.Kind.Varies
		for _, d := range inst.Deps {
			if below[d] {
				below[i] = true
				l.from[at] = append(l.from[at], g.Instances[d].Addr.String())
			}
		}
	}
}

func (l *locker) step(r record) (lockfile.Step, error) {
	s := lockfile.Step{}
	var err error
	if s.Addr, err = addr.Parse(r.Address); err != nil {
		return s, err
	}
	if s.Action, err = digest.ParseActionID(r.Action); err != nil {
		return s, err
	}
	fields := slices.Clone(r.Fields)
	for i, f := range fields {
		fields[i].Value = l.input(r, i, f)
	}
	s.Inputs = lockfile.Inputs(step.Pinned(fields))
	if l.varies[r.Address] {
		return s, nil
	}
	s.Outputs = lockfile.Outputs(r.outputs())
	for name, o := range r.Outputs {
		if o.Masked {
			s.Outputs[name] = lockfile.Withhold("made from private data, or specific to a machine")
		}
	}
	return s, nil
}

// input returns a field's value in the lock.
func (l *locker) input(r record, i int, f digest.Field) string {
	for _, from := range l.from[r.Address] {
		if strings.HasPrefix(f.Label, "kind") || step.IsCondition(f.Label) {
			break
		}
		if l.dynamic[r.Address] || l.by[from].gave(f.Value) {
			return lockfile.Vary(from)
		}
	}
	if slices.Contains(r.Masked, i) {
		return lockfile.Withhold("it is private, or specific to a machine") + " " + f.Value
	}
	return f.Value
}

// gave reports whether a value names content of the step's outputs.
func (r record) gave(value string) bool {
	for _, o := range r.Outputs {
		if o.Digest != nil && strings.Contains(value, o.Digest.String()) {
			return true
		}
	}
	return false
}
