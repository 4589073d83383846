package ui

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/history"
)

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
	for _, ref := range view.SortedKeys(agents) {
		add(ref, agents[ref])
	}
	ids := slices.SortedFunc(maps.Keys(runs), func(a, b string) int { return strings.Compare(b, a) })
	for _, id := range ids[:min(len(ids), 200)] {
		add(runPrefix+id, "run "+id)
	}
	return out
}

// shortNames are the names of sides: agents of one run go without it.
func (u *UI) shortNames(refs []string) (names []string) {
	runs := view.Names(refs, func(ref string) string { return strings.SplitN(strings.TrimPrefix(ref, runPrefix), "/", 2)[0] })
	for _, ref := range refs {
		if name, ok := strings.CutPrefix(ref, agentPrefix); ok {
			names = append(names, name)
			continue
		}
		id, agent := runAndAgent(ref)
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

// runAndAgent are the run and the agent in it that a reference names.
func runAndAgent(ref string) (run, agent string) {
	run, agent, _ = strings.Cut(strings.TrimPrefix(ref, runPrefix), "/")
	return run, agent
}

// openSide finds the graded attempts of an agent, of one of its programs if the reference
// has one after an @, or of a run, those of one agent in it if there is one after a slash.
func (u *UI) openSide(ctx context.Context, s *side, now *snapshot) error {
	if name, ok := strings.CutPrefix(s.Ref, agentPrefix); ok {
		return s.open(name, now)
	}
	id, agent := runAndAgent(s.Ref)
	past, err := u.History.Find(id)
	if err != nil {
		return err
	}
	s.Link, s.run = runAddress(past.Info.ID), past.Info.ID
	err = u.Results(past, func(c Results) error {
		ended := !past.Running()
		list, _ := u.results.read(ctx, c, u.results.open(past, ended), ended)
		s.Attempts = lists.Where(list, func(a *results.Attempt) bool {
			_, known := u.results.known(a.GradeAction)
			return known && (agent == "" || a.Agent == agent)
		})
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
	s.Attempts = lists.Where(now.graded, func(a *results.Attempt) bool {
		return a.Agent == label && (program == "" || a.Program == programOf(program, ""))
	})
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
	both := lists.Where(x, func(name string) bool { return slices.Contains(y, name) })
	pairs = lists.Of(both, func(name string) [2]*side { return [2]*side{first.only(name), second.only(name)} })
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

// compare compares the pairs, in one class if there is one that all sides have.
func (d *compareData) compare(q url.Values) {
	all := slices.Concat(lists.Of(d.Sides, func(s *side) []*results.Attempt { return s.Attempts })...)
	d.by = classesOf(all)
	d.Classes = d.by.legend()
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
		letter := d.by.of(name)
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
	p.Letter = d.by.of(c.Class)
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

// programs are the programs of a side that are not compared, with the number of their
// attempts and the address that compares them in its place.
func (s *side) programs(d *compareData) (links []page.Link) {
	by := lists.By(results.Distinct(s.Attempts), func(a *results.Attempt) string { return a.Program })
	if len(s.compared) > 0 {
		delete(by, s.compared[0].Program)
	}
	for _, program := range view.SortedKeys(by) {
		other := withProgram(s.Attempts[0].Agent, program, false)
		l := page.Link{Text: other.Name + ", " + view.Plural(len(by[program]), "attempt")}
		if s.run == "" && strings.HasPrefix(s.Ref, agentPrefix) {
			refs := lists.Of(d.Given, func(given *side) string { return given.Ref })
			refs[slices.Index(d.Given, s)] = other.Ref
			l.Address = compareAddress(refs...)
		}
		links = append(links, l)
	}
	return links
}
