package supervise_test

import (
	"bufio"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/mleflow/mleflow/plugins/sandbox/executor/process/supervise"
)

// TestFreeze freezes processes that fork all the time, and sees that nothing happens
// until they are thawed.
func TestFreeze(t *testing.T) {
	cmd := exec.Command("sh", "-c", `sh -c 'while :; do sh -c "echo x"; done' & sh -c 'while :; do echo x; sleep 0.01; done' & wait`)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := make(chan struct{}, 1<<20)
	go func() {
		for s := bufio.NewScanner(out); s.Scan(); {
			lines <- struct{}{}
		}
	}()
	t.Cleanup(func() {
		supervise.Thaw(os.Getpid())
		_ = out.Close()
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	})
	drain := func() (n int) {
		for {
			select {
			case <-lines:
				n++
			case <-time.After(300 * time.Millisecond):
				return n
			}
		}
	}
	for _, thawed := range []bool{true, false} {
		<-lines
		thaw, err := supervise.Freeze(os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		drain()
		time.Sleep(200 * time.Millisecond)
		if n := drain(); n > 0 {
			t.Errorf("%d lines while frozen", n)
		}
		if thawed {
			thaw()
		} else {
			supervise.Thaw(os.Getpid())
		}
		select {
		case <-lines:
		case <-time.After(10 * time.Second):
			t.Fatal("it does not go on")
		}
	}
}
