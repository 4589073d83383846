package rehearse

import (
	"slices"
	"time"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/footprint"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/plan"
	"github.com/mleflow/mleflow/engine/step"
)

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
			a.Competition = args.Get("competition").AsString()
			a.Agent = args.Get("agent").GetAttr("name").AsString()
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
		row := like(rows, a)
		if row == nil || row.WallSeconds == nil {
			continue
		}
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

// like returns the row of an attempt of the same agent at the same competition.
func like(rows []Row, a Attempt) *Row {
	i := slices.IndexFunc(rows, func(r Row) bool { return r.Agent == a.Agent && r.Competition == a.Competition })
	if i < 0 {
		return nil
	}
	return &rows[i]
}
