package executor

import (
	"errors"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/progress"
)

// StuckTimeout is the time after which processes that the kernel has killed but not ended
// count as stuck.
const StuckTimeout = time.Minute

// ErrStuck means that killed processes do not end.
var ErrStuck = errors.New("stop command: processes would not die")

// useEvery is the interval at which the use of a command is reported.
const useEvery = 2 * time.Second

// ReportUse reports what measure returns to OnUse, until it is stopped. measure returns
// false if it is unknown what the command uses.
func (s Spec) ReportUse(measure func() (Use, bool)) (stop func()) {
	if s.OnUse == nil {
		return func() {}
	}
	return progress.Every(useEvery, func() {
		if use, known := measure(); known {
			s.OnUse(use)
		}
	})
}
