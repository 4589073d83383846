package site

import (
	"cmp"
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/proof/verify"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/steps/aggregate"
)

// Request holds the inputs of a board.
type Request struct {
	Title   string
	Bundles []*Bundle
	// Reported are rows that others published.
	Reported []Reported
	// Lock is the order in which the board took bundles before; nil is none.
	Lock *Lock
	// Seeds is the number of seeds that an agent must have; 0 requires none.
	Seeds int
	// Stops are times for which the board shows the results as if every attempt had been
	// stopped then.
	Stops []time.Duration
	// Exclude are rules; rows in which one of them found something do not count.
	Exclude []string
	Catalog *competitions.Catalog
	Version string
}

// Site is a board that was built.
type Site struct {
	Title    string    `json:"title"`
	Version  string    `json:"mleflow"`
	Findings []Finding `json:"findings"`
	Bundles  []*Bundle `json:"bundles"`
	Tables   []*Table  `json:"tables"`
	// Masked are the agents at versions and their masked ones.
	Masked   []Masked   `json:"masked,omitempty"`
	Reported []Reported `json:"reported"`
	// Excluded lists the rows left out by rules; nil without rules.
	Excluded *Excluded `json:"excluded,omitempty"`
	// Lock is the order in which bundles were taken, with those of this build.
	Lock *Lock `json:"-"`
	// Standings counts the rows that count.
	Standings map[verify.Standing]int `json:"standings"`

	rows    []*Row
	stops   []time.Duration
	catalog *competitions.Catalog
}

// Table is the leaderboard of the rows that can be compared.
type Table struct {
	Setting
	// Agents are the agents of Board with further facts.
	Agents []*Agent         `json:"agents"`
	Board  *aggregate.Board `json:"board"`
	rows   []*Row
	stops  []time.Duration
}

// Stopped is an agent had all its attempts been stopped at a time.
type Stopped struct {
	Hours float64 `json:"hours"`
	// Percentages are those of Overall; nil if an attempt's are unknown.
	Percentages board.Split `json:"percentages"`
}

// Agent is a row of a table.
type Agent struct {
	aggregate.Agent
	// Group numbers the tie groups of the class from 1: its agents cannot be told apart from
	// the first of them.
	Group int `json:"tie_group"`
	// Head is the agent that it was compared with, the first of the group that
	// it is in or fell out of; Behind is the comparison, where the p-value of the shown
	// figure is adjusted for all pairs of the class. The first of a class has none.
	Head   string            `json:"compared_with,omitempty"`
	Behind *board.Comparison `json:"comparison,omitempty"`

	// Measures are its figures over all competitions with their intervals.
	Measures map[string]board.Measure `json:"measures,omitempty"`

	// Stopped are the results of early stopping at the requested times.
	Stopped []Stopped `json:"stopped,omitempty"`

	// Key is the key of its bundles' signatures, if they are signed.
	Key       string                  `json:"key,omitempty"`
	Standings map[verify.Standing]int `json:"standings"`
	Models    []string                `json:"models,omitempty"`
	Runtimes  []string                `json:"runtimes"`
	Limits    []string                `json:"limits"`
	// Outside lists its attempts' inputs from outside their competitions.
	Outside []string `json:"outside,omitempty"`
	// Tries counts the attempts that the chains of its bundles say it began.
	Tries Tries `json:"tries"`
	// Sums over the attempts; nil if unknown for all. ListUSD is the cost by mleflow's
	// price list, whatever the attempts' own prices are, where the list knows the models.
	// EstimatedUSD is the part of CostUSD that no reported usage settles.
	Tokens       *float64 `json:"tokens"`
	CostUSD      *float64 `json:"cost_usd"`
	ListUSD      *float64 `json:"list_cost_usd,omitempty"`
	EstimatedUSD *float64 `json:"estimated_cost_usd,omitempty"`
	used         grading.Usage
	Seconds      *float64 `json:"wall_seconds"`
	rows         []*Row
}

// Build judges the bundles together and makes the tables.
func Build(q Request) (*Site, error) {
	sortBundles(q.Bundles)
	s := &Site{Title: q.Title, Version: q.Version, Bundles: q.Bundles, Reported: q.Reported, Standings: map[verify.Standing]int{}, catalog: q.Catalog, stops: q.Stops, Tables: []*Table{}}
	s.rows, s.Findings, s.Lock = check(q)
	s.misreported()
	s.exclude(q.Exclude)
	if err := conditions.CheckData(conditionsOf(s.rows)...); err != nil {
		return nil, err
	}
	counted := countedRows(s.rows)
	for _, r := range counted {
		s.Standings[r.Verdict.Standing]++
	}
	by := lists.By(counted, (*Row).setting)
	for _, at := range slices.SortedFunc(maps.Keys(by), compareSettings) {
		t, err := newTable(at, by[at], q)
		if err != nil {
			return nil, err
		}
		s.Tables = append(s.Tables, t)
	}
	return s, s.compareMasked()
}

// compareSettings puts the reference's task first, and unchecked data last.
func compareSettings(a, b Setting) int {
	rank := func(s Setting) int {
		return 2*board.Count(s.Unchecked) + board.Count(s.Task != string(competitions.TaskReference))
	}
	return cmp.Or(rank(a)-rank(b), cmp.Compare(a.Task, b.Task), cmp.Compare(a.Version, b.Version), cmp.Compare(a.Benchmark, b.Benchmark))
}

