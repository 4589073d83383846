package ui

import (
	"cmp"
	"context"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/history"
)

// What the sides of a comparison are, in their addresses.
const agentPrefix, runPrefix = "agent:", "run:"

// sidesShown is the largest number of sides of a comparison.
const sidesShown = 12

// compareData is the page that compares agents or runs with the first of them.
type compareData struct {
	// Given are the sides of the address, Sides those that are compared: of runs with
	// several agents, one for each agent.
	Given, Sides []*side
	Choices      [][]choice
	Missing      []string
	Progress     progress
	Pairs        []*pair
	// Classes are those of all attempts of the sides, Offered those that every side has.
	Classes []page.Fact
	Offered []page.Link
	// Intervals are the differences in the figures of leaderboards, the largest first.
	Intervals    template.HTML
	Competitions []comparedScores
	// Names are those of the sides, in the order of their colours.
	Names   []string
	Changes changeTable
	Ready   bool
	catalog *competitions.Catalog
	by      *classes
}

// side is an agent or a run that is compared.
type side struct {
	results.Side
	Ref, Link, Remove string
	Color             int
	// Drawn means that the side is compared as it is, and not agent by agent.
	Drawn bool
	// run is the run whose agents are compared; "" of an agent.
	run string
	// compared are the attempts that are compared.
	compared []*results.Attempt
	parts    map[string]*side
}

// at are the compared attempts at a competition.
func (s *side) at(id string) []*results.Attempt {
	return slices.DeleteFunc(slices.Clone(s.compared), func(a *results.Attempt) bool { return a.Competition() != id })
}

// pair is the comparison of two sides.
type pair struct {
	*results.Comparison
	first, second *side
	// Letter is that of the class. Missing says why nothing is compared.
	Letter, Missing string
	// Asides say what is left out of each side, Programs what other programs they have.
	Asides, Programs []page.Link
	Basis            string
	// Rows are those of the figures that differ, headers first.
	Rows [][]string
	// Equal are the figures that do not differ.
	Equal []string
}

// comparePage compares agents or runs: first in a sentence, then what differs most, then
// competition by competition, then what was changed.
func (u *UI) comparePage(r *http.Request) (*content, error) {
	now, p := u.results.now()
	d := compareData{Progress: p}
	refs := refsOf(r.URL.Query())
	c := &content{title: "Compare", nav: "Compare", live: !p.Ready, wide: true}
	for i, name := range u.shortNames(refs) {
		s := &side{Side: results.Side{Name: name}, Ref: refs[i], parts: map[string]*side{}, Remove: compareAddress(slices.Delete(slices.Clone(refs), i, i+1)...)}
		if err := u.openSide(r.Context(), s, now); err != nil {
			d.Missing = append(d.Missing, err.Error())
		}
		d.Given = append(d.Given, s)
	}
	for range max(1, 2-len(refs)) {
		d.Choices = append(d.Choices, sideChoices(now, refs))
	}
	if len(d.Given) > 1 && len(d.Missing) == 0 {
		d.catalog, _ = u.Catalog(nil) // without it the scores of people are not known
		d.match()
		d.compare(r.URL.Query())
	}
	if d.Ready {
		c.title = "Compare " + strings.Join(d.Names, ", ")
		u.draw(&d)
		d.Changes = u.changed(r.Context(), d.Sides)
	}
	c.show("form", "compare form", d)
	c.show("compare", "compare", d)
	return c, c.err
}

// sideChoices are the agents, with each of their programs, and the latest runs that have
// results and are not compared yet.
func sideChoices(now *snapshot, chosen []string) []choice {
	agents, runs := map[string]string{}, map[string]bool{}
	for _, a := range now.graded {
		p := withProgram(a.Agent, a.Program, a.Program == now.newest[a.Agent])
		agents[p.Ref], runs[a.RunID] = "agent "+p.Name, true
	}
	out := []choice{{"", "choose one", true}}
	add := func(ref, text string) {
		if !slices.Contains(chosen, ref) {
			out = append(out, choice{Value: ref, Text: text})
		}
	}
	for _, ref := range sortedKeys(agents) {
		add(ref, agents[ref])
	}
	ids := slices.Sorted(maps.Keys(runs))
	slices.Reverse(ids)
	for _, id := range ids[:min(len(ids), 200)] {
		add(runPrefix+id, "run "+id)
	}
	return out
}

