package agentrun

import (
	"fmt"
	"time"
)

// parseDuration parses a duration such as "10m"; "" is 0.
func parseDuration(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q is not a time, such as \"90s\", \"10m\" or \"1h30m\"", text)
	}
	return d, nil
}
