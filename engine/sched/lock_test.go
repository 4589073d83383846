package sched

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mleflow/mleflow/cache/nolink"
)

// TestMain lets the test binary be another process: with MLEFLOW_TEST_LOCK
// set to a folder it leases one of two devices, says which, and waits for its
// standard input to end.
func TestMain(m *testing.M) {
	dir := os.Getenv("MLEFLOW_TEST_LOCK")
	if dir == "" {
		os.Exit(m.Run())
	}
	if names := os.Getenv("MLEFLOW_TEST_DEVICES"); names != "" {
		devices = strings.Split(names, ",")
	}
	locks, err := OpenDeviceLocks(dir, devices)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	o := Options{Capacity: Capacity{Devices: devices}, Locks: locks}
	_, err = Run(context.Background(), []Task{{Name: "hold", Needs: Resources{GPUs: 1}, Do: func(_ context.Context, l Lease) error {
		fmt.Println(l.Devices[0])
		_, err := io.Copy(io.Discard, os.Stdin)
		return err
	}}}, o)
	if err != nil {
		os.Exit(1)
	}
}

var devices = []string{"nvidia.com/gpu=0", "nvidia.com/gpu=1"}

// holder starts a process that leases a device and returns its name.
func holder(t *testing.T, dir string) (*exec.Cmd, io.Closer, string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "MLEFLOW_TEST_LOCK="+dir)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return cmd, in, strings.TrimSpace(line)
}

func openTable(t *testing.T, dir string) *DeviceLocks {
	t.Helper()
	l, err := OpenDeviceLocks(dir, devices)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

// Several processes never lease the same device, and a killed one holds none.
func TestLocksBetweenProcesses(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "locks")
	first, _, a := holder(t, dir)
	_, second, b := holder(t, dir)
	if a != devices[0] || b != devices[1] {
		t.Fatalf("the processes lease %s and %s", a, b)
	}
	var got []string
	done := make(chan error)
	go func() {
		_, err := Run(context.Background(), []Task{{Name: "third", Needs: Resources{GPUs: 2}, Do: func(_ context.Context, l Lease) error {
			got = l.Devices
			return nil
		}}}, Options{Capacity: Capacity{Devices: devices}, Locks: openTable(t, dir)})
		done <- err
	}()
	select {
	case <-done:
		t.Fatalf("leased %v although other processes hold them", got)
	case <-time.After(20 * time.Millisecond):
	}
	first.Process.Kill()
	second.Close()
	if err := <-done; err != nil || len(got) != 2 {
		t.Errorf("leased %v (%v), want both devices", got, err)
	}
}

// Runs of one process that share the table exclude each other too, as do
// tables of one folder.
func TestLocksWithinProcess(t *testing.T) {
	dir := t.TempDir()
	shared, other := openTable(t, dir), openTable(t, dir)
	var mu sync.Mutex
	users := map[string]int{}
	task := Task{Name: "x", Needs: Resources{GPUs: 1}, Do: func(_ context.Context, l Lease) error {
		mu.Lock()
		users[l.Devices[0]]++
		if n := users[l.Devices[0]]; n > 1 {
			t.Errorf("%d tasks use %s", n, l.Devices[0])
		}
		mu.Unlock()
		time.Sleep(time.Millisecond)
		mu.Lock()
		users[l.Devices[0]]--
		mu.Unlock()
		return nil
	}}
	var wait sync.WaitGroup
	for _, locks := range []*DeviceLocks{shared, shared, other} {
		wait.Go(func() {
			s, err := Run(context.Background(), []Task{task, task, task}, Options{Capacity: Capacity{Devices: devices}, Locks: locks})
			if err != nil || s.count(Ran) != 3 {
				t.Errorf("%+v, %v", s, err)
			}
		})
	}
	wait.Wait()
}

// All or nothing: who cannot get both devices holds neither.
func TestLocksAllOrNothing(t *testing.T) {
	dir := t.TempDir()
	mine, theirs := openTable(t, dir), openTable(t, dir)
	unlock, ok := theirs.try(devices[1])
	if !ok {
		t.Fatal("cannot lock")
	}
	p := newPool(Capacity{Devices: devices}, mine)
	if taken, ok := p.take(amounts{gpus: 2}); ok {
		t.Fatalf("took %v", taken)
	}
	if p.free[gpus] != 2 || p.retryAt.IsZero() {
		t.Errorf("%d devices free, want 2 and a time to try again", p.free[gpus])
	}
	if _, ok := theirs.try(devices[0]); !ok {
		t.Error("the first device is still locked")
	}
	unlock()
}

