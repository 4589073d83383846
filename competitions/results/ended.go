package results

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/outcome"
	"github.com/mleflow/mleflow/engine/step"
)

// Phase says how far an attempt got in its run.
type Phase string

// The phases.
const (
	Waiting Phase = "waiting"
	Running Phase = "running"
	// Interrupted is that of an attempt that had begun when its run ended.
	Interrupted Phase = "interrupted"
	NotRun      Phase = "not run"
	// Failed means that a step failed: the machine or the grader, not the agent.
	Failed Phase = "failed"
	Done   Phase = "done"
)

// Mood is how good an end is.
type Mood string

// The moods. An attempt with a score whose agent did not finish is Fair, one under way has
// none.
const (
	Good Mood = "good"
	Fair Mood = "warn"
	Bad  Mood = "bad"
)

// The words for ends that are not those of an agent or a submission.
const (
	// NaN is that of a score that is not a number, Infinite that of one without bounds.
	NaN      = "NaN"
	Infinite = "infinite"
	// NotGraded is that of an attempt whose grader failed, or that has none.
	NotGraded = "not graded"
	Ungraded  = "not graded yet"
)

// Ended says how the attempt ended or stands, in the words of every surface: "scored",
// "scored, timed out", the words of outcome.End where there is no score and the agent
// did not finish, those of outcome.Submission where it did, NaN and Infinite, and
// before the end those of Phase.
func (a *Attempt) Ended() (text string, mood Mood) {
	end := a.Made.Outcome
	unfinished := end != "" && end != outcome.Finished
	switch {
	case a.Phase != "" && a.Phase != Done && !a.Graded:
		if a.Phase == Failed && end != "" {
			return NotGraded, Bad
		}
		if a.Phase == Failed || a.Phase == Interrupted {
			return string(a.Phase), Bad
		}
		if end == "" {
			return string(a.Phase), ""
		}
		return Ungraded, ""
	case !a.Graded && unfinished:
		return end.Text(), Bad
	case !a.Graded:
		return NotGraded, ""
	}
	switch why := a.unscored(); {
	case why != "":
		return why, Bad
	case unfinished:
		return "scored, " + end.Text(), Fair
	}
	return "scored", Good
}

// scored reports whether there is a score that is a finite number, exact or rounded.
func (a *Attempt) scored() bool {
	r := &a.Report
	return r.Score != nil && r.Score.Finite() && (r.ExactScore == nil || r.ExactScore.Finite())
}

// NoScore says in words why the attempt has no finite score that counts: the end for
// which it is not final, forked, NaN, infinite, invalid submission, the agent's end where
// nothing was submitted, or no submission. It is empty for an attempt with a finite score
// that counts, and where a report says that the submission is valid without its score.
func (a *Attempt) NoScore() string {
	if conditions.IsFork(a.Report.Conditions) {
		return conditions.Forked
	}
	return a.unscored()
}

// unscored is NoScore of an attempt that is no fork.
func (a *Attempt) unscored() string {
	r, end := &a.Report, a.Made.Outcome
	provisional := step.ConditionValues(r.Conditions, step.Provisional)
	switch {
	case len(provisional) > 0:
		return outcome.End(provisional[0]).Text()
	case r.Score != nil && math.IsNaN(float64(*r.Score)):
		return NaN
	case r.Score != nil && math.IsInf(float64(*r.Score), 0):
		return Infinite
	case r.Score != nil, r.ValidSubmission:
		return ""
	case r.SubmissionExists:
		return outcome.Invalid.Text()
	case end != "" && end != outcome.Finished:
		return end.Text()
	}
	return outcome.Missing.Text()
}

// LogTells reports whether the end of the agent's log may tell why the attempt has nothing
// to grade. Of a step that failed its error tells.
func (a *Attempt) LogTells() bool {
	_, mood := a.Ended()
	return mood == Bad && a.Made.Outcome != "" && a.Failure == "" && !a.Report.SubmissionExists
}

// Reason explains in a sentence's part why the attempt has no score or its agent did not
// finish; "" where both are well or nothing is known. What the agent did comes before what
// the grader found, since a file that is missing has a cause: the error of a step, the end
// of the log, the agent's end, then the report.
func (a *Attempt) Reason() string {
	if text, mood := a.Ended(); mood == Good || text == Ungraded {
		return ""
	}
	why, worked := a.Made.Outcome.Reason(), a.Made.WallSeconds
	switch a.Made.Outcome {
	case "":
		if a.Phase == Interrupted && worked != nil {
			why = "its run ended " + rounded(*worked) + " after it began"
		}
	case outcome.StoppedEarly:
		if slices.ContainsFunc(step.ConditionValues(a.Report.Conditions, step.Steered), step.ByStall) {
			why = step.Stalled
		} else {
			why = cmp.Or(strings.TrimPrefix(conditions.ByHand(a.Report.Conditions), "stopped early "), why)
		}
	case outcome.TimedOut:
		if worked != nil {
			why = "stopped after " + rounded(*worked)
		}
	case outcome.OutOfMemory:
		if p := a.PeakMemoryBytes; p != nil {
			why += fmt.Sprintf(", used %.0f MiB", *p/(1<<20))
		}
	case outcome.OutOfBudget:
		if a.Exhausted != "" {
			why += " (" + a.Exhausted + ")"
		}
	case outcome.AgentFailed:
		if a.ExitCode != 0 {
			why = fmt.Sprintf("exit status %d", a.ExitCode)
		}
	}
	if a.Log != "" && why != "" {
		why += ": " + a.Log
	}
	if a.Report.SubmissionExists {
		return cmp.Or(a.Failure, a.Report.Reason, why, a.Log)
	}
	return cmp.Or(a.Failure, why, a.Log, a.Report.Reason)
}

// rounded writes a number of seconds as a duration, to the second.
func rounded(seconds float64) string {
	return time.Duration(seconds * float64(time.Second)).Round(time.Second).String()
}