func newTable(at Setting, rows []*Row, q Request) (*Table, error) {
	b, err := newBoard(rows, q.Catalog, func(r *Row) *grading.Report { return &r.Report })
	if err != nil {
		return nil, err
	}
	t := &Table{Setting: at, Board: b, rows: rows, stops: q.Stops}
	names := map[*results.Made]string{} // of rows, since a board splits agents by class
	for _, e := range b.Entries {
		names[e.Attempt] = e.Agent
	}
	for _, a := range b.Agents {
		agent := newAgent(a, slices.DeleteFunc(slices.Clone(rows), func(r *Row) bool { return names[&r.Made] != a.Name }))
		agent.Measures = b.Measures(a.Name, a.Overall)
		t.Agents = append(t.Agents, agent)
	}
	for _, stop := range q.Stops {
		if err := t.stop(stop, q.Catalog); err != nil {
			return nil, err
		}
	}
	return t, t.group()
}

// newBoard makes the leaderboard of rows with the reports that a function gives.
func newBoard(rows []*Row, catalog *competitions.Catalog, report func(*Row) *grading.Report) (*aggregate.Board, error) {
	entries := lists.Of(rows, func(r *Row) aggregate.Entry {
		e := aggregate.NewEntry(grading.Graded{Report: *report(r), Labels: map[string]string{"agent": r.Agent, "seed": r.Seed}}, catalog)
		e.Attempt = &r.Made
		return e
	})
	return aggregate.BoardOfEntries(entries, catalog, rows[0].benchmark())
}

// stop adds to the agents the results as if their attempts had been stopped at a time.
func (t *Table) stop(at time.Duration, catalog *competitions.Catalog) error {
	unknown := map[*Row]bool{}
	b, err := newBoard(t.rows, catalog, func(r *Row) *grading.Report {
		if s := r.Stopped(at); s != nil {
			return s
		}
		unknown[r] = true
		return &r.Report
	})
	if err != nil {
		return err
	}
	by := map[string]board.Split{}
	for _, a := range b.Agents {
		by[a.Name] = a.Overall.Percentages
	}
	for _, a := range t.Agents {
		s := Stopped{Hours: at.Hours()}
		if !slices.ContainsFunc(a.rows, func(r *Row) bool { return unknown[r] }) {
			s.Percentages = by[a.Name]
		}
		a.Stopped = append(a.Stopped, s)
	}
	return nil
}

// group numbers the tie groups of each class. An agent that can be told apart from the
// first of a group opens the next one.
func (t *Table) group() (err error) {
	rest := t.Agents
	for _, class := range t.Board.Classes() {
		err = errors.Join(err, t.groupClass(rest[:len(class)]))
		rest = rest[len(class):]
	}
	return err
}

// groupClass groups a class by the rule of its benchmark, else by medals; see
// board.TieGroups.
func (t *Table) groupClass(agents []*Agent) error {
	ids := t.Board.Competitions()
	if rule := t.Board.Rule(); rule != nil && rule.Aggregate != board.Medals {
		for _, a := range agents {
			if a.Ruled != nil {
				a.Group = a.Ruled.Group
			}
		}
		return nil
	}
	runs := make([][]grading.Graded, len(agents))
	for i, a := range agents {
		runs[i], _ = t.Board.Graded(a.Name) // a board has reports of each agent
	}
	for i, tie := range board.TieGroups(len(agents), func(i, j int) float64 { return board.MedalP(runs[i], runs[j], ids) }) {
		if agents[i].Group = tie.Group; i == 0 {
			continue
		}
		agents[i].Head = agents[tie.Head].Name
		c, err := board.Compare(runs[tie.Head], runs[i], ids)
		switch d, ok := c.Figures[shownFigure]; {
		case errors.Is(err, board.ErrNothingShared):
			continue
		case err != nil:
			return err
		case ok:
			adjusted := grading.Number(tie.P)
			d.AdjustedP = &adjusted
			c.Figures[shownFigure] = d
		}
		agents[i].Behind = &c
	}
	return nil
}

// shownFigure is the figure by which a table is sorted at first.
const shownFigure = "any_medal_percentage"

// path is the page of all rows of the agent, of whatever class.
func (a *Agent) path() string { return agentPath(a.rows[0].Agent) }

func newAgent(a aggregate.Agent, rows []*Row) *Agent {
	out := &Agent{Agent: a, Standings: map[verify.Standing]int{}, Runtimes: []string{}, Limits: []string{}, rows: rows}
	for _, r := range rows {
		out.Key = r.Bundle.Signer
		out.Outside = append(out.Outside, channels(r.Outside)...)
		out.Standings[r.Verdict.Standing]++
		out.Runtimes = append(out.Runtimes, r.runtime())
		out.Limits = append(out.Limits, r.limits())
		add(&out.Seconds, r.Made.WallSeconds)
		if u := r.Made.Usage; u != nil {
			out.Models = append(out.Models, strings.Fields(u.Model)...)
			out.used.Add(u)
		}
	}
	out.Tokens, out.CostUSD, out.ListUSD, out.EstimatedUSD = out.used.Tokens(), out.used.CostUSD, out.used.ListUSD, out.used.EstimatedUSD
	out.Tries = triesOf(out.rows)
	for _, list := range []*[]string{&out.Models, &out.Runtimes, &out.Limits, &out.Outside} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	slices.SortStableFunc(out.rows, func(x, y *Row) int {
		return cmp.Or(cmp.Compare(x.Report.CompetitionID, y.Report.CompetitionID), results.CompareSeeds(x.Seed, y.Seed), cmp.Compare(x.GradeAddress, y.GradeAddress))
	})
	return out
}

func add(sum **float64, v *float64) {
	switch {
	case v == nil || math.IsNaN(*v):
	case *sum == nil:
		*sum = new(*v)
	default:
		**sum += *v
	}
}
