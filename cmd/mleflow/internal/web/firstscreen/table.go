package firstscreen

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/steps/aggregate"
)

// Table is a leaderboard: one line an agent.
type Table struct {
	Title string
	// Labels are the names of the labels of each line.
	Labels []string
	Lines  []Line
	// Columns that no line has a value for, or one value for all, are left out; Same are
	// those values.
	HasIsolation, HasCompetitions, HasScore, HasRank, HasCost, HasTime bool
	Same                                                               []string
	// Classes are the classes of the lines where there are several, each with its letter.
	Classes []Class
}

// Class is a class of attempts and the letter that stands for it; see results.Letter.
type Class struct{ Letter, Name string }

// Line is an agent of a leaderboard. Percentages are those of competitions, with their
// standard error over seeds.
type Line struct {
	Place               string
	Name                string
	Isolation           string // see conditions.Shown
	Class               Class
	Labels              []string
	Seeds, Competitions int
	Percentages         board.Split
	// Interval is that of any medal; see board.Uncertainty.
	Interval string
	// Medals and Graded count attempts.
	Medals, Graded int
	// Score is the mean score where there is one competition, Rank the mean rank where
	// nothing else orders several, and Wins the competitions that were won there.
	Score, Rank, Wins, Tokens, Cost, Time string
}

// tables returns one leaderboard of all competitions, and one for each of several groups,
// for each board.
func tables(boards []*aggregate.Board, all []*results.Attempt) (list []Table) {
	by := measured(all)
	for i, b := range boards {
		title := "All competitions"
		if len(boards) > 1 {
			title = fmt.Sprintf("Leaderboard %d", i+1)
		}
		list = append(list, tablesOf(b, title, by)...)
	}
	return list
}

func tablesOf(b *aggregate.Board, title string, by map[runs][]*results.Attempt) (list []Table) {
	labels := b.Labels(false)
	of := func(row int) (cells []string) {
		for _, column := range labels {
			cells = append(cells, column[row])
		}
		return cells
	}
	add := func(title string, at int, g aggregate.Group) {
		i := slices.IndexFunc(list, func(t Table) bool { return t.Title == title })
		if i < 0 {
			i = len(list)
			list = append(list, Table{Title: title, Labels: of(0)})
		}
		line := lineOf(b.Agents[at], g)
		line.Interval = b.Measures(b.Agents[at].Name, g)["any_medal_percentage"].Shown()
		line.Labels = of(at + 1)
		if g.Name == b.Agents[at].Overall.Name {
			line.use(b, by)
		}
		list[i].Lines = append(list[i].Lines, line)
	}
	for at, a := range b.Agents {
		add(title, at, a.Overall)
		for _, g := range a.Groups {
			if len(a.Groups) > 1 && len(g.Percentages) > 0 {
				add(view.Capital(b.GroupHeader())+": "+g.Name, at, g)
			}
		}
	}
	for i := range list {
		list[i].fold()
	}
	return list
}

func lineOf(a aggregate.Agent, g aggregate.Group) Line {
	l := Line{Place: a.PlaceText(), Name: a.Name, Isolation: cmp.Or(g.Isolation, conditions.Unknown) + g.Repeats.String(), Class: Class{a.ClassLetter, cmp.Or(a.Class, conditions.Unknown)}, Seeds: g.Seeds, Competitions: len(g.Competitions), Percentages: g.Percentages}
	if a.Rank != nil && g.Name == a.Overall.Name {
		l.Rank, l.Wins = a.Rank.Text()
	}
	for _, r := range a.Competitions {
		if slices.Contains(g.Competitions, r.Competition) {
			l.Medals, l.Graded = l.Medals+r.Gold+r.Silver+r.Bronze, l.Graded+r.Runs
			if len(g.Competitions) == 1 && r.Score != nil {
				l.Score = page.Score(float64(r.Score.Mean))
				if r.Scored > 1 {
					l.Score += " ± " + page.Score(float64(r.Score.SEM))
				}
			}
		}
	}
	return l
}

// used is what an agent's attempts cost and took.
type used struct {
	money       grading.Usage
	seconds     float64
	paid, timed int
}

func (u *used) add(made *results.Made) {
	if usage := made.Usage; usage != nil && usage.CostUSD != nil {
		u.money.Add(usage)
		u.paid++
	}
	if made.WallSeconds != nil {
		u.seconds, u.timed = u.seconds+*made.WallSeconds, u.timed+1
	}
}

// runs are the attempts of a line at a competition, by the label of the agent.
type runs struct{ agent, competition, class string }

// measured are the attempts of which steps measured what they used.
func measured(all []*results.Attempt) map[runs][]*results.Attempt {
	by := map[runs][]*results.Attempt{}
	for _, a := range all {
		if a.Made.WallSeconds != nil {
			at := runs{a.Agent, a.Competition(), a.Class()}
			by[at] = append(by[at], a)
		}
	}
	return by
}

// use fills in cost and time: as steps measured them, else as the reports have them.
func (l *Line) use(b *aggregate.Board, by map[runs][]*results.Attempt) {
	sum, seen := &used{}, map[runs]bool{}
	for _, e := range b.Entries {
		if e.Agent != l.Name {
			continue
		}
		at := runs{cmp.Or(e.Labels["agent"], e.Agent), e.Report.CompetitionID, e.Known().Class()}
		switch own := by[at]; {
		case len(own) == 0 && e.Attempt != nil:
			sum.add(e.Attempt)
		case !seen[at]:
			seen[at] = true
			for _, a := range own {
				sum.add(&a.Made)
			}
		}
	}
	if sum.paid > 0 {
		l.Tokens, l.Cost = aggregate.TokensText(&sum.money), aggregate.CostText(&sum.money)
	}
	if sum.timed > 0 {
		l.Time = view.Duration(time.Duration(sum.seconds / float64(sum.timed) * float64(time.Second)))
	}
}

// fold leaves out columns that say nothing, or the same of all.
func (t *Table) fold() {
	differ := func(of func(Line) string) bool {
		return slices.ContainsFunc(t.Lines, func(l Line) bool { return of(l) != of(t.Lines[0]) })
	}
	t.HasIsolation = differ(func(l Line) string { return l.Isolation })
	for _, l := range t.Lines {
		if !slices.Contains(t.Classes, l.Class) {
			t.Classes = append(t.Classes, l.Class)
		}
	}
	if t.HasCompetitions = differ(func(l Line) string { return strconv.Itoa(l.Competitions) }); !t.HasCompetitions {
		t.Same = append(t.Same, view.Plural(t.Lines[0].Competitions, "competition"))
	}
	first := t.Lines[0].Class.Name
	if len(t.Classes) == 1 {
		t.Same, t.Classes = append(t.Same, "All attempts: "+first), nil
	}
	if !t.HasIsolation && (len(t.Classes) > 0 || !strings.Contains(first, "isolation")) {
		t.Same = append(t.Same, "Isolation: "+t.Lines[0].Isolation)
	}
	for _, l := range t.Lines {
		t.HasScore, t.HasRank, t.HasCost, t.HasTime = t.HasScore || l.Score != "", t.HasRank || l.Rank != "", t.HasCost || l.Cost != "", t.HasTime || l.Time != ""
	}
}
