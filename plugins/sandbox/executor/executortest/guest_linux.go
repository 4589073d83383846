package executortest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// GuestCommand is the first argument of the commands in tests of runtimes that isolate.
const GuestCommand = "guest"

// Guest runs in a guest. It runs the probe named by args, one of its own or of more,
// and prints its result as JSON.
func Guest(args []string, more map[string]func([]string) any) int {
	probes := map[string]func([]string) any{
		"look": guestLook, "try": guestTry, "fork": guestFork, "fill": guestFill, "cpu": guestCPU,
		"oomchild": guestOOMChild, "ticks": guestTicks, "devices": guestDevices, "stat": guestStat, "asks": guestAsks, "signals": guestSignals,
	}
	maps.Copy(probes, more)
	out := probes[args[0]](args[1:])
	if out == nil {
		return 0
	}
	text, err := json.Marshal(out)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println(string(text))
	return 0
}

func read(name string) string {
	text, err := os.ReadFile(name)
	if err != nil {
		return "error: " + err.Error()
	}
	return string(text)
}

// guestLook describes the guest.
func guestLook([]string) any {
	out := map[string]string{"hosts": read("/etc/hosts"), "resolv": read("/etc/resolv.conf"), "sched": ""}
	for line := range strings.Lines(read("/proc/self/status")) {
		name, value, _ := strings.Cut(line, ":")
		out[name] = strings.TrimSpace(value)
	}
	out["hostname"], _ = os.Hostname()
	out["ids"] = fmt.Sprint(os.Getuid(), os.Getgid())
	groups, _ := os.Getgroups()
	out["groups"] = fmt.Sprint(groups)
	interfaces, _ := net.Interfaces()
	for _, i := range interfaces {
		out["interfaces"] += i.Name + " "
	}
	processes, _ := os.ReadDir("/proc")
	for _, p := range processes {
		if _, err := strconv.Atoi(p.Name()); err == nil {
			out["processes"] += p.Name() + " "
		}
	}
	out["environ"] = strings.Join(os.Environ(), "\n")
	out["pause"] = read("/proc/1/environ")
	return out
}

// guestTry tries what it must not be able to do and returns the errors.
func guestTry([]string) any {
	out := map[string]string{}
	try := func(name string, err error) {
		out[name] = "done"
		if err != nil {
			out[name] = "refused"
		}
		if errors.Is(err, unix.EROFS) {
			out[name] = "read-only"
		}
	}
	call := func(name string, nr uintptr, args ...uintptr) {
		args = append(args, 0, 0, 0, 0, 0, 0)
		_, _, errno := unix.RawSyscall6(nr, args[0], args[1], args[2], args[3], args[4], args[5])
		if errno == 0 {
			out[name] = "done"
			return
		}
		try(name, errno)
	}
	for _, name := range []string{"/etc/x", "/usr/bin/x", "/dev/x", "/home/data/x", "/proc/sys/kernel/hostname", "/sys/kernel/x"} {
		try("write "+name, os.WriteFile(name, nil, 0o644))
	}
	try("write /tmp/x", os.WriteFile("/tmp/x", nil, 0o644))
	try("mount", unix.Mount("tmpfs", "/tmp", "tmpfs", 0, ""))
	try("remount data", unix.Mount("", "/home/data", "", unix.MS_REMOUNT|unix.MS_BIND, ""))
	try("unmount data", unix.Unmount("/home/data", unix.MNT_DETACH))
	try("user namespace", unix.Unshare(unix.CLONE_NEWUSER))
	try("network namespace", unix.Unshare(unix.CLONE_NEWNET))
	call("keyctl", unix.SYS_KEYCTL, 0, 0)
	call("bpf", unix.SYS_BPF)
	call("perf", unix.SYS_PERF_EVENT_OPEN)
	call("module", unix.SYS_INIT_MODULE)
	call("reboot", unix.SYS_REBOOT)
	call("open by handle", unix.SYS_OPEN_BY_HANDLE_AT)
	try("trace the pause", unix.PtraceAttach(1))
	try("kill the pause", unix.Kill(1, unix.SIGTERM))
	try("setuid", unix.Setuid(0))
	try("setgroups", unix.Setgroups([]int{0}))
	try("chroot", unix.Chroot("/tmp"))
	try("device node", unix.Mknod("/tmp/null", unix.S_IFCHR|0o666, 0x103))
	try("memory", openFile("/dev/mem"))
	try("kernel messages", openFile("/dev/kmsg"))
	_, err := unix.Socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP)
	try("raw socket", err)
	_, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0)
	try("packet socket", err)
	for _, address := range []string{"1.1.1.1:80", "169.254.169.254:80", "10.0.0.1:53"} {
		conn, err := net.DialTimeout("tcp", address, time.Second)
		if err == nil {
			conn.Close()
		}
		try("dial "+address, err)
	}
	_, err = net.LookupHost("example.com")
	try("look up a name", err)
	try("set the clock", unix.Settimeofday(&unix.Timeval{Sec: 1}))
	try("nice", unix.Setpriority(unix.PRIO_PROCESS, 0, -20))
	return out
}

