package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/plugins/data/transform"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
)

// splits are the sets that every competition is in one of, in the order of
// the page.
var splits = []struct {
	of    competitions.Complexity
	title string
}{
	{competitions.Low, "Low (Lite)"}, {competitions.Medium, "Medium"}, {competitions.High, "High"},
	{competitions.Dev, "Development set"}, {competitions.Demo, "Demonstrations"},
}

// competitionsPage returns the page on the competitions of a catalog, and on which
// of them use what.
func competitionsPage(catalog *competitions.Catalog, metrics *metric.Registry) ([]byte, error) {
	all, err := catalog.List(competitions.Filter{})
	if err != nil {
		return nil, err
	}
	u := usage{}
	rows := map[competitions.Complexity][][]string{}
	for _, def := range all {
		row, err := u.row(def, metrics)
		if err != nil {
			return nil, err
		}
		rows[def.Complexity] = append(rows[def.Complexity], row)
	}
	p := newPage("The competitions")
	p.textf("The %d competitions that ship with the program, by split; `mleflow competition show ID` says more of one. Sizes are those of the download. Split and draws are the verbs that draw at random in v1.", len(all))
	for _, s := range splits {
		if len(rows[s.of]) == 0 {
			continue
		}
		p.heading(2, s.title)
		p.textf("%d, `competitions(\"%s\")` in a pipeline.", len(rows[s.of]), s.of)
		p.table([]string{"Competition", "Category", "Size", "Metric", "Split and draws", "Versions"}, rows[s.of])
	}
	p.usage("Verbs by use", "Verb", u)
	p.textf("Not used by any shipped definition, but available to yours: %s.", names(unusedVerbs(u)))
	return p.bytes(), nil
}

// usage has the competitions that use a verb, in any version.
type usage map[string][]string

func (u usage) row(def *competitions.Definition, metrics *metric.Registry) ([]string, error) {
	var verbs, scores []string
	for _, version := range def.Versions() {
		at, err := def.At(version)
		if err != nil {
			return nil, err
		}
		verbs = append(verbs, usedVerbs(at)...)
		plan, diags := grading.Decode(at, metrics, nil)
		if diags.HasErrors() {
			return nil, fmt.Errorf("%s: %w", def.ID, diags)
		}
		scores = append(scores, plan.Metric.Name)
	}
	verbs, scores = set(verbs), set(scores)
	for _, v := range verbs {
		u[v] = append(u[v], def.ID)
	}
	return []string{code(def.ID), def.Category, size(def.Facts.SizeGB), names(scores), draws(def), strings.Join(def.Versions(), ", ")}, nil
}

// draws writes how a competition's parts are drawn.
func draws(def *competitions.Definition) string {
	list := drawnBy(def)
	if len(list) == 0 {
		return "as the data say"
	}
	for i, d := range list {
		verb, options, _ := strings.Cut(d, " ")
		list[i] = strings.TrimSpace(code(verb) + " " + options)
	}
	return strings.Join(list, "; ")
}

func set(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

// names writes names as code, in one line.
func names(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return code(strings.Join(list, "`, `"))
}

// size writes a size given in units of 10⁹ bytes.
func size(gb float64) string {
	switch {
	case gb == 0:
		return ""
	case gb < 0.1:
		return fmt.Sprintf("%.1f MB", gb*1000)
	}
	return fmt.Sprintf("%.1f GB", gb)
}

// shownUsers is how many competitions are named next to a verb.
const shownUsers = 1

// usage writes who uses what, the most used first.
func (p *page) usage(title, column string, used map[string][]string) {
	p.heading(2, title)
	order := slices.SortedFunc(maps.Keys(used), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(used[b]), len(used[a])), strings.Compare(a, b))
	})
	var rows [][]string
	for _, name := range order {
		users, more := used[name], ""
		if len(users) > shownUsers {
			users, more = users[:shownUsers], ", …"
		}
		rows = append(rows, []string{code(name), fmt.Sprint(len(used[name])), names(users) + more})
	}
	p.table([]string{column, "Competitions", "Such as"}, rows)
}

func unusedVerbs(used map[string][]string) (out []string) {
	for _, v := range transform.Verbs() {
		if len(used[v.Name]) == 0 {
			out = append(out, v.Name)
		}
	}
	return out
}
