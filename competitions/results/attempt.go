package results

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/lists"

	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/evidence"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/outcome"
)

// Attempt is an agent's attempt at a competition, or a submission that a step graded,
// with all that is known of it. Unknown values are empty or nil.
type Attempt struct {
	// Agent is the label of the agent, Program the digest of what it is: its command,
	// files, image and models; see ProgramOf. One label may stand for several programs.
	Agent, Program string
	// Seed is the number of the attempt among those of the agent at the competition.
	Seed string
	// Phase says how far the attempt got, and is empty for one of a file.
	Phase Phase
	// Graded reports whether there is a report. If not, Report holds only
	// competition, version and conditions.
	Graded bool
	Report grading.Report
	// Margins are the differences between the score and the thresholds.
	Margins map[grading.Threshold]grading.Margin
	Made    Made
	// Hours is where its time went in the run that made it; nil if that is not known.
	Hours *Hours
	// Labels are the labels of the step grade.
	Labels map[string]string
	// ExitCode is the exit status of the agent, Exhausted the limits of its models that
	// were exhausted, by model: "m: cost".
	ExitCode  int
	Exhausted string
	// ShimCalls are the calls of mlebench that were refused, LostServices the services whose
	// ports the agent took.
	ShimCalls    int
	LostServices []string
	// Opened counts the files of its data that the agent opened; nil if nobody watched.
	Opened *Opened
	// Queries are its validation scores; nil if it could ask for none.
	Queries *Queries
	// Failure is the error of a step that failed, which no result of an agent is, and
	// Log what the end of the attempt's log tells; see Attempt.Reason.
	Failure, Log string
	// Acts are what people asked of it that was done, in words, oldest first; empty unless
	// they come from the journal of its run.
	Acts []string
	// Standing is the degree to which the score was checked; see docs/export.md.
	Standing string

	// RunID and the next fields are of the newest run that has the attempt; Started is
	// RFC 3339 in UTC. Runs are all runs that have it.
	RunID, Pipeline, Mleflow, Started string
	Runs                              []string
	// RunName is the name of the run. RunNote and RunTags are people's remarks on it.
	RunName, RunNote string
	RunTags          map[string]string
	// Address is the step that ran the agent, GradeAddress the step that graded.
	Address, GradeAddress string
	// MadeIn is the run that executed the attempt, which may be an earlier one.
	MadeIn string

	Category, Complexity string

	AgentVersion, Image, ImageDigest, Network string
	// Limits and the peak; nil is none or not known.
	TimeLimitSeconds, CPULimit, MemoryLimitBytes, GPULimit, PeakMemoryBytes *float64

	// The digests of the attempt's inputs and outputs.
	Data, Description, Instructions, Submission, ReportDigest, Definition string
	// The keys of the two steps.
	AttemptAction, GradeAction string

	Snapshots []Snapshot
	// Tries are the attempts that a chain counts; nil if there is no chain.
	Tries *Tries
	// Unproven gives the reason why no chain counts the tries at this one; empty if one
	// does, or if nobody looked.
	Unproven string
	// Check holds the findings of rule checks; nil if none looked at the attempt.
	Check *Check
}

// Made says how an attempt was made.
type Made struct {
	// Outcome is how the agent ended.
	Outcome     outcome.End `json:"outcome,omitempty"`
	WallSeconds *float64    `json:"wall_seconds,omitempty"`
	CPUSeconds  *float64    `json:"cpu_seconds,omitempty"`
	// Validations is how often it asked whether a submission is valid.
	Validations *int `json:"validations,omitempty"`
	// Usage is its use of models; nil if unknown.
	Usage *Usage `json:"usage,omitempty"`
}

// Tries counts the attempts of an agent at a competition that a cache began.
type Tries struct{ Begun, Published, ThrownAway int }

// Snapshot is a graded copy of an attempt's submission, as the output curve of
// the step grade has it.
type Snapshot = grading.Moment

