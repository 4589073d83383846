package claim

import (
	"os/exec"
	"testing"
	"time"
)

// TestProcessName sees that a process has a name until it ends, whether or not its parent
// notices.
func TestProcessName(t *testing.T) {
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait() //nolint:errcheck // its end is what is looked at
	if ProcessName(cmd.Process.Pid) == "" {
		t.Error("a live process has no name")
	}
	_ = in.Close()
	for until := time.Now().Add(time.Minute); ProcessName(cmd.Process.Pid) != ""; time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("a process that has ended has a name")
		}
	}
}
