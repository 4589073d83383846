package ui

import (
	"cmp"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/outcome"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/ledger"
)

// named are the columns that every table of attempts ends with.
var named = []field{{Key: "agent", Title: "Agent", Extra: true}, {Key: "competition", Title: "Competition", Extra: true}, {Key: "seed", Title: "Seed", Extra: true}}

func (i identity) cells() []cell {
	return []cell{{Text: i.Agent}, {Text: i.Competition}, {Text: i.Seed}}
}

// attemptGroups are the ways in which attempts are grouped.
var attemptGroups = []string{"agent", "competition", "agent+competition"}

// attemptsPage lists the attempts of a run with their outcomes.
func (u *UI) attemptsPage(r *http.Request) (*content, error) {
	m, unlock, err := u.openRun(r)
	if err != nil {
		return nil, err
	}
	defer unlock()
	sum := m.sums.Summary()
	c, err := u.runContent(m, sum, "Attempts")
	if err != nil {
		return nil, err
	}
	t := &table{Noun: "attempt", Empty: "The run has no attempts: its pipeline has no agent-run step.", Path: runAddress(sum.ID) + "/attempts", Placeholder: "agent, competition, reason", Facets: []string{"agent", "competition", "outcome", "medal"}, Groups: attemptGroups,
		Columns: append([]field{{Key: "attempt", Title: "Attempt"}, {Key: "outcome", Title: "Outcome", Kind: ends}, {Key: "score", Title: "Score", Kind: points, Within: "competition"},
			{Key: "medal", Title: "Medal", Kind: medals}, {Key: "reason", Title: "Reason"}, {Key: "time", Title: "Time", Kind: spells}, {Key: "tokens", Title: "Tokens", Kind: amounts},
			{Key: "cost", Title: "Cost (USD)", Kind: dollars}, {Key: "isolation", Title: "Isolation", Kind: badges}}, named...)}
	t.Retry = "mleflow apply " + quoted(sum.Pipeline) + " --retry "
	for _, a := range m.addresses() {
		if m.kind(a) == conditions.AttemptKind {
			row := m.attempt(sum, a, u.Now())
			if res := u.results.graded(actionOf(m.sums.Step(m.grades[a]))); res != nil {
				row.identity = res.identity()
			}
			t.Lines = append(t.Lines, row.line())
		}
	}
	return c, t.add(c, r)
}

// attempt is an attempt as its table shows it, read once if it has ended.
func (m *model) attempt(sum *ledger.Summary, address string, now time.Time) attemptRow {
	if row, ok := m.rows[address]; ok {
		return row
	}
	row := attemptRowOf(m, sum, address, now)
	if s, g := m.sums.Step(address), m.sums.Step(m.grades[address]); s != nil && s.Status != "" && g != nil && g.Status != "" {
		m.rows[address] = row
	}
	return row
}

func actionOf(s *ledger.StepSummary) string {
	if s == nil {
		return ""
	}
	return s.Action
}

