package competitions

import (
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/engine/diag"
)

// Set names a list of competitions.
type Set string

// setMembers says which complexities make up a set. The sets of the 75 follow
// the reference's splits; demo is ours and part of no other. Competitions of
// somebody's own are in the set own only.
var setMembers = map[Set][]Complexity{
	"low":    {Low},
	"lite":   {Low},
	"medium": {Medium},
	"high":   {High},
	"all":    {Low, Medium, High},
	"dev":    {Dev},
	"demo":   {Demo},
}

// systemCard is the set whose members have nothing else in common.
const systemCard Set = "systemcard"

//go:embed systemcard.txt
var systemCardText string

// SetNames returns the names of the sets, sorted.
func SetNames() []string {
	return []string{"all", "demo", "dev", "high", "lite", "low", "medium", string(Own), string(systemCard)}
}

// Set returns the identifiers of a named set, sorted. A catalog of other
// definitions has those of the set that it holds.
func (c *Catalog) Set(name Set) ([]string, error) {
	if name == systemCard {
		listed, held := listedIDs(systemCardText), []string{}
		for _, l := range listed {
			if c.byID[l.id] != nil {
				held = append(held, l.id)
			}
		}
		slices.Sort(held)
		return held, nil
	}
	if name == Own {
		return c.Own(), nil
	}
	if members, ok := setMembers[name]; ok {
		return c.members(members), nil
	}
	if near := diag.Nearest(string(name), SetNames()); near != "" {
		return nil, fmt.Errorf("no set %q; did you mean %q?", name, near)
	}
	return nil, fmt.Errorf("no set %q; the sets are %s", name, strings.Join(SetNames(), ", "))
}

// members returns the identifiers of those complexities.
func (c *Catalog) members(of []Complexity) []string {
	var ids []string
	for _, id := range c.ids {
		if e := c.byID[id]; e.published() && slices.Contains(of, c.Complexity(id)) {
			ids = append(ids, id)
		}
	}
	return ids
}

// ParseList returns the competitions of a list of one's own: one identifier a
// line, each once, in the order of their first lines. Blank lines and comments
// after a # are ignored. The error names every identifier that is not
// known, with its line and the nearest known one.
func (c *Catalog) ParseList(text string) ([]string, error) {
	var ids []string
	var unknown []error
	for _, l := range listedIDs(text) {
		switch {
		case c.byID[l.id] == nil:
			unknown = append(unknown, fmt.Errorf("line %d: no competition %q.%s", l.line, l.id, diag.DidYouMean(l.id, c.ids)))
		case !slices.Contains(ids, l.id):
			ids = append(ids, l.id)
		}
	}
	if len(unknown) > 0 {
		return nil, errors.Join(unknown...)
	}
	if len(ids) == 0 {
		return nil, errors.New("the list names no competition")
	}
	return ids, nil
}

// listed is a line of a list that names a competition.
type listed struct {
	line int
	id   string
}

func listedIDs(text string) []listed {
	var out []listed
	line := 0
	for text := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		line++
		id, _, _ := strings.Cut(text, "#")
		if id = strings.TrimSpace(id); id != "" {
			out = append(out, listed{line, id})
		}
	}
	return out
}
