package firstscreen

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/attempts"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/outcome"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/history"
)

// Matrix is the attempts by agent, competition and seed. The longer of agents and
// competitions is down.
type Matrix struct {
	// Corner names what the rows are.
	Corner  string
	Columns []string
	Rows    []Row
	Legend  []Cell
}

// Row is a row of the matrix.
type Row struct {
	Name    string
	Squares []Square
}

// Square is the attempts of an agent at a competition, and their mean score if they are of
// one class.
type Square struct {
	Cells []Cell
	Mean  string
}

// Cell is an attempt, or N of one state where there are very many.
type Cell struct {
	State       State
	Title, Link string
	N           int
}

// nameShown bounds what a stranger's name may add to a page.
const nameShown = 300

// cellsShown is the largest number of attempts with a cell each. Of more, those of a state
// share a cell.
const cellsShown = 3000

// matrix arranges attempts, which come by competition, agent and seed.
func (s *Source) matrix(all []*results.Attempt) Matrix {
	rows, columns := view.Names(all, (*results.Attempt).Competition), view.Names(all, agentOf)
	m := Matrix{Corner: "Competition"}
	row, column := (*results.Attempt).Competition, agentOf
	if len(columns) > len(rows) {
		m.Corner, rows, columns, row, column = "Agent", columns, rows, column, row
	}
	m.Columns = lists.Of(columns, func(c string) string { return view.Cut(c, nameShown) })
	in := lists.By(all, func(a *results.Attempt) [2]string { return [2]string{row(a), column(a)} })
	m.Rows = lists.Of(rows, func(r string) Row {
		return Row{view.Cut(r, nameShown), lists.Of(columns, func(c string) Square { return s.square(in[[2]string{r, c}], len(all) > cellsShown) })}
	})
	m.Legend = counts(all)
	m.align()
	return m
}

// align writes the mean scores of each competition with the same number of decimals.
func (m *Matrix) align() {
	most := map[int]int{}
	each := func(do func(competition int, q *Square)) {
		for i := range m.Rows {
			for j := range m.Rows[i].Squares {
				if q := &m.Rows[i].Squares[j]; q.Mean != "" && !strings.Contains(q.Mean, "e") {
					do(view.Either(m.Corner == "Agent", j, i), q)
				}
			}
		}
	}
	each(func(c int, q *Square) { most[c] = max(most[c], decimals(q.Mean)) })
	each(func(c int, q *Square) {
		have := decimals(q.Mean)
		if have == 0 && most[c] > 0 {
			q.Mean += "."
		}
		q.Mean += strings.Repeat("0", most[c]-have)
	})
}

func decimals(number string) int {
	_, after, _ := strings.Cut(number, ".")
	return len(after)
}

func agentOf(a *results.Attempt) string { return a.Agent }

// counts are cells with the numbers of attempts by state.
func counts(all []*results.Attempt) (list []Cell) {
	by := lists.By(all, StateOf)
	for _, of := range states {
		if n := len(by[of.State]); n > 0 {
			list = append(list, Cell{State: of.State, N: n, Title: fmt.Sprintf("%d %s", n, of.Name)})
		}
	}
	return list
}

func (s *Source) square(list []*results.Attempt, many bool) (q Square) {
	var scores []float64
	for _, a := range list {
		if a.Report.Score != nil {
			scores = append(scores, float64(*a.Report.Score))
		}
		if !many {
			q.Cells = append(q.Cells, Cell{State: StateOf(a), Title: title(a), Link: s.Link(cmp.Or(a.Address, a.GradeAddress)), N: 1})
		}
	}
	if len(scores) > 0 && len(results.Classes(list)) == 1 { // else it mixes what cannot be compared
		q.Mean = page.Score(float64(board.NewEstimate(scores).Mean))
	}
	if many {
		q.Cells = counts(list)
	}
	return q
}

// title describes an attempt: "aide · demo-digits · seed 0: gold, 0.9861".
func title(a *results.Attempt) string {
	name := view.Parts{a.Agent, a.Competition()}
	name.If(a.Seed != "", "seed "+a.Seed)
	text := StateOf(a).Name()
	if a.Report.Score != nil {
		text += ", " + page.Score(float64(*a.Report.Score))
	}
	switch ended, mood := a.Ended(); {
	case mood == results.Bad && a.Report.Score == nil:
		text = ended
	case mood == results.Fair || mood == results.Bad:
		text += ", " + ended
	}
	return view.Cut(view.OneLine(name.Join(" · ")+": "+text+view.After(": ", a.Reason())), nameShown)
}

// Source provides the data of a first screen.
type Source struct {
	attempts.Journal
	Summary *history.Summary
	Store   cache.Store
	// Link returns the address of a step's page; "" in a file.
	Link func(address string) string
	// Tail returns the last lines of a step's log in a run.
	Tail func(run, address string, lines int) []string
}

// State is how an attempt stands, the best first.
type State string

// The states of attempts.
const (
	Gold    State = "gold"
	Silver  State = "silver"
	Bronze  State = "bronze"
	Median  State = "median"
	Miss    State = "miss"
	Scored  State = "scored" // where there is nobody to compare with, or no medal counts
	Invalid State = "invalid"
	Failed  State = "failed"
	Running State = "running"
	Waiting State = "waiting"
	Stopped State = "stopped" // interrupted under way
	NotRun  State = "notrun"
)

// stateWords are the sign and the name of a state.
type stateWords struct {
	State
	Sign, Name string
}

// states are the states in order, with their signs and their names.
var states = []stateWords{
	{Gold, "G", "gold"}, {Silver, "S", "silver"}, {Bronze, "B", "bronze"}, {Median, "▲", "above the median"}, {Miss, "–", "no medal"}, {Scored, "✓", "scored"},
	{Invalid, "!", "no valid submission"}, {Failed, "✕", "failed"}, {Running, "…", "running"}, {Waiting, "", "waiting"}, {Stopped, "◐", string(results.Interrupted)}, {NotRun, "○", string(results.NotRun)},
}

// Sign is the sign of the state in a matrix.
func (s State) Sign() string { return states[s.index()].Sign }

// Name is the state for people.
func (s State) Name() string { return states[s.index()].Name }

func (s State) index() int {
	return slices.IndexFunc(states, func(of stateWords) bool { return of.State == s })
}

// unended are the states of attempts that have no result.
var unended = map[results.Phase]State{
	results.Waiting: Waiting, results.Running: Running, results.NotRun: NotRun, results.Interrupted: Stopped, results.Failed: Failed,
}

// StateOf is how an attempt stands.
func StateOf(a *results.Attempt) State {
	if state := unended[a.Phase]; state != "" {
		return state
	}
	switch _, mood := a.Ended(); {
	case mood == results.Good || mood == results.Fair:
		return medal(a)
	case a.Made.Outcome != "" && a.Made.Outcome != outcome.Finished:
		return Failed
	case a.Graded:
		return Invalid
	}
	return Scored
}

// medal is the state of an attempt with a score.
func medal(a *results.Attempt) State {
	r := &a.Report
	switch best := results.Medal(*r); {
	case a.WithoutMedals() != "":
		return Scored
	case best != "":
		return State(best)
	case r.AboveMedian:
		return Median
	case r.Unranked():
		return Scored
	}
	return Miss
}
