package agentrun

import "testing"

func TestDefaultShm(t *testing.T) {
	for memory, want := range map[int64]int64{0: 4 << 30, 1 << 30: 512 << 20, 440 << 30: 4 << 30} {
		if got := defaultShm(memory); got != want {
			t.Errorf("with %d bytes of memory: %d, want %d", memory, got, want)
		}
	}
}
