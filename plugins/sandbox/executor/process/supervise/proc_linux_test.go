package supervise

import (
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestListed finds a child, its child and that one's child, as the process table does.
func TestListed(t *testing.T) {
	if _, err := os.Lstat("/proc/thread-self/children"); err != nil {
		t.Skip("the kernel does not list children")
	}
	cmd := exec.Command("sh", "-c", "sh -c 'sleep 600 & wait' & echo; read x; kill 0")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		in.Close()
		_ = cmd.Wait()
	}()
	names := func(list []proc) (pids []int) {
		for _, p := range list {
			pids = append(pids, p.pid)
		}
		slices.Sort(pids)
		return pids
	}
	var want, got []int
	for until := time.Now().Add(time.Minute); time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
		want, got = names(livingBelow(os.Getpid())), names(listed(os.Getpid()))
		sleeping := slices.ContainsFunc(want, func(pid int) bool {
			name, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/comm")
			return strings.HasPrefix(string(name), "sleep")
		})
		if sleeping && len(want) == 3 && slices.Equal(want, got) {
			return
		}
	}
	t.Errorf("listed %v, the process table has %v", got, want)
}
