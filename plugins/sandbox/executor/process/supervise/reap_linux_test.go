package supervise

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// TestReap sees that thousands of children may end while nobody looks: on the busy
// machine that they make, one that is passed on at a time is hours.
func TestReap(t *testing.T) {
	const children = 40
	path, err := exec.LookPath("false")
	if err != nil {
		t.Skip(err)
	}
	var command int
	for range children {
		if command, err = syscall.ForkExec(path, []string{path}, &syscall.ProcAttr{Files: []uintptr{0, 1, 2}}); err != nil {
			t.Fatal(os.NewSyscallError("fork", err))
		}
	}
	var r Reaped
	ends := r.Reap(command)
	for until := time.Now().Add(time.Minute); r.n.Load() < children; time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("%d of %d were reaped", r.n.Load(), children)
		}
	}
	if e := <-ends; e.Status.ExitStatus() != 1 || time.Since(e.At) > time.Hour {
		t.Errorf("the command ended with %v at %v", e.Status, e.At)
	}
	if e, more := <-ends; more {
		t.Errorf("another end: %+v", e)
	}
	if r.CPU() <= 0 || r.maxRSS.Load() <= 0 {
		t.Errorf("used %v, %d bytes", r.CPU(), r.maxRSS.Load())
	}
}

// TestStuck sees that processes count as stuck only when no other has ended for as long
// as was to be waited: thousands take their time to die.
func TestStuck(t *testing.T) {
	long := time.Now().Add(-time.Hour)
	old, fresh := map[process]time.Time{{1, 1}: long, {2, 1}: long}, map[process]time.Time{{1, 1}: long, {3, 1}: time.Now()}
	for _, tt := range []struct {
		name  string
		mine  map[process]time.Time
		ended int64
		want  int
	}{{"nothing ends", old, 0, 2}, {"others end", old, 5, 0}, {"new ones come", fresh, 0, 0}, {"none", nil, 0, 0}} {
		k := &killing{mine: tt.mine, reaped: &Reaped{}, since: long}
		k.reaped.n.Store(tt.ended)
		if got := k.stuck(time.Minute); got != tt.want {
			t.Errorf("%s: %d are stuck, want %d", tt.name, got, tt.want)
		}
	}
}
