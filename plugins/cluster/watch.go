package cluster

import (
	"fmt"
	"time"
)

// Changes returns the statuses that differ between two looks at all jobs, by name. A job that
// is missing in the second is Gone.
func Changes(before, now map[string]Status) (list []Status) {
	for name, s := range now {
		if before[name] != s {
			list = append(list, s)
		}
	}
	for name, s := range before {
		if _, ok := now[name]; !ok && s.State != Gone {
			list = append(list, Status{Job: name, State: Gone})
		}
	}
	return list
}

// Wake is a request to look again at once. Requests that wait are one.
type Wake chan struct{}

// NewWake returns a Wake without a request.
func NewWake() Wake { return make(Wake, 1) }

// Up makes a request.
func (w Wake) Up() {
	select {
	case w <- struct{}{}:
	default:
	}
}

// Duration parses the attribute of a cluster file with that name; "" is missing.
func Duration(name, text string, missing time.Duration) (time.Duration, error) {
	if text == "" {
		return missing, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%s = %q is not a duration such as \"2m\"", name, text)
	}
	return d, nil
}
