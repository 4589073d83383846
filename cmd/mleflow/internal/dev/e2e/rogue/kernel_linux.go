package main

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// call makes a probe of system calls that must all fail.
func call(name, tried string, calls ...func() error) probe {
	return probe{name, tried, func(*hunter) (string, bool) {
		var got []string
		open := false
		for _, c := range calls {
			err := c()
			open = open || err == nil
			got = append(got, errno(err))
		}
		return strings.Join(got, "; "), open
	}}
}

// raw is a system call by its number.
func raw(number uintptr, args ...uintptr) func() error {
	var a [6]uintptr
	copy(a[:], args)
	return func() error {
		_, _, e := unix.Syscall6(number, a[0], a[1], a[2], a[3], a[4], a[5])
		if e != 0 {
			return e
		}
		return nil
	}
}

func socket(domain, kind, protocol int) func() error {
	return func() error {
		fd, err := unix.Socket(domain, kind, protocol)
		if err == nil {
			unix.Close(fd)
		}
		return err
	}
}

func kernelProbes() []probe {
	zero := make([]byte, 4096)
	p := uintptr(unsafe.Pointer(&zero[0]))
	str := func(s string) uintptr { b := append([]byte(s), 0); return uintptr(unsafe.Pointer(&b[0])) }
	return []probe{
		call("become root", "setuid(0), setgid(0), setgroups, setresuid", raw(unix.SYS_SETUID, 0), raw(unix.SYS_SETGID, 0), raw(unix.SYS_SETGROUPS, 1, p), raw(unix.SYS_SETRESUID, 0, 0, 0)),
		call("drop no_new_privs", "prctl(PR_SET_NO_NEW_PRIVS, 0)", raw(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 0)),
		call("mount", "mount a tmpfs, proc and the disk", func() error { return unix.Mount("tmpfs", "/home/agent", "tmpfs", 0, "") }, func() error { return unix.Mount("proc", "/home/agent", "proc", 0, "") }, func() error { return unix.Mount("/dev/vda", "/home/agent", "ext4", 0, "") }),
		call("new mount calls", "fsopen, open_tree, move_mount, pivot_root, chroot", raw(unix.SYS_FSOPEN, str("tmpfs"), 0), raw(unix.SYS_OPEN_TREE, ^uintptr(99), str("/home"), 1), raw(unix.SYS_PIVOT_ROOT, str("/home"), str("/home/code")), func() error {
			// In a child: the probes after this one need their root.
			cmd := exec.Command("/nothing")
			cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: "/home"}
			if err := cmd.Run(); !errors.Is(err, unix.ENOENT) {
				return err
			}
			return nil
		}),
		call("signal the first process", "SIGKILL to 1, and to processes of others", func() error { return unix.Kill(1, unix.SIGKILL) }),
		{"other socket families", "AF_VSOCK to the hypervisor, AF_ALG, audit, Bluetooth", func(*hunter) (string, bool) {
			fd, err := unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0)
			reached := false
			if err == nil {
				_ = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &unix.Timeval{Sec: 1})
				for _, port := range []uint32{22, 1024, 8000} {
					reached = reached || unix.Connect(fd, &unix.SockaddrVM{CID: unix.VMADDR_CID_HOST, Port: port}) == nil
				}
				unix.Close(fd)
			}
			return fmt.Sprintf("vsock socket: %s, connected: %v; AF_ALG: %s; audit: %s; bluetooth: %s", errno(err), reached,
				errno(socket(unix.AF_ALG, unix.SOCK_SEQPACKET, 0)()), errno(socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_AUDIT)()), errno(socket(unix.AF_BLUETOOTH, unix.SOCK_RAW, 1)())), reached
		}},
		call("kernel modules", "init_module, finit_module, delete_module", raw(unix.SYS_INIT_MODULE, p, 16, p), raw(unix.SYS_FINIT_MODULE, 0, p, 0), raw(unix.SYS_DELETE_MODULE, str("loop"), 0)),
		call("kexec and reboot", "kexec_load, reboot(CAD off), swapon", raw(unix.SYS_KEXEC_LOAD, 0, 0, 0, 0), raw(unix.SYS_REBOOT, 0xfee1dead, 672274793, 0), raw(unix.SYS_SWAPON, str("/home/code"), 0)),
		call("clock", "settimeofday, clock_settime, adjtimex", func() error { return unix.Settimeofday(&unix.Timeval{Sec: 1}) }, func() error { return unix.ClockSettime(unix.CLOCK_REALTIME, &unix.Timespec{Sec: 1}) }, func() error {
			_, err := unix.Adjtimex(&unix.Timex{Modes: 1})
			return err
		}),
		call("host name", "sethostname, setdomainname", func() error { return unix.Sethostname([]byte("x")) }, func() error { return unix.Setdomainname([]byte("x")) }),
		call("ports of the machine", "iopl, ioperm", raw(unix.SYS_IOPL, 3), raw(unix.SYS_IOPERM, 0, 1, 1)),
		call("kernel log by call", "syslog(READ_ALL)", func() error { _, err := unix.Klogctl(3, zero); return err }),
		call("priority", "negative nice, real-time scheduling, memory lock of everything, higher limits", func() error { return unix.Setpriority(unix.PRIO_PROCESS, 0, -20) }, raw(unix.SYS_SCHED_SETSCHEDULER, 0, 1, uintptr(unsafe.Pointer(&[]int32{50}[0]))), func() error {
			var l unix.Rlimit
			_ = unix.Getrlimit(unix.RLIMIT_CORE, &l)
			return unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{Cur: 1 << 30, Max: 1 << 30})
		}),
		call("accounting and quotas", "acct, quotactl, lookup_dcookie, fanotify", raw(unix.SYS_ACCT, str("/home/code/acct")), raw(unix.SYS_QUOTACTL, 0x80000101, 0, 0, p), func() error { _, err := unix.FanotifyInit(unix.FAN_CLASS_CONTENT, 0); return err }),
		{"daemonise", "fork twice with a new session and keep running", func(*hunter) (string, bool) {
			cmd, err := start("resist", "daemonise")
			if err == nil {
				err = cmd.Wait()
			}
			return "started: " + errno(err) + " (the host sees that nothing is alive afterwards)", false
		}},
		{"fork bomb", "start processes until the limit", func(*hunter) (string, bool) {
			warm()
			var all []interface{ Kill() error }
			var err error
			for range 400 {
				cmd, bad := start("sleep")
				if err = bad; err != nil {
					break
				}
				all = append(all, cmd.Process)
			}
			for _, p := range all {
				_ = p.Kill()
			}
			time.Sleep(200 * time.Millisecond)
			return fmt.Sprintf("%d started, then %s", len(all), errno(err)), err == nil
		}},
	}
}

// warm has the Go runtime keep threads in store: one that cannot be made at the
// limit would end the program.
func warm() {
	var wg sync.WaitGroup
	for range 24 {
		wg.Go(func() {
			wait := unix.Timespec{Nsec: 50_000_000}
			_ = unix.Nanosleep(&wait, nil)
		})
	}
	wg.Wait()
}
