package ui

import (
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/firstscreen"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/export"
	"github.com/mleflow/mleflow/engine/ledger"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/steps/agentrun"
	"github.com/mleflow/mleflow/steps/aggregate"
)

func sortedKeys[V any](m map[string]V) []string {
	return slices.SortedFunc(maps.Keys(m), board.CompareNames)
}

func escaped(text string) string { return url.QueryEscape(text) }

// bounded shortens a text to n bytes and adds how much is omitted.
func bounded(text []byte, n int) string {
	if len(text) <= n {
		return strings.ToValidUTF8(string(text), "\ufffd")
	}
	return strings.ToValidUTF8(string(text[:n]), "\ufffd") + "\n… " + view.Bytes(int64(len(text)-n)) + " more"
}

// phase fills in an attempt's current phase.
func (row *runningRow) phase(p step.Phase, now time.Time) {
	if p.Name == "" {
		return
	}
	row.Phase = string(p.Name)
	switch {
	case p.Name == step.Running:
		row.Took = view.Duration(now.Sub(p.Started).Round(time.Second))
		if p.LimitMillis > 0 {
			row.Limit = view.Millis(p.LimitMillis)
			row.Share, row.HasShare = int(min(100, now.Sub(p.Started).Milliseconds()*100/p.LimitMillis)), true
		}
		row.Submission = string(p.Submission)
		if p.Reason != "" {
			row.Submission += ": " + p.Reason
		}
		if p.MemoryBytes > 0 {
			row.Memory = view.Bytes(p.MemoryBytes)
		}
	case p.TotalBytes > 0:
		row.Share, row.HasShare = int(min(100, p.Bytes*100/p.TotalBytes)), true
		row.Phase = view.PhaseText(p, now)
	}
}

// attemptRow is an attempt in the table of a run.
type attemptRow struct {
	Name, Link, Status, Class, Outcome, Reason, Score, Medal, Took, Tokens, Cost, Isolation string
	Bad                                                                                     bool
}

type attemptsData struct {
	Query, Address string
	Rows           []attemptRow
	Pages          pager
	All            int
}

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
	d := attemptsData{Query: strings.TrimSpace(r.URL.Query().Get("q")), Address: runAddress(sum.ID) + "/attempts"}
	words := strings.Fields(strings.ToLower(d.Query))
	var rows []attemptRow
	for _, a := range m.addresses() {
		if m.kind(a) != conditions.AttemptKind {
			continue
		}
		d.All++
		row := attemptRowOf(m, sum, a, u.Now())
		text := strings.ToLower(strings.Join([]string{a, row.Outcome, row.Status, row.Medal, row.Reason}, " "))
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) }) {
			rows = append(rows, row)
		}
	}
	from, to, p := paged(r, len(rows), 2*rowsShown)
	d.Rows, d.Pages = rows[from:to], p
	if err := c.add("form", "attempts form", d); err != nil {
		return nil, err
	}
	return c, c.add("attempts", "attempts", d)
}

func attemptRowOf(m *model, sum *ledger.Summary, address string, now time.Time) attemptRow {
	s := m.sums.Step(address)
	row := attemptRow{Name: keyOf(address), Link: stepAddress(sum.ID, address, ""), Status: m.status(s, sum.State), Took: took(s, now, sum.State == ledger.Running), Medal: "none"}
	row.Class = row.Status
	if s == nil {
		return row
	}
	if len(s.Conditions) > 0 {
		row.Isolation = conditions.Described(s.Conditions)
	}
	var stats agentrun.Stats
	_ = decode(s.Outputs["outcome"], &row.Outcome) // without it, the status says what there is
	row.Outcome = strings.ReplaceAll(row.Outcome, "_", " ")
	row.Bad = row.Outcome != "" && row.Outcome != string(agentrun.Finished)
	if decode(s.Outputs["stats"], &stats) {
		row.Took = view.Duration(seconds(stats.WallSeconds))
		if use := export.Measured(stats.Models); use != nil {
			row.Tokens, row.Cost = aggregate.TokensText(use), aggregate.CostText(use)
		}
	}
	if g := m.sums.Step(m.grades[address]); g != nil {
		var score *float64
		if decode(g.Outputs["score"], &score) && score != nil {
			row.Score = page.Score(*score)
		}
		_ = decode(g.Outputs["medal"], &row.Medal) // stays "none"
		_ = decode(g.Outputs["reason"], &row.Reason)
	}
	row.judge(m, address, sum.State == ledger.Running)
	return row
}

// judge replaces the status of a step that ended well by what its attempt gave.
func (row *attemptRow) judge(m *model, address string, live bool) {
	src := firstscreen.Source{Step: m.sums.Step, Live: live}
	state := src.StateOf(firstscreen.Pair{Attempt: address, Grade: m.grades[address]}, nil)
	switch {
	case state.Bad():
		row.Status, row.Class, row.Bad = state.Name(), "bad", true
	case row.Score != "":
		row.Status, row.Class = string(firstscreen.Scored), "good"
	}
}

func seconds(s float64) time.Duration {
	if math.IsNaN(s) || s < 0 || s > 1e9 {
		return 0
	}
	return time.Duration(s * float64(time.Second))
}

// percent is a share of a whole, 0 of nothing.
func percent(n, of int) string {
	if of == 0 {
		return "0"
	}
	return fmt.Sprintf("%.0f", float64(n)*100/float64(of))
}
