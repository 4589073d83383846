package supervise

import (
	"os"
	"os/exec"
	"testing"
	"time"
)

// TestCPU counts a descendant's processor time while it runs, and once it has ended.
func TestCPU(t *testing.T) {
	before := CPU(os.Getpid())
	busy := exec.Command("sh", "-c", "while :; do :; done")
	if err := busy.Start(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); CPU(os.Getpid())-before < 200*time.Millisecond; {
		if time.Now().After(end) {
			t.Fatalf("after a minute it is %s", CPU(os.Getpid())-before)
		}
		time.Sleep(10 * time.Millisecond) // until the process had some time
	}
	_ = busy.Process.Kill()
	_ = busy.Wait()
	if got := CPU(os.Getpid()) - before; got < 200*time.Millisecond {
		t.Errorf("of a process that has ended it is %s", got)
	}
}