func TestLocksMissing(t *testing.T) {
	locks := openTable(t, t.TempDir())
	_, err := Run(t.Context(), nil, Options{Capacity: Capacity{Devices: []string{"gpu9"}}, Locks: locks})
	if err == nil || err.Error() != "schedule tasks: device gpu9 has no lock" {
		t.Errorf("error %v", err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenDeviceLocks(file, nil); err == nil || !strings.HasPrefix(err.Error(), "open device locks: ") {
		t.Errorf("error %v", err)
	}
}

func TestLockName(t *testing.T) {
	if got, want := lockName("nvidia.com/gpu=0:1"), "nvidia.com%2fgpu=0%3a1.lock"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if lockName("a/b") == lockName("a%2fb") {
		t.Error("two devices share a file")
	}
}

// A whole device and its slices exclude each other, also between processes that
// were told different devices; slices do not.
func TestSlicesBetweenProcesses(t *testing.T) {
	const whole, first, second = "nvidia.com/gpu=0", "nvidia.com/gpu=0:0", "nvidia.com/gpu=0:1"
	dir := filepath.Join(t.TempDir(), "locks")
	open := func(names ...string) *DeviceLocks {
		l, err := OpenDeviceLocks(dir, names)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(l.Close)
		return l
	}
	try := func(l *DeviceLocks, name string, want bool) func() {
		t.Helper()
		unlock, ok := l.try(name)
		if ok != want {
			t.Errorf("lease of %s: %v, want %v", name, ok, want)
		}
		return unlock
	}
	slices, wholes := open(first, second), open(whole)
	t.Setenv("MLEFLOW_TEST_DEVICES", first)
	_, in, name := holder(t, dir)
	if name != first {
		t.Fatalf("the other process leased %q", name)
	}
	try(wholes, whole, false)
	try(slices, first, false)
	unlock := try(slices, second, true)
	in.Close()
	waitFor(t, func() bool { unlock, ok := slices.try(first); return ok && func() bool { unlock(); return true }() })
	try(wholes, whole, false)
	unlock()
	unlock = try(wholes, whole, true)
	try(slices, first, false)
	try(slices, second, false)
	unlock()
	try(slices, second, true)
}

func waitFor(t *testing.T, done func() bool) {
	t.Helper()
	for range 1000 {
		if done() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("waited for ten seconds")
}

func TestChooseDevices(t *testing.T) {
	found := []string{"nvidia.com/gpu=0", "nvidia.com/gpu=1:0", "nvidia.com/gpu=1:1", "other.org/gpu=0"}
	for _, tt := range []struct {
		text, want string
	}{
		{"", "nvidia.com/gpu=0 nvidia.com/gpu=1:0 nvidia.com/gpu=1:1 other.org/gpu=0"},
		{"none", ""},
		{"nvidia.com/gpu=1:1, nvidia.com/gpu=0", "nvidia.com/gpu=0 nvidia.com/gpu=1:1"},
		{"other.org/gpu", "other.org/gpu=0"},
		{"nvidia.com/gpu,nvidia.com/gpu=0", "nvidia.com/gpu=0 nvidia.com/gpu=1:0 nvidia.com/gpu=1:1"},
		{"nvidia.com/gpu=7", "nvidia.com/gpu=7"},
		{"nvidia.com/gpu=GPU-1234", "error: is not a device such as"},
		{"0", "error: is not a device such as"},
		{"third.org/gpu", "error: no device of kind"},
		{"nvidia.com/gpu=1,nvidia.com/gpu=1:0", "error: a slice of"},
	} {
		got, err := ChooseDevices(tt.text, found)
		if want, bad := strings.CutPrefix(tt.want, "error: "); bad != (err != nil) || bad && !strings.Contains(err.Error(), want) || !bad && strings.Join(got, " ") != tt.want {
			t.Errorf("%q: %q, %v, want %s", tt.text, got, err, tt.want)
		}
	}
}

func TestLeasesDir(t *testing.T) {
	named := LeasesDir(func(name string) string { return map[string]string{LeasesVariable: "/somewhere"}[name] })
	if usual := LeasesDir(func(string) string { return "" }); named != "/somewhere" || !filepath.IsAbs(usual) || usual == named {
		t.Errorf("named %q, usual %q", named, usual)
	}
	dir := filepath.Join(t.TempDir(), "leases")
	if _, err := OpenDeviceLocks(dir, devices); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o777 || info.Mode()&os.ModeSticky == 0 {
		t.Errorf("the folder is %v, %v; every user shares it", info.Mode(), err)
	}
}

// TestLocksFollowNoLink: another user's link in the shared folder makes no file elsewhere.
func TestLocksFollowNoLink(t *testing.T) {
	dir, target := t.TempDir(), filepath.Join(t.TempDir(), "made")
	if err := os.Symlink(target, filepath.Join(dir, lockName("gpu0"))); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenDeviceLocks(dir, []string{"gpu0"}); !errors.Is(err, nolink.ErrForeign) {
		t.Errorf("error %v, want nolink.ErrForeign", err)
	}
	if _, err := os.Lstat(target); err == nil {
		t.Error("the link was followed")
	}
}

// TestLocksOfOtherUsers makes the table as one user, with any umask, and leases from it
// as another. A lock that an older version closed to others is opened by its owner, and
// others are told who that is.
func TestLocksOfOtherUsers(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can run processes as other users")
	}
	for _, umask := range []int{0o077, 0o022} {
		at := usersFolder(t)
		table := filepath.Join(at, "run", "leases")
		if out := leaseAs(t, at, table, 2001, umask); out != devices[0] {
			t.Fatalf("umask %03o: the first user got %q", umask, out)
		}
		if out := leaseAs(t, at, table, 2002, umask); out != devices[0] {
			t.Errorf("umask %03o: the second user got %q", umask, out)
		}
		lock := filepath.Join(table, lockName(devices[0]))
		if err := errors.Join(os.Chmod(lock, 0o600), os.Chown(lock, 2001, 2001)); err != nil {
			t.Fatal(err)
		}
		out := leaseAs(t, at, table, 2002, umask)
		for _, want := range []string{lock + " belongs to user 2001", "chmod a+rwX " + lock} {
			if !strings.Contains(out, want) {
				t.Errorf("umask %03o: %q lacks %q", umask, out, want)
			}
		}
		if out := leaseAs(t, at, table, 2001, umask) + leaseAs(t, at, table, 2002, umask); out != devices[0]+devices[0] {
			t.Errorf("umask %03o: after its owner used it: %q", umask, out)
		}
		if err := os.Chmod(table, 0o700); err != nil {
			t.Fatal(err)
		}
		if out := leaseAs(t, at, table, 2002, umask); !strings.Contains(out, "chmod a+rwX "+table) {
			t.Errorf("umask %03o: of a closed folder: %q", umask, out)
		}
	}
}

// usersFolder returns a folder in which every user may make files, with this program.
func usersFolder(t *testing.T) string {
	t.Helper()
	at, err := os.MkdirTemp("", "users-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(at) })
	self, err := os.ReadFile(os.Args[0])
	if err == nil {
		err = errors.Join(os.WriteFile(filepath.Join(at, "self"), self, 0o755), os.Chmod(at, 0o777|os.ModeSticky))
	}
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// leaseAs returns what a process of a user says: the device that it leases, or the error.
func leaseAs(t *testing.T, at, table string, uid, umask int) string {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", fmt.Sprintf("umask %03o; exec ./self", umask))
	cmd.Dir, cmd.Env = at, []string{"MLEFLOW_TEST_LOCK=" + table}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	out, _ := cmd.Output()
	return strings.TrimSpace(string(out))
}

// TestLeasesDirForAll chooses the same folder for root and for users who may not write to
// /run/lock.
func TestLeasesDirForAll(t *testing.T) {
	at := t.TempDir()
	lock := filepath.Join(at, "lock")
	own := filepath.Join(lock, "mleflow")
	for _, step := range []struct {
		name string
		do   func() error
		want string
	}{
		{"none", func() error { return nil }, filepath.Join(at, "mleflow-leases")},
		{"of root", func() error { return os.Mkdir(lock, 0o755) }, filepath.Join(at, "mleflow-leases")},
		{"made by root", func() error { return os.Mkdir(own, 0o755) }, own},
		{"for all", func() error { return errors.Join(os.Remove(own), os.Chmod(lock, 0o777)) }, own},
	} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		if got := leasesIn(lock, at); got != step.want {
			t.Errorf("%s: %s, want %s", step.name, got, step.want)
		}
	}
}
