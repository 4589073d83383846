// Package retry says how long to wait before a request is sent again. It is a leaf
// package: it imports only the standard library.
package retry

import (
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Pause returns how long to wait after n failures: first, doubled after each further one up
// to most, and then drawn at random between half of that and all of it, so that clients do
// not retry in step.
func Pause(n int, first, most time.Duration) time.Duration {
	pause := min(first<<min(n-1, 16), most)
	return pause - rand.N(pause/2+1)
}

// Asked returns the wait that a server asks for. A date is compared with the
// response's own date, because clocks differ.
func Asked(h http.Header) (time.Duration, bool) {
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
