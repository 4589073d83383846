package gateway

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestCalls counts time in which at least one request is under way once, and waits as long
// as a provider asks.
func TestCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c calls
		is := func(ago, busy time.Duration) {
			t.Helper()
			last, got := c.now()
			if time.Since(last) != ago || got != busy {
				t.Errorf("the last is %v ago, and %v were busy; want %v and %v", time.Since(last), got, ago, busy)
			}
		}
		first := c.begin()
		time.Sleep(time.Second)
		second := c.begin()
		time.Sleep(time.Second)
		first()
		is(0, 2*time.Second)
		time.Sleep(time.Second)
		second()
		time.Sleep(time.Minute)
		is(time.Minute, 3*time.Second)
		c.wait(time.Hour)
		c.wait(time.Minute)
		time.Sleep(59 * time.Minute)
		is(0, 3*time.Second)
		time.Sleep(time.Minute)
		is(0, 3*time.Second)
		time.Sleep(time.Minute)
		is(time.Minute, 3*time.Second)
	})
}
