package confined

import "testing"

// TestOutOfMemory: what the Go runtime says when it gets no more memory, and when
// something else went wrong.
func TestOutOfMemory(t *testing.T) {
	for complaint, want := range map[string]bool{
		"fatal error: runtime: out of memory\n\ngoroutine 1":    true,
		"fatal error: runtime: cannot allocate memory":          true,
		"runtime: failed to create new OS thread (have 5)":      true,
		"fatal error: stack overflow":                           true,
		"runtime: goroutine stack exceeds 268435456-byte limit": true,
		"SIGSEGV: segmentation violation\nPC=0x4375dd m=7 sigcode=1 addr=0x0\n\ngoroutine 0 gp=0x34 m=7 mp=0x3 [idle]:\nruntime.(*spanQueue).tryDrain": true,
		"runtime/cgo: pthread_create failed: Resource temporarily unavailable\nSIGABRT: abort":                                                         true,
		"panic: runtime error: invalid memory address or nil pointer dereference\n[signal SIGSEGV: segmentation violation]\n\ngoroutine 1":             false,
		"panic: a metric found nothing": false,
		"":                              false,
	} {
		if OutOfMemory(complaint) != want {
			t.Errorf("%.60q: want %v", complaint, want)
		}
	}
}
