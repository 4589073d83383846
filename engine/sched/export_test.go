package sched

// String returns the status in lower case.
func (s Status) String() string {
	return [...]string{"not ended", "done", "ran", "failed", "skipped", "cancelled"}[s]
}
