package ui

import (
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/outcome"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/addr"
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

// attemptRow is an attempt of a run.
type attemptRow struct {
	identity
	Address, Link, Status, Outcome, Graded, Reason, Score, Medal, Took, Tokens, Cost, Isolation string
	// Value, Seconds, Used and Paid are the numbers; NaN if they are not known.
	Value, Seconds, Used, Paid float64
	Bad                        bool
}

func attemptRowOf(m *model, sum *ledger.Summary, address string, now time.Time) attemptRow {
	s := m.sums.Step(address)
	row := attemptRow{Address: address, identity: identified(addr.KeyOf(address)), Link: stepAddress(sum.ID, address, ""), Status: m.status(s, sum.State),
		Took: took(s, now, sum), Medal: "none", Value: math.NaN(), Seconds: math.NaN(), Used: math.NaN(), Paid: math.NaN()}
	if s == nil {
		return row
	}
	if len(s.Conditions) > 0 {
		row.Isolation = conditions.Described(s.Conditions)
	}
	row.Reason = s.Error
	row.used(s)
	if g := m.sums.Step(m.grades[address]); g != nil {
		row.grade(g)
	}
	return row
}

// used enters what the agent did and used.
func (row *attemptRow) used(s *ledger.StepSummary) {
	var stats agentrun.Stats
	_ = decode(s.Outputs["outcome"], &row.Outcome) // without it, the status says what there is
	row.Outcome = strings.ReplaceAll(row.Outcome, "_", " ")
	row.Bad = row.Outcome != "" && row.Outcome != string(outcome.Finished)
	if !decode(s.Outputs["stats"], &stats) {
		return
	}
	row.Took, row.Seconds = view.Duration(seconds(stats.WallSeconds)), stats.WallSeconds
	if use := results.Measured(stats.Models); use != nil {
		row.Tokens, row.Cost = aggregate.TokensText(use), aggregate.CostText(use)
		row.Used, row.Paid = valueOf(use.Tokens()), valueOf(use.CostUSD)
	}
}

// grade enters what the grade step says.
func (row *attemptRow) grade(g *ledger.StepSummary) {
	var score *float64
	if decode(g.Outputs["score"], &score) && score != nil {
		row.Score, row.Value = page.Score(*score), *score
	}
	_ = decode(g.Outputs["medal"], &row.Medal) // stays "none"
	_ = decode(g.Outputs["outcome"], &row.Graded)
	var reason string
	if decode(g.Outputs["reason"], &reason) && reason != "" {
		row.Reason = reason
	}
	if g.Error != "" {
		row.Graded, row.Reason = notGraded, g.Error
	}
}

// valueOf is a number that may be missing.
func valueOf(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
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
