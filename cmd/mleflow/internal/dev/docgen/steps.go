package main

import (
	"cmp"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/hashicorp/hcl/v2/ext/typeexpr"

	"github.com/mleflow/mleflow/engine/step"
)

// stepsPage returns the page on the step kinds.
func stepsPage(kinds *step.Registry) []byte {
	p := newPage("Step kinds")
	p.text("The kinds of steps; `mleflow explain ADDRESS` shows the key of a step. Every step also takes `for_each`, `depends_on`, `on`, `timeout`, `retry` and `resources`: see [the language](language.md). The examples have every argument once.")
	p.text("Agents see public outputs, unless private text chose them, and others of steps that saw nothing private. They never see private and withheld ones; models may replay the latter.")
	p.heading(2, "Shared arguments")
	p.text("Kinds that have these only name them.")
	var all [][]string
	for _, name := range kinds.Names() {
		all = append(all, arguments(kinds.Kind(name).Args)...)
	}
	shared := repeated(all, 3)
	p.terms(shared)
	for _, name := range kinds.Names() {
		p.kind(kinds.Kind(name), shared)
	}
	return p.bytes()
}

// observation says that no newer program repeats results of a kind without being told to.
func observation(k *step.Kind) string {
	text := "Its results are observations"
	if !k.Varies {
		text = "Results with the answers of a paid model are observations"
	}
	text += ": a newer version of mleflow asks before it repeats one."
	for _, e := range k.Observation.Earlier {
		text += " Those of version " + e.Version + " are used."
	}
	return text
}

func (p *page) kind(k *step.Kind, shared [][]string) {
	p.heading(2, k.Name)
	p.text(k.Doc)
	var notes []string
	if k.Volatile {
		notes = append(notes, "It runs in every apply, because it reads something its arguments do not pin.")
	}
	if k.Observation != nil {
		notes = append(notes, observation(k))
	}
	if k.Untrusted {
		notes = append(notes, "It runs untrusted code: a pipeline that hands it a private output is refused.")
	}
	if k.LimitsInKey {
		notes = append(notes, "Its timeout and resources are part of its key.")
	}
	notes = append(notes, "Version "+k.Version+".")
	p.text(strings.Join(notes, " "))
	p.example("kinds", k.Name)
	own, also := without(arguments(k.Args), shared)
	intro := "Arguments:"
	if len(also) > 0 {
		intro = "Arguments, [shared](#shared-arguments) " + strings.Join(also, ", ") + ", and:"
	}
	p.text(intro)
	p.terms(own)
	for _, b := range k.Blocks {
		p.textf("Block %s: %s", code(b.Name), b.Doc)
		p.terms(arguments(b.Args))
	}
	var outputs [][]string
	for _, o := range k.Outputs {
		outputs = append(outputs, []string{term(o.Name, typeText(o.Type), secrecyText(o.Secrecy)), o.Doc})
	}
	p.text("Outputs:")
	p.terms(outputs)
}

func secrecyText(s step.Secrecy) string {
	switch s {
	case step.Private:
		return "private"
	case step.Public:
		return "public"
	case step.Withheld:
		return "withheld"
	default:
		return ""
	}
}

// arguments returns the rows of arguments: name, type and default, and meaning.
func arguments(attrs []step.Attr) (rows [][]string) {
	for _, a := range attrs {
		if a.Block && a.Type != step.ArtifactType { // the block has it
			continue
		}
		doc, inKey := a.Doc, ""
		if len(a.OneOf) > 0 {
			doc += " One of " + code(strings.Join(a.OneOf, "`, `")) + "."
		}
		if a.Cosmetic {
			inKey = "not in the key"
		}
		kind := typeText(a.Type)
		if a.Block {
			kind = "block"
		}
		rows = append(rows, []string{term(a.Name, kind, cmp.Or(defaultText(a.Default), required(a.Required)), inKey), doc})
	}
	return rows
}

// term writes a name and, in parentheses, the facts of it that there are.
func term(name string, facts ...string) string {
	facts = slices.DeleteFunc(facts, func(s string) bool { return s == "" })
	return code(name) + " (" + strings.Join(facts, ", ") + ")"
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
