package results

import (
	"cmp"
	"fmt"
	"maps"
	"time"

	"github.com/mleflow/mleflow/competitions/board"
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
	// Labels are the labels of the step grade.
	Labels map[string]string
	// ExitCode is the exit status of the agent, Exhausted the limits of its models that
	// were exhausted, by model: "m: cost".
	ExitCode  int
	Exhausted string
	// Failure is the error of a step that failed, which no result of an agent is, and
	// Log what the end of the attempt's log tells; see Attempt.Reason.
	Failure, Log string
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
	if a.AttemptAction != "" {
		return a.AttemptAction
	}
	return a.GradeAction
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