// Key is the identity of an attempt: the key of the step that ran the agent or, where no
// step did, of the one that graded the submission. An attempt with the same key in two
// runs is one. It is empty for a report in a file, which nothing identifies.
func (a *Attempt) Key() string {
	return cmp.Or(a.AttemptAction, a.GradeAction)
}

// ByHand says how people steered the attempt: by its conditions, then each act.
func (a *Attempt) ByHand() string {
	ways := a.Acts
	if text := conditions.ByHand(a.Report.Conditions); text != "" {
		ways = append([]string{text}, ways...)
	}
	return strings.Join(ways, "; ")
}

// Competition is the ID of the competition.
func (a *Attempt) Competition() string { return a.Report.CompetitionID }

// Medal names the report's medal, "" for none.
func Medal(r grading.Report) string {
	if name := r.Best(); name != "none" {
		return name
	}
	return ""
}

// Place is the place of a score among the human teams; behind the last of them there is
// no place.
func Place(rank, teams int) string {
	if rank > teams {
		return fmt.Sprintf("behind all %d", teams)
	}
	return fmt.Sprintf("%d of %d", rank, teams)
}

// Percentile is the percentage of the human teams that the score is at least as
// good as; nil if the place is not known.
func Percentile(r grading.Report) *float64 {
	share, ok := r.Percentile()
	if !ok {
		return nil
	}
	share *= 100
	return &share
}

// OfReport returns the attempt that a report is of, as far as the report says.
func OfReport(g grading.Graded) *Attempt {
	a := &Attempt{Agent: cmp.Or(g.Labels["agent"], board.Unlabelled), Seed: g.Labels["seed"], Labels: g.Labels, Graded: true, Report: g.Report}
	if o := g.Origin; o != nil {
		a.AttemptAction, a.Made = o.Attempt, Made{Outcome: outcome.End(o.Outcome), WallSeconds: o.WallSeconds, Usage: o.Usage}
	}
	return a
}

// AsGraded returns the report with what is known of the attempt.
func (a *Attempt) AsGraded() grading.Graded {
	g := grading.Graded{Report: a.Report, Labels: map[string]string{}, Origin: &grading.Origin{
		Run: a.Address, Attempt: a.Key(), Outcome: string(a.Made.Outcome), WallSeconds: a.Made.WallSeconds, Usage: a.Made.Usage, Curve: a.Snapshots,
	}}
	maps.Copy(g.Labels, a.Labels)
	g.Labels["agent"] = a.Agent
	if a.Seed != "" {
		g.Labels["seed"] = a.Seed
	}
	if a.Check != nil {
		g.Origin.Checked, g.Origin.WarnedBy = true, a.Check.FoundBy(evidence.Warning)
	}
	if label := a.Integrity().Label; label != grading.Unknown {
		g.Origin.Integrity = label
	}
	return g
}

// Stopped is the report had the attempt been stopped at a time; nil if that is
// not known.
func (a *Attempt) Stopped(at time.Duration) *grading.Report {
	if !a.Graded {
		return nil
	}
	g, err := a.AsGraded().Stopped(at)
	if err != nil {
		return nil
	}
	return &g.Report
}

