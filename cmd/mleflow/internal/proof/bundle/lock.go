package bundle

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/lists"
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
	at, errAddress := addr.Parse(r.Address)
	action, err := digest.ParseActionID(r.Action)
	if err := cmp.Or(errAddress, err); err != nil {
		return lockfile.Step{}, err
	}
	s := lockfile.Step{Addr: at, Action: action}
	fields := slices.Clone(r.Fields)
	for i := range fields {
		if slices.Contains(r.Masked, i) { // a bundle may name places that there are not
			fields[i].Value = lockfile.Withhold("it is private, or specific to a machine") + " " + fields[i].Value
		}
	}
	s.Inputs = lockfile.Inputs(step.Pinned(fields))
	from := lists.Of(l.from[r.Address], func(at string) lockfile.Origin { return lockfile.Origin{Address: at, Outputs: l.by[at].outputs()} })
	lockfile.MarkVarying(s.Inputs, from, l.dynamic[r.Address])
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

// definition is a competition as a step used it.
type definition struct {
	Competition string `json:"competition"`
	Version     string `json:"version"`
	// Kind is the kind of step that used it, Digest what of the definition
	// is in that step's key.
	Kind   string `json:"kind"`
	Digest string `json:"sha256"`
}

// account is what the derived documents of a bundle are made of.
type account struct {
	Run         Run `json:"run"`
	environment Environment
	records     []record
}

// definitions returns the definitions that steps used, sorted and each once.
func (a account) definitions() []definition {
	list := []definition{}
	for _, r := range a.records {
		if id := r.field("definition"); id != "" && r.field("competition") != "" {
			list = append(list, definition{r.field("competition"), r.field("version"), r.Kind, id})
		}
	}
	slices.SortFunc(list, func(a, b definition) int {
		return cmp.Or(strings.Compare(a.Competition, b.Competition), strings.Compare(a.Version, b.Version), strings.Compare(a.Kind, b.Kind), strings.Compare(a.Digest, b.Digest))
	})
	return slices.Compact(list)
}

// compareAddresses orders addresses as a lock file does.
func compareAddresses(a, b string) int {
	x, errX := addr.Parse(a)
	y, errY := addr.Parse(b)
	if errX != nil || errY != nil {
		return strings.Compare(a, b)
	}
	return x.Compare(y)
}