func openFile(name string) error {
	f, err := os.Open(name)
	if err == nil {
		f.Close()
	}
	return err
}

// guestFork starts sleepers until it fails and returns their number.
func guestFork([]string) any {
	for n := 0; ; n++ {
		cmd := exec.Command("/proc/self/exe", "executor-probe", "sleep")
		if err := cmd.Start(); err != nil || n == 300 {
			return n
		}
	}
}

// guestFill writes until the disk is full. It returns the number of MiB written and the
// error.
func guestFill(args []string) any {
	f, err := os.Create(args[0])
	if err != nil {
		return err.Error()
	}
	block := slices.Repeat([]byte("0123456789abcdef"), 1<<16)
	for n := range 300 {
		if _, err := f.Write(block); err != nil {
			full := "other"
			if errors.Is(err, syscall.ENOSPC) {
				full = "full"
			}
			return fmt.Sprint(n, " ", full)
		}
	}
	return "never full"
}

// guestCPU returns the processor time, in milliseconds, of one second of spinning.
func guestCPU([]string) any {
	used := func() int64 {
		var usage syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
			panic(err)
		}
		return usage.Utime.Nano() + usage.Stime.Nano()
	}
	before := used()
	for start := time.Now(); time.Since(start) < time.Second; {
	}
	return (used() - before) / 1e6
}

// guestOOMChild survives a child that takes too much memory.
func guestOOMChild([]string) any {
	cmd := exec.Command("/proc/self/exe", "executor-probe", "hold", "300", "1m")
	return fmt.Sprint(cmd.Run())
}

// guestSignals sends every signal to the first process, both as kill and as sigqueue
// do, while that process starts threads. It checks that the command itself ignores no
// signal.
func guestSignals([]string) any {
	type info struct {
		signal, errno, code int32
		_                   [116]byte
	}
	for end := time.Now().Add(time.Second); time.Now().Before(end); {
		for sig := unix.Signal(1); sig <= 64; sig++ {
			_ = unix.Kill(1, sig)
			queued := info{signal: int32(sig), code: -1} // SI_QUEUE
			_, _, _ = unix.RawSyscall(unix.SYS_RT_SIGQUEUEINFO, 1, uintptr(sig), uintptr(unsafe.Pointer(&queued)))
		}
	}
	time.Sleep(100 * time.Millisecond)
	status, _ := os.ReadFile("/proc/self/status")
	if !strings.Contains(string(status), "SigIgn:\t0000000000000000\n") {
		return "some are ignored here: " + string(status)
	}
	return "sent"
}

// tick is the time between two lines of the command "ticks".
const tick = 100 * time.Millisecond

// guestTicks prints a number ten times a second, args[0] times.
func guestTicks(args []string) any {
	n, _ := strconv.Atoi(args[0])
	for i := range n {
		fmt.Println("tick", i)
		time.Sleep(tick)
	}
	return nil
}

func guestDevices(args []string) any {
	out := map[string]string{}
	for _, name := range args {
		var st unix.Stat_t
		if err := unix.Stat(name, &st); err != nil {
			out[name] = err.Error()
			continue
		}
		f, err := os.OpenFile(name, os.O_RDWR, 0)
		if err == nil {
			f.Close()
		}
		out[name] = fmt.Sprint(unix.Major(st.Rdev), ":", unix.Minor(st.Rdev), " ", err)
	}
	for _, v := range os.Environ() {
		if name, value, _ := strings.Cut(v, "="); strings.HasPrefix(name, "FAKE_") {
			out[name] = value
		}
	}
	return out
}

// guestStat describes the files at the paths.
func guestStat(args []string) any {
	out := map[string]string{}
	for _, name := range args {
		out[name] = read(name)
	}
	return out
}

// guestAsks asks a service until its answer changes to "new".
func guestAsks(args []string) any {
	for last := ""; last != "new"; time.Sleep(20 * time.Millisecond) {
		resp, err := http.Get(os.Getenv(args[0]))
		if err != nil {
			continue
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if string(text) != last {
			last = string(text)
			fmt.Println(last)
		}
	}
	return nil
}
