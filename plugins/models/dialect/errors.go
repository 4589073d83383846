package dialect

import (
	"bytes"
	"encoding/json"
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

// quote encodes a string as JSON.
func quote(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s)
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}