// MadeBy enters the outputs outcome and stats of the step agent-run, each as JSON, and
// returns the use of models by block. What is missing stays unknown. The error is of
// outputs in another form, which say nothing.
func (a *Attempt) MadeBy(end, stats string) (map[string]ModelUse, error) {
	var s struct {
		WallSeconds     *float64 `json:"wall_seconds"`
		CPUSeconds      *float64 `json:"cpu_seconds"`
		PeakMemoryBytes float64  `json:"peak_memory_bytes"`
		ExitCode        int      `json:"exit_code"`
		Validations     *int
		Models          map[string]ModelUse
		Opened          *Opened
		Queries         *Queries
		ShimCalls       int      `json:"shim_calls"`
		LostServices    []string `json:"lost_services"`
	}
	if err := errors.Join(decode(end, &a.Made.Outcome), decode(stats, &s)); err != nil {
		return nil, err
	}
	a.Made.WallSeconds, a.Made.CPUSeconds, a.Made.Validations, a.Made.Usage = s.WallSeconds, s.CPUSeconds, s.Validations, Measured(s.Models)
	a.ExitCode, a.Exhausted, a.Opened, a.Queries = s.ExitCode, exhausted(s.Models), s.Opened, s.Queries
	a.ShimCalls, a.LostServices = s.ShimCalls, s.LostServices
	if s.PeakMemoryBytes > 0 {
		a.PeakMemoryBytes = &s.PeakMemoryBytes
	}
	return s.Models, nil
}

// exhausted says which limits of which models were exhausted.
func exhausted(models map[string]ModelUse) string {
	var limits []string
	for _, name := range slices.Sorted(maps.Keys(models)) {
		if by := models[name].ExhaustedBy; len(by) > 0 {
			limits = append(limits, name+": "+strings.ReplaceAll(strings.Join(by, ", "), "run_", "the run's "))
		}
	}
	return strings.Join(limits, "; ")
}

// GradedBy enters the outputs of a step grade, each as JSON, in place of a report that
// cannot be read. Outputs in another form say nothing.
func (a *Attempt) GradedBy(outputs map[string]string, conditions []string) {
	var medal string
	var score *grading.Number
	r := &a.Report
	a.Graded, r.Conditions = true, conditions
	for name, to := range map[string]any{"outcome": &r.Outcome, "score": &score, "reason": &r.Reason, "medal": &medal} {
		_ = decode(outputs[name], to)
	}
	if r.Score, r.ExactScore = score, score; score != nil {
		r.Outcome = outcome.Scored
	}
	r.SubmissionExists, r.ValidSubmission = r.Outcome != outcome.Missing, r.Outcome == outcome.Scored
	r.Medals = grading.MedalNamed(medal)
}

func decode(text string, to any) error {
	if text == "" {
		return nil
	}
	return json.Unmarshal([]byte(text), to)
}

// Check holds the findings of rule checks in an attempt.
type Check struct {
	// Rules are the names of the rules that were applied, sorted.
	Rules    []string           `json:"rules"`
	Findings []evidence.Finding `json:"findings"`
}

// Join returns the findings of both checks; either may be nil.
func (c *Check) Join(other *Check) *Check {
	switch {
	case c == nil:
		return other
	case other == nil:
		return c
	}
	return &Check{Rules: unique(c.Rules, other.Rules), Findings: slices.Concat(c.Findings, other.Findings)}
}

// Count is the number of findings of a severity; 0 of nil.
func (c *Check) Count(of evidence.Severity) int {
	if c == nil {
		return 0
	}
	return len(lists.Where(c.Findings, func(f evidence.Finding) bool { return f.Severity == of }))
}

// FoundBy are the names of the rules with findings of a severity, sorted; those of
// any with "".
func (c *Check) FoundBy(of evidence.Severity) []string {
	if c == nil {
		return nil
	}
	found := lists.Where(c.Findings, func(f evidence.Finding) bool { return of == "" || f.Severity == of })
	return unique(lists.Of(found, func(f evidence.Finding) string { return f.Rule }))
}

// Against are the rules with findings, notes included, in their given order.
func (c *Check) Against(rules []string) []string {
	found := c.FoundBy("")
	return lists.Where(rules, func(name string) bool { return slices.Contains(found, name) })
}

// Lacks are the rules that were not applied.
func (c *Check) Lacks(rules []string) []string {
	return lists.Where(rules, func(name string) bool { return c == nil || !slices.Contains(c.Rules, name) })
}

func unique(lists ...[]string) []string {
	all := slices.Concat(lists...)
	slices.Sort(all)
	return slices.Compact(all)
}
