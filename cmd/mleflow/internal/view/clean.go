package view

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/mleflow/mleflow/cache/leaf/plain"
	"github.com/mleflow/mleflow/engine/event"
)

// Text drops terminal sequences from a text from outside and replaces control
// characters by blanks, so that it cannot disturb a terminal, hide what was
// written before it or pass for something else. Line breaks and tabs stay.
func Text(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && plain.Control(r) {
			return ' '
		}
		return r
	}, ansi.Strip(strings.ReplaceAll(s, "\r\n", "\n")))
}

// OneLine is Text on a single line, without surrounding space.
func OneLine(s string) string { return strings.TrimSpace(cell(s)) }

// cell is Text on a single line.
func cell(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) {
		return s // as most are
	}
	return strings.Map(func(r rune) rune {
		if plain.Control(r) {
			return ' '
		}
		return r
	}, ansi.Strip(s))
}

// cleaned returns an event whose strings are safe to show.
func cleaned(e event.Event) event.Event {
	switch e := e.(type) {
	case event.RunStarted:
		oneLines(&e.Run, &e.Pipeline, &e.Resumed)
		e.Blocks = append([]event.Block(nil), e.Blocks...)
		for i := range e.Blocks {
			oneLines(&e.Blocks[i].Block)
		}
		return e
	case event.StepStarted:
		oneLines(&e.Address)
		e.Devices = append([]string(nil), e.Devices...)
		for i := range e.Devices {
			oneLines(&e.Devices[i])
		}
		return e
	case event.StepProgress:
		oneLines(&e.Address, &e.What, &e.Unit)
		return e
	case event.StepPhase:
		oneLines(&e.Address, (*string)(&e.Name), &e.What, (*string)(&e.Submission), &e.Reason)
		return e
	case event.Waiting:
		e.For = append([]event.Wait(nil), e.For...)
		for i := range e.For {
			oneLines(&e.For[i].Resource, &e.For[i].Next)
		}
		return e
	case event.StepWaiting:
		oneLines(&e.Address, &e.Message)
		return e
	case event.Preflight:
		oneLines(&e.Address, &e.Subject, &e.Place, &e.Credential, &e.Rules, &e.Link, &e.Verdict, &e.Error, &e.Note)
		return e
	case event.StepLog:
		oneLines(&e.Address, &e.Line)
		return e
	case event.StepRetry:
		oneLines(&e.Address)
		e.Error = Text(e.Error)
		return e
	case event.StepFinished:
		oneLines(&e.Address, &e.MadeIn)
		e.Error = Text(e.Error)
		return e
	case event.Warning:
		oneLines(&e.Address)
		e.Message = Text(e.Message)
		return e
	case event.Evaluated:
		oneLines(&e.Name, &e.Decide, &e.Over)
		e.Agents = append([]string(nil), e.Agents...)
		for i := range e.Agents {
			oneLines(&e.Agents[i])
		}
		return e
	case event.OutputValue:
		oneLines(&e.Name)
		e.Value = Text(e.Value)
		if e.Content != nil {
			c := *e.Content
			oneLines(&c.From)
			e.Content = &c
		}
		return e
	case event.Publishing:
		oneLines(&e.From, &e.To, &e.What, &e.Unit)
		return e
	case event.Published:
		oneLines(&e.From, &e.To)
		e.Error = Text(e.Error)
		return e
	case event.RunFinished:
		oneLines(&e.Run)
		return e
	}
	return e
}

func oneLines(texts ...*string) {
	for _, t := range texts {
		*t = OneLine(*t)
	}
}
