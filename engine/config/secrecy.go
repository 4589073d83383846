package config

import (
	"github.com/hashicorp/hcl/v2"

	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/step"
)

// consume records where an argument comes from and rejects what is not allowed
// there.
func (e *argEval) consume(a *step.Attr, expr hcl.Expression) {
	for _, m := range originsOf(e.marks) {
		e.origins = append(e.origins, m)
		if m.private() {
			e.inst.Private = true
			e.refusePrivate(a, expr, m)
		}
	}
	for m := range e.marks {
		if path, ok := m.(privateFile); ok {
			e.consumePrivateFile(a, expr, path)
		}
	}
	if _, found := e.marks[sensitive]; found {
		e.diags = append(e.diags, diag.Error(expr.Range(), "Sensitive value in an argument",
			"%s would be stored with the plan and the key. Give secrets to an agent by reference: secrets = { NAME = \"env:NAME\" }.", a.Name))
	}
}

// consumePrivateFile does for private files what consume does for private
// outputs.
func (e *argEval) consumePrivateFile(a *step.Attr, expr hcl.Expression, path privateFile) {
	e.inst.Private = true
	if e.inst.Step.Kind.Untrusted {
		e.diags = append(e.diags, diag.Error(expr.Range(), "Private file in an untrusted step",
			"%s of %s is made from %s, which is in the cache or among a competition's private files. A step of kind %q runs untrusted code, which cannot have private files.",
			a.Name, e.inst.Addr, string(path), e.inst.Step.Kind.Name))
	}
}

func (e *argEval) refusePrivate(a *step.Attr, expr hcl.Expression, m origin) {
	if !e.inst.Step.Kind.Untrusted {
		return
	}
	from := m.inst
	out := from.Step.Kind.Outputs[m.out].Name
	here := diag.Error(expr.Range(), "Private output in an untrusted step",
		"%s of %s refers to output %q of %s (%s), which is private: it holds answers or was made from them. A step of kind %q runs untrusted code, which cannot have private files. Use a public output instead.",
		a.Name, e.inst.Addr, out, from.Addr, place(from.Step.Range), e.inst.Step.Kind.Name)
	there := diag.Error(from.Step.Range, "The private output is made here", "Output %q of this step is private.", out)
	e.diags = append(e.diags, here, there)
}

// private reports whether the output may not be had by a step that runs untrusted code.
func (o origin) private() bool {
	switch o.inst.Step.Kind.Outputs[o.out].Secrecy {
	case step.Private:
		return true
	case step.Public:
		return false
	case step.Withheld:
		return !o.replayed
	default:
		return o.inst.Private
	}
}

// hidden reports whether the output is private even for people: it contains answers,
// or was made from them by a step whose results may be more than scores.
func (o origin) hidden() bool {
	kind := o.inst.Step.Kind
	if kind.Outputs[o.out].Secrecy == step.Withheld {
		return false
	}
	return o.private() && (kind.Outputs[o.out].Secrecy == step.Private || !kind.Results)
}
