package firstscreen

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/results"
)

// Matrix is the attempts by agent, competition and seed. The longer of agents and
// competitions is down.
type Matrix struct {
	// Corner names what the rows are.
	Corner  string
	Columns []string
	Rows    []Row
	Legend  []Count
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

// Count is the number of attempts of a state.
type Count struct {
	State State
	N     int
}

// nameShown bounds what a stranger's name may add to a page.
const nameShown = 300

// cellsShown is the largest number of attempts with a cell each. Of more, those of a state
// share a cell.
const cellsShown = 3000

// matrix arranges attempts, which come by competition, agent and seed.
func (s *Source) matrix(all []*results.Attempt) Matrix {
	rows, columns := distinct(all, (*results.Attempt).Competition), distinct(all, agentOf)
	m := Matrix{Corner: "Competition"}
	row, column := (*results.Attempt).Competition, agentOf
	if len(columns) > len(rows) {
		m.Corner, rows, columns, row, column = "Agent", columns, rows, column, row
	}
	for _, c := range columns {
		m.Columns = append(m.Columns, view.Cut(c, nameShown))
	}
	in := map[[2]string][]*results.Attempt{}
	for _, a := range all {
		key := [2]string{row(a), column(a)}
		in[key] = append(in[key], a)
	}
	for _, r := range rows {
		line := Row{Name: view.Cut(r, nameShown)}
		for _, c := range columns {
			line.Squares = append(line.Squares, s.square(in[[2]string{r, c}], len(all) > cellsShown))
		}
		m.Rows = append(m.Rows, line)
	}
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
				competition := i
				if m.Corner == "Agent" {
					competition = j
				}
				if q := &m.Rows[i].Squares[j]; q.Mean != "" && !strings.Contains(q.Mean, "e") {
					do(competition, q)
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

// distinct are the names of attempts, sorted.
func distinct(all []*results.Attempt, of func(*results.Attempt) string) []string {
	seen := map[string]bool{}
	var out []string
	for _, a := range all {
		if name := of(a); !seen[name] {
			seen[name] = true
			out = append(out, name)
		}
	}
	slices.SortFunc(out, board.CompareNames)
	return out
}

// counts are the numbers of attempts by state.
func counts(all []*results.Attempt) (list []Count) {
	n := map[State]int{}
	for _, a := range all {
		n[StateOf(a)]++
	}
	for _, state := range states {
		if n[state.State] > 0 {
			list = append(list, Count{state.State, n[state.State]})
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
			q.Cells = append(q.Cells, Cell{State: StateOf(a), Title: title(a), Link: s.link(cmp.Or(a.Address, a.GradeAddress)), N: 1})
		}
	}
	if len(scores) > 0 && len(results.Classes(list)) == 1 { // else it mixes what cannot be compared
		q.Mean = page.Score(float64(board.NewEstimate(scores).Mean))
	}
	if many {
		for _, c := range counts(list) {
			q.Cells = append(q.Cells, Cell{State: c.State, N: c.N, Title: fmt.Sprintf("%d %s", c.N, c.State.Name())})
		}
	}
	return q
}

func (s *Source) link(address string) string {
	if s.Link == nil {
		return ""
	}
	return s.Link(address)
}

// title describes an attempt: "aide · demo-digits · seed 0: gold, 0.9861".
func title(a *results.Attempt) string {
	name := []string{a.Agent, a.Competition()}
	if a.Seed != "" {
		name = append(name, "seed "+a.Seed)
	}
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
	text = strings.Join(name, " · ") + ": " + text
	if why := a.Reason(); why != "" {
		text += ": " + why
	}
	return view.Cut(view.OneLine(text), nameShown)
}
