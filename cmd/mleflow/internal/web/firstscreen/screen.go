package firstscreen

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/attempts"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/outputs"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/outcome"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/steps/aggregate"
)

// Parts are the templates "leaderboard", "matrix" and "causes", for package page.
//
//go:embed parts.html
var Parts string

// Screen is the first screen of a run.
type Screen struct {
	Tables []Table
	Agents []string
	// Note says how complete the leaderboard is, or why there is none.
	Note string
	// Rehearsal means that the data were those of a rehearsal. Notes are the caveats of the
	// leaderboards, NotesMore the number of those left out.
	Rehearsal bool
	Notes     []string
	NotesMore int
	// Acts are what people asked of the run and its attempts.
	Acts        []string
	Comparisons []Comparison
	// Evaluation is the answer of the pipeline's evaluation, if any.
	Evaluation string
	Matrix     Matrix
	Causes     []Cause
	// More is the number of further causes.
	More int
	// Outputs are those of the run without its leaderboards.
	Outputs []page.Fact
}

// New makes the first screen of a run, with the causes of the steps that failed and of
// other problems.
func (s *Source) New(ctx context.Context, problems []view.Problem) Screen {
	all := s.List()
	results.Sort(all)
	made := slices.DeleteFunc(outputs.Boards(ctx, s.Store, s.Summary), func(b outputs.Board) bool {
		return b.Data == nil || len(b.Data.Agents) == 0 // its text is among the outputs
	})
	screen := Screen{Agents: view.Names(all, agentOf), Matrix: s.matrix(all), Outputs: others(s.Summary.Outputs, made), Acts: view.Acts(s.Summary.Steered)}
	boards := lists.Of(made, func(b outputs.Board) *aggregate.Board { return b.Data })
	if len(boards) == 0 {
		boards, screen.Note = s.partial()
	}
	screen.Tables = tables(boards, all)
	failed := slices.DeleteFunc(slices.Clone(s.Summary.Steps), func(st history.StepSummary) bool { return st.Status != event.Failed })
	screen.Causes, screen.More = s.explain(append(lists.Of(failed, func(st history.StepSummary) view.Problem {
		return view.Problem{Address: st.Address, Run: s.Summary.ID, Outcome: "step failed", Reason: st.Error}
	}), problems...))
	if e := s.Summary.Evaluation; e != nil {
		screen.Evaluation = "Evaluate " + e.Name + ": " + view.Evaluation(*e)
	}
	for _, b := range boards {
		b.Explain(all)
		screen.Rehearsal = screen.Rehearsal || b.Rehearsal
		for _, c := range b.Comparisons {
			screen.Comparisons = append(screen.Comparisons, Comparison{c.First + " and " + c.Second + ", " + aggregate.Basis(c.Comparison), b.Sentence(c), Figures(c.First, c.Second, c.Comparison)})
		}
		// That attempts were not isolated is said at the head of every page.
		screen.Notes = append(screen.Notes, slices.DeleteFunc(b.Notes(), func(note string) bool { return strings.HasPrefix(note, "Untrusted:") })...)
	}
	shown := min(len(screen.Notes), notesShown)
	screen.Notes, screen.NotesMore = screen.Notes[:shown], len(screen.Notes)-shown
	return screen
}

// Figures are the rows of a comparison of two, headers first.
func Figures(first, second string, c board.Comparison) [][]string {
	rows := aggregate.ComparisonRows(first, second, c)
	for i, head := range rows[0] {
		if i == 0 || i > 2 {
			rows[0][i] = view.Capital(cmp.Or(head, "figure"))
		}
	}
	return rows
}

// Comparison is two agents that a leaderboard compares: in words, and as the rows of a
// table, headers first.
type Comparison struct {
	Title, Sentence string
	Rows            [][]string
}

// Cause is a reason for which steps failed or attempts have no score.
type Cause struct {
	Outcome, Reason string
	N               int
	// Tail is the end of the first log.
	Tail  string
	Steps []Step
	More  int
	// Command shows the first log.
	Command string
}

// Step is a step with its page.
type Step struct{ Address, Name, Link string }

// causesShown and stepsShown bound what a page names of failures.
const (
	notesShown  = 12
	causesShown = 20
	stepsShown  = 12
	tailLines   = 40
)

// explain groups problems by cause, in order of appearance, with the ends of their logs.
// More is the number of causes that are left out.
func (s *Source) explain(problems []view.Problem) (list []Cause, more int) {
	o := view.Outcomes{Problems: problems}
	all := o.Causes()
	for _, c := range all[:min(len(all), causesShown)] {
		one := Cause{Outcome: outcome.Words(c.Outcome), Reason: c.Why(), N: len(c.All), Command: c.Command(), More: max(0, len(c.All)-stepsShown)}
		lines := c.Tail
		if len(lines) == 0 {
			_, lines = view.Excerpt(s.Tail(c.Run, c.Address, tailLines))
		}
		one.Tail = strings.Join(lines, "\n")
		one.Steps = lists.Of(c.All[:min(len(c.All), stepsShown)], func(p view.Problem) Step {
			return Step{p.Address, page.Name(p.Address), s.Link(p.Address)}
		})
		list = append(list, one)
	}
	return list, len(all) - len(list)
}