// shortNames are the names of sides: agents of one run go without it.
func (u *UI) shortNames(refs []string) (names []string) {
	runs := map[string]bool{}
	for _, ref := range refs {
		id, _, _ := strings.Cut(strings.TrimPrefix(ref, runPrefix), "/")
		runs[id] = true
	}
	for _, ref := range refs {
		if name, ok := strings.CutPrefix(ref, agentPrefix); ok {
			names = append(names, name)
			continue
		}
		id, agent, _ := strings.Cut(strings.TrimPrefix(ref, runPrefix), "/")
		name := id
		if e := u.runs.entry(id); e.State != history.Unreadable {
			name = cmp.Or(e.Called(id), id)
		}
		switch {
		case agent != "" && len(runs) == 1:
			name = agent
		case agent != "":
			name = agent + " in " + name
		}
		names = append(names, name)
	}
	return names
}

// openSide finds the graded attempts of an agent, of one of its programs if the reference
// has one after an @, or of a run, those of one agent in it if there is one after a slash.
func (u *UI) openSide(ctx context.Context, s *side, now *snapshot) error {
	if name, ok := strings.CutPrefix(s.Ref, agentPrefix); ok {
		return s.open(name, now)
	}
	id, agent, _ := strings.Cut(strings.TrimPrefix(s.Ref, runPrefix), "/")
	past, err := u.History.Find(id)
	if err != nil {
		return err
	}
	s.Link, s.run = runAddress(past.Info.ID), past.Info.ID
	err = u.Results(past, func(c Results) error {
		ended := !past.Running()
		list, _ := u.results.read(ctx, c, u.results.open(past, ended), ended)
		for _, a := range list {
			if _, known := u.results.known(a.GradeAction); known && (agent == "" || a.Agent == agent) {
				s.Attempts = append(s.Attempts, a)
			}
		}
		return nil
	})
	if err == nil && len(s.Attempts) == 0 {
		err = fmt.Errorf("the run %s graded nothing, or its reports are no longer in the cache", id)
	}
	return err
}

// open takes the attempts of an agent in all runs.
func (s *side) open(name string, now *snapshot) error {
	label, program := name, ""
	_, known := now.newest[label]
	if at := strings.LastIndex(name, "@"); !known && at > 0 {
		label, program = name[:at], name[at+1:]
		s.Name = withProgram(label, programOf(program, ""), false).Name
	}
	for _, a := range now.graded {
		if a.Agent == label && (program == "" || a.Program == programOf(program, "")) {
			s.Attempts = append(s.Attempts, a)
		}
	}
	if s.Link = agentAddress(label, program); len(s.Attempts) == 0 {
		return fmt.Errorf("no attempt of the agent %s was graded", name)
	}
	return nil
}

// match pairs the first side with each of the others, and gives colours to those that are
// compared.
func (d *compareData) match() {
	for _, other := range d.Given[1:] {
		pairs, err := matched(d.Given[0], other)
		if err != nil {
			d.Missing = append(d.Missing, err.Error())
		}
		for _, sides := range pairs {
			d.Pairs = append(d.Pairs, &pair{first: sides[0], second: sides[1]})
			for _, s := range sides {
				if !slices.Contains(d.Sides, s) {
					s.Color, s.Drawn = len(d.Sides), true
					d.Sides, d.Names = append(d.Sides, s), append(d.Names, s.Name)
				}
			}
		}
	}
}

// matched returns the sides that are compared for two sides of the address: of runs, one
// for each agent that both have, or their only agents.
func matched(first, second *side) (pairs [][2]*side, err error) {
	x, y := first.agents(), second.agents()
	if len(x) == 1 && len(y) == 1 {
		return [][2]*side{{first, second}}, nil
	}
	for _, name := range x {
		if slices.Contains(y, name) {
			pairs = append(pairs, [2]*side{first.only(name), second.only(name)})
		}
	}
	if len(pairs) == 0 {
		err = fmt.Errorf("%s has %s and %s has %s: choose one agent of each", first.Name, strings.Join(x, ", "), second.Name, strings.Join(y, ", "))
	}
	return pairs, err
}

// only is the side with one of its agents.
func (s *side) only(agent string) *side {
	if len(s.agents()) == 1 {
		return s
	}
	if s.parts[agent] == nil {
		part := &side{Ref: s.Ref + "/" + agent, Link: s.Link}
		part.Name, part.Attempts = agent+" in "+s.Name, slices.DeleteFunc(slices.Clone(s.Attempts), func(a *results.Attempt) bool { return a.Agent != agent })
		s.parts[agent] = part
	}
	return s.parts[agent]
}

