package app

import (
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/addr"
)

// namedAttempt finds the attempt that the value of --attempt names in a pipeline. It
// returns its address, and those of it and its grades.
func namedAttempt(p *engine.Program, named string) (attempt addr.Instance, targets []addr.Instance, err error) {
	var all, found []string
	at := -1
	for i, inst := range p.Instances {
		if inst.Step.Kind.Name != conditions.AttemptKind {
			continue
		}
		args, diags := p.Args(i)
		if diags.HasErrors() {
			continue // the plan tells it
		}
		name := attemptName(args.Object())
		all = append(all, name)
		if name == named || inst.Addr.String() == named {
			at, found = i, append(found, inst.Addr.String())
		}
	}
	switch {
	case len(found) > 1:
		return attempt, nil, Usagef("--attempt: %q is several: %s; choose with --target ADDRESS --retry ADDRESS", named, strings.Join(found[:min(len(found), 10)], ", "))
	case at < 0:
		return attempt, nil, Usagef("--attempt: there is no %q; write an address or AGENT/COMPETITION/SEED, one of: %s", named, strings.Join(all[:min(len(all), 10)], ", "))
	}
	attempt = p.Instances[at].Addr
	targets = []addr.Instance{attempt}
	for _, inst := range p.Instances {
		if inst.Step.Kind.Name == conditions.GradeKind && slices.Contains(inst.Deps, at) {
			targets = append(targets, inst.Addr)
		}
	}
	return attempt, targets, nil
}

// attemptName is AGENT/COMPETITION/SEED of an attempt's arguments; what is not
// known yet is a question mark.
func attemptName(args cty.Value) string {
	args, _ = args.UnmarkDeep()
	text := func(path cty.Path) string {
		v, err := path.Apply(args)
		if err == nil {
			v, err = convert.Convert(v, cty.String)
		}
		if err != nil || v.IsNull() || !v.IsKnown() {
			return "?"
		}
		return v.AsString()
	}
	return text(cty.GetAttrPath("agent").GetAttr("name")) + "/" + text(cty.GetAttrPath("competition")) + "/" + text(cty.GetAttrPath("seed"))
}
