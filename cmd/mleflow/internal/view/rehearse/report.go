package rehearse

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/attempts"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/steps/agentrun"
)

// Report says what a rehearsal found.
type Report struct {
	// Run is the rehearsal's run.
	Run string `json:"run"`
	// Task is the form of the task that the agents got; "" if no attempt ended.
	Task     string `json:"task"`
	Ready    int    `json:"ready"`
	Attempts int    `json:"attempts"`
	Rows     []Row  `json:"rows"`
	Real     Real   `json:"real"`
}

// Row is one attempt of a rehearsal. Unknown numbers are nil.
type Row struct {
	Agent       string `json:"agent"`
	Competition string `json:"competition"`
	Seed        string `json:"seed,omitempty"`
	Ready       bool   `json:"ready"`
	// Problem is the reason why it is not ready, and Fix an advice; both are half a
	// sentence.
	Problem string `json:"problem,omitempty"`
	Fix     string `json:"fix,omitempty"`
	// Packages are those that the agent asked for in vain, whether it is ready or not.
	Packages []string `json:"missing_packages"`
	// Data counts the files of the data; Unopened are the formats of which the agent
	// opened none, such as ".dcm".
	Data     *agentrun.OpenedFormat `json:"data"`
	Unopened []string               `json:"unopened_formats"`

	Outcome         string          `json:"outcome,omitempty"`
	Submitted       bool            `json:"submitted"`
	Valid           bool            `json:"valid"`
	Score           *grading.Number `json:"score"`
	WallSeconds     *float64        `json:"wall_seconds"`
	PeakMemoryBytes *float64        `json:"peak_memory_bytes"`
	Tokens          *float64        `json:"tokens"`
	CostUSD         *float64        `json:"cost_usd"`
}

// Request holds what a report is made of.
type Request struct {
	Run attempts.Run
	// Attempts are those of the rehearsal.
	Attempts []Attempt
	Real     Real
}

// New makes a report.
func New(ctx context.Context, q Request) (*Report, error) {
	records, _, err := attempts.Collect(ctx, q.Run)
	if err != nil {
		return nil, fmt.Errorf("read the rehearsal: %w", err)
	}
	r := &Report{Run: q.Run.ID, Rows: []Row{}, Real: q.Real}
	var sets [][]string
	done := map[string]bool{}
	for _, rec := range records {
		one, err := q.row(ctx, rec)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", rec.Address, err)
		}
		r.Rows, sets, done[rec.Address] = append(r.Rows, one), append(sets, rec.Report.Conditions), true
	}
	if len(sets) > 0 {
		r.Task = conditions.Told(sets...)
	}
	r.Rows = append(r.Rows, q.failed(done)...)
	slices.SortStableFunc(r.Rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.Competition, b.Competition), cmp.Compare(a.Agent, b.Agent))
	})
	for _, row := range r.Rows {
		if r.Attempts++; row.Ready {
			r.Ready++
		}
	}
	r.Real.estimate(r.Rows)
	return r, nil
}

// failed returns the rows of the attempts that have no result, because their step or an
// earlier one failed.
func (q Request) failed(done map[string]bool) (rows []Row) {
	why := map[string]string{}
	for _, s := range q.Run.Steps {
		if s.Status == event.Failed {
			why[s.Address] = s.Error
		}
	}
	steps := q.Run.Plan.Steps
	for _, s := range steps {
		for _, before := range s.After {
			why[s.Name] = cmp.Or(why[s.Name], why[steps[before].Name])
		}
	}
	for _, a := range q.Attempts {
		if !done[a.Address] {
			rows = append(rows, Row{Agent: a.Agent, Competition: a.Competition, Problem: cmp.Or(why[a.Address], "it did not run"), Packages: []string{}, Unopened: []string{}})
		}
	}
	return rows
}

// row judges one attempt.
func (q Request) row(ctx context.Context, rec *results.Attempt) (Row, error) {
	r := Row{
		Agent: rec.Agent, Competition: rec.Report.CompetitionID, Seed: rec.Seed, Outcome: string(rec.Made.Outcome), Unopened: []string{},
		Submitted: rec.Report.SubmissionExists, Valid: rec.Report.ValidSubmission, Score: rec.Report.ExactScore,
		WallSeconds: rec.Made.WallSeconds, PeakMemoryBytes: rec.PeakMemoryBytes, Tokens: rec.Made.Usage.Tokens(),
	}
	if u := rec.Made.Usage; u != nil {
		r.CostUSD = u.CostUSD
	}
	l, err := q.logs(ctx, rec.AttemptAction)
	if err != nil {
		return r, err
	}
	if l.opened != nil {
		all := l.opened.Sum()
		r.Data = &all
		for _, ending := range slices.Sorted(maps.Keys(l.opened.Formats)) {
			if l.opened.Formats[ending].Opened == 0 {
				r.Unopened = append(r.Unopened, cmp.Or(ending, "no ending"))
			}
		}
	}
	r.Packages = missingPackages(l.printed)
	r.Problem, r.Fix = judge(rec, r.Packages, l.printed)
	r.Ready = r.Problem == ""
	return r, nil
}
