package gateway

import (
	"crypto/tls"
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	// firstPause is the pause before the second attempt. Each later one is
	// twice as long, and each is shortened at random by up to a half. A pause
	// that the provider asks for is never shortened.
	firstPause = 500 * time.Millisecond
	// longestPause is the maximum unless the pipeline sets one.
	longestPause = time.Minute
)

// again decides whether to send a request again after n attempts, and after
// which pause. A request that the provider may have received without answering
// is not repeated, because the provider may charge for it.
func (p *provider) again(n int, t *try) (time.Duration, bool) {
	if n >= p.retry.Attempts {
		return 0, false
	}
	longest := p.retry.Longest
	if longest <= 0 {
		longest = longestPause
	}
	if t.err != nil {
		var cert *tls.CertificateVerificationError
		return backoff(n, longest), !t.sent && !errors.As(t.err, &cert)
	}
	if !t.transient() {
		return 0, false
	}
	if asked, ok := retryAfter(t.resp.Header); ok && asked > 0 {
		return asked + rand.N(min(asked/10, time.Second)+1), asked <= longest
	}
	return backoff(n, longest), true
}

// transient reports whether a failure may pass by itself. The provider's own
// statement takes precedence.
func (t *try) transient() bool {
	switch t.resp.Header.Get("X-Should-Retry") {
	case "true":
		return t.status >= 400
	case "false":
		return false
	}
	switch t.status {
	case http.StatusRequestTimeout, http.StatusTooManyRequests:
		return true
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
		return false
	}
	return t.status >= 500
}

func backoff(n int, longest time.Duration) time.Duration {
	pause := firstPause << min(n-1, 16)
	pause = min(pause, longest)
	return pause - rand.N(pause/2+1)
}

// retryAfter returns the wait that a provider asks for. A date is compared with
// the response's own date, because clocks differ.
func retryAfter(h http.Header) (time.Duration, bool) {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		return duration(ms / 1000)
	}
	text := strings.TrimSpace(h.Get("Retry-After"))
	if s, err := strconv.ParseFloat(text, 64); err == nil {
		return duration(s)
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0, false
	}
	now, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		now = time.Now()
	}
	return max(0, at.Sub(now)), true
}

// duration rejects implausible waits: negative, not a number, or a year and
// more.
func duration(seconds float64) (time.Duration, bool) {
	if !(seconds >= 0 && seconds < 365*24*3600) {
		return 0, false
	}
	return time.Duration(seconds * float64(time.Second)), true
}
