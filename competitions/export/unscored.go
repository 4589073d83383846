package export

import (
	"math"
	"strings"

	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/engine/step"
)

// NaN is Unscored's result for a score that is not a number.
const NaN = "NaN"

// Unscored says in a word why a run has no finite score that counts: "provider failed" or another
// cause for which its attempt is not final; "forked"; "NaN", "infinite",
// "invalid"; where nothing was submitted "failed", "timed out", "out of memory",
// "out of disk" or "out of budget" if the attempt tells so, else "no submission". It is empty
// for a run with a finite score that is no fork, and where a report says that the submission is
// valid without its score.
func Unscored(r grading.Report, attempt Attempt) string {
	switch {
	case conditions.IsFork(r.Conditions):
		return conditions.Forked
	case !conditions.Final(r.Conditions):
		return strings.ReplaceAll(step.ConditionValues(r.Conditions, step.Provisional)[0], "_", " ")
	case r.Score != nil && math.IsNaN(float64(*r.Score)):
		return NaN
	case r.Score != nil && math.IsInf(float64(*r.Score), 0):
		return "infinite"
	case r.Score != nil, r.ValidSubmission:
		return ""
	case r.SubmissionExists:
		return "invalid"
	case attempt.Outcome == "agent_failed":
		return "failed"
	case attempt.Outcome == "timed_out", strings.HasPrefix(attempt.Outcome, "out_of_"):
		return strings.ReplaceAll(attempt.Outcome, "_", " ")
	}
	return "no submission"
}
