package ui

import (
	"cmp"
	"context"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/steps/aggregate"
)

// attemptTable is a table of attempts.
type attemptTable struct {
	*table
	classes *classes
	// newest is the newest program of each agent; nil where programs are not told apart.
	newest map[string]string
}

// newAttemptTable returns a table of attempts, whose members are grouped within a class. Its
// attempts are of several runs if newest is given; else sofar says how long those of a run
// take that have not ended.
func newAttemptTable(path string, list []*results.Attempt, newest map[string]string, sofar func(*results.Attempt) string, facets ...string) *attemptTable {
	t := &attemptTable{classes: classesOf(list), newest: newest, table: &table{Noun: "attempt", Empty: "No attempt has ended in a run of this cache.", Path: path, Placeholder: "agent, competition, reason",
		Facets: append(facets, "class"), Groups: []string{"agent", "competition", "agent+competition"}, Split: "class"}}
	t.Legend = t.classes.legend()
	fillTable(t.table, t.columns(sofar), list, func(a *results.Attempt) gridLine {
		return gridLine{Address: cmp.Or(a.Address, a.GradeAddress), Compare: t.agent(a).Compare()}
	})
	return t
}

// columns are those of every table of attempts. What is not known of any of them is not
// shown.
func (t *attemptTable) columns(sofar func(*results.Attempt) string) []page.Column[*results.Attempt] {
	return []page.Column[*results.Attempt]{
		{Key: "attempt", Title: "Attempt", Of: func(a *results.Attempt) cell {
			return cell{Text: t.name(a), Sub: nameInAgent(a), Link: attemptAddress(a)}
		}},
		{Key: "outcome", Title: "Outcome", Kind: page.Ends, Of: func(a *results.Attempt) (c cell) { c.Text, c.Class = endCell(a); return }},
		{Key: "score", Title: "Score", Kind: page.Points, Within: "competition", Value: func(a *results.Attempt) float64 {
			return valueOf((*float64)(cmp.Or(a.Report.ExactScore, a.Report.Score)))
		}},
		{Key: "medal", Title: "Medal", Kind: page.Medals, Of: medalCell},
		{Key: "rank", Title: "Rank among people", Kind: page.Amounts, Within: "competition", Of: rankCell},
		{Key: "reason", Title: "Reason", Text: func(a *results.Attempt) string { return brief(a.Reason()) }},
		{Key: "by_hand", Title: "By hand", Text: func(a *results.Attempt) string { return brief(a.ByHand()) }},
		{Key: "time", Title: "Time", Kind: page.Spells, Of: func(a *results.Attempt) cell { return timeCell(a, sofar) }},
		{Key: "tokens", Title: "Tokens", Kind: page.Amounts, Value: func(a *results.Attempt) float64 { return valueOf(a.Made.Usage.Tokens()) }},
		{Key: "cost", Title: "Cost (USD)", Kind: page.Dollars, Of: costCell},
		{Key: "isolation", Title: "Isolation", Kind: page.Badges, Of: func(a *results.Attempt) cell {
			return isolationCell(conditions.Described(a.Report.Conditions)).If(len(a.Report.Conditions) > 0)
		}},
		{Key: "integrity", Title: "Integrity", Kind: page.Badges, Of: page.Integrity},
		{Key: "class", Title: "Class", Text: t.classes.letter},
		{Key: "run", Title: "Run", Of: func(a *results.Attempt) cell {
			return cell{Text: history.Nickname(a.RunID), Link: runAddress(a.RunID)}.If(t.newest != nil)
		}},
		{Key: "started", Title: "Started", Kind: page.Moments, Of: func(a *results.Attempt) cell {
			at, err := time.Parse(time.RFC3339, a.Started)
			return momentCell(at).If(err == nil && t.newest != nil)
		}},
		{Key: "runs", Title: "In runs", Kind: page.Amounts, Extra: true, Of: func(a *results.Attempt) cell { return page.Count(len(a.Runs)).If(t.newest != nil) }},
		{Key: "agent", Title: "Agent", Extra: true, Text: t.name},
		{Key: "competition", Title: "Competition", Extra: true, Text: (*results.Attempt).Competition},
		{Key: "seed", Title: "Seed", Extra: true, Text: func(a *results.Attempt) string { return a.Seed }},
	}
}

