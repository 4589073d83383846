package rungroup

import (
	"io"
	"os"
	"strconv"

	"github.com/mleflow/mleflow/cache/leaf/pattern"
	"github.com/mleflow/mleflow/competitions/outcome"
)

// logTail is the number of bytes read from the end of run.log.
const logTail = 64 << 10

// The lines at the end of a run.log of the reference. Agents print the first at
// their time limit, the other is the runner's.
var (
	timedOut  = pattern.New(`(?m)(?:^|\[Container\] )Timed out after \d.*$`)
	completed = pattern.New(`(?m)^\[[^\]]*\].*Run completed in (\d+(?:\.\d+)?) seconds\.\s*$`)
)

// readLog returns the end of a run's log; "" if there is none that can be read.
func readLog(folder *os.Root) string {
	info, err := folder.Stat("run.log")
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	f, err := folder.Open("run.log")
	if err != nil {
		return ""
	}
	defer f.Close()
	tail := io.NewSectionReader(f, max(0, info.Size()-logTail), logTail)
	text, err := io.ReadAll(tail)
	if err != nil {
		return ""
	}
	return string(text)
}

// ended decides how the run ended: by the metadata, the log, and whether there is a
// submission. The reference notes neither how an agent ended nor why, so that without a
// sign of something else a run that left a submission has finished.
func (r *Run) ended(log string) {
	if m := completed.Regexp().FindStringSubmatch(log); m != nil && r.WallSeconds == nil {
		if seconds, err := strconv.ParseFloat(m[1], 64); err == nil {
			r.WallSeconds = &seconds
		}
	}
	switch {
	case r.Success != nil && !*r.Success:
		r.Outcome, r.Note = outcome.MachineFailed, "the metadata say that the run failed outside the agent"
	case r.Outcome.Known():
	case timedOut.Regexp().MatchString(log):
		r.Outcome, r.Note = outcome.TimedOut, "the end of run.log says so"
	case r.Submission == "":
		r.Outcome = outcome.NoSubmission
	default:
		r.Outcome = outcome.Finished
	}
}
