package bundle

import (
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/engine/config"
	"github.com/mleflow/mleflow/engine/step"
)

// The kinds that a bundle knows.
const (
	kindAgentRun  = "agent-run"
	kindGrade     = "grade"
	kindAggregate = "aggregate"
	kindCheck     = "check"
	kindChecksum  = "checksum"
	kindDownload  = "download"
	kindPrepare   = "prepare"
)

// withheld stands for a value or text that may tell of private data.
const withheld = "(withheld: made from private data)"

// results are the private outputs that are taken all the same, by kind: scores
// and what rules found are what a run is for, and the kinds are ours.
var results = map[string][]string{
	kindGrade:     {"report"},
	kindAggregate: {"board", "files"},
	kindCheck:     {"findings", "notes", "warnings"},
}

// speaking are the kinds whose values and texts tell no private data though
// they consume them.
var speaking = []string{kindAggregate, kindDownload, kindGrade, kindPrepare}

// quiet are the kinds of which no log is taken: they tell what is wrong with
// private data, row by row.
var quiet = []string{kindDownload, kindPrepare}

// rule says which parts of an instance may be published.
type rule struct {
	kind *step.Kind
	// private says that it consumes something private.
	private bool
	// tainted says that arguments of it may be values that are withheld.
	tainted bool
	// diskBytes is the disk that it reserves, which no key holds.
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

// tells reports whether the instance's small values may be told.
func (r rule) tells() bool {
	return r.kind != nil && (!r.private || slices.Contains(speaking, r.kind.Name))
}

// logs reports whether its log may be published.
func (r rule) logs() bool { return r.tells() && !slices.Contains(quiet, r.kind.Name) }

// content reports whether the content of an output may be taken.
func (r rule) content(output string) bool {
	if r.kind == nil {
		return false
	}
	if slices.Contains(results[r.kind.Name], output) {
		return true
	}
	return r.kind.Name == kindAgentRun && r.kind.Untrusted && r.open(output)
}

// open reports whether an output is public: no kind calls it private, and
// nothing private went in.
func (r rule) open(output string) bool {
	if r.kind == nil || r.private {
		return false
	}
	out := r.kind.Output(output)
	return out != nil && out.Secrecy != step.Private
}

// value returns a small value as it may be told.
func (r rule) value(output string, v cache.Value) cache.Value {
	if v.Ref.IsZero() && !(r.tells() && r.kind.Output(output) != nil && r.kind.Output(output).Secrecy != step.Private || r.result(output)) {
		return cache.Value{JSON: []byte(`"` + withheld + `"`)}
	}
	return v
}

func (r rule) result(output string) bool {
	return r.kind != nil && slices.Contains(results[r.kind.Name], output)
}

// fields returns the fields of a key as they may be told.
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
