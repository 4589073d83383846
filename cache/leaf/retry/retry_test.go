package retry

import (
	"net/http"
	"testing"
	"time"
)

func TestPause(t *testing.T) {
	for n, want := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 4: 8 * time.Second, 5: 10 * time.Second, 1000: 10 * time.Second} {
		if got := Pause(n, time.Second, 10*time.Second); got < want/2 || got > want {
			t.Errorf("after %d failures: %v, want %v to %v", n, got, want/2, want)
		}
	}
}

func TestAsked(t *testing.T) {
	for _, tt := range []struct {
		header http.Header
		want   time.Duration
		ok     bool
	}{
		{http.Header{}, 0, false},
		{http.Header{"Retry-After": {"7"}}, 7 * time.Second, true},
		{http.Header{"Retry-After": {" 0.5 "}}, time.Second / 2, true},
		{http.Header{"Retry-After": {"7"}, "Retry-After-Ms": {"20"}}, 20 * time.Millisecond, true},
		{http.Header{"Retry-After": {"-1"}}, 0, false},
		{http.Header{"Retry-After": {"NaN"}}, 0, false},
		{http.Header{"Retry-After": {"1e12"}}, 0, false},
		{http.Header{"Retry-After": {"soon"}}, 0, false},
		{http.Header{"Retry-After": {"Mon, 30 Nov 2026 10:00:09 GMT"}, "Date": {"Mon, 30 Nov 2026 10:00:00 GMT"}}, 9 * time.Second, true},
		{http.Header{"Retry-After": {"Mon, 30 Nov 2026 10:00:00 GMT"}, "Date": {"Mon, 30 Nov 2026 10:00:09 GMT"}}, 0, true},
	} {
		if got, ok := Asked(tt.header); got != tt.want || ok != tt.ok {
			t.Errorf("%v: %v, %v, want %v, %v", tt.header, got, ok, tt.want, tt.ok)
		}
	}
}
