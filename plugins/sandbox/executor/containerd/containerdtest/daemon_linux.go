package containerdtest

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mleflow/mleflow/plugins/sandbox/executor/containerd"
)

// Daemon is a private containerd.
type Daemon struct {
	// Options connect the runtime to the daemon.
	Options containerd.Options
	// Dir is the daemon's folder.
	Dir string
	cmd *exec.Cmd
}

// Start starts a daemon for the test. When the test ends, anything that the runtime
// left on it fails the test and is removed, and the daemon ends.
func Start(t testing.TB) *Daemon {
	t.Helper()
	require(t)
	// A socket's path has at most 107 bytes.
	dir, err := os.MkdirTemp("", "ctd")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil { // as /run is: the users of guests must reach their bundles
		t.Fatal(err)
	}
	d := &Daemon{Dir: dir, Options: containerd.Options{
		Socket: filepath.Join(dir, "c.sock"), StateDir: filepath.Join(dir, "mleflow"),
		Namespace: "t" + strings.ToLower(filepath.Base(dir)), CDIDirs: []string{filepath.Join(dir, "cdi")},
	}}
	d.start(t)
	t.Cleanup(func() { d.stop(); d.tidy() })
	t.Cleanup(func() { d.inspect(t) })
	return d
}

// require skips the test if no daemon can be started. If CI is set, the test fails
// instead, because CI installs containerd.
func require(t testing.TB) {
	t.Helper()
	var missing []string
	if os.Getuid() != 0 {
		missing = append(missing, fmt.Sprintf("root (this is user %d)", os.Getuid()))
	}
	for _, program := range []string{"containerd", "runc", "mkfs.ext4"} {
		if _, err := exec.LookPath(program); err != nil {
			missing = append(missing, program)
		}
	}
	if len(missing) == 0 {
		return
	}
	reason := "needs " + strings.Join(missing, ", ")
	if os.Getenv("CI") != "" {
		t.Fatal(reason)
	}
	t.Skip(reason)
}

func (d *Daemon) start(t testing.TB) {
	t.Helper()
	config := filepath.Join(d.Dir, "config.toml")
	text := fmt.Sprintf("version = 2\nroot = %q\nstate = %q\ndisabled_plugins = [\"io.containerd.grpc.v1.cri\"]\n[grpc]\n  address = %q\n[ttrpc]\n  address = %q\n[plugins.\"io.containerd.internal.v1.opt\"]\n  path = %q\n",
		filepath.Join(d.Dir, "root"), filepath.Join(d.Dir, "state"), d.Options.Socket, d.Options.Socket+".ttrpc", filepath.Join(d.Dir, "opt"))
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	log, err := os.OpenFile(filepath.Join(d.Dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	d.cmd = exec.Command("containerd", "--config", config)
	d.cmd.Stdout, d.cmd.Stderr = log, log
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	d.await(t)
}

// await waits until the daemon listens. A minute is far more than it needs.
func (d *Daemon) await(t testing.TB) {
	t.Helper()
	for range 1200 {
		if conn, err := net.Dial("unix", d.Options.Socket); err == nil {
			conn.Close()
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	text, _ := os.ReadFile(filepath.Join(d.Dir, "log"))
	t.Fatalf("containerd does not listen:\n%s", text)
}

// Restart ends the daemon and starts it again, as an upgrade would. Running containers
// continue.
func (d *Daemon) Restart(t testing.TB) {
	t.Helper()
	d.stop()
	d.start(t)
}

// Crash kills the daemon, its shims and everything in containers at once, as if the
// machine had crashed.
func (d *Daemon) Crash(t testing.TB) {
	t.Helper()
	_ = d.cmd.Process.Kill()
	_ = d.cmd.Wait()
	var killed []int
	for _, shim := range children(os.Getpid(), 1) {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", shim))
		if err != nil || !strings.Contains(string(line), d.Options.Socket) {
			continue
		}
		inside := children(shim)
		for i := 0; i < len(inside); i++ {
			inside = append(inside, children(inside[i])...)
		}
		for _, pid := range append([]int{shim}, inside...) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			thaw(pid)
			killed = append(killed, pid)
		}
	}
	for until := time.Now().Add(30 * time.Second); slices.ContainsFunc(killed, alive); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("of the processes %v some do not end", killed)
		}
	}
}

// thaw lets a killed process end that stands still for a checkpoint, with version 1 of
// control groups. With version 2 it ends anyway.
func thaw(pid int) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	for line := range strings.Lines(string(text)) {
		if _, group, ok := strings.Cut(strings.TrimSpace(line), ":freezer:"); ok && group != "/" {
			_ = os.WriteFile(filepath.Join("/sys/fs/cgroup/freezer", group, "freezer.state"), []byte("THAWED"), 0o644)
		}
	}
}

// alive reports whether a process has not ended. A zombie has ended.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	rest := string(stat[strings.LastIndexByte(string(stat), ')')+1:])
	return !strings.HasPrefix(rest, " Z") && !strings.HasPrefix(rest, " X")
}

// children returns the child processes of the given ones.
func children(parents ...int) (list []int) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		stat, err := os.ReadFile(filepath.Join(dir, "stat"))
		if err != nil {
			continue
		}
		var state string
		var parent int
		rest := string(stat[strings.LastIndexByte(string(stat), ')')+1:])
		if _, err := fmt.Sscan(rest, &state, &parent); err != nil || !slices.Contains(parents, parent) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil {
			list = append(list, pid)
		}
	}
	return list
}

func (d *Daemon) stop() {
	_ = d.cmd.Process.Signal(os.Interrupt)
	_ = d.cmd.Wait()
}

// tidy removes the empty folders that the daemon and runc leave for a namespace.
func (d *Daemon) tidy() {
	groups, _ := filepath.Glob("/sys/fs/cgroup/*/" + d.Options.Namespace)
	for _, dir := range append(groups, "/run/containerd/runc/"+d.Options.Namespace, "/sys/fs/cgroup/"+d.Options.Namespace) {
		_ = os.Remove(dir)
	}
}

// inspect fails the test if anything but images is left, and removes it.
func (d *Daemon) inspect(t testing.TB) {
	e := containerd.New(d.Options)
	defer e.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	left, err := d.Inventory(ctx)
	// The shim of a container that was just removed may still be ending.
	for range 50 {
		if err != nil || !left.Running() {
			break
		}
		time.Sleep(100 * time.Millisecond)
		left, err = d.Inventory(ctx)
	}
	if err != nil || left.Running() {
		t.Errorf("left on the machine: %+v, %v", left, err)
	}
	if err := e.Purge(ctx); err != nil {
		t.Errorf("purge: %v", err)
	}
}
