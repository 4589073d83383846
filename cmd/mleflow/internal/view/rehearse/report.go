package rehearse

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/attempts"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/footprint"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/plan"
	"github.com/mleflow/mleflow/engine/step"
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

// Attempt is a step of a pipeline that runs an agent.
type Attempt struct {
	Address, Agent, Competition string
	Limits                      step.Limits
}

// Attempts returns the attempts of a pipeline.
func Attempts(p *engine.Program) (all []Attempt) {
	for i, inst := range p.Instances {
		if inst.Step.Kind.Name != conditions.AttemptKind {
			continue
		}
		a := Attempt{Address: inst.Addr.String(), Limits: inst.Limits}
		if args, diags := p.Args(i); !diags.HasErrors() && args.Object().IsWhollyKnown() {
			a.Agent, a.Competition = args.Text("agent", "name"), args.Text("competition")
		}
		all = append(all, a)
	}
	return all
}

// Range is an amount between the low and the high assumption; see the package comment.
type Range struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Real is what the real run would take.
type Real struct {
	Attempts     int `json:"attempts"`
	Competitions int `json:"competitions"`
	// TimeLimitSeconds is the longest time limit of an attempt; 0 is none.
	TimeLimitSeconds float64 `json:"time_limit_seconds"`
	// AttemptSeconds and GPUSeconds are of all attempts.
	AttemptSeconds Range `json:"attempt_seconds"`
	GPUSeconds     Range `json:"gpu_seconds"`
	// Tokens and CostUSD are of all attempts; nil if the rehearsal used no model.
	Tokens  *Range `json:"tokens"`
	CostUSD *Range `json:"cost_usd"`
	// DownloadBytes is the size of all downloads. Unsized are the competitions of unknown
	// size.
	DownloadBytes int64    `json:"download_bytes"`
	Unsized       []string `json:"size_unknown"`
	// TooLarge are the competitions whose data do not fit the free space of this machine.
	TooLarge []string       `json:"too_large"`
	Forecast *plan.Forecast `json:"disk,omitempty"`
	// Obstacles are requirements that this machine, or the cluster, does not meet.
	Obstacles []string `json:"obstacles"`

	attempts []Attempt
}

// NewReal returns the facts about the real run that its plan has.
func NewReal(attempts []Attempt, p *plan.Plan, catalog *competitions.Catalog) Real {
	r := Real{Attempts: len(attempts), Forecast: p.Forecast, Unsized: []string{}, TooLarge: []string{}, Obstacles: []string{}, attempts: attempts}
	var ids []string
	for _, a := range attempts {
		ids = append(ids, a.Competition)
		r.TimeLimitSeconds = max(r.TimeLimitSeconds, a.Limits.Timeout.Seconds())
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	r.Competitions = len(ids)
	for _, id := range ids {
		def, err := catalog.Get(id)
		if err != nil || def.HasData() {
			continue
		}
		files := footprint.Files(def)
		if files == 0 {
			r.Unsized = append(r.Unsized, id)
			continue
		}
		r.DownloadBytes += files
		raw, _ := footprint.Unpacked(def, files)
		added, _ := footprint.Prepared(def, raw)
		if f := p.Forecast; f != nil && f.Space.FreeBytes >= 0 && raw+added > f.Space.FreeBytes {
			r.TooLarge = append(r.TooLarge, id)
		}
	}
	for i := range p.Steps {
		s := &p.Steps[i]
		for _, text := range append(slices.Clone(s.Missing), s.Unfit) {
			if text != "" && !slices.Contains(r.Obstacles, text) {
				r.Obstacles = append(r.Obstacles, text)
			}
		}
	}
	return r
}

// estimate scales the use of the rehearsal's attempts to those of the real run.
func (r *Real) estimate(rows []Row) {
	for _, a := range r.attempts {
		i := slices.IndexFunc(rows, func(r Row) bool { return r.Agent == a.Agent && r.Competition == a.Competition })
		if i < 0 || rows[i].WallSeconds == nil {
			continue
		}
		row := rows[i]
		low, high := *row.WallSeconds, a.Limits.Timeout.Seconds()
		if a.Limits.Timeout == 0 {
			high = low
		}
		low = min(low, high)
		r.AttemptSeconds.add(low, high)
		r.GPUSeconds.add(low*float64(a.Limits.GPUs), high*float64(a.Limits.GPUs))
		more := high / max(low, time.Millisecond.Seconds())
		r.Tokens = r.Tokens.with(row.Tokens, more)
		r.CostUSD = r.CostUSD.with(row.CostUSD, more)
	}
}

func (r *Range) add(low, high float64) { r.Low, r.High = r.Low+low, r.High+high }

// with adds an amount, and so many times the amount for the high assumption.
func (r *Range) with(amount *float64, more float64) *Range {
	if amount == nil {
		return r
	}
	if r == nil {
		r = &Range{}
	}
	r.add(*amount, *amount*more)
	return r
}