// timeCell is how long an attempt took, or takes so far.
func timeCell(a *results.Attempt, sofar func(*results.Attempt) string) cell {
	c := cell{Value: valueOf(a.Made.WallSeconds)}
	if math.IsNaN(c.Value) && sofar != nil {
		c.Text = sofar(a)
	}
	return c
}

func momentCell(at time.Time) cell { return cell{Value: float64(at.Unix())} }

// rankCell is the rank of an attempt that has a score.
func rankCell(a *results.Attempt) cell {
	if a.Report.Rank == nil || cmp.Or(a.Report.ExactScore, a.Report.Score) == nil {
		return nothing
	}
	return cell{Text: results.Place(*a.Report.Rank, a.Report.Teams), Value: float64(*a.Report.Rank)}
}

// costCell is what the models of an attempt cost, with marks of what the figure rests on.
func costCell(a *results.Attempt) cell {
	use := a.Made.Usage
	if use == nil || use.CostUSD == nil {
		return nothing
	}
	return cell{Value: *use.CostUSD, Text: view.When(aggregate.CostMarks(use) != "", aggregate.CostText(use))}
}

// agent is the agent of an attempt with its program.
func (t *attemptTable) agent(a *results.Attempt) agentProgram {
	return withProgram(a.Agent, a.Program, t.newest == nil || t.newest[a.Agent] == a.Program)
}

func (t *attemptTable) name(a *results.Attempt) string { return t.agent(a).Name }

// agentProgram is an agent with one of its programs: its name, its reference in a comparison
// and the address of its page.
type agentProgram struct{ Name, Ref, Link string }

// Compare is the address of a comparison with it.
func (p agentProgram) Compare() string { return compareAddress(p.Ref) }

// withProgram is an agent with one of its programs, which is not named if it is the newest.
func withProgram(agent, program string, newest bool) agentProgram {
	ref, name := cmp.Or(program, unknownProgram), agent+" (program not known)"
	switch {
	case newest:
		return agentProgram{agent, agentPrefix + agent, agentAddress(agent, "")}
	case program != "":
		name = agent + " (program " + program[:min(6, len(program))] + "…)"
	}
	return agentProgram{name, agentPrefix + agent + "@" + ref, agentAddress(agent, ref)}
}

// unknownProgram stands in addresses for a program that is not known.
const unknownProgram = "unknown"

// programOf is the program that an address names; the newest if it names none.
func programOf(ref, newest string) string {
	if ref == unknownProgram {
		return ""
	}
	return cmp.Or(ref, newest)
}

// nameInAgent is the name of an attempt without the agent.
func nameInAgent(a *results.Attempt) string {
	return view.When(a.Competition() != "", a.Competition()+" · "+cmp.Or(a.Seed, "–"))
}

// attemptAddress is the address of an attempt's page.
func attemptAddress(a *results.Attempt) string {
	return stepAddress(a.RunID, cmp.Or(a.Address, a.GradeAddress), "")
}

// endCell is how an attempt ended, or stands, with its class.
func endCell(a *results.Attempt) (text, class string) {
	text, mood := a.Ended()
	if mood == "" && text == string(a.Phase) {
		return text, text
	}
	return text, string(mood)
}

// medalCell orders medals by their worth. Of an attempt that cannot win one it says why.
func medalCell(a *results.Attempt) cell {
	if !a.Graded {
		return nothing
	}
	if why := a.WithoutMedals(); why != "" {
		return cell{Text: why, Value: math.NaN()}
	}
	medal := results.Medal(a.Report)
	return cell{Text: cmp.Or(medal, "–"), Value: float64(slices.Index([]string{"bronze", "silver", "gold"}, medal) + 1)}
}

