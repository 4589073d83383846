package docgen

import (
	"cmp"
	"strings"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/hashicorp/hcl/v2/ext/typeexpr"

	"github.com/mleflow/mleflow/engine/step"
)

// Steps returns the page on the step kinds.
func Steps(kinds *step.Registry) []byte {
	p := newPage("Step kinds")
	p.text("This page lists the kinds of steps; `mleflow explain ADDRESS` shows the key of a step. Every step also takes `for_each`, `depends_on`, `on`, `timeout`, `retry` and `resources`: see [the language](language.md). Agents may see an output if its step saw nothing private, unless the table says otherwise.")
	for _, name := range kinds.Names() {
		p.kind(kinds.Kind(name))
	}
	return p.bytes()
}

func (p *page) kind(k *step.Kind) {
	p.heading(2, k.Name)
	p.text(k.Doc)
	var notes []string
	if k.Volatile {
		notes = append(notes, "It runs in every apply, because it reads something its arguments do not pin.")
	}
	if k.Untrusted {
		notes = append(notes, "It runs untrusted code: a pipeline that hands it a private output is refused.")
	}
	if k.LimitsInKey {
		notes = append(notes, "Its timeout and resources are part of its key.")
	}
	notes = append(notes, "Version "+k.Version+".")
	p.text(strings.Join(notes, " "))
	p.attributes("Argument", k.Args)
	for _, b := range k.Blocks {
		p.textf("Block %s: %s", code(b.Name), b.Doc)
		p.attributes("Argument of "+code(b.Name), b.Args)
	}
	var rows [][]string
	for _, o := range k.Outputs {
		rows = append(rows, []string{code(o.Name), typeText(o.Type), secrecyText(o.Secrecy), o.Doc})
	}
	p.table([]string{"Output", "Type", "Seen by agents", "Meaning"}, rows)
}

func secrecyText(s step.Secrecy) string {
	switch s {
	case step.Private:
		return "never"
	case step.Public:
		return "yes"
	case step.Withheld:
		return "never; models may replay it"
	default:
		return ""
	}
}

func (p *page) attributes(title string, attrs []step.Attr) {
	var rows [][]string
	for _, a := range attrs {
		if a.Block && a.Type != step.ArtifactType { // the block has it
			continue
		}
		doc := a.Doc
		if len(a.OneOf) > 0 {
			doc += " One of " + code(strings.Join(a.OneOf, "`, `")) + "."
		}
		if a.Cosmetic {
			doc += " Not part of the key."
		}
		kind := typeText(a.Type)
		if a.Block {
			kind = "block"
		}
		rows = append(rows, []string{code(a.Name), kind, cmp.Or(defaultText(a.Default), required(a.Required)), doc})
	}
	p.table([]string{title, "Type", "Default", "Meaning"}, rows)
}

func required(b bool) string {
	if b {
		return "required"
	}
	return ""
}

// typeText names a type as the language writes it; content has its own name.
func typeText(t cty.Type) string {
	switch {
	case t == step.ArtifactType:
		return "content"
	case t.IsMapType() || t.IsListType() || t.IsSetType():
		if t.ElementType() == step.ArtifactType {
			return strings.SplitN(t.FriendlyName(), " ", 2)[0] + " of content"
		}
	case t.IsCapsuleType():
		return t.FriendlyName()
	}
	if containsCapsule(t) {
		return "object"
	}
	return code(typeexpr.TypeString(t))
}

func containsCapsule(t cty.Type) bool {
	switch {
	case t.IsCapsuleType():
		return true
	case t.IsCollectionType():
		return containsCapsule(t.ElementType())
	case t.IsObjectType():
		for _, a := range t.AttributeTypes() {
			if containsCapsule(a) {
				return true
			}
		}
	}
	return false
}

func defaultText(v cty.Value) string {
	if v == cty.NilVal || v.IsNull() || containsCapsule(v.Type()) {
		return ""
	}
	text, err := ctyjson.Marshal(v, v.Type())
	if err != nil {
		return ""
	}
	return code(string(text))
}