// partial makes the leaderboard of the reports that there are, with a note that says how
// complete it is, or why there is none.
func (s *Source) partial() (list []*aggregate.Board, note string) {
	read := lists.Where(s.Pairs, func(p attempts.Pair) bool { _, ok := s.Reports[p.Grade]; return ok })
	if len(read) == 0 {
		return nil, ""
	}
	benchmark, err := results.Declared{Run: s.Run.ID, Benchmarks: s.Benchmarks}.Only(s.Catalog)
	var made *aggregate.Board
	if err == nil {
		made, err = aggregate.BoardOf(lists.Of(read, func(p attempts.Pair) grading.Graded { return s.Reports[p.Grade] }), s.Catalog, benchmark)
	}
	if err != nil {
		return nil, "There is no leaderboard of the attempts: " + err.Error()
	}
	if all := view.ToGrade(s.Summary.Start); s.Summary.State == history.Running || all > len(read) {
		note = view.PartialText(len(read), all)
		for i := range made.Agents {
			made.Agents[i].Missing = nil // the note says it of all
		}
	}
	return []*aggregate.Board{made}, note
}

// others returns the outputs of a run without the texts of its leaderboards.
func others(all []event.OutputValue, boards []outputs.Board) (list []page.Fact) {
	for _, o := range all {
		for _, b := range boards {
			if o.IsString && b.Table != "" {
				o.Value = strings.ReplaceAll(o.Value, b.Table, "")
			}
		}
		if !o.IsString || strings.TrimSpace(o.Value) != "" {
			list = append(list, page.Fact{Name: o.Name, Value: o.Value})
		}
	}
	return list
}

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
	// Rule is that of the board's benchmark, and About explains it; "" without one.
	// Medalless means that no competition has a leaderboard.
	Rule, About string
	Medalless   bool
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
	// Ruled is the figure by the rule of the benchmark; nil without one.
	Ruled *board.Ruled
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
	labels, texts := b.Labels(false), map[string]Class{}
	of := func(row int) []string { return lists.Of(labels, func(column []string) string { return column[row] }) }
	add := func(title string, at int, g aggregate.Group) {
		i := slices.IndexFunc(list, func(t Table) bool { return t.Title == title })
		if i < 0 {
			i = len(list)
			t := Table{Title: title, Labels: of(0), Medalless: b.Medalless()}
			if rule := b.Rule(); rule != nil && g.Name == b.Agents[at].Overall.Name {
				t.Rule, t.About = rule.Aggregate, rule.Explain()
			}
			list = append(list, t)
		}
		line := lineOf(b.Agents[at], g)
		line.Class = texts[line.Name]
		line.Interval = b.Measures(b.Agents[at].Name, g)["any_medal_percentage"].Shown()
		line.Labels = of(at + 1)
		if g.Name == b.Agents[at].Overall.Name {
			line.use(b, by)
		}
		list[i].Lines = append(list[i].Lines, line)
	}
	for _, class := range b.Classes() {
		for _, a := range class {
			texts[a.Name] = Class{a.ClassLetter, cmp.Or(b.ClassText(class), conditions.Unknown)}
		}
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
	l := Line{Place: a.PlaceText(), Name: a.Name, Isolation: cmp.Or(g.Isolation, conditions.Unknown) + g.Repeats.String(), Seeds: g.Seeds, Competitions: len(g.Competitions), Percentages: g.Percentages}
	if g.Name == a.Overall.Name {
		l.Ruled = a.Ruled
		if a.Rank != nil {
			l.Rank, l.Wins = a.Rank.Text()
		}
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

// runs are the attempts of a line at a competition, by the label of the agent.
type runs struct{ agent, competition, class string }

// measured are the attempts of which steps measured what they used.
func measured(all []*results.Attempt) map[runs][]*results.Attempt {
	timed := slices.DeleteFunc(slices.Clone(all), func(a *results.Attempt) bool { return a.Made.WallSeconds == nil })
	return lists.By(timed, func(a *results.Attempt) runs { return runs{a.Agent, a.Competition(), a.Class()} })
}

// use fills in cost and time: as steps measured them, else as the reports have them.
func (l *Line) use(b *aggregate.Board, by map[runs][]*results.Attempt) {
	var made []*results.Made
	seen := map[runs]bool{}
	for _, e := range b.Entries {
		if e.Agent != l.Name {
			continue
		}
		at := runs{cmp.Or(e.Labels["agent"], e.Agent), e.Report.CompetitionID, e.Known().Class()}
		switch own := by[at]; {
		case len(own) == 0 && e.Attempt != nil:
			made = append(made, e.Attempt)
		case !seen[at]:
			seen[at] = true
			made = append(made, lists.Of(own, func(a *results.Attempt) *results.Made { return &a.Made })...)
		}
	}
	var money grading.Usage
	var seconds []float64
	for _, m := range made {
		if m.WallSeconds != nil {
			seconds = append(seconds, *m.WallSeconds)
		}
		if m.Usage != nil && m.Usage.CostUSD != nil {
			money.Add(m.Usage)
			l.Tokens, l.Cost = aggregate.TokensText(&money), aggregate.CostText(&money)
		}
	}
	if len(seconds) > 0 {
		l.Time = view.Duration(view.Seconds(float64(board.NewEstimate(seconds).Mean)))
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
