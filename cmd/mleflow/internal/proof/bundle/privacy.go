package bundle

import (
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/engine/config"
	"github.com/mleflow/mleflow/engine/step"
)

// withheld stands for a value or text that may reveal private data.
const withheld = "(withheld: made from private data)"

// published are the private outputs that are published all the same, by kind: scores and
// the findings of rules are the purpose of a run, and the kinds are ours.
var published = map[string][]string{
	conditions.GradeKind:     {"report"},
	conditions.AggregateKind: {"board", "files"},
	conditions.CheckKind:     {"findings", "notes", "warnings"},
}

// speaking are the kinds that consume private data but whose values and texts reveal
// none.
var speaking = []string{conditions.AggregateKind, conditions.DownloadKind, conditions.GradeKind, conditions.PrepareKind}

// quiet are the kinds whose logs are omitted: they describe faults of private data row by
// row.
var quiet = []string{conditions.DownloadKind, conditions.PrepareKind}

// rule decides which parts of an instance may be published.
type rule struct {
	kind *step.Kind
	// private reports whether it consumes private data.
	private bool
	// tainted reports whether its arguments may be withheld values.
	tainted bool
	// diskBytes is its reserved disk space, which is in no key.
	diskBytes int64
}

// rules are the rules of a pipeline's instances by address.
func rules(g *config.Graph) map[string]rule {
	all := make(map[string]rule, len(g.Instances))
	for _, inst := range g.Instances {
		r := rule{kind: inst.Step.Kind, private: inst.Private, diskBytes: inst.Limits.DiskBytes}
		for _, d := range inst.Deps {
			r.tainted = r.tainted || inst.Dynamic && !all[g.Instances[d].Addr.String()].tells()
		}
		all[inst.Addr.String()] = r
	}
	return all
}

// tells reports whether the instance's small values may be published.
func (r rule) tells() bool {
	return r.kind != nil && (!r.private || slices.Contains(speaking, r.kind.Name))
}

// logs reports whether its log may be published.
func (r rule) logs() bool { return r.tells() && !slices.Contains(quiet, r.kind.Name) }

// content reports whether the content of an output may be published.
func (r rule) content(output string) bool {
	return r.result(output) || r.kind != nil && r.kind.Name == conditions.AttemptKind && r.kind.Untrusted && r.open(output)
}

// open reports whether an output is public: its kind does not declare it private, and the
// step consumed nothing private.
func (r rule) open(output string) bool {
	if r.kind == nil || r.private {
		return false
	}
	out := r.kind.Output(output)
	return out != nil && out.Secrecy != step.Private
}

// value returns a small value in its public form.
func (r rule) value(output string, v cache.Value) cache.Value {
	if v.Ref.IsZero() && !(r.tells() && r.kind.Output(output) != nil && r.kind.Output(output).Secrecy != step.Private || r.result(output)) {
		return cache.Value{JSON: []byte(`"` + withheld + `"`)}
	}
	return v
}

func (r rule) result(output string) bool {
	return r.kind != nil && slices.Contains(published[r.kind.Name], output)
}

// fields returns the fields of a key in their public form.
func (r rule) fields(fields []digest.Field) []digest.Field {
	if !r.tainted {
		return fields
	}
	out := slices.Clone(fields)
	for i, f := range out {
		if _, err := digest.ParseContentID(f.Value); err != nil && !strings.HasPrefix(f.Label, "kind") && !step.IsCondition(f.Label) {
			out[i].Value = withheld
		}
	}
	return out
}
