package dialect

import (
	"net/http"
	"strconv"
)

// errorHeader returns the headers of a refusal. The clients of OpenAI and
// Anthropic obey X-Should-Retry, so they do not retry a permanent error.
func errorHeader(r Refusal) http.Header {
	h := http.Header{"Content-Type": {"application/json"}}
	switch r.Reason {
	case RateLimited:
		if r.RetryAfter > 0 {
			h.Set("Retry-After", strconv.Itoa(r.RetryAfter))
		}
	case Unreachable:
	default:
		h.Set("X-Should-Retry", "false")
	}
	return h
}