// agents are the agents of the side.
func (s *side) agents() []string {
	names := map[string]bool{}
	for _, a := range s.Attempts {
		names[a.Agent] = true
	}
	return sortedKeys(names)
}

// compare compares the pairs, in one class if there is one that all sides have.
func (d *compareData) compare(q url.Values) {
	var all []*results.Attempt
	for _, s := range d.Sides {
		all = append(all, s.Attempts...)
	}
	d.by = classesOf(all)
	d.Classes = d.by.legend
	class := d.class(all, q)
	var figures []figure
	for _, p := range d.Pairs {
		figures = append(figures, p.compare(class, d)...)
		if p.Missing == "" {
			d.Ready = true
			d.scores(p.Comparison)
		}
	}
	d.Intervals = intervalsOf(figures)
}

// class is the class of the address or, without one, the usual one of those that all sides
// have; "" if there is none, so that each pair has its own.
func (d *compareData) class(all []*results.Attempt, q url.Values) string {
	shared := map[string]bool{}
	for _, name := range d.by.names {
		letter := d.by.letters[name]
		if shared[letter] = !slices.ContainsFunc(d.Sides, func(s *side) bool { return !slices.Contains(strings.Split(s.letters(d.by), ", "), letter) }); shared[letter] {
			d.Offered = append(d.Offered, page.Link{Text: letter, Address: "/compare?" + url.Values{"of": refsOf(q), "class": {name}}.Encode()})
		}
	}
	class := d.by.find(q.Get("class"))
	if class == "" && len(d.Pairs) == 1 {
		return ""
	}
	if class == "" && len(d.Offered) > 0 {
		_, class, _ = results.Selection{Programs: true}.Comparable(slices.DeleteFunc(slices.Clone(all), func(a *results.Attempt) bool { return !shared[d.by.letter(a)] }))
	}
	return class
}

// refsOf are the sides that an address names: those of "of", and of "a" and "b".
func refsOf(q url.Values) (refs []string) {
	for _, ref := range slices.Concat(q["a"], q["b"], q["of"]) {
		if ref != "" && !slices.Contains(refs, ref) && len(refs) < sidesShown {
			refs = append(refs, ref)
		}
	}
	return refs
}

// compare compares two sides. It returns the figures that differ.
func (p *pair) compare(class string, d *compareData) []figure {
	c, err := results.Compare(p.first.Side, p.second.Side, class)
	if p.Comparison = c; err != nil {
		p.Missing = strings.TrimPrefix(err.Error(), board.ErrNothingShared.Error()+": ") + fmt.Sprintf(". %s has class %s, %s class %s.", p.first.Name, p.first.letters(d.by), p.second.Name, p.second.letters(d.by))
	}
	p.Letter = d.by.letters[c.Class]
	for i, s := range []*side{p.first, p.second} {
		if s.compared = c.Of[i]; i == 1 && p.first == p.second {
			continue
		}
		if text := []results.Aside{c.FirstAside, c.SecondAside}[i].String(); text != "" {
			p.Asides = append(p.Asides, page.Link{Text: s.Name + ": " + text})
		}
		p.Programs = append(p.Programs, s.programs(d)...)
	}
	if err != nil {
		return nil
	}
	return p.figures()
}

// letters are those of the classes of the side.
func (s *side) letters(by *classes) string {
	letters := map[string]bool{}
	for _, a := range s.Attempts {
		letters[by.letter(a)] = true
	}
	delete(letters, "")
	return cmp.Or(strings.Join(sortedKeys(letters), ", "), "none")
}

// programs are the programs of a side that are not compared, with the number of their
// attempts and the address that compares them in its place.
func (s *side) programs(d *compareData) (links []page.Link) {
	counts := map[string]int{}
	for _, a := range results.Distinct(s.Attempts) {
		counts[a.Program]++
	}
	if len(s.compared) > 0 {
		delete(counts, s.compared[0].Program)
	}
	for _, program := range sortedKeys(counts) {
		agent := s.Attempts[0].Agent
		other := withProgram(agent, program, false)
		l := page.Link{Text: other.Name + ", " + view.Plural(counts[program], "attempt")}
		if s.run == "" && strings.HasPrefix(s.Ref, agentPrefix) {
			var refs []string
			for _, given := range d.Given {
				if given == s {
					refs = append(refs, other.Ref)
				} else {
					refs = append(refs, given.Ref)
				}
			}
			l.Address = compareAddress(refs...)
		}
		links = append(links, l)
	}
	return links
}

func compareAddress(refs ...string) string { return "/compare?" + url.Values{"of": refs}.Encode() }