func isolationCell(text string) cell {
	return cell{Text: text, Class: view.When(strings.Contains(text, conditions.NotIsolated), "bad")}
}

// classes gives letters to the classes of attempts on a page.
type classes struct {
	names []string
	// known are the letters of conditions that were asked for: a class is slow to make.
	known map[string]string
}

// classesOf gives letters to the classes of those attempts that count.
func classesOf(list []*results.Attempt) *classes {
	return &classes{known: map[string]string{}, names: results.Classes(slices.DeleteFunc(slices.Clone(list), func(a *results.Attempt) bool {
		return !a.Graded || len(a.Report.Conditions) == 0 || !conditions.Final(a.Report.Conditions)
	}))}
}

// of is the letter of a class; "" of one that no attempt has that counts.
func (c *classes) of(class string) string {
	if i := slices.Index(c.names, class); i >= 0 {
		return results.Letter(i)
	}
	return ""
}

// legend explains the letters.
func (c *classes) legend() []page.Fact {
	return lists.Of(c.names, func(name string) page.Fact { return page.Fact{Name: c.of(name), Value: name} })
}

// letter is the letter of an attempt's class; "" of one that does not count, or if its
// conditions are not known.
func (c *classes) letter(a *results.Attempt) string {
	key := strings.Join(a.Report.Conditions, "\n") + "\n" + a.Report.CompetitionVersion
	letter, ok := c.known[key]
	if !ok && len(a.Report.Conditions) > 0 {
		letter = c.of(a.Class())
		c.known[key] = letter
	}
	return letter
}

// find returns the class that a letter or a text names; "" for none.
func (c *classes) find(text string) string {
	for _, name := range c.names {
		if name == text || c.of(name) == text {
			return name
		}
	}
	return ""
}

// attemptsPage lists the attempts of a run with their outcomes.
func (u *UI) attemptsPage(r *http.Request, m *model, sum *history.Summary, c *content) error {
	list, err := u.attemptsOf(r.Context(), m, sum)
	if err != nil {
		return err
	}
	sofar := func(a *results.Attempt) string { return tookText(m.sums.Step(a.Address), u.Now(), sum) }
	t := newAttemptTable(runAddress(sum.ID)+"/attempts", list, nil, sofar, "agent", "competition", "outcome", "medal")
	t.Empty, t.Retry = "The run has no attempts: its pipeline has no agent-run step.", "mleflow apply "+shellQuoted(sum.Pipeline)+" --retry "
	t.show(c, r)
	return nil
}

// attemptsOf returns the attempts of a run that is shown, made once of the same events and
// reports. Of a large run not all reports and logs are read at once.
func (u *UI) attemptsOf(ctx context.Context, m *model, sum *history.Summary) ([]*results.Attempt, error) {
	catalog, err := u.Catalog(m.past)
	if err != nil {
		return nil, err
	}
	j := m.journal(sum, catalog)
	err = u.Results(m.past, func(c Results) error {
		u.readReports(ctx, m, c, j.Pairs)
		return nil
	})
	made := attemptsMade{m.events, len(m.reports), sum.State}
	if m.made != made {
		m.attempts, m.made = j.List(), made
	}
	u.results.explain(m.attempts, explainedAttempts)
	return m.attempts, err
}

// shellQuoted writes an argument for a shell.
func shellQuoted(arg string) string { return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'" }

// brief is the beginning of a text, in one line.
func brief(text string) string {
	const most = 160
	return view.Cut(view.OneLine(text[:min(len(text), 8*most)]), most)
}

// valueOf is a number that may be missing.
func valueOf(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}

// resultsPage lists the attempts of all runs that have ended.
func (u *UI) resultsPage(r *http.Request) (*content, error) {
	now, p := u.results.now()
	c := listContent("Attempts", p)
	newAttemptTable("/attempts", now.all, now.newest, nil, "agent", "competition", "outcome", "medal").show(c, r)
	return c, c.err
}