// quoted writes an argument for a shell.
func quoted(arg string) string { return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'" }

func (row attemptRow) line() line {
	text, class := row.ending()
	cells := []cell{row.cell(row.Link), {Text: text, Class: class}, number(row.Value), medalCell(row.Medal), {Text: brief(row.Reason)}, number(row.Seconds),
		number(row.Used), number(row.Paid), isolationCell(row.Isolation)}
	if math.IsNaN(row.Seconds) {
		cells[5].Text = row.Took
	}
	if row.Graded == "" {
		cells[3] = nothing
	}
	return line{Cells: append(cells, row.cells()...), Address: row.Address, Compare: compareAddress(agentPrefix + row.Agent)}
}

// ending is how an attempt ended: only one with a score ended well.
func (row attemptRow) ending() (text, class string) {
	return ending(row.Status, row.Outcome, row.Graded, !math.IsNaN(row.Value))
}

func ending(status, end, graded string, scored bool) (text, class string) {
	if status != string(event.Ran) && status != string(event.Cached) {
		return status, status
	}
	finished := end == "" || end == string(outcome.Finished)
	switch {
	case scored && finished:
		return "scored", "good"
	case scored:
		return "scored, " + end, "warn"
	case graded != string(outcome.Invalid) && !finished:
		return end, "bad"
	case graded == "":
		return "not graded yet", ""
	case graded == string(outcome.Scored):
		return "no score", "bad"
	}
	return outcome.Words(graded), "bad"
}

// medalCell orders medals by their worth.
func medalCell(medal string) cell {
	value := float64(slices.Index([]string{"bronze", "silver", "gold"}, medal) + 1)
	return cell{Text: strings.Replace(cmp.Or(medal, "none"), "none", "–", 1), Value: value}
}

func isolationCell(text string) cell {
	c := cell{Text: text}
	if strings.Contains(text, conditions.NotIsolated) {
		c.Class = "bad"
	}
	return c
}

// brief is the beginning of a text, in one line.
func brief(text string) string {
	const most = 160
	runes := []rune(view.OneLine(text[:min(len(text), 8*most)]))
	if len(runes) <= most {
		return string(runes)
	}
	return string(runes[:most]) + "…"
}

// resultColumns are those of tables of attempts over runs.
var resultColumns = append([]field{{Key: "attempt", Title: "Attempt"}, {Key: "outcome", Title: "Outcome", Kind: ends}, {Key: "score", Title: "Score", Kind: points, Within: "competition"},
	{Key: "medal", Title: "Medal", Kind: medals}, {Key: "rank", Title: "Rank among people", Kind: amounts, Within: "competition"}, {Key: "reason", Title: "Reason"},
	{Key: "isolation", Title: "Isolation", Kind: badges}, {Key: "run", Title: "Run"}, {Key: "started", Title: "Started", Kind: moments}, {Key: "runs", Title: "In runs", Kind: amounts, Extra: true}}, named...)

// line is a result in such a table.
func (r *result) line() line {
	score := math.NaN()
	if r.ExactScore != nil {
		score = float64(*r.ExactScore)
	}
	text, class := r.ending()
	rank := nothing
	if r.Rank != nil && r.ExactScore != nil {
		rank = cell{Text: results.Place(*r.Rank, r.Teams), Value: float64(*r.Rank)}
	}
	cells := []cell{r.identity().cell(stepAddress(r.Run, r.Address, "")), {Text: text, Class: class}, number(score), medalCell(r.Report.Best()), rank, {Text: brief(r.Reason)},
		isolationCell(conditions.Described(r.Conditions)), {Text: ledger.Nickname(r.Run), Link: runAddress(r.Run)}, number(float64(r.Time.Unix())), number(float64(r.Runs))}
	return line{Cells: append(cells, r.identity().cells()...), Address: r.Address, Compare: compareAddress(agentPrefix + r.Agent)}
}

// ending is how the attempt ended.
func (r *result) ending() (text, class string) {
	ended := r.ended
	if o := r.Origin; o != nil {
		ended = strings.ReplaceAll(o.Outcome, "_", " ")
	}
	return ending(string(cmp.Or(r.status, event.Ran)), ended, string(r.Outcome), r.ExactScore != nil)
}

// resultsTable is a table of results.
func resultsTable(path string, results []*result, facets ...string) *table {
	t := &table{Noun: "attempt", Empty: "No attempt has ended in a run of this cache.", Path: path, Placeholder: "agent, competition, reason", Columns: resultColumns, Facets: facets, Groups: attemptGroups}
	for _, res := range results {
		t.Lines = append(t.Lines, res.line())
	}
	return t
}

// resultsPage lists the attempts of all runs that have ended.
func (u *UI) resultsPage(r *http.Request) (*content, error) {
	results, p := u.results.attempts()
	c := &content{title: "Attempts", nav: "Attempts", live: !p.Ready}
	if err := c.add("title", "list title", listTitle{"Attempts", p}); err != nil {
		return nil, err
	}
	return c, resultsTable("/attempts", results, "agent", "competition", "outcome", "medal").add(c, r)
}

// listTitle is the head of a list over all runs.
type listTitle struct {
	Title    string
	Progress progress
}
